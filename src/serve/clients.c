// clients.c — a list by name. A client without jobs is forgotten once what it had of late is.
#include "serve/clients.h"
#include "base/alloc.h"
#include <stdbool.h>
#include <string.h>

// Drops those of whom there is nothing to know. A new one looks through the list anyway.
static fr_client *find(fr_clients *c, const char *name) {
    for (fr_client **at = &c->first; *at;) {
        fr_client *client = *at;
        if (!strcmp(client->name, name)) return client;
        if (client->n_there || client->recent) {
            at = &client->next;
            continue;
        }
        *at = client->next;
        fr_free(client);
    }
    return NULL;
}

fr_client *fr_clients_enter(fr_clients *c, const char *name, int64_t turn) {
    if (!name) name = "";
    fr_client *client = find(c, name);
    const size_t bytes = strlen(name) + 1;
    if (client) return client;
    if (!(client = fr_alloc_zero(sizeof *client + bytes))) return NULL;
    memcpy(client->name, name, bytes);
    client->turn = turn;
    client->next = c->first;
    return c->first = client;
}

void fr_clients_serve(fr_clients *c, fr_client *client, int tokens) {
    client->recent += tokens;
    c->tokens += tokens;
    if (c->tokens < FR_CLIENTS_LATE) return;
    c->tokens = 0;
    for (client = c->first; client; client = client->next)
        client->recent /= 2;
}

int fr_client_waits(const fr_client *client) {
    return client->n_jobs > client->n_runs ? client->n_jobs - client->n_runs : 0;
}

fr_client *fr_clients_longest(const fr_clients *c) {
    fr_client *longest = c->first;
    for (fr_client *at = c->first; at; at = at->next)
        if (fr_client_waits(at) > fr_client_waits(longest)) longest = at;
    return longest;
}

void fr_clients_close(fr_clients *c) {
    for (fr_client *next; c->first; c->first = next) {
        next = c->first->next;
        fr_free(c->first);
    }
}
