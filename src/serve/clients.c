// clients.c — a list by owner and name. A client without jobs is removed when its recent count is
// 0.
#include "serve/clients.h"
#include "base/alloc.h"
#include <stdbool.h>
#include <string.h>

// Removes clients without jobs and recent tokens. An owner's counts are at least the sums of its
// clients', so it is not removed before them.
static void forget_some(fr_clients *c) {
    for (fr_client **at = &c->first; *at;) {
        fr_client *client = *at;
        if (client->n_there || client->recent) {
            at = &client->next;
            continue;
        }
        *at = client->next;
        fr_free(client);
    }
}

static fr_client *find(const fr_clients *c, const fr_client *owner, const char *name) {
    fr_client *client = c->first;
    while (client && (client->owner != owner || strcmp(client->name, name)))
        client = client->next;
    return client;
}

static fr_client *enter(fr_clients *c, fr_client *owner, const char *name, int64_t turn) {
    if (!name) name = "";
    fr_client *client = find(c, owner, name);
    const size_t bytes = strlen(name) + 1;
    if (client) return client;
    if (!(client = fr_alloc_zero(sizeof *client + bytes))) return NULL;
    memcpy(client->name, name, bytes);
    client->share = (fr_share){.of = owner ? &owner->share : NULL, .turn = turn};
    client->owner = owner;
    client->next = c->first;
    return c->first = client;
}

fr_client *fr_clients_enter(fr_clients *c, const char *owner, const char *name, int64_t turn) {
    forget_some(c);
    fr_client *of = enter(c, NULL, owner, turn);
    return of ? enter(c, of, name, turn) : NULL;
}

void fr_client_count(fr_client *client, int there, int jobs) {
    for (; client; client = client->owner) {
        client->n_there += there;
        client->n_jobs += jobs;
    }
}

void fr_shares_part(const fr_share **a, const fr_share **b) {
    for (; (*a)->of != (*b)->of; *b = (*b)->of)
        *a = (*a)->of;
}

void fr_share_place(fr_share *share, int places, int64_t step) {
    for (; share; share = share->of) {
        share->n_runs += places;
        if (places) share->turn = step;
    }
}

void fr_clients_serve(fr_clients *c, fr_client *client, int tokens) {
    for (; client; client = client->owner)
        client->recent += tokens;
    c->tokens += tokens;
    if (c->tokens < FR_CLIENTS_LATE) return;
    c->tokens = 0;
    for (client = c->first; client; client = client->next)
        client->recent /= 2;
}

int fr_client_waits(const fr_client *client) {
    const int n = client->n_jobs - client->share.n_runs;
    return n > 0 ? n : 0;
}

fr_client *fr_clients_longest(const fr_clients *c, const fr_client *owner) {
    fr_client *longest = NULL;
    for (fr_client *at = c->first; at; at = at->next)
        if (at->owner == owner && (!longest || fr_client_waits(at) > fr_client_waits(longest)))
            longest = at;
    return longest;
}

void fr_clients_close(fr_clients *c) {
    for (fr_client *next; c->first; c->first = next) {
        next = c->first->next;
        fr_free(c->first);
    }
}
