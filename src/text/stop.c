// stop.c — Knuth, Morris and Pratt for each stop string: opening builds the tables, each byte of
// text then moves every string's state, and what cannot belong to a stop string any more comes out.
#include "text/stop.h"
#include "base/alloc.h"
#include <assert.h>
#include <string.h>

// One stop string. The last `matched` bytes of its input are its beginning, as many as possible.
typedef struct stop_string {
    const char *text;
    size_t bytes, matched;
    uint32_t *border; // border[i]: longest proper beginning of text[0, i+1) that is also its end
                      // (Knuth-Morris-Pratt)
    bool sees_all;    // its input is the text and the spellings of control tokens; else the text
} stop_string;

// Held back is the text that some string has matched: as much as the longest match has.
struct fr_stop {
    stop_string *strings;
    size_t n_strings, longest;
    char *texts; // all of them
    uint32_t *borders;
    char *held; // [longest]
    size_t n_held;
    // If some string sees all: n_seen bytes have come, control tokens' among them, of which n_shown
    // are text. Of the first i bytes that is shown[i % (longest + 1)], for the last `longest`
    // values of i.
    uint32_t *shown, n_shown;
    size_t n_seen;
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

static void lay_out(fr_stop *s, const char *const *strings, const fr_tokenizer *t) {
    size_t at = 0;
    for (size_t i = 0; i < s->n_strings; i++) {
        size_t bytes = strlen(strings[i]);
        memcpy(s->texts + at, strings[i], bytes);
        s->strings[i] =
            (stop_string){.text = s->texts + at,
                          .bytes = bytes,
                          .border = s->borders + at,
                          .sees_all = t && fr_tokenizer_names_control(t, strings[i], bytes)};
        find_borders(&s->strings[i]);
        if (bytes > s->longest) s->longest = bytes;
        at += bytes;
    }
}

// Allocates what depends on the longest string.
static fr_status open_held(fr_stop *s, fr_error *err) {
    bool sees_all = false;
    for (size_t i = 0; i < s->n_strings; i++)
        sees_all |= s->strings[i].sees_all;
    s->held = fr_alloc_zero(s->longest);
    if (sees_all) s->shown = fr_alloc_array(s->longest + 1, sizeof *s->shown);
    if (s->held && (s->shown || !sees_all)) return FR_OK;
    return fr_fail(err, FR_ENOMEM, "stop strings: no memory for %zu bytes", s->longest);
}

static fr_status count_bytes(const char *const *strings, size_t *n, size_t *total, fr_error *err) {
    *total = 0;
    for (*n = 0; strings && strings[*n]; ++*n) {
        const size_t bytes = strlen(strings[*n]);
        if (bytes == 0) return fr_fail(err, FR_EARG, "stop string %zu: is empty", *n + 1);
        if (bytes > FR_STOP_BYTES || *total > FR_STOP_BYTES - bytes)
            return fr_fail(err, FR_EARG, "stop strings: more than 1 MiB together");
        *total += bytes;
    }
    return FR_OK;
}

fr_status fr_stop_open(fr_stop **out, const char *const *strings, const fr_tokenizer *tokenizer,
                       fr_error *err) {
    *out = NULL;
    size_t n, total;
    fr_status st = count_bytes(strings, &n, &total, err);
    if (st) return st;
    fr_stop *s = fr_alloc_zero(sizeof *s);
    if (!s) return fr_fail(err, FR_ENOMEM, "stop strings: no memory");
    s->n_strings = n;
    s->found = -1;
    s->strings = fr_alloc_array(n, sizeof *s->strings);
    s->texts = fr_alloc_zero(total);
    s->borders = fr_alloc_array(total, sizeof *s->borders);
    if (s->strings && s->texts && s->borders) {
        lay_out(s, strings, tokenizer);
        st = open_held(s, err);
    } else {
        st = fr_fail(err, FR_ENOMEM, "stop strings: no memory for %zu bytes", total);
    }
    if (st) {
        fr_stop_close(s);
        return st;
    }
    assert(fr_stop_is_sound(s));
    *out = s;
    return FR_OK;
}

void fr_stop_close(fr_stop *s) {
    if (!s) return;
    fr_free(s->strings);
    fr_free(s->texts);
    fr_free(s->borders);
    fr_free(s->held);
    fr_free(s->shown);
    fr_free(s);
}

static void forget(fr_stop *s) {
    for (size_t i = 0; i < s->n_strings; i++)
        s->strings[i].matched = 0;
    s->n_held = 0;
}

void fr_stop_reset(fr_stop *s) {
    forget(s);
    s->found = -1;
}

// Bytes of what the string has matched that are text.
static size_t text_of(const fr_stop *s, const stop_string *t) {
    if (!t->sees_all) return t->matched;
    return s->n_shown - s->shown[(s->n_seen - t->matched) % (s->longest + 1)];
}

static size_t most_text(const fr_stop *s) {
    size_t most = 0;
    for (size_t i = 0; i < s->n_strings; i++) {
        const size_t n = text_of(s, &s->strings[i]);
        if (n > most) most = n;
    }
    return most;
}

size_t fr_stop_room(const fr_stop *s, size_t n) {
    return n + s->longest;
}

// Takes a byte of the text or of a control token. Returns the string that it completes, or NULL. Of
// several it is the one with most text, and of these the longest.
static const stop_string *step(fr_stop *s, char byte, bool is_text) {
    const stop_string *complete = NULL;
    if (s->shown) s->shown[++s->n_seen % (s->longest + 1)] = s->n_shown += is_text;
    for (size_t i = 0; i < s->n_strings; i++) {
        stop_string *t = &s->strings[i];
        if (!is_text && !t->sees_all) continue;
        while (t->matched && t->text[t->matched] != byte)
            t->matched = t->border[t->matched - 1];
        if (t->text[t->matched] == byte) t->matched++;
        if (t->matched < t->bytes) continue;
        const size_t more = complete ? text_of(s, complete) : 0, its = text_of(s, t);
        if (!complete || its > more || (its == more && t->bytes > complete->bytes)) complete = t;
    }
    return complete;
}

static bool take(fr_stop *s, const char *bytes, size_t n, bool is_text, char *out,
                 size_t *out_bytes) {
    *out_bytes = 0;
    if (s->found >= 0) return true;
    size_t w = s->n_held;
    if (w) memcpy(out, s->held, w);
    for (size_t i = 0; i < n; i++) {
        const stop_string *complete = step(s, bytes[i], is_text);
        if (is_text) out[w++] = bytes[i];
        if (complete) {
            *out_bytes = w - text_of(s, complete);
            forget(s);
            s->found = (int)(complete - s->strings);
            return true;
        }
    }
    s->n_held = most_text(s);
    *out_bytes = w - s->n_held;
    if (s->n_held) memcpy(s->held, out + *out_bytes, s->n_held);
    assert(fr_stop_is_sound(s));
    return false;
}

bool fr_stop_push(fr_stop *s, const char *text, size_t n, char *out, size_t *out_bytes) {
    return take(s, text, n, true, out, out_bytes);
}

bool fr_stop_pass(fr_stop *s, const char *token, size_t n, char *out, size_t *out_bytes) {
    return take(s, token, n, false, out, out_bytes);
}

bool fr_stop_is_sound(const fr_stop *s) {
    if (s->found < -1 || (s->found >= 0 && (size_t)s->found >= s->n_strings)) return false;
    for (size_t i = 0; i < s->n_strings; i++) {
        const stop_string *t = &s->strings[i];
        if (!t->bytes || t->bytes > s->longest || t->matched >= t->bytes) return false;
        if (s->found >= 0 && t->matched) return false;
    }
    return s->n_held == most_text(s);
}

int fr_stop_found(const fr_stop *s) {
    return s->found;
}

size_t fr_stop_finish(fr_stop *s, char *out) {
    const size_t w = s->n_held;
    if (w) memcpy(out, s->held, w);
    forget(s);
    return w;
}
