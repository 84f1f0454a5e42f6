// test_repack.c — what packing promises: no weight changes, nothing outside the panels is touched.
#include "base/alloc.h"
#include "kern/dequant.h"
#include "kern/layout.h"
#include "kern/repack.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 64 };

static uint64_t state = 20261121; // the seed: fixed, so that a failure repeats

static uint8_t random_byte(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(state >> 56);
}

// Random GGUF rows of random bytes, packed between two guards.
typedef struct sample {
    uint8_t *rows, *packed;
    size_t row_bytes, packed_bytes;
    fr_matrix w;
} sample;

static sample make_sample(fr_type type, int m, int k) {
    sample s = {.w = {.type = type, .m = m, .k = k, .n_panels = (m + 15) / 16}};
    s.row_bytes = (size_t)fr_qtype_row_bytes(type, k);
    s.w.panel_bytes = fr_repack_panel_bytes(type, k);
    s.packed_bytes = s.w.panel_bytes * (size_t)s.w.n_panels;
    s.rows = fr_alloc_zero(s.row_bytes * (size_t)m);
    s.packed = fr_alloc_zero(s.packed_bytes + 2 * GUARD);
    assert_non_null(s.rows);
    assert_non_null(s.packed);
    for (size_t i = 0; i < s.row_bytes * (size_t)m; i++)
        s.rows[i] = random_byte();
    memset(s.packed, 0xa5, s.packed_bytes + 2 * GUARD);
    s.w.panels = s.packed + GUARD;
    return s;
}

static void drop_sample(sample *s) {
    fr_free(s->rows);
    fr_free(s->packed);
}

static void pack_and_unpack_keep_every_weight(void **unused) {
    (void)unused;
    static const int heights[] = {1, 15, 16, 17, 40};
    float expected[768], found[768];
    const fr_qtype *q;
    for (int t = 0; (q = fr_qtype_at(t)); t++)
        for (int h = 0; h < 5; h++)
            for (int blocks = 1; blocks <= 3; blocks++) {
                const int m = heights[h], k = blocks * q->block;
                sample s = make_sample(q->type, m, k);
                fr_repack_panels(q->type, s.packed + GUARD, s.rows, m, k, 0, s.w.n_panels);
                for (int row = 0; row < m; row++) {
                    fr_dequant_row(q->type, s.rows + s.row_bytes * (size_t)row, expected, k);
                    fr_unpack_row(&s.w, row, found);
                    for (int i = 0; i < k; i++) // the same bits, or both not a number
                        if (memcmp(&expected[i], &found[i], 4) &&
                            (expected[i] == expected[i] || found[i] == found[i]))
                            fail_msg("%s m %d k %d row %d [%d]: expected %a, found %a", q->name, m,
                                     k, row, i, (double)expected[i], (double)found[i]);
                }
                for (int i = 0; i < GUARD; i++) {
                    assert_int_equal(s.packed[i], 0xa5);
                    assert_int_equal(s.packed[GUARD + s.packed_bytes + (size_t)i], 0xa5);
                }
                drop_sample(&s);
            }
}

static void panels_packed_in_parts_equal_panels_packed_at_once(void **unused) {
    (void)unused;
    const fr_qtype *q;
    for (int t = 0; (q = fr_qtype_at(t)); t++) {
        const int m = 70, k = 256;
        sample s = make_sample(q->type, m, k);
        uint8_t *whole = fr_alloc_zero(s.packed_bytes);
        assert_non_null(whole);
        fr_repack_panels(q->type, whole, s.rows, m, k, 0, s.w.n_panels);
        fr_repack_panels(q->type, s.packed + GUARD, s.rows, m, k, 3, s.w.n_panels);
        fr_repack_panels(q->type, s.packed + GUARD, s.rows, m, k, 0, 3);
        assert_memory_equal(whole, s.packed + GUARD, s.packed_bytes);
        fr_free(whole);
        drop_sample(&s);
    }
}

static void packing_writes_every_byte_and_missing_rows_weigh_nothing(void **unused) {
    (void)unused;
    float found[5 * 256];
    const fr_qtype *q;
    for (int t = 0; (q = fr_qtype_at(t)); t++) {
        const int m = 21, k = 5 * q->block;
        sample s = make_sample(q->type, m, k);
        uint8_t *over_ones = fr_alloc_zero(s.packed_bytes);
        assert_non_null(over_ones);
        memset(over_ones, 0xff, s.packed_bytes);
        fr_repack_panels(q->type, over_ones, s.rows, m, k, 0, s.w.n_panels);
        fr_repack_panels(q->type, s.packed + GUARD, s.rows, m, k, 0, s.w.n_panels);
        assert_memory_equal(over_ones, s.packed + GUARD, s.packed_bytes);
        for (int row = m; row < 16 * s.w.n_panels; row++) {
            fr_unpack_row(&s.w, row, found);
            for (int i = 0; i < k; i++)
                assert_true(found[i] == 0);
        }
        fr_free(over_ones);
        drop_sample(&s);
    }
}

// Blocks of zeros, and rows that are not there: products with their scales would be slow.
static void zeros_have_no_subnormal_scales(void **unused) {
    (void)unused;
    uint8_t rows[3][17] = {{0}, {1}, {255}};
    memset(rows[1] + 1, 0x80, 16); // -0
    _Alignas(64) uint8_t panel[64 + 256];
    uint16_t head[16];
    assert_int_equal(fr_repack_panel_bytes(FR_TYPE_MXFP4, 32), sizeof panel);
    fr_repack_panel(FR_TYPE_MXFP4, panel, rows[0], 3, 32);
    memcpy(head, panel, sizeof head);
    for (int lane = 0; lane < 16; lane++)
        assert_int_equal(head[lane], lane == 2 ? 0x7fc0 : 0); // NaN stays NaN
    rows[0][5] = 1;
    fr_repack_panel(FR_TYPE_MXFP4, panel, rows[0], 3, 32);
    memcpy(head, panel, sizeof head);
    assert_int_equal(head[0], 0x20);
}

static void packed_sizes_are_those_of_the_file_and_whole_lines(void **unused) {
    (void)unused;
    const fr_qtype *q;
    for (int t = 0; (q = fr_qtype_at(t)); t++) {
        const size_t rows = 16 * (size_t)fr_qtype_row_bytes(q->type, 1024);
        const size_t panel = fr_repack_panel_bytes(q->type, 1024);
        assert_int_equal(panel % 64, 0);
        assert_true(panel >= rows);
        // mxfp4 has 5.9 % more. Grids of 2 and 3 bits become nibbles.
        const bool grid = q->table && q->block == 256 && q->type != FR_TYPE_IQ4_XS;
        assert_true(panel <= (grid ? 16 * 1024 * 4.625 / 8 : rows + rows / 16) + 64);
    }
    assert_int_equal(fr_repack_panel_bytes(FR_TYPE_Q4_K, 128), 0);
    assert_int_equal(fr_repack_panel_bytes(FR_TYPE_Q8_0, 31), 0);
}

static void check_b32(fr_type type) {
    const fr_qtype *q = fr_qtype_of(type);
    const fr_b32_layout at = fr_b32_layout_of(type);
    assert_int_equal(at.bytes, q->panel);
    assert_int_equal(at.header, q->head != 0);
    assert_int_equal(at.mins, q->min == FR_MIN_ADDED);
}

static void check_k(fr_type type) {
    const fr_qtype *q = fr_qtype_of(type);
    assert_int_equal(fr_k_layout_of(type).bytes, q->panel);
    assert_int_equal(fr_k_header(type, 3), fr_panel_header_bytes(type, 3 * q->block));
    assert_int_equal(fr_k_has_dmin(type), q->min == FR_MIN_SCALED);
    assert_int_equal(fr_k_sub(type), q->sub);
}

// What a type shares with the one whose kernels serve it.
static void check_like(fr_type type, const char *name) {
    const fr_qtype *q = fr_qtype_of(type), *other = NULL;
    for (int t = 0; (other = fr_qtype_at(t)) && strcmp(other->name, name);)
        t++;
    assert_non_null(other);
    assert_int_equal(q->block, other->block);
    assert_int_equal(q->act, other->act);
    assert_int_equal(q->sub, other->sub);
    assert_int_equal(q->min, other->min);
    assert_int_equal(q->head, other->head);
    assert_int_equal(q->panel, other->panel);
    assert_int_equal(!q->table, !other->table);
}

// The constants that vector kernels are made of.
static void kernels_see_the_panels_that_rows_describe(void **unused) {
    (void)unused;
#define B32(id, NAME, ...) check_b32(FR_TYPE_##NAME);
#define K(id, NAME, ...)   check_k(FR_TYPE_##NAME);
#define LIKE(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel, like)         \
    check_like(FR_TYPE_##NAME, #like);
    FR_TYPES(FR_NO_ROW, B32, K, FR_NO_ROW, LIKE)
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pack_and_unpack_keep_every_weight),
        cmocka_unit_test(panels_packed_in_parts_equal_panels_packed_at_once),
        cmocka_unit_test(packing_writes_every_byte_and_missing_rows_weigh_nothing),
        cmocka_unit_test(zeros_have_no_subnormal_scales),
        cmocka_unit_test(packed_sizes_are_those_of_the_file_and_whole_lines),
        cmocka_unit_test(kernels_see_the_panels_that_rows_describe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
