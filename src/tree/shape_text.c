// shape_text.c — shapes as text, one path a line.
#include "tree/shape.h"
#include <assert.h>
#include <string.h>

typedef struct shape_reader {
    const char *at, *end; // of the line
    size_t line;
    bool named[FR_TREE_MAX]; // nodes that have a line of their own
} shape_reader;

static fr_status expected(const shape_reader *r, const char *what, fr_error *err) {
    if (r->at == r->end)
        return fr_fail(err, FR_EDATA, "line %zu: expected %s, found the line's end", r->line, what);
    const unsigned char c = (unsigned char)*r->at;
    if (c > 0x20 && c < 0x7f)
        return fr_fail(err, FR_EDATA, "line %zu: expected %s, found '%c'", r->line, what, c);
    return fr_fail(err, FR_EDATA, "line %zu: expected %s, found byte 0x%02x", r->line, what, c);
}

static fr_status read_rank(shape_reader *r, int *rank, fr_error *err) {
    const char *begin = r->at;
    *rank = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9' && *rank < FR_SHAPE_RANKS; r->at++)
        *rank = *rank * 10 + *r->at - '0';
    if (r->at == begin) return expected(r, "a rank", err);
    if (*rank < FR_SHAPE_RANKS) return FR_OK;
    return fr_fail(err, FR_EDATA, "line %zu: expected ranks of 0 to %d, found %.*s", r->line,
                   FR_SHAPE_RANKS - 1, (int)(r->at - begin), begin);
}

// Reads a path and adds those of its nodes that are not there yet.
static fr_status read_path(shape_reader *r, fr_shape *s, fr_error *err) {
    int node = 0;
    for (;; r->at++) {
        int rank;
        const fr_status st = read_rank(r, &rank, err);
        if (st) return st;
        int child = fr_shape_child(s, node, rank);
        if (child < 0) {
            child = fr_shape_add(s, node, rank, 1);
            if (child < 0)
                return fr_fail(err, FR_EDATA,
                               "line %zu: expected at most %d paths of %d ranks, found more",
                               r->line, FR_TREE_MAX - 1, FR_TREE_MAX_DEPTH);
        }
        node = child;
        if (r->at == r->end) break;
        if (*r->at != '.') return expected(r, "'.' or the line's end", err);
    }
    if (r->named[node])
        return fr_fail(err, FR_EDATA, "line %zu: expected a new path, found one named before",
                       r->line);
    r->named[node] = true;
    return FR_OK;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

// Sets at..end to the part of the line at `text` that counts; returns where the next line begins.
static const char *take_line(shape_reader *r, const char *text, const char *end) {
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    r->end = newline ? newline : end;
    r->at = text;
    r->line++;
    const char *comment = memchr(r->at, '#', (size_t)(r->end - r->at));
    if (comment) r->end = comment;
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
    while (r->at < r->end && is_blank(r->end[-1]))
        r->end--;
    return newline ? newline + 1 : end;
}

fr_status fr_shape_read(fr_shape *s, const char *text, size_t n, fr_error *err) {
    shape_reader r = {.line = 0};
    const char *end = text + n;
    fr_shape_begin(s);
    while (text < end) {
        text = take_line(&r, text, end);
        if (r.at == r.end) continue;
        const fr_status st = read_path(&r, s, err);
        if (st) return st;
    }
    assert(fr_shape_is_sound(s));
    if (s->n > 1) return FR_OK;
    return fr_fail(err, FR_EDATA, "expected paths of ranks such as 0.0.1, found none");
}
