// presplit.c — compiles a family's expressions, then splits: the first expression cuts the text, the
// next one cuts each of those parts, and so on.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/presplit.h"
#include "base/alloc.h"
#include "text/families.h"
#include <pcre2.h>
#include <string.h>

enum {
    // Steps of one match before it is given up; expressions here need a few per character.
    MATCH_LIMIT = 50000000,
    HEAP_LIMIT_KIB = 256 * 1024, // without JIT
    GIVEN_UP = 1 << 16,          // bytes that become one word then
};

struct fr_presplit {
    const fr_word_family *family;
    int n_patterns;
    pcre2_code *patterns[FR_WORDS_PATTERNS];
    pcre2_general_context *memory;
};

struct fr_presplit_state {
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

// PCRE2 takes its memory here, so that it obeys the rules (and the tests) of the rest.
static void *take(size_t bytes, void *unused) {
    (void)unused;
    return fr_alloc_zero(bytes);
}

static void give(void *p, void *unused) {
    (void)unused;
    fr_free(p);
}

static fr_status compile(fr_presplit *p, const char *pattern, fr_error *err) {
    int code;
    PCRE2_SIZE at;
    pcre2_compile_context *c = pcre2_compile_context_create(p->memory);
    pcre2_code *compiled = c ? pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                             PCRE2_UTF | PCRE2_NO_UTF_CHECK, &code, &at, c)
                             : NULL;
    pcre2_compile_context_free(c);
    if (!compiled) // the expressions are fixed and right: nothing but memory can lack
        return fr_fail(err, FR_ENOMEM, "tokenizer.ggml.pre: no memory for a regular expression");
    p->patterns[p->n_patterns++] = compiled;
    // Where code may not be generated at run time this fails, and matches are interpreted: slower,
    // the same words.
    (void)pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
    return FR_OK;
}

fr_status fr_presplit_open(fr_presplit **out, const char *name, size_t name_bytes, fr_error *err) {
    *out = NULL;
    const fr_word_family *f = fr_word_family_find(name, name_bytes);
    if (!f)
        return fr_fail(err, FR_EUNSUP,
                       "tokenizer.ggml.pre: expected a known way to split text (gpt-2, smollm, "
                       "qwen2, qwen35, llama-bpe, gpt-4o, tekken, default, ...), found '%.*s'",
                       (int)(name_bytes < 64 ? name_bytes : 64), name);
    fr_presplit *p = fr_alloc_zero(sizeof *p);
    if (!p) return fr_fail(err, FR_ENOMEM, "tokenizer.ggml.pre: no memory");
    p->family = f;
    fr_status st = FR_OK;
    if (!(p->memory = pcre2_general_context_create(take, give, NULL)))
        st = fr_fail(err, FR_ENOMEM, "tokenizer.ggml.pre: no memory");
    for (int i = 0; !st && f->patterns[i]; i++)
        st = compile(p, f->patterns[i], err);
    if (st) {
        fr_presplit_close(p);
        return st;
    }
    *out = p;
    return FR_OK;
}

void fr_presplit_close(fr_presplit *p) {
    if (!p) return;
    for (int i = 0; i < p->n_patterns; i++)
        pcre2_code_free(p->patterns[i]);
    pcre2_general_context_free(p->memory);
    fr_free(p);
}

unsigned fr_presplit_is(const fr_presplit *p) {
    return p->family->is;
}

fr_status fr_presplit_state_open(fr_presplit_state **out, const fr_presplit *p, fr_error *err) {
    *out = NULL;
    fr_presplit_state *s = fr_alloc_zero(sizeof *s);
    if (s) {
        s->match = pcre2_match_data_create(1, p->memory);
        s->limits = pcre2_match_context_create(p->memory);
    }
    if (!s || !s->match || !s->limits) {
        fr_presplit_state_close(s);
        return fr_fail(err, FR_ENOMEM, "text: no memory to split it into words");
    }
    pcre2_set_match_limit(s->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(s->limits, HEAP_LIMIT_KIB);
    *out = s;
    return FR_OK;
}

void fr_presplit_state_close(fr_presplit_state *s) {
    if (!s) return;
    pcre2_match_data_free(s->match);
    pcre2_match_context_free(s->limits);
    fr_free(s);
}

typedef struct splitting { // what stays the same while one text is split
    const fr_presplit *p;
    fr_presplit_state *s;
    fr_word_fn *word;
    void *user;
} splitting;

static bool begins_character(char byte) {
    return (byte & 0xC0) != 0x80;
}

// The next match at or after `at`: *begin..*end, never empty; both are `bytes` if there is none.
static fr_status next_match(const splitting *x, int level, const char *text, size_t bytes,
                            size_t at, size_t *begin, size_t *end, fr_error *err) {
    const pcre2_code *pattern = x->p->patterns[level];
    PCRE2_SPTR subject = (PCRE2_SPTR)text;
    int rc =
        pcre2_match(pattern, subject, bytes, at, PCRE2_NO_UTF_CHECK, x->s->match, x->s->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(pattern, subject, bytes, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         x->s->match, x->s->limits);
    if (rc == PCRE2_ERROR_NOMEMORY)
        return fr_fail(err, FR_ENOMEM, "text: no memory to split it into words");
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(x->s->match);
    if (rc == PCRE2_ERROR_NOMATCH) {
        *begin = *end = bytes;
    } else if (rc >= 0 && span[1] > span[0]) {
        *begin = span[0], *end = span[1];
    } else { // a limit was reached: what follows becomes one word. Any cut will do, but it has to
             // come soon.
        *begin = at;
        *end = bytes - at > GIVEN_UP ? at + GIVEN_UP : bytes;
        while (*end < bytes && !begins_character(text[*end]))
            ++*end;
    }
    return FR_OK;
}

static fr_status split(const splitting *x, int level, const char *text, size_t bytes,
                       fr_error *err);

// Cuts a match into threes of characters from its end, so that the first part has one to three.
static fr_status split_threes(const splitting *x, int level, const char *text, size_t bytes,
                              fr_error *err) {
    size_t left = 0; // characters
    for (size_t i = 0; i < bytes; i++)
        left += begins_character(text[i]);
    fr_status st = FR_OK;
    for (size_t at = 0, n; !st && at < bytes; at += n) {
        size_t part = left % 3 ? left % 3 : 3;
        left -= part;
        for (n = 1; at + n < bytes && (!begins_character(text[at + n]) || --part); n++)
            ;
        st = split(x, level, text + at, n, err);
    }
    return st;
}

static fr_status split(const splitting *x, int level, const char *text, size_t bytes,
                       fr_error *err) {
    if (level >= FR_WORDS_PATTERNS || level == x->p->n_patterns)
        return x->word(x->user, text, bytes, err);
    const int next = level + 1;
    const bool threes = x->p->family->threes == next;
    fr_status st = FR_OK;
    size_t begin = bytes, end = bytes;
    for (size_t at = 0; !st && at < bytes; at = end) {
        if ((st = next_match(x, level, text, bytes, at, &begin, &end, err))) break;
        if (begin > at) st = split(x, next, text + at, begin - at, err);
        if (st || end == begin) break;
        st = threes ? split_threes(x, next, text + begin, end - begin, err)
                    : split(x, next, text + begin, end - begin, err);
    }
    return st;
}

fr_status fr_presplit_run(const fr_presplit *p, fr_presplit_state *s, const char *text,
                          size_t bytes, fr_word_fn *word, void *user, fr_error *err) {
    splitting x = {p, s, word, user};
    return split(&x, 0, text, bytes, err);
}
