// forwarded.c — reads addresses and lists of networks. Every address has 16 bytes; IPv4 addresses
// are mapped to IPv6.
#include "serve/forwarded.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 16, V4_AT = 12, V4_BITS = 96, MOST_TEXT = 80 };

typedef struct address {
    unsigned char byte[BYTES];
} address;

static const address V4 = {{[10] = 0xff, [11] = 0xff}}; // what those of IPv4 begin with

static bool is_v4(const address *a) {
    return !memcmp(a->byte, V4.byte, V4_AT);
}

static bool read_plain(address *a, const char *text) {
    *a = V4;
    return inet_pton(AF_INET, text, a->byte + V4_AT) == 1 ||
           inet_pton(AF_INET6, text, a->byte) == 1;
}

// The n bytes without blanks around them. False: that is too long.
static bool trim(char out[MOST_TEXT], const char *text, size_t n) {
    while (n && (*text == ' ' || *text == '\t'))
        text++, n--;
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    if (n >= MOST_TEXT) return false;
    memcpy(out, text, n);
    out[n] = 0;
    return true;
}

// ---------------------------------------------------------------- the proxies

// An address, or a network of so many bits.
static bool read_network(address *a, int *bits, char *text) {
    char *slash = strchr(text, '/'), *end;
    *bits = 8 * BYTES;
    if (slash) *slash = 0;
    if (!read_plain(a, text)) return false;
    if (!slash) return true;
    const int before = is_v4(a) && !strchr(text, ':') ? V4_BITS : 0;
    if (slash[1] < '0' || slash[1] > '9') return false;
    *bits = before + (int)strtol(slash + 1, &end, 10);
    return !*end && end - slash <= 4 && *bits <= 8 * BYTES;
}

static bool is_within(const address *a, const address *network, int bits) {
    const int whole = bits / 8, rest = bits % 8;
    if (memcmp(a->byte, network->byte, (size_t)whole) != 0) return false;
    return !rest || (a->byte[whole] ^ network->byte[whole]) >> (8 - rest) == 0;
}

fr_status fr_forwarded_check(const char *proxies, fr_error *err) {
    for (const char *at = proxies; *at; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        char text[MOST_TEXT];
        address a;
        int bits;
        const bool fits = trim(text, at, n);
        if (!fits || (strcmp(text, "unix") != 0 && !read_network(&a, &bits, text)))
            return fr_fail(err, FR_EARG,
                           "forwarded-from: expected addresses, networks (10.0.0.0/8) or 'unix', "
                           "found '%.*s'",
                           (int)(n < 60 ? n : 60), at);
        at += n;
    }
    return FR_OK;
}

// a NULL: a peer without an address.
static bool is_proxy(const char *proxies, const address *a) {
    for (const char *at = proxies ? proxies : ""; *at; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        char text[MOST_TEXT];
        address network;
        int bits;
        const bool fits = trim(text, at, n);
        at += n;
        if (!fits) continue;
        if (!a && !strcmp(text, "unix")) return true;
        if (a && read_network(&network, &bits, text) && is_within(a, &network, bits)) return true;
    }
    return false;
}

// ---------------------------------------------------------------- the client

// An address as proxies write it: "1.2.3.4", "1.2.3.4:5", "::1", "[::1]", "[::1]:5".
static bool read_forwarded(address *a, const char *from, size_t n) {
    char text[MOST_TEXT];
    if (!trim(text, from, n)) return false;
    if (*text == '[') {
        char *end = strchr(text, ']');
        if (end) *end = 0;
        return end && (!end[1] || end[1] == ':') && read_plain(a, text + 1);
    }
    char *colon = strchr(text, ':');
    if (colon && !strchr(colon + 1, ':')) *colon = 0;
    return read_plain(a, text);
}

static void name_client(char name[FR_CLIENT_NAME], const address *a) {
    char text[INET6_ADDRSTRLEN];
    address first = *a;
    if (is_v4(a)) {
        inet_ntop(AF_INET, a->byte + V4_AT, name, FR_CLIENT_NAME);
        return;
    }
    memset(first.byte + BYTES / 2, 0, BYTES / 2);
    inet_ntop(AF_INET6, first.byte, text, sizeof text);
    snprintf(name, FR_CLIENT_NAME, "%s/64", text);
}

void fr_forwarded_client(char name[FR_CLIENT_NAME], const char *proxies, const char *peer,
                         const char *header) {
    address client, next;
    const bool has_address = read_plain(&client, peer);
    bool known = has_address;
    bool proxy = is_proxy(proxies, has_address ? &client : NULL);
    // From the end: each proxy has added the address of its peer.
    for (size_t end = header ? strlen(header) : 0; end && proxy;) {
        size_t begin = end;
        while (begin && header[begin - 1] != ',')
            begin--;
        if (!read_forwarded(&next, header + begin, end - begin)) break;
        client = next;
        known = true;
        proxy = is_proxy(proxies, &client);
        end = begin ? begin - 1 : 0;
    }
    if (known)
        name_client(name, &client);
    else
        snprintf(name, FR_CLIENT_NAME, "%s", peer);
}
