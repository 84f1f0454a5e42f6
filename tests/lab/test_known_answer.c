// Which rows of a tree may be right by an answer that is known.
#include "lab/cmd/replay/known_answer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

//      0:root - 1:7 - 3:8 - 5:9 - 6:4
//             \ 2:6 - 4:8
static void grow(fr_tree *t, fr_row *rows) {
    fr_tree_begin(t, 1, FR_TREE_MAX, FR_TREE_MAX_DEPTH);
    static const struct {
        int parent;
        int32_t id;
    } nodes[] = {{0, 7}, {0, 6}, {1, 8}, {2, 8}, {3, 9}, {5, 4}};
    rows[0] = fr_row_token(1, FR_PARENT_COMMITTED, FR_WANT_LOGITS);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(fr_tree_add(t, nodes[i].parent, nodes[i].id, 0.5f, 0), i + 1);
        rows[i + 1] = fr_row_token(nodes[i].id, nodes[i].parent, FR_WANT_LOGITS);
    }
}

static void expect(const fr_known_answer *k, const int16_t *place, int n) {
    int in = 0;
    for (int i = 0; i < n; i++) {
        assert_int_equal(k->hook.place[i], place[i]);
        in += place[i] >= 0;
    }
    assert_int_equal(k->hook.n_rows, in);
}

static void what_the_answer_contradicts_is_left_out_with_what_hangs_there(void **state) {
    (void)state;
    static fr_tree t;
    fr_row rows[12];
    const int32_t answer[] = {5, 6, 8, 3, 3, 3};
    fr_known_answer k = {.ids = answer, .n = 6};
    grow(&t, rows);
    rows[7] = fr_row_token(2, 5, 0); // attached under 5, 4, that one, and the root
    rows[8] = fr_row_token(2, 4, 0);
    rows[9] = fr_row_token(2, 8, 0);
    rows[10] = (fr_row){.kind = FR_ROW_LINEAR, .parent = 0, .source = 0};
    fr_known_answer_choose(&k, &t, rows, 11, 1, false); // the root is answer[0]
    expect(&k, (const int16_t[]){0, -1, 1, -1, 2, -1, -1, -1, 3, 4, 5}, 11);
    fr_known_answer_choose(&k, &t, rows, 11, 3, false); // nothing is right after answer[2]
    expect(&k, (const int16_t[]){0, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1}, 11);
    fr_known_answer_choose(&k, &t, rows, 11, 3, true);
    expect(&k, (const int16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 11);
}

static void behind_the_end_of_an_answer_nothing_is_left_out(void **state) {
    (void)state;
    static fr_tree t;
    fr_row rows[7];
    const int32_t answer[] = {7, 8};
    fr_known_answer k = {.ids = answer, .n = 2};
    grow(&t, rows);
    fr_known_answer_choose(&k, &t, rows, 7, 0, false);
    expect(&k, (const int16_t[]){0, 1, -1, 2, -1, 3, 4}, 7);
    fr_known_answer_choose(&k, &t, rows, 7, 2, false);
    expect(&k, (const int16_t[]){0, 1, 2, 3, 4, 5, 6}, 7);
}

static void a_text_that_is_read_keeps_its_rows(void **state) {
    (void)state;
    fr_known_answer k = {0};
    fr_known_answer_keep(&k, 3);
    expect(&k, (const int16_t[]){0, 1, 2}, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_answer_contradicts_is_left_out_with_what_hangs_there),
        cmocka_unit_test(behind_the_end_of_an_answer_nothing_is_left_out),
        cmocka_unit_test(a_text_that_is_read_keeps_its_rows),
    };
    return cmocka_run_group_tests_name("decode/known_answer", tests, NULL, NULL);
}
