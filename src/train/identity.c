#include "train/identity.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct text {
    const char *at;
    size_t n;
} text;

typedef struct line {
    const char *at;
    size_t n, key; // bytes; key: those before the '=' in front of the value
} line;

// Takes the next line from *rest; false: there is none.
static bool next_line(text *rest, line *l) {
    if (!rest->n) return false;
    const char *end = memchr(rest->at, '\n', rest->n);
    *l = (line){.at = rest->at, .n = end ? (size_t)(end - rest->at) : rest->n};
    const bool set = l->n > 4 && !memcmp(l->at, "set=", 4);
    const char *equals = memchr(l->at + 4 * set, '=', l->n - 4 * set);
    l->key = equals ? (size_t)(equals - l->at) : l->n;
    const size_t taken = l->n + (end != NULL);
    rest->at += taken;
    rest->n -= taken;
    return true;
}

static bool same_key(const line *a, const line *b) {
    return a->key == b->key && !memcmp(a->at, b->at, a->key);
}

// The nth line of a text with the key of `like`, counted from 0.
static bool find_line(text of, const line *like, int nth, line *l) {
    while (next_line(&of, l))
        if (same_key(l, like) && !nth--) return true;
    return false;
}

static bool is_one_of(const line *l, const char *const *keys) {
    for (; *keys; keys++)
        if (strlen(*keys) == l->key && !memcmp(*keys, l->at, l->key)) return true;
    return false;
}

// How many lines before `l` in its text have its key.
static int place_of(const char *start, const line *l) {
    text before = {start, (size_t)(l->at - start)};
    line other;
    int n = 0;
    while (next_line(&before, &other))
        n += same_key(&other, l);
    return n;
}

static int shown(const line *l) {
    return (int)(l->n < 160 ? l->n : 160);
}

fr_status fr_identity_compare(const char *mine, const char *found, size_t bytes, const char *file,
                              fr_error *err) {
    static const char *const may_differ[] = {"length", "judgements", "type", NULL};
    static const char *const may_be_missing[] = {"held-out",    "limit-rows", "texts", "folders",
                                                 "draft-vocab", "tokens",     NULL};
    const text here = {mine, strlen(mine)}, there = {found, bytes};
    line a, b;
    for (text rest = here; next_line(&rest, &a);) {
        if (is_one_of(&a, may_differ)) continue;
        if (find_line(there, &a, place_of(mine, &a), &b)) {
            if (a.n == b.n && !memcmp(a.at, b.at, a.n)) continue;
            return fr_fail(err, FR_EDATA, "%s: of another training: expected %.*s, found %.*s",
                           file, shown(&a), a.at, shown(&b), b.at);
        }
        if (!is_one_of(&a, may_be_missing))
            return fr_fail(err, FR_EDATA, "%s: of another training: expected %.*s, found none",
                           file, shown(&a), a.at);
    }
    for (text rest = there; next_line(&rest, &b);)
        if (!is_one_of(&b, may_differ) && !find_line(here, &b, place_of(found, &b), &a))
            return fr_fail(err, FR_EDATA, "%s: of another training: expected no %.*s, found %.*s",
                           file, (int)b.key, b.at, shown(&b), b.at);
    return FR_OK;
}

void fr_identity_value(const char *of, size_t bytes, const char *key, char *value, size_t room) {
    const line like = {.at = key, .n = strlen(key), .key = strlen(key)};
    line l;
    *value = 0;
    if (find_line((text){of, bytes}, &like, 0, &l) && l.key < l.n)
        snprintf(value, room, "%.*s", (int)(l.n - l.key - 1), l.at + l.key + 1);
}
