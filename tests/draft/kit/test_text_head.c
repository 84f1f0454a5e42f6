// The draft head with room for the text's ids: rows are those of the target's head whatever came,
// an id has one row, the oldest make room, and another text begins without them.
#include "draft/kit/text_head.h"
#include "kern/repack.h"
#include "support/open_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { D = 64, FIXED = 21, ROOM = 19, VOCAB = 256 };

typedef struct world {
    fr_opened target;
    fr_matrix shared;
    fr_text_head head;
} world;

static void open_world(world *w, int room) {
    const fr_kern *kern;
    fr_error err;
    int32_t ids[FIXED];
    for (int i = 0; i < FIXED; i++)
        ids[i] = 7 * i + 3;
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&w->target, &(fr_tiny_options){.n_layer = 1, .type = FR_TYPE_Q8_0}, kern, 1);
    if (fr_draft_head_open(&w->shared, &w->target.model, ids, FIXED, &err) ||
        fr_text_head_open(&w->head, &w->shared, &w->target.model, ids, FIXED, room, &err))
        fail_msg("%s", err.text);
}

static void close_world(world *w) {
    fr_text_head_close(&w->head);
    fr_matrix_close(&w->shared);
    fr_opened_close(&w->target);
}

// Every row that stands for an id is the target's, and no id has two.
static void check_rows(const world *w) {
    const fr_text_head *h = &w->head;
    int rows[VOCAB] = {0};
    for (int i = 0; i < h->n; i++) {
        float want[D], got[D], largest = 0;
        assert_in_range(h->ids[i], 0, VOCAB - 1);
        assert_int_equal(rows[h->ids[i]]++, 0);
        assert_true(h->known[h->ids[i]]);
        fr_unpack_row(&w->target.model.head, h->ids[i], want);
        if (i < h->first)
            fr_unpack_row(&h->vocabulary, i, got);
        else
            fr_unpack_row(&h->text, i - h->first, got);
        for (int k = 0; k < D; k++)
            largest = fmaxf(largest, fabsf(want[k]));
        for (int k = 0; k < D; k++)
            assert_true(fabsf(want[k] - got[k]) <= largest / 250);
    }
    for (int id = 0; id < VOCAB; id++)
        assert_int_equal(w->head.known[id], rows[id]);
}

static bool has(const world *w, int32_t id) {
    for (int i = 0; i < w->head.n; i++)
        if (w->head.ids[i] == id) return true;
    return false;
}

static void ids_of_the_text_get_rows(void **state) {
    (void)state;
    world w;
    static const int32_t text[] = {3, 4, 5, 4, 10, 255, 0, 5};
    open_world(&w, ROOM);
    assert_int_equal(w.head.m, FIXED + ROOM);
    check_rows(&w);
    fr_text_head_take(&w.head, text, 8);
    assert_int_equal(w.head.n, FIXED + 4); // 4, 5, 255, 0: 3 and 10 had one
    check_rows(&w);
    fr_text_head_begin(&w.head);
    assert_int_equal(w.head.n, FIXED);
    check_rows(&w);
    fr_text_head_take(&w.head, text + 4, 2);
    assert_int_equal(w.head.n, FIXED + 1);
    assert_true(has(&w, 255) && !has(&w, 4));
    check_rows(&w);
    close_world(&w);
}

// The last ROOM that were new when they came, spelled out.
typedef struct newest {
    int32_t id[ROOM];
    int n;
} newest;

static void see(newest *last, int32_t id) {
    if (id % 7 == 3 && id < 7 * FIXED) return;
    for (int i = 0; i < last->n; i++)
        if (last->id[i] == id) return;
    if (last->n == ROOM) memmove(last->id, last->id + 1, sizeof *last->id * (size_t)--last->n);
    last->id[last->n++] = id;
}

static void the_oldest_make_room(void **state) {
    (void)state;
    world w;
    newest last = {.n = 0};
    open_world(&w, ROOM);
    srand(3);
    for (int i = 0; i < 400; i++) {
        int32_t text[9];
        const int some = 1 + rand() % 9;
        for (int j = 0; j < some; j++)
            see(&last, text[j] = rand() % VOCAB);
        fr_text_head_take(&w.head, text, some);
        check_rows(&w);
        assert_int_equal(w.head.n, FIXED + last.n);
        for (int j = 0; j < last.n; j++)
            assert_true(has(&w, last.id[j]));
    }
    assert_int_equal(last.n, ROOM);
    close_world(&w);
}

static void without_room_nothing_changes(void **state) {
    (void)state;
    world w;
    static const int32_t text[] = {1, 2, 4};
    open_world(&w, 0);
    fr_text_head_take(&w.head, text, 3);
    assert_int_equal(w.head.n, FIXED);
    check_rows(&w);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_the_text_get_rows),
        cmocka_unit_test(the_oldest_make_room),
        cmocka_unit_test(without_room_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
