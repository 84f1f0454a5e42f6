// clients.h — the clients of a server: who shares its places and its queue, what each has of them,
// and what each had of late. Not thread-safe: the scheduler's lock guards it.
//
// They are shared among owners (API keys), what one has among its clients (addresses), and what one of
// those has among its requests.
#ifndef FR_SERVE_CLIENTS_H
#define FR_SERVE_CLIENTS_H
#include <stdint.h>

enum { FR_CLIENTS_LATE = 4096 }; // tokens of all clients until what each had counts half

typedef struct fr_share { // of the places
    struct fr_share *of;  // what it is a part of; NULL: of all
    int n_runs;           // jobs that have a place
    int64_t turn;         // the step in which one of them last had a place
} fr_share;

typedef struct fr_client { // an owner, or a client of one
    fr_share share;
    struct fr_client *next, *owner; // NULL: it is one
    int n_there;                    // jobs that have not ended
    int n_jobs;                     // of these, without those that were refused
    int recent;                     // tokens that it had read and written of late
    char name[];
} fr_client;

typedef struct fr_clients { // zeroed: none
    fr_client *first;
    int tokens; // of all, since they were last halved
} fr_clients;

// The client of this name of the owner of that (NULL is one, too), which may be new: then `turn` is
// its last one. NULL: no memory. It stays as long as it has jobs.
fr_client *fr_clients_enter(fr_clients *c, const char *owner, const char *name, int64_t turn);
// So many jobs more, or fewer: that have not ended; of these, without those that were refused.
void fr_client_count(fr_client *client, int there, int jobs);
// Of two shares with as many above them, those that are parts of the same; equal where both are one.
void fr_shares_part(const fr_share **a, const fr_share **b);
// So many places more, or fewer, in this step.
void fr_share_place(fr_share *share, int places, int64_t step);
// Tokens were read or written for it.
void fr_clients_serve(fr_clients *c, fr_client *client, int tokens);
// Jobs without a place.
int fr_client_waits(const fr_client *client);
// Of the owners (NULL), or the clients of one, that with most of these; NULL: there is none.
fr_client *fr_clients_longest(const fr_clients *c, const fr_client *owner);
void fr_clients_close(fr_clients *c);

#endif
