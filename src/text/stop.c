// stop.c — Knuth, Morris and Pratt for each stop string: opening builds the tables, each byte of
// text then moves every string's state, and what cannot belong to a stop string any more comes out.
#include "text/stop.h"
#include "base/alloc.h"
#include <assert.h>
#include <string.h>

// One stop string. The last `matched` bytes of the text so far are its beginning, as many as
// possible. So the text held back is always the beginning of the string that has matched most.
typedef struct stop_string {
    const char *text;
    size_t bytes, matched;
    uint32_t *border; // border[i]: longest proper beginning of text[0, i+1) that is also its end
                      // (Knuth-Morris-Pratt)
} stop_string;

struct fr_stop {
    stop_string *strings;
    size_t n_strings, longest;
    char *texts; // all of them
    uint32_t *borders;
    int found; // -1: none
};

static void find_borders(stop_string *s) {
    size_t k = 0;
    s->border[0] = 0;
    for (size_t i = 1; i < s->bytes; i++) {
        while (k && s->text[i] != s->text[k])
            k = s->border[k - 1];
        if (s->text[i] == s->text[k]) k++;
        s->border[i] = (uint32_t)k;
    }
}

static void lay_out(fr_stop *s, const char *const *strings) {
    size_t at = 0;
    for (size_t i = 0; i < s->n_strings; i++) {
        size_t bytes = strlen(strings[i]);
        memcpy(s->texts + at, strings[i], bytes);
        s->strings[i] = (stop_string){s->texts + at, bytes, 0, s->borders + at};
        find_borders(&s->strings[i]);
        if (bytes > s->longest) s->longest = bytes;
        at += bytes;
    }
}

fr_status fr_stop_open(fr_stop **out, const char *const *strings, fr_error *err) {
    *out = NULL;
    size_t n = 0, total = 0;
    for (; strings && strings[n]; n++) {
        size_t bytes = strlen(strings[n]);
        if (bytes == 0) return fr_fail(err, FR_EARG, "stop string %zu: is empty", n + 1);
        if (bytes > FR_STOP_BYTES || total > FR_STOP_BYTES - bytes)
            return fr_fail(err, FR_EARG, "stop strings: more than 1 MiB together");
        total += bytes;
    }
    fr_stop *s = fr_alloc_zero(sizeof *s);
    if (!s) return fr_fail(err, FR_ENOMEM, "stop strings: no memory");
    s->n_strings = n;
    s->found = -1;
    s->strings = fr_alloc_array(n, sizeof *s->strings);
    s->texts = fr_alloc_zero(total);
    s->borders = fr_alloc_array(total, sizeof *s->borders);
    if (!s->strings || !s->texts || !s->borders) {
        fr_stop_close(s);
        return fr_fail(err, FR_ENOMEM, "stop strings: no memory for %zu bytes", total);
    }
    lay_out(s, strings);
    assert(fr_stop_is_sound(s));
    *out = s;
    return FR_OK;
}

void fr_stop_close(fr_stop *s) {
    if (!s) return;
    fr_free(s->strings);
    fr_free(s->texts);
    fr_free(s->borders);
    fr_free(s);
}

void fr_stop_reset(fr_stop *s) {
    for (size_t i = 0; i < s->n_strings; i++)
        s->strings[i].matched = 0;
    s->found = -1;
}

// The string whose beginning is the longest end of the text so far; NULL when there is none.
static const stop_string *held_string(const fr_stop *s) {
    const stop_string *best = NULL;
    for (size_t i = 0; i < s->n_strings; i++)
        if (s->strings[i].matched > (best ? best->matched : 0)) best = &s->strings[i];
    return best;
}

// Writes what is held back; how many bytes.
static size_t write_held(const fr_stop *s, char *out) {
    const stop_string *held = held_string(s);
    if (!held) return 0;
    memcpy(out, held->text, held->matched);
    return held->matched;
}

size_t fr_stop_room(const fr_stop *s, size_t n) {
    return n + s->longest;
}

// Takes one byte; the longest stop string that it completes, or NULL.
static const stop_string *step(fr_stop *s, char byte) {
    const stop_string *complete = NULL;
    for (size_t i = 0; i < s->n_strings; i++) {
        stop_string *t = &s->strings[i];
        while (t->matched && t->text[t->matched] != byte)
            t->matched = t->border[t->matched - 1];
        if (t->text[t->matched] == byte) t->matched++;
        if (t->matched == t->bytes && (!complete || t->bytes > complete->bytes)) complete = t;
    }
    return complete;
}

bool fr_stop_push(fr_stop *s, const char *text, size_t n, char *out, size_t *out_bytes) {
    *out_bytes = 0;
    if (s->found >= 0) return true;
    size_t w = write_held(s, out);
    for (size_t i = 0; i < n; i++) {
        const stop_string *complete = step(s, text[i]);
        out[w++] = text[i];
        if (complete) {
            *out_bytes = w - complete->bytes;
            fr_stop_reset(s);
            s->found = (int)(complete - s->strings);
            return true;
        }
    }
    const stop_string *held = held_string(s);
    *out_bytes = held ? w - held->matched : w;
    assert(fr_stop_is_sound(s));
    return false;
}

bool fr_stop_is_sound(const fr_stop *s) {
    if (s->found < -1 || (s->found >= 0 && (size_t)s->found >= s->n_strings)) return false;
    for (size_t i = 0; i < s->n_strings; i++) {
        const stop_string *t = &s->strings[i];
        if (!t->bytes || t->bytes > s->longest || t->matched >= t->bytes) return false;
        if (s->found >= 0 && t->matched) return false;
    }
    return true;
}

int fr_stop_found(const fr_stop *s) {
    return s->found;
}

size_t fr_stop_finish(fr_stop *s, char *out) {
    const size_t w = write_held(s, out);
    for (size_t i = 0; i < s->n_strings; i++)
        s->strings[i].matched = 0;
    return w;
}
