// scan.c — a walk over the tokens of a text. The first one counts the memory that they take, the
// second one copies them with the changes that Jansson needs, a third one finds the place of an error.
#include "json/scan.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct walk {
    const char *s;
    size_t n, at;
    bool lenient;
    fr_buffer *out; // where the mended text goes; NULL: it is not copied
    size_t copied;  // bytes of the text that are in `out`
    size_t place;   // an offset in the mended text, which becomes the same without `shift`
    size_t shift;   // bytes by which the mended text is longer in front of it
    size_t longest; // bytes of the longest string or number
    int depth;
    fr_json_scan found;
    fr_status status;
    fr_error *err;
} walk;

// ---------------------------------------------------------------- what values take

// Blocks of glibc's heap: a word in front, in steps of 16, of 32 at least.
#define BLOCK(bytes) ((bytes) < 24 ? 32 : ((bytes) + 8 + 15) / 16 * 16)

// Jansson's private structures. A list begins with room for 8 values, an object with 8 buckets. While
// one of them grows, the old table and a new one of twice the size exist: three words a value.
enum {
    WORD = sizeof(void *),
    STRING = BLOCK(sizeof(json_t) + 2 * WORD),
    NUMBER = BLOCK(sizeof(json_t) + 8),
    LIST = BLOCK(sizeof(json_t) + 3 * WORD) + BLOCK(8 * WORD),
    OBJECT = BLOCK(sizeof(json_t) + 7 * WORD) + BLOCK(8 * 2 * WORD),
    MEMBER = 7 * WORD + 16 + 3 * 2 * WORD, // beside the key's bytes
    PLACE = 3 * WORD,
    LEXER = 4096
};

static void count(walk *w, size_t bytes) {
    w->found.memory += bytes;
}

static void count_token(walk *w, size_t bytes) {
    if (bytes > w->longest) w->longest = bytes;
}

// ---------------------------------------------------------------- repairs

// Writes `by` in place of [from, to).
static void mend(walk *w, size_t from, size_t to, const char *by, size_t n) {
    const size_t at = from + w->shift;
    w->found.bytes += n - (to - from);
    if (w->place >= at + n)
        w->shift += n - (to - from);
    else if (w->place > at)
        w->place = at; // within the change: its beginning
    if (!w->out || w->status) return;
    w->status = fr_buffer_add(w->out, w->s + w->copied, from - w->copied, w->err);
    if (!w->status) w->status = fr_buffer_add(w->out, by, n, w->err);
    w->copied = to;
}

static void mend_integer(walk *w, size_t from, size_t to) {
    static const char mark[] = "\"\\u0000int:";
    w->found.mended++;
    mend(w, from, from, mark, sizeof mark - 1);
    mend(w, to, to, "\"", 1);
}

static void mend_surrogate(walk *w) {
    w->found.mended++;
    mend(w, w->at, w->at + 6, "\\ufffd", 6);
}

static void mend_control(walk *w) {
    const unsigned char c = (unsigned char)w->s[w->at];
    char escape[8];
    const int n = c == '\n'   ? snprintf(escape, sizeof escape, "\\n")
                  : c == '\r' ? snprintf(escape, sizeof escape, "\\r")
                  : c == '\t' ? snprintf(escape, sizeof escape, "\\t")
                              : snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
    w->found.mended++;
    mend(w, w->at, w->at + 1, escape, (size_t)n);
}

// ---------------------------------------------------------------- strings

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The number of the \uXXXX at `at`; -1: there is none.
static int code_at(const walk *w, size_t at) {
    int code = 0;
    if (w->n - at < 6 || w->s[at] != '\\' || w->s[at + 1] != 'u') return -1;
    for (int i = 2; i < 6; i++) {
        const int digit = hex_digit(w->s[at + (size_t)i]);
        if (digit < 0) return -1;
        code = code << 4 | digit;
    }
    return code;
}

static void walk_escape(walk *w) {
    const int code = code_at(w, w->at);
    if (code < 0) {
        w->at += w->n - w->at < 2 ? 1 : 2;
        return;
    }
    const bool first = code >= 0xD800 && code < 0xDC00, second = code >= 0xDC00 && code < 0xE000;
    const int next = first ? code_at(w, w->at + 6) : -1;
    const bool pair = next >= 0xDC00 && next < 0xE000;
    if (second || (first && !pair)) mend_surrogate(w);
    w->at += pair ? 12 : 6;
}

static void walk_string(walk *w) {
    const size_t from = w->at++;
    while (w->at < w->n && w->s[w->at] != '"') {
        if (w->s[w->at] == '\\') {
            walk_escape(w);
        } else {
            if (w->lenient && (unsigned char)w->s[w->at] < 0x20) mend_control(w);
            w->at++;
        }
    }
    if (w->at < w->n) w->at++;
    count(w, STRING + BLOCK(w->at - from));
    count_token(w, w->at - from);
}

// ---------------------------------------------------------------- numbers and the rest

static void walk_number(walk *w) {
    const size_t from = w->at, digits = from + (w->s[from] == '-');
    size_t whole = digits, end;
    while (whole < w->n && w->s[whole] >= '0' && w->s[whole] <= '9')
        whole++;
    for (end = whole; end < w->n && w->s[end] && strchr("0123456789+-.eE", w->s[end]);)
        end++;
    const bool huge = whole == end && end - digits > FR_JSON_INT_DIGITS && w->s[digits] != '0';
    if (huge) mend_integer(w, from, end);
    w->at = end;
    count(w, huge ? STRING + BLOCK(end - from + FR_JSON_INT_MARK_BYTES + 16) : NUMBER);
    count_token(w, end - from + 16);
}

static void walk_other(walk *w) {
    const char c = w->s[w->at++];
    if (c == '[' || c == '{') {
        count(w, c == '[' ? LIST : OBJECT);
        if (++w->depth > w->found.depth) w->found.depth = w->depth;
    } else if (c == ']' || c == '}') {
        w->depth--;
    } else if (c == ',') {
        count(w, PLACE);
    } else if (c == ':') {
        count(w, MEMBER);
    }
}

static void walk_all(walk *w) {
    if (w->n >= 3 && !memcmp(w->s, "\xEF\xBB\xBF", 3)) mend(w, 0, 3, "", 0), w->at = 3;
    while (w->at < w->n && !w->status) {
        const char c = w->s[w->at];
        if (c == '"')
            walk_string(w);
        else if (c == '-' || (c >= '0' && c <= '9'))
            walk_number(w);
        else
            walk_other(w);
    }
}

// ---------------------------------------------------------------- the three walks

fr_json_scan fr_json_look(const char *json, size_t bytes, bool lenient) {
    walk w = {.s = json, .n = bytes, .lenient = lenient, .found.bytes = bytes};
    walk_all(&w);
    // The lexer's buffer of a token doubles, beside its predecessor.
    w.found.kept = w.found.memory;
    w.found.memory += LEXER + 3 * w.longest + (w.found.mended ? BLOCK(w.found.bytes + 1) : 0);
    return w.found;
}

fr_status fr_json_mend(const char *json, size_t bytes, bool lenient, fr_buffer *out,
                       fr_error *err) {
    walk w = {.s = json, .n = bytes, .lenient = lenient, .out = out, .err = err};
    walk_all(&w);
    if (w.status) return w.status;
    return fr_buffer_add(out, json + w.copied, bytes - w.copied, err);
}

size_t fr_json_unmended(const char *json, size_t bytes, bool lenient, size_t place) {
    walk w = {.s = json, .n = bytes, .lenient = lenient, .place = place};
    walk_all(&w);
    return w.place - w.shift;
}
