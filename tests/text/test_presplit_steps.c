// What splitting costs in steps and in memory, for every family: linear in the text, whatever runs
// it is made of. Matches are watched, so presplit.c is a part of this test.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct watch {
    int given_up;    // matches that ended at a limit, that of JIT's stack too
    size_t steps;    // since the state's callout is count_step
    PCRE2_SIZE last; // where the latest of them was
} watch;

static void go_to(PCRE2_SIZE at) {
    watch.steps += at > watch.last ? at - watch.last : watch.last - at;
    watch.last = at;
}

// Called between any two items of an expression. How far the match went since then counts too: an
// item like a+ takes a whole run.
static int count_step(pcre2_callout_block *block, void *unused) {
    (void)unused;
    watch.steps++;
    go_to(block->current_position);
    return 0;
}

static int watched_match(const pcre2_code *code, PCRE2_SPTR text, PCRE2_SIZE bytes, PCRE2_SIZE at,
                         uint32_t options, pcre2_match_data *match, pcre2_match_context *limits) {
    watch.last = at;
    const int rc = pcre2_match_8(code, text, bytes, at, options, match, limits);
    if (rc == PCRE2_ERROR_NOMATCH) go_to(bytes); // it may have been looked for without a step
    watch.given_up += rc < 0 && rc != PCRE2_ERROR_NOMATCH;
    return rc;
}

#undef pcre2_match
#define pcre2_match watched_match
#include "text/presplit.c"

static const char *const units[] = {
    "a",      "A",      "1",      " ",      "\t",     "\n",     ".",      "'",
    "\u0301", "\u4E2D", "\u3042", "\uAC00", "\u02B0", "\u00BD", "\u00A0", "\u3002",
};
enum { N_UNITS = sizeof units / sizeof *units };

static fr_status ignore_word(void *user, const char *word, size_t bytes, fr_error *err) {
    (void)word, (void)err;
    *(size_t *)user += bytes;
    return FR_OK;
}

static fr_presplit *open_family(const fr_word_family *f) {
    fr_presplit *p;
    assert_int_equal(fr_presplit_open(&p, f->names, strcspn(f->names, " "), NULL), FR_OK);
    return p;
}

// The same expressions, interpreted; with `options`.
static void compile_again(fr_presplit *p, uint32_t options) {
    for (int i = 0; i < p->n_patterns; i++) {
        int code;
        PCRE2_SIZE at;
        pcre2_code_free(p->patterns[i]);
        p->patterns[i] = pcre2_compile((PCRE2_SPTR)p->family->patterns[i], PCRE2_ZERO_TERMINATED,
                                       PCRE2_UTF | PCRE2_NO_UTF_CHECK | options, &code, &at, NULL);
        assert_non_null(p->patterns[i]);
    }
}

static void run(const fr_presplit *p, fr_presplit_state *s, const char *text, size_t bytes) {
    size_t total = 0;
    assert_int_equal(fr_presplit_run(p, s, text, bytes, ignore_word, &total, NULL), FR_OK);
    assert_int_equal(total, bytes);
}

static size_t repeat(char *text, const char *unit, int n) {
    const size_t width = strlen(unit);
    for (int i = 0; i < n; i++)
        memcpy(text + width * (size_t)i, unit, width);
    return width * (size_t)n;
}

typedef enum shape {
    ONE_THEN_OTHER, // n times one and then n times the other
    IN_TURN,        // n times both
    ONE_AND_END     // n times one and the other as its end
} shape;

static size_t make_text(char *text, shape as, const char *a, const char *b, int n) {
    char both[16];
    strcpy(both, a);
    strcat(both, b);
    if (as == IN_TURN) return repeat(text, both, n);
    const size_t first = repeat(text, a, n);
    return first + repeat(text + first, b, as == ONE_AND_END ? 1 : n);
}

// Characters of a run, and how much longer another is. An expression that cuts runs into parts of up
// to 512 characters would be quadratic only in long ones.
enum { RUN = 48, LONG_RUN = 2048, GROWS = 4 };

static void count_twice(const fr_presplit *p, fr_presplit_state *s, shape as, const char *a,
                        const char *b, int n) {
    static char text[GROWS * LONG_RUN * 8];
    size_t steps[2];
    for (int i = 0; i < 2; i++) {
        watch.steps = 0;
        run(p, s, text, make_text(text, as, a, b, i ? GROWS * n : n));
        steps[i] = watch.steps;
    }
    if (steps[1] > steps[0] * (GROWS + 2))
        fail_msg("%s: %zu steps, and %zu for a text %d times as long, of '%s' and '%s'",
                 p->family->names, steps[0], steps[1], GROWS, a, b);
}

static void steps_grow_as_the_text_does(void **state) {
    (void)state;
    for (size_t f = 0; f < fr_n_word_families; f++) {
        fr_presplit *p = open_family(&fr_word_families[f]);
        fr_presplit_state *s;
        compile_again(p, PCRE2_AUTO_CALLOUT);
        assert_int_equal(fr_presplit_state_open(&s, p, NULL), FR_OK);
        pcre2_set_callout(s->limits, count_step, NULL);
        for (int a = 0; a < N_UNITS; a++) {
            count_twice(p, s, ONE_AND_END, units[a], "1", LONG_RUN);
            for (int b = 0; b < N_UNITS; b++)
                for (shape as = ONE_THEN_OTHER; as <= IN_TURN; as++)
                    count_twice(p, s, as, units[a], units[b], RUN);
        }
        fr_presplit_state_close(s);
        fr_presplit_close(p);
    }
}

// Characters of a run, and the memory of a match: much below a stack frame for each of them.
enum { LONG = 1 << 12, ROOM_KIB = 128 };

static void check_room(const fr_presplit *p, fr_presplit_state *s, const char *a, const char *b) {
    static char text[LONG * 8];
    watch.given_up = 0;
    run(p, s, text, make_text(text, IN_TURN, a, b, LONG));
    if (watch.given_up)
        fail_msg("%s: %d matches given up in a run of '%s%s'", p->family->names, watch.given_up, a,
                 b);
}

static void long_runs(bool jit) {
    static const char *const after[] = {"", " ", "\u0301"};
    for (size_t f = 0; f < fr_n_word_families; f++) {
        fr_presplit *p = open_family(&fr_word_families[f]);
        fr_presplit_state *s;
        if (!jit) compile_again(p, 0);
        assert_int_equal(fr_presplit_state_open(&s, p, NULL), FR_OK);
        pcre2_set_heap_limit(s->limits, ROOM_KIB);
        for (int u = 0; u < N_UNITS; u++)
            for (size_t i = 0; i < sizeof after / sizeof *after; i++)
                check_room(p, s, units[u], after[i]);
        fr_presplit_state_close(s);
        fr_presplit_close(p);
    }
}

static void no_run_needs_memory_for_each_character(void **state) {
    (void)state;
    long_runs(true);
    long_runs(false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_grow_as_the_text_does),
        cmocka_unit_test(no_run_needs_memory_for_each_character),
    };
    return cmocka_run_group_tests_name("text.presplit_steps", tests, NULL, NULL);
}
