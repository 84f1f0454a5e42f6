// value.c — reading first: long integers are marked, then Jansson parses. Writing is below: values
// become text as Python's json.dumps writes it, with blanks or without.
#include "json/value.h"
#include "base/alloc.h"
#include "base/decimal.h"
#include "text/stream.h"
#include <stdio.h>
#include <string.h>

// ---- reading -------------------------------------------------------------------------------

// An integer of more than 18 digits, which 64 bits may not hold, goes through Jansson as a string:
// this mark, then its digits. If a document holds such a string itself, a number is printed for it,
// nothing worse.
static const char int_mark[] = "\0int:";
enum { INT_MARK = sizeof int_mark - 1, INT_DIGITS = 18 }; // what surely fits json_int_t

// The end of the number at `at`, and whether it is an integer of so many digits.
static size_t number_end(const char *s, size_t n, size_t at, bool *huge) {
    const size_t digits = at + (s[at] == '-');
    size_t end = digits;
    while (end < n && s[end] >= '0' && s[end] <= '9')
        end++;
    const bool whole = end >= n || (s[end] != '.' && s[end] != 'e' && s[end] != 'E');
    *huge = whole && end - digits > INT_DIGITS && s[digits] != '0';
    while (end < n && s[end] && strchr("0123456789+-.eE", s[end]))
        end++;
    return end;
}

static size_t string_end(const char *s, size_t n, size_t at) {
    for (at++; at < n && s[at] != '"'; at++)
        if (s[at] == '\\') at++;
    return at < n ? at + 1 : n;
}

// Copies the document with long integers as marked strings; the number of them when out is NULL.
static fr_status mark_integers(const char *s, size_t n, fr_buffer *out, size_t *count,
                               fr_error *err) {
    fr_status st = FR_OK;
    size_t copied = 0;
    *count = 0;
    for (size_t at = 0; at < n && !st;) {
        bool huge = false;
        if (s[at] == '"') {
            at = string_end(s, n, at);
            continue;
        }
        if (s[at] != '-' && (s[at] < '0' || s[at] > '9')) {
            at++;
            continue;
        }
        const size_t end = number_end(s, n, at, &huge);
        if (huge) ++*count;
        if (huge && out) {
            st = fr_buffer_add(out, s + copied, at - copied, err);
            if (!st) st = fr_buffer_add(out, "\"\\u0000int:", 11, err);
            if (!st) st = fr_buffer_add(out, s + at, end - at, err);
            if (!st) st = fr_buffer_add(out, "\"", 1, err);
            copied = end;
        }
        at = end;
    }
    if (out && !st) st = fr_buffer_add(out, s + copied, n - copied, err);
    return st;
}

// Whether JSON is nested deeper than FR_JSON_MAX_NESTING.
static bool is_deep(const char *json, size_t bytes) {
    int depth = 0;
    for (size_t at = 0; at < bytes; at++) {
        if (json[at] == '"')
            at = string_end(json, bytes, at) - 1;
        else if (json[at] == '[' || json[at] == '{')
            depth++;
        else if (json[at] == ']' || json[at] == '}')
            depth--;
        if (depth > FR_JSON_MAX_NESTING) return true;
    }
    return false;
}

// A document on its way into Jansson, which takes it in pieces.
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

static json_t *parse(const char *json, size_t bytes, const fr_watch *watch, fr_error *err) {
    feed f = {.json = json, .left = bytes, .watch = watch};
    json_error_t where = {0};
    json_t *root = json_load_callback(
        give, &f, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &where);
    const bool no_memory = json_error_code(&where) == json_error_out_of_memory;
    if (f.stopped) {
        json_decref(root); // what came before may be a whole document
        root = NULL;
        fr_fail(err, FR_EINTR, "interrupted");
    } else if (!root) {
        fr_fail(err, no_memory ? FR_ENOMEM : FR_EARG, "JSON, line %d, column %d: %s", where.line,
                where.column, where.text);
    }
    return root;
}

json_t *fr_json_load(const char *json, size_t bytes, fr_error *err) {
    return fr_json_load_watched(json, bytes, NULL, err);
}

json_t *fr_json_load_watched(const char *json, size_t bytes, const fr_watch *watch, fr_error *err) {
    fr_buffer marked = {0};
    size_t count;
    if (bytes > FR_JSON_MAX_BYTES) {
        fr_fail(err, FR_EARG, "JSON: %zu bytes, expected at most %d", bytes, FR_JSON_MAX_BYTES);
        return NULL;
    }
    if (is_deep(json, bytes)) {
        fr_fail(err, FR_EARG, "JSON: nested deeper than %d levels", FR_JSON_MAX_NESTING);
        return NULL;
    }
    mark_integers(json, bytes, NULL, &count, NULL);
    if (count && mark_integers(json, bytes, &marked, &count, err)) {
        fr_buffer_free(&marked);
        return NULL;
    }
    if (count) json = marked.data, bytes = marked.n;
    json_t *root = parse(json, bytes, watch, err);
    fr_buffer_free(&marked);
    return root;
}

const char *fr_json_digits(const json_t *value, size_t *bytes) {
    if (!json_is_string(value)) return NULL;
    const char *s = json_string_value(value);
    const size_t n = json_string_length(value);
    if (n <= INT_MARK + INT_DIGITS || memcmp(s, int_mark, INT_MARK)) return NULL;
    const size_t sign = s[INT_MARK] == '-';
    if (s[INT_MARK + sign] == '0') return NULL; // no JSON number: a string of the document's own
    for (size_t i = INT_MARK + sign; i < n; i++)
        if (s[i] < '0' || s[i] > '9') return NULL;
    *bytes = n - INT_MARK;
    return s + INT_MARK;
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

bool fr_json_is_text(const json_t *value) {
    size_t bytes;
    return json_is_string(value) && !fr_json_digits(value, &bytes);
}

// ---- writing -------------------------------------------------------------------------------

// As a JSON string in quotes, escaped as Python's json.dumps(ensure_ascii=False) does.
static fr_status add_json_string(fr_buffer *out, const char *s, size_t n, fr_error *err) {
    static const char plain[] = "\"\"\\\\\nn\rr\tt\ff\bb";
    fr_status st = fr_buffer_add(out, "\"", 1, err);
    for (size_t i = 0, done = 0; i <= n && !st; i++) {
        char escape[8] = "";
        if (i < n && (unsigned char)s[i] >= 0x20 && s[i] != '"' && s[i] != '\\') continue;
        if (i < n && (unsigned char)s[i] < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)s[i]);
        for (const char *p = plain; i < n && *p; p += 2)
            if (*p == s[i]) snprintf(escape, sizeof escape, "\\%c", p[1]);
        st = fr_buffer_add(out, s + done, i - done, err);
        if (!st && i < n) st = fr_buffer_add(out, escape, strlen(escape), err);
        done = i + 1;
    }
    return st ? st : fr_buffer_add(out, "\"", 1, err);
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

// `more` bytes at least come now.
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

// What was read may stand within what is written about it.
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
