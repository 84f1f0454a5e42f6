#include "kern/half.h"
#include "model/kv.h"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LAYERS = 2, HEADS = 2 };

static fr_config config_of(fr_kv_type type) {
    return (fr_config){.n_layer = LAYERS, .n_kv = HEADS, .head_dim = type == FR_KV_F16 ? 20 : 64};
}

// A random row, the same for the same slot's tag; every plane and value differs.
static void row_of(float *x, int n, int plane, int tag, bool is_v) {
    uint32_t random = (uint32_t)(plane * 12007 + tag * 61 + is_v) * 2654435761u + 1;
    for (int i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        x[i] = (float)(random >> 8) * 0x1p-20f - 8;
    }
}

static void fill(fr_kv *kv, int slot, int tag) {
    float k[64], v[64];
    for (int l = 0; l < LAYERS; l++)
        for (int h = 0; h < HEADS; h++) {
            row_of(k, kv->head_dim, l * HEADS + h, tag, false);
            row_of(v, kv->head_dim, l * HEADS + h, tag, true);
            fr_kern_scalar.store_k[kv->k_form](fr_kv_k(kv, l, h), slot, kv->head_dim, k);
            fr_kern_scalar.store_v[kv->v_form](fr_kv_v(kv, l, h), slot, kv->head_dim, v);
        }
}

// Storing the same row in the same slot again changes no byte.
static void assert_holds(fr_kv *kv, int slot, int tag) {
    uint8_t *before = malloc(kv->bytes);
    memcpy(before, kv->k, kv->bytes);
    fill(kv, slot, tag);
    assert_memory_equal(before, kv->k, kv->bytes);
    free(before);
}

static void commit_moves_the_path(fr_kv_type type) {
    fr_kv kv;
    const fr_config config = config_of(type);
    assert_int_equal(fr_kv_open(&kv, &config, 100, type, NULL), FR_OK);
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
        assert_true(fr_kv_is_sound(&kv));
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

static void commit_moves_the_path_and_nothing_else(void **state) {
    (void)state;
    for (int type = 0; type < FR_KV_TYPES; type++)
        commit_moves_the_path((fr_kv_type)type);
}

static void types_take_their_part_of_the_memory_of_f16(void **state) {
    (void)state;
    const fr_config config = config_of(FR_KV_Q8_0);
    const size_t whole = fr_kv_bytes(&config, 1000, FR_KV_F16);
    assert_int_equal(32 * fr_kv_bytes(&config, 1000, FR_KV_Q8_0), 17 * whole);
    assert_int_equal(64 * fr_kv_bytes(&config, 1000, FR_KV_F16_Q8_0), 49 * whole);
}

static void q8_0_is_refused_for_heads_without_whole_groups(void **state) {
    (void)state;
    const fr_config config = config_of(FR_KV_F16);
    for (int type = FR_KV_F16 + 1; type < FR_KV_TYPES; type++) {
        fr_kv kv;
        fr_error err;
        assert_int_equal(fr_kv_open(&kv, &config, 16, (fr_kv_type)type, &err), FR_EUNSUP);
        assert_non_null(strstr(err.text, "multiple of 32"));
        assert_non_null(strstr(err.text, fr_kv_type_name((fr_kv_type)type)));
        fr_kv_close(&kv);
    }
}

// f16+q8_0 holds the bytes of f16's keys and of q8_0's values.
static void the_mixed_type_has_the_halves_of_both(void **state) {
    (void)state;
    const fr_config config = config_of(FR_KV_Q8_0);
    fr_kv kv[FR_KV_TYPES];
    for (int type = 0; type < FR_KV_TYPES; type++) {
        assert_int_equal(fr_kv_open(&kv[type], &config, 50, (fr_kv_type)type, NULL), FR_OK);
        for (int s = 0; s < 50; s++)
            fill(&kv[type], s, s + 1);
    }
    const fr_kv *mixed = &kv[FR_KV_F16_Q8_0], *f16 = &kv[FR_KV_F16], *q8_0 = &kv[FR_KV_Q8_0];
    assert_memory_equal(mixed->k, f16->k, LAYERS * HEADS * f16->k_plane);
    assert_memory_equal(mixed->v, q8_0->v, LAYERS * HEADS * q8_0->v_plane);
    for (int type = 0; type < FR_KV_TYPES; type++)
        fr_kv_close(&kv[type]);
}

static void copy_takes_whole_slots(void **state) {
    (void)state;
    for (int type = 0; type < FR_KV_TYPES; type++) {
        const fr_config config = config_of((fr_kv_type)type);
        fr_kv from, to;
        int path[37];
        assert_int_equal(fr_kv_open(&from, &config, 50, (fr_kv_type)type, NULL), FR_OK);
        assert_int_equal(fr_kv_open(&to, &config, 300, (fr_kv_type)type, NULL), FR_OK);
        for (int s = 0; s < 37; s++) {
            path[s] = fr_kv_scratch(&from, s - 1, s, 0);
            fill(&from, s, s + 1);
        }
        fr_kv_commit(&from, path, 37);
        fr_kv_copy(&to, &from, 35);
        assert_int_equal(to.n_committed, 35);
        for (int s = 0; s < 35; s++)
            assert_holds(&to, s, s + 1);
        fr_kv_close(&from);
        fr_kv_close(&to);
    }
}

static void types_have_names(void **state) {
    (void)state;
    fr_kv_type type;
    fr_error err;
    assert_int_equal(fr_kv_type_of(&type, NULL, &err), FR_OK);
    assert_int_equal(type, FR_KV_F16);
    assert_int_equal(fr_kv_type_of(&type, "q8_0", &err), FR_OK);
    assert_int_equal(type, FR_KV_Q8_0);
    assert_int_equal(fr_kv_type_of(&type, "f16+q8_0", &err), FR_OK);
    assert_int_equal(type, FR_KV_F16_Q8_0);
    for (int i = 0; i < FR_KV_TYPES; i++) {
        assert_int_equal(fr_kv_type_of(&type, fr_kv_type_name((fr_kv_type)i), &err), FR_OK);
        assert_int_equal(type, i);
    }
    assert_int_equal(fr_kv_type_of(&type, "q4_0", &err), FR_EARG);
    assert_non_null(strstr(err.text, "expected f16, q8_0 or f16+q8_0, found 'q4_0'"));
    assert_int_equal(fr_kv_type_of(&type, "q8_0+f16", &err), FR_EARG);
}

static void a_slot_sees_itself_and_its_ancestors(void **state) {
    (void)state;
    fr_kv kv;
    const fr_config config = config_of(FR_KV_F16);
    assert_int_equal(fr_kv_open(&kv, &config, 16, FR_KV_F16, NULL), FR_OK);
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
    const fr_config config = config_of(FR_KV_F16);
    assert_int_equal(fr_kv_open(&kv, &config, 16, FR_KV_F16, NULL), FR_OK);
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
    const fr_config config = config_of(FR_KV_Q8_0);
    assert_int_equal(fr_kv_open(&kv, &config, 50, FR_KV_Q8_0, NULL), FR_OK);
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

static void reading_gives_what_was_stored(void **state) {
    (void)state;
    fr_kv kv;
    const fr_config config = config_of(FR_KV_F16);
    enum { FIRST = 13, N = 22, HD = 20 }; // three blocks, the first and the last in part
    float k[N * HEADS * HD], v[N * HEADS * HD], want[HD];
    assert_int_equal(fr_kv_open(&kv, &config, 50, FR_KV_F16, NULL), FR_OK);
    for (int s = 0; s < 50; s++)
        fill(&kv, s, s + 1);
    for (int l = 0; l < LAYERS; l++) {
        fr_kv_read(&kv, l, FIRST, N, k, v);
        for (int i = 0; i < N * HEADS; i++)
            for (int is_v = 0; is_v < 2; is_v++) {
                row_of(want, HD, l * HEADS + i % HEADS, FIRST + i / HEADS + 1, is_v);
                for (int j = 0; j < HD; j++) // f16 by the rounding that hardware has
                    assert_true((is_v ? v : k)[i * HD + j] ==
                                fr_f16_to_f32(fr_f16_from_f32(want[j])));
            }
    }
    fr_kv_close(&kv);
}

static void the_check_of_a_kv_cache_finds_damage(void **state) {
    (void)state;
    fr_kv kv;
    const fr_config config = config_of(FR_KV_F16);
    assert_int_equal(fr_kv_open(&kv, &config, 40, FR_KV_F16, NULL), FR_OK);
    for (int s = 0; s < 70; s++)
        fr_kv_scratch(&kv, s - 1, s, 0);
    assert_noticed(kv.n_committed, -1, fr_kv_is_sound(&kv));
    assert_noticed(kv.n_committed, 41, fr_kv_is_sound(&kv));
    assert_noticed(kv.n_scratch, -1, fr_kv_is_sound(&kv));
    assert_noticed(kv.n_scratch, FR_MAX_SCRATCH + 1, fr_kv_is_sound(&kv));
    assert_noticed(kv.join[69], -1, fr_kv_is_sound(&kv));
    assert_noticed(kv.ancestors[3][0], 0x7, fr_kv_is_sound(&kv));  // not itself
    assert_noticed(kv.ancestors[3][0], 0x1f, fr_kv_is_sound(&kv)); // a later slot
    assert_noticed(kv.ancestors[3][1], 1, fr_kv_is_sound(&kv));    // a much later one
    assert_noticed(kv.ancestors[66][1], 0xf, fr_kv_is_sound(&kv)); // in the second word
    fr_kv_close(&kv);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_moves_the_path_and_nothing_else),
        cmocka_unit_test(types_take_their_part_of_the_memory_of_f16),
        cmocka_unit_test(q8_0_is_refused_for_heads_without_whole_groups),
        cmocka_unit_test(the_mixed_type_has_the_halves_of_both),
        cmocka_unit_test(copy_takes_whole_slots),
        cmocka_unit_test(types_have_names),
        cmocka_unit_test(a_slot_sees_itself_and_its_ancestors),
        cmocka_unit_test(truncate_forgets_the_end),
        cmocka_unit_test(repeat_copies_whole_slots),
        cmocka_unit_test(reading_gives_what_was_stored),
        cmocka_unit_test(the_check_of_a_kv_cache_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
