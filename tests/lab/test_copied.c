// copied.c: where an answer stops to repeat its prompt.
#include "lab/cmd/replay/copied.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PROMPT = 60 };

static int32_t prompt[PROMPT];

static int set_up(void **state) {
    (void)state;
    for (int i = 0; i < PROMPT; i++)
        prompt[i] = 100 + i;
    return 0;
}

// Writes n tokens of the prompt from `from` on; or, where from < 0, n that are not in it.
static int32_t *put(int32_t *at, int from, int n) {
    for (int i = 0; i < n; i++)
        *at++ = from < 0 ? 1 + i : prompt[from + i];
    return at;
}

// Pieces {from, n}; a piece of no tokens ends the list.
static int head_of(const int (*pieces)[2]) {
    int32_t answer[200], *end = answer;
    for (; (*pieces)[1]; pieces++)
        end = put(end, (*pieces)[0], (*pieces)[1]);
    return lab_copied_head(prompt, PROMPT, answer, (int)(end - answer));
}

static void a_head_is_what_the_prompt_says(void **state) {
    (void)state;
    assert_int_equal(head_of((const int[][2]){{10, 30}, {-1, 50}, {0, 0}}), 30);
    assert_int_equal(head_of((const int[][2]){{-1, 20}, {10, 30}, {-1, 50}, {0, 0}}), 50);
    assert_int_equal(head_of((const int[][2]){{0, PROMPT}, {0, 0}}), PROMPT); // and no more
    assert_int_equal(head_of((const int[][2]){{10, 20}, {-1, 3}, {40, 10}, {-1, 9}, {0, 0}}), 33);
    assert_int_equal(head_of((const int[][2]){{10, 20}, {40, 10}, {-1, 9}, {0, 0}}), 30);
}

static void what_comes_late_or_is_short_is_none(void **state) {
    (void)state;
    assert_int_equal(head_of((const int[][2]){{-1, 50}, {0, 0}}), 0);
    assert_int_equal(head_of((const int[][2]){{-1, 25}, {10, 30}, {0, 0}}), 0);
    assert_int_equal(head_of((const int[][2]){{10, 7}, {-1, 50}, {0, 0}}), 0);
    assert_int_equal(head_of((const int[][2]){{10, 20}, {-1, 5}, {40, 10}, {0, 0}}), 20);
    assert_int_equal(lab_copied_head(prompt, PROMPT, prompt, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_head_is_what_the_prompt_says),
                                       cmocka_unit_test(what_comes_late_or_is_short_is_none)};
    return cmocka_run_group_tests_name("lab/copied", tests, set_up, NULL);
}
