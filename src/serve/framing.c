// framing.c — libmicrohttpd before 1.0.4 takes the first of several lengths and does not look at
// codings that it does not know.
#include "serve/framing.h"
#include <stdbool.h>
#include <string.h>
#include <strings.h>

typedef struct framing {
    int lengths, codings;
    bool bad_name, bad_coding;
} framing;

static bool is_name(const char *name) {
    static const char letters[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return *name && !name[strspn(name, letters)];
}

static enum MHD_Result look(void *cls, enum MHD_ValueKind kind, const char *name,
                            const char *value) {
    framing *f = cls;
    (void)kind;
    f->bad_name |= !is_name(name);
    f->lengths += !strcasecmp(name, "Content-Length");
    if (strcasecmp(name, "Transfer-Encoding") != 0) return MHD_YES;
    f->codings++;
    f->bad_coding |= !value || strcasecmp(value, "chunked") != 0;
    return MHD_YES;
}

const char *fr_framing_fault(struct MHD_Connection *connection, const char *version, int *status) {
    framing f = {0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, look, &f);
    *status = 400;
    if (f.bad_name) return "headers: expected a name, found one with other letters or none";
    if (f.lengths > 1) return "Content-Length: expected one, found more";
    if (f.codings && f.lengths)
        return "Transfer-Encoding: expected it or Content-Length, found both";
    if (f.codings && !strcasecmp(version, "HTTP/1.0"))
        return "Transfer-Encoding: expected HTTP/1.1, found 1.0";
    if (f.codings > 1) return "Transfer-Encoding: expected one, found more";
    *status = 501;
    return f.bad_coding ? "Transfer-Encoding: expected chunked, found another" : NULL;
}
