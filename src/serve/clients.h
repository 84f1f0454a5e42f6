// clients.h — the clients that share a server's places and queue: what each has now, and how many
// tokens each got recently. Not thread-safe: the scheduler's lock guards it.
//
// Places are shared among owners (API keys). The places of an owner are shared among its clients
// (addresses), and those of a client among its requests.
#ifndef FR_SERVE_CLIENTS_H
#define FR_SERVE_CLIENTS_H
#include <stdint.h>

enum { FR_CLIENTS_LATE = 4096 }; // tokens of all clients after which all recent counts are halved

typedef struct fr_share { // a share of the places
    struct fr_share *of;  // the share that it is a part of; NULL: all places
    int n_runs;           // jobs that have a place
    int64_t turn;         // the step in which one of them last had a place
} fr_share;

typedef struct fr_client { // an owner, or a client of an owner
    fr_share share;
    struct fr_client *next, *owner; // owner NULL: it is an owner itself
    int n_there;                    // jobs that have not ended
    int n_jobs;                     // the same without refused ones
    int recent;                     // tokens read and written for it recently
    char name[];
} fr_client;

typedef struct fr_clients { // zeroed: none
    fr_client *first;
    int tokens; // of all clients, since the last halving
} fr_clients;

// The client `name` of the owner `owner` (NULL is a name too). A new one is created, with `turn` as
// its last turn. NULL: no memory. It lives as long as it has jobs.
fr_client *fr_clients_enter(fr_clients *c, const char *owner, const char *name, int64_t turn);
// Adds to n_there and n_jobs; the numbers may be negative.
void fr_client_count(fr_client *client, int there, int jobs);
// Replaces two shares at equal depth by their ancestors directly below the common one; equal shares
// if both are the same.
void fr_shares_part(const fr_share **a, const fr_share **b);
// Adds places in this step; the number may be negative.
void fr_share_place(fr_share *share, int places, int64_t step);
// Tokens were read or written for it.
void fr_clients_serve(fr_clients *c, fr_client *client, int tokens);
// Jobs without a place.
int fr_client_waits(const fr_client *client);
// The owner (`owner` NULL) or the client of `owner` with most jobs without a place. NULL: there are
// none.
fr_client *fr_clients_longest(const fr_clients *c, const fr_client *owner);
void fr_clients_close(fr_clients *c);

#endif
