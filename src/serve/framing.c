// framing.c — libmicrohttpd before 1.0 uses the first of several lengths, ignores unknown
// codings, and reads lines as C strings, so that it misses bytes after a NUL. A proxy may read
// them. So the head is walked here too. libmicrohttpd has replaced colons and line ends by NULs and
// left all other bytes in place. So each header must begin where the one before it ended, and the
// last one must end the head.
#include "serve/framing.h"
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { LINE_END = 2 }; // CR and LF

typedef struct head {
    int lengths, codings, hosts;
    bool bad_name, bad_value, bad_coding;
    const char *at; // where the next header begins
    bool hides;     // something between two of them
} head;

// ---------------------------------------------------------------- bytes

static bool is_name(const char *name) {
    static const char letters[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return *name && !name[strspn(name, letters)];
}

static bool is_control(char c) {
    return ((uint8_t)c < ' ' && c != '\t') || c == 0x7f;
}

static bool has_controls(const char *value) {
    while (*value && !is_control(*value))
        value++;
    return *value;
}

void fr_framing_target(fr_framing *f, const char *target) {
    f->target = target;
    f->target_end = target;
    while ((uint8_t)*f->target_end > ' ' && *f->target_end != 0x7f)
        f->target_end++;
    f->target_is_bad = *f->target_end != 0;
}

// ---------------------------------------------------------------- the walk

// Later versions find all this themselves.
static bool reads_strings(void) {
    return !strncmp(MHD_get_version(), "0.", 2);
}

static void walk(head *h, const char *name, const char *value) {
    const char *colon = name + strlen(name), *at = colon + 1;
    if (h->hides || name != h->at) {
        h->hides = true;
        return;
    }
    while (*at == ' ' || *at == '\t')
        at++;
    h->hides = value != at;
    h->at = value + strlen(value) + LINE_END;
}

static enum MHD_Result look(void *cls, enum MHD_ValueKind kind, const char *name,
                            const char *value) {
    head *h = cls;
    (void)kind;
    if (!value) value = "";
    walk(h, name, value);
    h->bad_name |= !is_name(name);
    h->bad_value |= has_controls(value);
    h->hosts += !strcasecmp(name, "Host");
    h->lengths += !strcasecmp(name, "Content-Length");
    if (strcasecmp(name, "Transfer-Encoding") != 0) return MHD_YES;
    h->codings++;
    h->bad_coding |= strcasecmp(value, "chunked") != 0;
    return MHD_YES;
}

// Whether the first line is "METHOD TARGET HTTP/1.x" and no more.
static bool is_first_line(const fr_framing *f) {
    return f->target == f->method + strlen(f->method) + 1 && f->version == f->target_end + 1;
}

static bool hides(const fr_framing *f, const head *h) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(f->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return h->hides || !info || h->at + LINE_END != f->method + info->header_size;
}

const char *fr_framing_fault(const fr_framing *f, int *status) {
    head h = {.at = f->version + strlen(f->version) + LINE_END};
    MHD_get_connection_values(f->connection, MHD_HEADER_KIND, look, &h);
    *status = 400;
    if (f->target_is_bad || (reads_strings() && !is_first_line(f)))
        return "request line: expected a method, a path and HTTP/1.1 with a blank between them, "
               "found more blanks or control characters";
    if (h.bad_name) return "headers: expected a name, found one with other letters or none";
    if (h.bad_value) return "headers: expected text, found control characters";
    if (reads_strings() && hides(f, &h))
        return "headers: expected a line for each that ends with CR and LF, found other line ends, "
               "a line that goes on in the next, or NUL";
    if (h.hosts > 1) return "Host: expected one, found more";
    if (!h.hosts && strcasecmp(f->version, "HTTP/1.0") != 0) return "Host: expected it, found none";
    if (h.lengths > 1) return "Content-Length: expected one, found more";
    if (h.codings && h.lengths)
        return "Transfer-Encoding: expected it or Content-Length, found both";
    if (h.codings && !strcasecmp(f->version, "HTTP/1.0"))
        return "Transfer-Encoding: expected HTTP/1.1, found 1.0";
    if (h.codings > 1) return "Transfer-Encoding: expected one, found more";
    *status = 501;
    return h.bad_coding ? "Transfer-Encoding: expected chunked, found another" : NULL;
}

bool fr_framing_is_certain(const fr_framing *f) {
    return !reads_strings() ||
           !MHD_lookup_connection_value(f->connection, MHD_HEADER_KIND, "Transfer-Encoding");
}
