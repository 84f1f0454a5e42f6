// test_window.c — the window against the paper's words: a dense mask, and lists that move.
#include "draft/lookahead/window.h"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT = 50, CELLS = FR_WINDOW_ROWS + 1 };

static void open_window(fr_window *w, int n, int width) {
    int32_t ids[TEXT];
    for (int i = 0; i < TEXT; i++)
        ids[i] = 1000 + i;
    *w = (fr_window){.n = n, .width = width};
    fr_window_begin(w, ids, TEXT);
}

// What a pass of `w` may say, different for every cell and pass.
static void say(const fr_window *w, int pass, int32_t *next) {
    for (int i = 0; i < w->columns; i++)
        next[i] = 10000 * (pass + 1) + i;
}

// The mask as the paper draws it, from words alone: a token of the first row of the window sees the
// tokens of that row before it; one of a row above sees the first row up to its own column, and its
// column in the rows between. Its position is that of the root, and one more for every step to the
// right or up.
static void dense_mask(int levels, int columns, bool sees[CELLS][CELLS], int *position) {
    for (int l = 0; l < levels; l++)
        for (int i = 0; i < columns; i++) {
            const int cell = l * columns + i;
            position[cell] = l + i;
            for (int m = 0; m < levels; m++)
                for (int k = 0; k < columns; k++)
                    sees[cell][m * columns + k] = (m == 0 && k <= i) || (k == i && m <= l);
        }
}

static void expect_mask(const fr_window *w) {
    static bool sees[CELLS][CELLS];
    int position[CELLS];
    fr_row rows[CELLS + 3];
    const int before = 4; // the root and three candidates, which no cell sees
    const int n = fr_window_attach(w, rows, before), cells = w->levels * w->columns;
    assert_int_equal(n - before, fr_window_rows(w));
    assert_int_equal(n - before, cells - 1);
    assert_true(fr_window_rows(w) <= fr_window_most_rows(w->n, w->width));
    assert_true(fr_window_logits(w) <= fr_window_most_logits(w->n, w->width));
    dense_mask(w->levels, w->columns, sees, position);
    int logits = 0;
    for (int cell = 1; cell < cells; cell++) {
        bool ancestor[CELLS] = {false};
        int depth = 0, r = before + cell - 1;
        const fr_row *row = &rows[r];
        assert_int_equal(row->id, w->cell[cell / w->columns][cell % w->columns]);
        assert_int_equal(row->pos, FR_POS_AUTO);
        assert_int_equal(row->wants, cell / w->columns == w->levels - 1 ? FR_WANT_LOGITS : 0);
        logits += row->wants != 0;
        for (; r != 0; r = rows[r].parent, depth++) {
            assert_true(r >= before && rows[r].parent < r);
            ancestor[r - before + 1] = true;
        }
        ancestor[0] = true;
        assert_int_equal(depth, position[cell]);
        assert_memory_equal(ancestor, sees[cell], sizeof *ancestor * (size_t)cells);
    }
    assert_int_equal(logits, fr_window_logits(w));
    for (int i = 0; i < w->columns; i++) {
        const int cell = (w->levels - 1) * w->columns + i;
        assert_int_equal(fr_window_last_row(w, before, i), cell ? before + cell - 1 : 0);
    }
}

static void the_rows_see_what_the_mask_of_the_paper_lets_them_see(void **state) {
    (void)state;
    for (int n = 2; n <= FR_WINDOW_NGRAM; n++)
        for (int width = 1;
             fr_window_most_rows(n, width) <= FR_WINDOW_ROWS && width + n <= FR_WINDOW_WIDTH;
             width++) {
            fr_window w;
            int32_t next[CELLS];
            open_window(&w, n, width);
            for (int pass = 0; pass < n + 2; pass++) {
                expect_mask(&w);
                assert_int_equal(fr_window_is_full(&w), pass >= n - 2);
                say(&w, pass, next);
                fr_window_shift(&w, next);
            }
            assert_int_equal(w.columns, width);
        }
}

// The released code's lists, in its own order of things: level 0 without the root, while levels
// fill every list loses its first token after each pass; then the lists move down, the lowest one
// without its first token.
typedef struct lists {
    int n, width, filled;
    int count[FR_WINDOW_NGRAM];
    int32_t at[FR_WINDOW_NGRAM][CELLS];
} lists;

static void drop_first(lists *l, int level) {
    l->count[level]--;
    memmove(l->at[level], l->at[level] + 1, sizeof(int32_t) * (size_t)l->count[level]);
}

static void move_lists(lists *l, const int32_t *said, int n_said) {
    if (l->filled < l->n - 2) { // what was said behind the guesses, not behind the root
        for (int level = 0; level <= l->filled; level++)
            drop_first(l, level);
        const int skip = l->filled > 0; // the first pass says nothing in column 0
        l->filled++;
        l->count[l->filled] = n_said - skip;
        memcpy(l->at[l->filled], said + skip, sizeof *said * (size_t)(n_said - skip));
        return;
    }
    for (int level = 0; level < l->n - 2; level++) {
        l->count[level] = l->count[level + 1];
        memcpy(l->at[level], l->at[level + 1], sizeof l->at[level]);
    }
    l->count[l->n - 2] = n_said;
    memcpy(l->at[l->n - 2], said, sizeof *said * (size_t)n_said);
    drop_first(l, 0);
}

static void the_window_moves_as_the_lists_of_the_paper_do(void **state) {
    (void)state;
    for (int n = 2; n <= 6; n++)
        for (int width = 1; width <= 7; width++) {
            fr_window w;
            lists l = {.n = n, .width = width};
            int32_t next[CELLS];
            open_window(&w, n, width);
            l.count[0] = width + n - 3;
            memcpy(l.at[0], w.cell[0] + 1, sizeof(int32_t) * (size_t)l.count[0]);
            for (int i = 0; i < l.count[0]; i++)
                assert_in_range(l.at[0][i], 1000, 1000 + TEXT - 1);
            for (int pass = 0; pass < 3 * n; pass++) {
                for (int level = 0; level <= l.filled; level++) {
                    const int skip = level == 0;
                    assert_int_equal(l.count[level], w.columns - skip);
                    assert_memory_equal(l.at[level], w.cell[level] + skip,
                                        sizeof(int32_t) * (size_t)l.count[level]);
                }
                assert_int_equal(w.levels, l.filled + 1);
                say(&w, pass, next);
                const int skip = pass == 0 && n > 2; // the root's own next token is no guess
                const bool full = fr_window_is_full(&w);
                for (int i = 0; i < w.columns && full; i++) {
                    int32_t gram[FR_WINDOW_NGRAM];
                    fr_window_ngram(&w, i, 77, next[i], gram);
                    for (int level = 0; level < n - 1; level++)
                        assert_int_equal(gram[level], level ? l.at[level][i]
                                                      : i   ? l.at[0][i - 1]
                                                            : 77);
                    assert_int_equal(gram[n - 1], next[i]);
                }
                const int n_said = w.columns - skip;
                fr_window_shift(&w, next);
                move_lists(&l, next + skip, n_said);
            }
        }
}

static void the_check_of_a_window_finds_damage(void **state) {
    (void)state;
    fr_window w;
    open_window(&w, 4, 3);
    assert_noticed(w.n, 1, fr_window_is_sound(&w));
    assert_noticed(w.n, FR_WINDOW_NGRAM + 1, fr_window_is_sound(&w));
    assert_noticed(w.width, 0, fr_window_is_sound(&w));
    assert_noticed(w.levels, 0, fr_window_is_sound(&w));
    assert_noticed(w.levels, 2, fr_window_is_sound(&w)); // with the columns of one
    assert_noticed(w.columns, 3, fr_window_is_sound(&w));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rows_see_what_the_mask_of_the_paper_lets_them_see),
        cmocka_unit_test(the_window_moves_as_the_lists_of_the_paper_do),
        cmocka_unit_test(the_check_of_a_window_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
