// test_jacobi.c — the chain against the iteration on whole texts.
#include "lab/draft/jacobi.h"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LONGEST = 400 };

// The next token depends a little on the last two and on its place, so that wrong guesses soon
// become right.
static int32_t next_of(const int32_t *text, int n) {
    return (text[n - 1] / 4 + text[n - 2] / 5 + n) % 7;
}

// y' = f(y) for all places at once, on the whole text with its guesses; then what is right at the
// front is taken as text, with the token behind it.
static void the_chain_is_the_iteration_of_all_places_at_once(void **state) {
    (void)state;
    for (int width = 1; width <= FR_JACOBI_WIDTH; width += width < 9 ? 1 : 18) {
        fr_jacobi j = {.width = width};
        int32_t text[LONGEST] = {1, 2, 5, 3}, next[FR_JACOBI_WIDTH + 1];
        int n = 4, taken_at_most = 0;
        fr_jacobi_begin(&j, text, n);
        while (n + width + 1 < LONGEST) {
            int32_t guessed[LONGEST], moved[LONGEST]; // with the guesses behind the text
            memcpy(guessed, text, sizeof guessed);
            memcpy(guessed + n, j.id + 1, sizeof *guessed * (size_t)width);
            for (int i = n; i <= n + width; i++)
                moved[i] = next_of(guessed, i);
            for (int k = 1; k <= width; k++)
                next[k] = moved[n + k];
            int taken = 1;
            while (taken <= width && guessed[n + taken - 1] == moved[n + taken - 1])
                taken++;
            memcpy(text + n, moved + n, sizeof *text * (size_t)taken);
            n += taken;
            if (taken > taken_at_most) taken_at_most = taken;
            fr_jacobi_move(&j, taken, next, text, n);
            // What is left of y' stands behind the text; the rest is of the text.
            for (int k = 1; k <= width; k++) {
                const bool left = k <= width + 1 - taken;
                if (left) assert_int_equal(j.id[k], moved[n + k - 1]);
                assert_int_equal(j.age[k] > 0, left);
                assert_in_range(j.id[k], 0, 6);
            }
        }
        if (width > 2) assert_true(taken_at_most > 2);
    }
}

static void ages_count_passes_that_agreed(void **state) {
    (void)state;
    const int32_t text[] = {9, 9, 9};
    fr_jacobi j = {.width = 3};
    fr_jacobi_begin(&j, text, 3);
    // Behind the guesses stand 1, 2, 3; one token was taken.
    fr_jacobi_move(&j, 1, (int32_t[]){-1, 1, 2, 3}, text, 3);
    assert_memory_equal(j.id + 1, ((int32_t[]){1, 2, 3}), 3 * sizeof(int32_t));
    assert_memory_equal(j.age + 1, ((uint8_t[]){1, 1, 1}), 3);
    // The places of 2 and 3: 2 is said again, 3 is not; the last place is new.
    fr_jacobi_move(&j, 1, (int32_t[]){-1, 2, 8, 7}, text, 3);
    assert_memory_equal(j.id + 1, ((int32_t[]){2, 8, 7}), 3 * sizeof(int32_t));
    assert_memory_equal(j.age + 1, ((uint8_t[]){2, 1, 1}), 3);
    // Rows that were not in the pass: guesses stay, and the end is filled with the text.
    fr_jacobi_move(&j, 1, (int32_t[]){-1, 8, -1, -1}, text, 3);
    assert_memory_equal(j.id + 1, ((int32_t[]){8, 7, 9}), 3 * sizeof(int32_t));
    assert_memory_equal(j.age + 1, ((uint8_t[]){2, 1, 0}), 3);
    // All taken at once.
    fr_jacobi_move(&j, 4, (int32_t[]){-1, 1, 2, 3}, text, 3);
    assert_memory_equal(j.age + 1, ((uint8_t[]){0, 0, 0}), 3);
}

static void the_check_of_a_chain_finds_damage(void **state) {
    (void)state;
    const int32_t ids[] = {5, 6, 7};
    fr_jacobi j = {.width = 4};
    fr_jacobi_begin(&j, ids, 3);
    assert_noticed(j.width, 0, fr_jacobi_is_sound(&j));
    assert_noticed(j.width, FR_JACOBI_WIDTH + 1, fr_jacobi_is_sound(&j));
    assert_noticed(j.id[4], -1, fr_jacobi_is_sound(&j));
    assert_noticed(j.age[1], FR_JACOBI_AGES, fr_jacobi_is_sound(&j));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chain_is_the_iteration_of_all_places_at_once),
        cmocka_unit_test(ages_count_passes_that_agreed),
        cmocka_unit_test(the_check_of_a_chain_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
