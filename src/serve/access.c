// access.c — keys, names and peers.
#define _GNU_SOURCE
#include "serve/access.h"
#include "serve/host.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

// ---------------------------------------------------------------- keys and names

// Takes as long for every key of this length.
static bool is_same_key(const char *key, const char *given) {
    const size_t n = strlen(given), m = strlen(key);
    unsigned differs = n != m;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)given[i] ^ (unsigned char)key[m ? i % m : 0];
    return !differs;
}

static const char *given_key(fr_exchange *x) {
    const char *given = fr_exchange_header(x, "Authorization");
    if (given && !strncasecmp(given, "Bearer", 6) && (given[6] == ' ' || given[6] == '\t'))
        return given + 6 + strspn(given + 6, " \t");
    return fr_exchange_header(x, "X-Api-Key");
}

static bool has_key(fr_exchange *x) {
    const char *given = given_key(x), *const *keys = x->http->options.keys;
    if (!keys || !strcmp(x->method, "OPTIONS") || (x->route && x->route->is_public)) return true;
    for (int i = 0; given && keys[i]; i++)
        if (is_same_key(keys[i], given)) x->key = keys[i];
    return x->key;
}

// Checks the request's host name: the status of a refusal, or 0. If keys are required, every name
// is allowed, because a page with a name of its own has no key.
static int judge_host(fr_exchange *x) {
    const fr_http_options *o = &x->http->options;
    const char *host = x->own_host ? x->own_host : fr_exchange_header(x, "Host");
    if (x->is_unix) return 0;
    if (!host) // HTTP/1.0 needs none, and no browser speaks it; else there was no memory
        return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Host") ? 400 : 0;
    const int status = fr_host_status(host, o->host, o->allowed_hosts);
    return status == 403 && o->keys && !o->allowed_hosts ? 0 : status;
}

int fr_access_status(fr_exchange *x) {
    const int status = judge_host(x);
    if (status) return status;
    return has_key(x) ? 0 : 401;
}

// ---------------------------------------------------------------- peers

// A peer at a Unix socket: "unix:" and the number of its user.
static void name_user(fr_exchange *x) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ucred user;
    socklen_t n = sizeof user;
    x->is_unix = true;
    snprintf(x->peer, sizeof x->peer, "unix");
    if (info && !getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &user, &n))
        snprintf(x->peer, sizeof x->peer, "unix:%u", user.uid);
}

void fr_access_name_peer(fr_exchange *x) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *a = info ? info->client_addr : NULL;
    if (a && a->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, x->peer,
                  sizeof x->peer);
    else if (a && a->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, x->peer,
                  sizeof x->peer);
    else if (a && a->sa_family == AF_UNIX)
        name_user(x);
}
