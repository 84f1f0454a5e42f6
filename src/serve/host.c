// host.c — an authority as in RFC 3986, section 3.2, without a user.
#define _GNU_SOURCE
#include "serve/host.h"
#include "serve/listen.h"
#include <arpa/inet.h>
#include <string.h>

typedef struct piece {
    const char *at;
    size_t n;
} piece;

// ---------------------------------------------------------------- an authority

static bool is_address(int family, const char *at, size_t n) {
    char text[INET6_ADDRSTRLEN], bytes[16];
    if (n >= sizeof text) return false;
    memcpy(text, at, n);
    text[n] = 0;
    return inet_pton(family, text, bytes) == 1;
}

// "[...]" at the beginning: an address of IPv6, perhaps with a zone; its length, 0: there is none.
static size_t bracketed(const char *text) {
    static const char zone[] =
        "%.-_~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (*text != '[') return 0;
    const size_t n = strspn(text + 1, "0123456789abcdefABCDEF:.");
    const char *end = text + 1 + n;
    if (!is_address(AF_INET6, text + 1, n)) return 0;
    if (*end == '%') end += strspn(end, zone);
    return *end == ']' ? (size_t)(end + 1 - text) : 0;
}

static size_t named(const char *text) {
    return strspn(text, "-._~%!$&'()*+;=0123456789abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

// The name in an authority; without bytes: it is none.
static piece name_in(const char *authority) {
    const size_t in = bracketed(authority), n = in ? in : named(authority);
    const char *port = authority + n;
    if (*port == ':') port += 1 + strspn(port + 1, "0123456789");
    return (piece){authority, *port ? 0 : n};
}

// ---------------------------------------------------------------- names

// Case makes no difference, nor does a dot at the end, which means the root.
static piece less_dot(piece name) {
    if (name.n > 1 && name.at[name.n - 1] == '.') name.n--;
    return name;
}

static bool is_same(piece a, piece b) {
    a = less_dot(a), b = less_dot(b);
    return a.n == b.n && !strncasecmp(a.at, b.at, a.n);
}

static bool next_of(const char **list, piece *name) {
    if (!*list) return false;
    *list += strspn(*list, ", ");
    *name = (piece){*list, strcspn(*list, ", ")};
    *list += name->n;
    return name->n;
}

static bool is_listed(piece name, const char *list) {
    for (piece one; next_of(&list, &one);)
        if (!fr_listen_is_path(one.at, one.n) && is_same(name, one)) return true;
    return false;
}

static bool has_all(const char *list) {
    for (piece one; next_of(&list, &one);)
        if (one.n == 1 && *one.at == '*') return true;
    return false;
}

static bool is_local(piece name) {
    static const char local[] = ".localhost";
    const size_t n = sizeof local - 1;
    name = less_dot(name);
    if (is_same(name, (piece){local + 1, n - 1})) return true;
    return name.n > n && !strncasecmp(name.at + name.n - n, local, n);
}

int fr_host_status(const char *authority, const char *hosts, const char *allowed) {
    const piece name = less_dot(name_in(authority));
    if (!name.n) return 400;
    if (*name.at == '[' || is_address(AF_INET, name.at, name.n) || is_local(name)) return 0;
    return is_listed(name, hosts) || is_listed(name, allowed) || has_all(allowed) ? 0 : 403;
}

fr_status fr_host_check_list(const char *allowed, fr_error *err) {
    for (piece one; next_of(&allowed, &one);)
        if (named(one.at) != one.n && bracketed(one.at) != one.n)
            return fr_fail(err, FR_EARG,
                           "allow-host: expected names without scheme and port, found %.*s",
                           (int)one.n, one.at);
    return FR_OK;
}
