// value.c — reading first: the text is looked at and mended (scan.h), then Jansson parses. Writing
// is below: values become text as Python's json.dumps writes it, with blanks or without.
#include "json/value.h"
#include "base/alloc.h"
#include "base/decimal.h"
#include "base/utf8.h"
#include "text/stream.h"
#include "json/scan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- reading -------------------------------------------------------------------------------

// Without memory Jansson's error may have no text, or call a whole string an invalid token. A token that
// is really wrong gets another text.
static bool is_no_memory(const json_error_t *why, const char *json) {
    static const char *const said[] = {"invalid token", "string or '}' expected"};
    if (!*why->text || json_error_code(why) == json_error_out_of_memory) return true;
    if (why->position < 1 || json[why->position - 1] != '"') return false;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strncmp(why->text, said[i], strlen(said[i]))) return true;
    return false;
}

// The line and column in the text as it came.
static void find_place(json_error_t *why, const char *json, size_t bytes, bool lenient) {
    const size_t at = fr_json_unmended(json, bytes, lenient, (size_t)why->position);
    why->line = 1, why->column = 0;
    for (size_t i = 0; i < at && i < bytes; i++) {
        if (json[i] == '\n')
            why->line++, why->column = 0;
        else
            why->column += (json[i] & 0xC0) != 0x80;
    }
}

// Whether so much memory is free now. If Jansson's lexer has none while it reads a string, it drops bytes
// of that in silence.
static bool is_free(size_t bytes) {
    void *volatile probe = malloc(bytes);
    free(probe);
    return probe != NULL;
}

// The part of a document that Jansson, which reads it in pieces, has not read.
typedef struct feed {
    const char *json;
    size_t left, pieces;
    const fr_watch *watch;
    bool stopped;
} feed;

static size_t give(void *to, size_t room, void *user) {
    enum { ASK = 64 }; // pieces, of a KB each, from one question to the next
    feed *f = user;
    if (f->pieces++ % ASK == 0) f->stopped |= !fr_go_on(f->watch);
    if (f->stopped) return (size_t)-1;
    const size_t n = f->left < room ? f->left : room;
    if (n) memcpy(to, f->json, n);
    f->json += n;
    f->left -= n;
    return n;
}

static json_t *parse(const char *json, size_t bytes, const fr_json_scan *found, bool lenient,
                     const fr_watch *watch, fr_error *err) {
    static const char no_memory[] = "no memory for the values of JSON";
    fr_buffer mended = {0};
    json_error_t why = {0};
    const char *text = json;
    size_t n = bytes;
    if (!is_free(found->memory)) {
        fr_fail(err, FR_ENOMEM, "%s", no_memory);
        return NULL;
    }
    if (found->mended || found->bytes != bytes) {
        if (fr_buffer_reserve(&mended, found->bytes, err) ||
            fr_json_mend(json, bytes, lenient, &mended, err)) {
            fr_buffer_free(&mended);
            return NULL;
        }
        text = mended.data, n = mended.n;
    }
    feed f = {.json = text, .left = n, .watch = watch};
    json_t *root = json_load_callback(give, &f, JSON_ALLOW_NUL | JSON_DECODE_ANY, &why);
    if (f.stopped) {
        json_decref(root); // the part before may be a whole document
        root = NULL;
        fr_fail(err, FR_EINTR, "interrupted");
    } else if (!root && is_no_memory(&why, text)) {
        fr_fail(err, FR_ENOMEM, "%s", no_memory);
    } else if (!root) {
        if (mended.data) find_place(&why, json, bytes, lenient);
        fr_fail(err, FR_EARG, "JSON, line %d, column %d: %s", why.line, why.column, why.text);
    }
    fr_buffer_free(&mended);
    return root;
}

json_t *fr_json_read(const char *json, size_t bytes, bool lenient, const fr_watch *watch,
                     fr_error *err) {
    if (bytes > FR_JSON_MAX_BYTES) {
        fr_fail(err, FR_EARG, "JSON: %zu bytes, expected at most %d", bytes, FR_JSON_MAX_BYTES);
        return NULL;
    }
    const fr_json_scan found = fr_json_look(json, bytes, lenient);
    if (found.depth > FR_JSON_MAX_NESTING) {
        fr_fail(err, FR_EARG, "JSON: nested deeper than %d levels", FR_JSON_MAX_NESTING);
        return NULL;
    }
    return parse(json ? json : "", bytes, &found, lenient, watch, err);
}

json_t *fr_json_load(const char *json, size_t bytes, fr_error *err) {
    return fr_json_read(json, bytes, false, NULL, err);
}

json_t *fr_json_load_watched(const char *json, size_t bytes, const fr_watch *watch, fr_error *err) {
    return fr_json_read(json, bytes, false, watch, err);
}

json_t *fr_json_load_lenient(const char *json, size_t bytes, fr_error *err) {
    return fr_json_read(json, bytes, true, NULL, err);
}

const char *fr_json_digits(const json_t *value, size_t *bytes) {
    if (!json_is_string(value)) return NULL;
    const char *s = json_string_value(value);
    const size_t n = json_string_length(value);
    enum { MARK = FR_JSON_INT_MARK_BYTES };
    if (n <= MARK + FR_JSON_INT_DIGITS || memcmp(s, FR_JSON_INT_MARK, MARK)) return NULL;
    const size_t sign = s[MARK] == '-';
    if (s[MARK + sign] == '0') return NULL; // no number of JSON: a string of the document
    for (size_t i = MARK + sign; i < n; i++)
        if (s[i] < '0' || s[i] > '9') return NULL;
    *bytes = n - MARK;
    return s + MARK;
}

json_t *fr_json_text(const char *text, size_t bytes) {
    json_t *value = json_stringn(text, bytes);
    size_t most;
    if (value || !fr_mul_size(bytes, 3, &most) || !fr_add_size(most, 1, &most)) return value;
    char *repaired = fr_alloc_zero(most);
    if (!repaired) return NULL;
    value = json_stringn(repaired, fr_utf8_repair(text, bytes, repaired));
    fr_free(repaired);
    return value;
}

json_t *fr_json_string(const char *text) {
    return fr_json_text(text, strlen(text));
}

json_t *fr_json_copy(const json_t *value) {
    json_t *copy = json_copy((json_t *)(uintptr_t)value);
    if (json_object_size(copy) == json_object_size(value) &&
        json_array_size(copy) == json_array_size(value))
        return copy;
    json_decref(copy);
    return NULL;
}

bool fr_json_is_text(const json_t *value) {
    size_t bytes;
    return json_is_string(value) && !fr_json_digits(value, &bytes);
}

// ---- writing -------------------------------------------------------------------------------

// One character as Python's json.dumps(ensure_ascii=False) writes it within a string: bytes in
// `to`.
static size_t quote_control(unsigned char c, char to[8]) {
    static const char plain[] = "\"\"\\\\\nn\rr\tt\ff\bb";
    for (const char *p = plain; *p; p += 2)
        if ((unsigned char)*p == c) {
            to[0] = '\\';
            to[1] = p[1];
            return 2;
        }
    return (size_t)snprintf(to, 8, "\\u%04x", (unsigned)c);
}

size_t fr_json_quote(char *to, const char *text, size_t n) {
    size_t at = 0, w = 0;
    char escape[8];
    if (to) to[w] = '"';
    for (w++; at < n;) {
        const unsigned char c = (unsigned char)text[at];
        const char *by = text + at;
        size_t by_n = 1, used = 1;
        if (c < 0x20 || c == '"' || c == '\\') {
            by = escape;
            by_n = quote_control(c, escape);
        } else if (c >= 0x80) {
            const fr_utf8_step step = fr_utf8_next((const uint8_t *)by, n - at);
            used = by_n = (size_t)step.bytes;
            if (step.kind != FR_UTF8_WHOLE) by = "\xEF\xBF\xBD", by_n = 3;
        }
        for (size_t i = 0; to && i < by_n; i++)
            to[w + i] = by[i];
        w += by_n;
        at += used;
    }
    if (to) to[w] = '"';
    return w + 1;
}

static fr_status add_json_string(fr_buffer *out, const char *s, size_t n, fr_error *err) {
    const fr_status st = fr_buffer_reserve(out, fr_json_quote(NULL, s, n), err);
    if (st) return st;
    out->n += fr_json_quote(out->data + out->n, s, n);
    out->data[out->n] = 0;
    return FR_OK;
}

static fr_status dump_real(fr_buffer *out, double x, fr_error *err) {
    char text[FR_DECIMAL_MAX];
    fr_decimal_repr(x, text);
    return fr_buffer_add(out, text, strlen(text), err);
}

typedef struct
    style { // what stands between, how deep values may be nested, and how long all may be
    const char *comma, *colon;
    int most_depth;
    size_t most; // bytes; 0: any
} style;

static fr_status dump(fr_buffer *out, const json_t *value, const style *s, int depth,
                      fr_error *err);

static fr_status add(fr_buffer *out, const char *text, fr_error *err) {
    return fr_buffer_add(out, text, strlen(text), err);
}

// Before at least `more` bytes are written.
static fr_status check_bytes(const fr_buffer *out, size_t more, const style *s, fr_error *err) {
    if (!s->most || (out->n <= s->most && more <= s->most - out->n)) return FR_OK;
    return fr_fail(err, FR_EARG, "JSON: longer than %zu bytes", s->most);
}

static fr_status dump_array(fr_buffer *out, const json_t *array, const style *s, int depth,
                            fr_error *err) {
    fr_status st = add(out, "[", err);
    for (size_t i = 0; i < json_array_size(array) && !st; i++) {
        if (i) st = add(out, s->comma, err);
        if (!st) st = dump(out, json_array_get(array, i), s, depth + 1, err);
    }
    return st ? st : add(out, "]", err);
}

static fr_status dump_object(fr_buffer *out, const json_t *object, const style *s, int depth,
                             fr_error *err) {
    fr_status st = add(out, "{", err);
    json_t *o = (json_t *)object; // Jansson's iterators want it so; nothing is changed
    for (void *it = json_object_iter(o), *first = it; it && !st;
         it = json_object_iter_next(o, it)) {
        const char *key = json_object_iter_key(it);
        st = check_bytes(out, s->most ? strlen(key) : 0, s, err);
        if (!st && it != first) st = add(out, s->comma, err);
        if (!st) st = add_json_string(out, key, strlen(key), err);
        if (!st) st = add(out, s->colon, err);
        if (!st) st = dump(out, json_object_iter_value(it), s, depth + 1, err);
    }
    return st ? st : add(out, "}", err);
}

static fr_status dump_plain(fr_buffer *out, const json_t *value, fr_error *err) {
    char number[32];
    size_t bytes;
    const char *digits = fr_json_digits(value, &bytes);
    if (digits) return fr_buffer_add(out, digits, bytes, err);
    if (json_is_string(value))
        return add_json_string(out, json_string_value(value), json_string_length(value), err);
    if (json_is_real(value)) return dump_real(out, json_real_value(value), err);
    if (json_is_boolean(value)) return add(out, json_is_true(value) ? "true" : "false", err);
    if (!json_is_integer(value)) return add(out, "null", err);
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return add(out, number, err);
}

static fr_status dump(fr_buffer *out, const json_t *value, const style *s, int depth,
                      fr_error *err) {
    if (depth > s->most_depth)
        return fr_fail(err, FR_EARG, "JSON: nested deeper than %d levels", s->most_depth);
    const fr_status st = check_bytes(out, json_string_length(value), s, err);
    if (st) return st;
    if (json_is_object(value)) return dump_object(out, value, s, depth, err);
    if (json_is_array(value)) return dump_array(out, value, s, depth, err);
    return dump_plain(out, value, err);
}

fr_status fr_json_dump(fr_buffer *out, const json_t *value, fr_error *err) {
    static const style python = {", ", ": ", FR_JSON_MAX_DEPTH, 0};
    return dump(out, value, &python, 0, err);
}

// What was read may stand inside a document that is written.
enum { COMPACT_DEPTH = FR_JSON_MAX_NESTING + 32 };

char *fr_json_compact(const json_t *value) {
    static const style compact = {",", ":", COMPACT_DEPTH, 0};
    fr_buffer out = {0};
    fr_error never;
    if (value && !dump(&out, value, &compact, 0, &never)) return out.data;
    fr_buffer_free(&out);
    return NULL;
}

bool fr_json_fits(const json_t *value, size_t most) {
    const style within = {",", ":", COMPACT_DEPTH, most ? most : 1};
    fr_buffer out = {0};
    fr_error never;
    const bool fits = value && !dump(&out, value, &within, 0, &never) && out.n <= most;
    fr_buffer_free(&out);
    return fits;
}

static bool too_deep(const json_t *value, int depth) {
    if (depth > FR_JSON_MAX_DEPTH) return true;
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++)
        if (too_deep(json_array_get(value, i), depth + 1)) return true;
    json_t *o = (json_t *)value;
    for (void *it = json_is_object(o) ? json_object_iter(o) : NULL; it;
         it = json_object_iter_next(o, it))
        if (too_deep(json_object_iter_value(it), depth + 1)) return true;
    return false;
}

fr_status fr_json_check_depth(const json_t *value, fr_error *err) {
    if (!too_deep(value, 0)) return FR_OK;
    return fr_fail(err, FR_EARG, "JSON: nested deeper than %d levels", FR_JSON_MAX_DEPTH);
}
