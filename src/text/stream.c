#include "text/stream.h"
#include "base/utf8.h"
#include <assert.h>
#include <string.h>

static size_t put_replacement(char *out) {
    memcpy(out, "\xEF\xBF\xBD", 3);
    return 3;
}

// Whole characters of p[0, n) to `out`, bad parts replaced; stops at a cut one. Returns the bytes
// written.
static size_t copy_whole(const uint8_t *p, size_t n, size_t *taken, char *out) {
    size_t at = 0, w = 0;
    while (at < n) {
        fr_utf8_step step = fr_utf8_next(p + at, n - at);
        if (step.kind == FR_UTF8_CUT) break;
        if (step.kind == FR_UTF8_WHOLE) {
            memcpy(out + w, p + at, (size_t)step.bytes);
            w += (size_t)step.bytes;
        } else {
            w += put_replacement(out + w);
        }
        at += (size_t)step.bytes;
    }
    *taken = at;
    return w;
}

size_t fr_stream_push(fr_stream *s, const void *bytes, size_t n, char *out) {
    const uint8_t *p = bytes;
    size_t at = 0, w = 0, taken;
    while (s->n_held && at < n) {
        s->held[s->n_held++] = p[at++];
        w += copy_whole(s->held, (size_t)s->n_held, &taken, out + w);
        s->n_held -= (int)taken;
        memmove(s->held, s->held + taken,
                (size_t)s->n_held); // a byte that broke one may begin the next
    }
    w += copy_whole(p + at, n - at, &taken, out + w);
    for (at += taken; at < n; at++)
        s->held[s->n_held++] = p[at];
    assert(fr_stream_is_sound(s));
    return w;
}

bool fr_stream_is_sound(const fr_stream *s) {
    if (s->n_held < 0 || s->n_held > 3) return false;
    return !s->n_held || fr_utf8_next(s->held, (size_t)s->n_held).kind == FR_UTF8_CUT;
}

size_t fr_stream_finish(fr_stream *s, char out[static 3]) {
    size_t n = s->n_held ? put_replacement(out) : 0;
    s->n_held = 0;
    return n;
}

size_t fr_utf8_repair(const void *bytes, size_t n, char *out) {
    size_t taken;
    size_t w = copy_whole(bytes, n, &taken, out);
    return taken < n ? w + put_replacement(out + w) : w;
}
