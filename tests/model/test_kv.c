#include "model/kv.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const fr_config CONFIG = {.n_layer = 2, .n_kv = 2, .head_dim = 20};

// The values of slot s in a plane; every element of every slot differs.
static uint16_t value_of(int plane, int s, int i, bool is_v) {
    return (uint16_t)(plane * 12007 + s * 61 + i * 2 + is_v);
}

static void fill(fr_kv *kv, int slot, int tag) {
    for (int l = 0; l < kv->n_layer; l++)
        for (int h = 0; h < kv->n_kv; h++)
            for (int i = 0; i < kv->head_dim; i++) {
                int plane = l * kv->n_kv + h;
                fr_kv_k(kv, l, h)[((slot / 16) * kv->head_dim + i) * 16 + slot % 16] =
                    value_of(plane, tag, i, false);
                fr_kv_v(kv, l, h)[slot * kv->head_dim + i] = value_of(plane, tag, i, true);
            }
}

static void assert_holds(const fr_kv *kv, int slot, int tag) {
    for (int l = 0; l < kv->n_layer; l++)
        for (int h = 0; h < kv->n_kv; h++)
            for (int i = 0; i < kv->head_dim; i++) {
                int plane = l * kv->n_kv + h;
                assert_int_equal(
                    fr_kv_k(kv, l, h)[((slot / 16) * kv->head_dim + i) * 16 + slot % 16],
                    value_of(plane, tag, i, false));
                assert_int_equal(fr_kv_v(kv, l, h)[slot * kv->head_dim + i],
                                 value_of(plane, tag, i, true));
            }
}

static void commit_moves_the_path_and_nothing_else(void **state) {
    (void)state;
    fr_kv kv;
    assert_int_equal(fr_kv_open(&kv, &CONFIG, 100, NULL), FR_OK);
    int tag_at[100], n = 0;
    srand(5);
    for (int round = 0; round < 12; round++) {
        // A random tree of up to 20 scratch slots; the path is a random leaf's ancestors.
        int parent[20], count = 1 + rand() % 20;
        for (int s = 0; s < count; s++) {
            parent[s] = s == 0 ? -1 : rand() % (s + 1) - 1;
            assert_int_equal(fr_kv_scratch(&kv, parent[s], kv.n_committed + s, 0), s);
            fill(&kv, kv.n_committed + s, 200 * round + s + 1);
        }
        assert_true(fr_kv_check(&kv));
        int path[20], length = 0;
        for (int s = rand() % count; s >= 0; s = parent[s])
            length++;
        int leaf = -1;
        for (int s = 0; s < count && leaf < 0; s++) {
            int depth = 0;
            for (int a = s; a >= 0; a = parent[a])
                depth++;
            if (depth == length) leaf = s;
        }
        for (int s = leaf, i = length - 1; s >= 0; s = parent[s], i--)
            path[i] = s;
        if (n + length > 100) break;
        for (int i = 0; i < length; i++)
            tag_at[n + i] = 200 * round + path[i] + 1;
        fr_kv_commit(&kv, path, length);
        n += length;
        assert_int_equal(kv.n_committed, n);
        assert_int_equal(kv.n_scratch, 0);
        for (int i = 0; i < n; i++)
            assert_holds(&kv, i, tag_at[i]);
    }
    fr_kv_close(&kv);
}

static void a_slot_sees_itself_and_its_ancestors(void **state) {
    (void)state;
    fr_kv kv;
    assert_int_equal(fr_kv_open(&kv, &CONFIG, 16, NULL), FR_OK);
    for (int s = 0; s < 130; s++)
        fr_kv_scratch(&kv, s < 2 ? -1 : s - 2, s / 2, 0); // two chains: the odd and the even slots
    for (int s = 0; s < 130; s++)
        for (int a = 0; a < FR_MAX_SCRATCH; a++) {
            bool visible = kv.ancestors[s][a / 64] >> (a % 64) & 1;
            assert_int_equal(visible, a <= s && a % 2 == s % 2);
        }
    fr_kv_close(&kv);
}

static void truncate_forgets_the_end(void **state) {
    (void)state;
    fr_kv kv;
    assert_int_equal(fr_kv_open(&kv, &CONFIG, 16, NULL), FR_OK);
    int path[10];
    for (int s = 0; s < 10; s++) {
        path[s] = fr_kv_scratch(&kv, s - 1, s, 0);
        fill(&kv, s, s + 1);
    }
    fr_kv_commit(&kv, path, 10);
    fr_kv_truncate(&kv, 4);
    assert_int_equal(kv.n_committed, 4);
    for (int i = 0; i < 4; i++)
        assert_holds(&kv, i, i + 1);
    fr_kv_close(&kv);
    fr_kv_close(&kv); // a closed one may be closed again
}

static void repeat_copies_whole_slots(void **state) {
    (void)state;
    fr_kv kv;
    assert_int_equal(fr_kv_open(&kv, &CONFIG, 50, NULL), FR_OK);
    int path[5];
    for (int s = 0; s < 5; s++) {
        path[s] = fr_kv_scratch(&kv, s - 1, s, 0);
        fill(&kv, s, s + 1);
    }
    fr_kv_commit(&kv, path, 5);
    fr_kv_repeat(&kv, 50);
    assert_int_equal(kv.n_committed, 50);
    for (int i = 0; i < 50; i++)
        assert_holds(&kv, i, i % 5 + 1);
    fr_kv_repeat(&kv, 7); // never shrinks
    assert_int_equal(kv.n_committed, 50);
    fr_kv_close(&kv);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_moves_the_path_and_nothing_else),
        cmocka_unit_test(a_slot_sees_itself_and_its_ancestors),
        cmocka_unit_test(truncate_forgets_the_end),
        cmocka_unit_test(repeat_copies_whole_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
