#include "serve/cors.h"
#include <stddef.h>
#include <string.h>

// Whether the origin is a page of this machine, from any port.
static bool is_local(const char *origin) {
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    if (!strncmp(origin, "http://", 7))
        origin += 7;
    else if (!strncmp(origin, "https://", 8))
        origin += 8;
    else
        return false;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        const size_t n = strlen(hosts[i]);
        if (strncmp(origin, hosts[i], n)) continue;
        const char *port = origin + n;
        if (!*port || (*port == ':' && port[1] && !port[1 + strspn(port + 1, "0123456789")]))
            return true;
    }
    return false;
}

bool fr_origin_is_allowed(const char *list, const char *origin) {
    const size_t n = strlen(origin);
    if (!strcmp(list, "*")) return true;
    for (const char *at = list; *at;) {
        const size_t m = strcspn(at, ",");
        if (m == n && !strncmp(at, origin, n)) return true;
        if (m == 9 && !strncmp(at, "localhost", m) && is_local(origin)) return true;
        at += m;
        at += strspn(at, ", ");
    }
    return false;
}
