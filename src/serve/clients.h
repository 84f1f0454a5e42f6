// clients.h — the clients of a server: who shares its places and its queue, what each has of them,
// and what each had of late. Not thread-safe: the scheduler's lock guards it.
#ifndef FR_SERVE_CLIENTS_H
#define FR_SERVE_CLIENTS_H
#include <stdint.h>

enum { FR_CLIENTS_LATE = 4096 }; // tokens of all clients until what each had counts half

typedef struct fr_client {
    struct fr_client *next;
    int n_there;  // jobs that have not ended
    int n_jobs;   // of these, without those that were refused
    int n_runs;   // that have a place
    int64_t turn; // the step in which one of them last had a place
    int recent;   // tokens that it had read and written of late
    char name[];
} fr_client;

typedef struct fr_clients { // zeroed: none
    fr_client *first;
    int tokens; // of all, since they were last halved
} fr_clients;

// The client of this name (NULL is one, too), which may be new: then `turn` is its last one. NULL:
// no memory. It stays as long as it has jobs.
fr_client *fr_clients_enter(fr_clients *c, const char *name, int64_t turn);
// Tokens were read or written for it.
void fr_clients_serve(fr_clients *c, fr_client *client, int tokens);
// Jobs without a place.
int fr_client_waits(const fr_client *client);
// The one with most of these; NULL: there is none.
fr_client *fr_clients_longest(const fr_clients *c);
void fr_clients_close(fr_clients *c);

#endif
