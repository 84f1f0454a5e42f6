// test_dequant.c — block layouts and half floats against independent values.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bf16.h"
#include "../support/quantize.h"
#include "kern/dequant.h"
#include "kern/half.h"

typedef struct golden {
    uint32_t type;
    int blocks;
    const char *bytes, *values; // hexadecimal
} golden;

static const golden recorded[] = {
#include "dequant_golden.inc"
};
enum { N_RECORDED = sizeof recorded / sizeof *recorded };

static uint32_t hex(const char *p, int digits) {
    char text[9] = {0};
    memcpy(text, p, (size_t)digits);
    return (uint32_t)strtoul(text, NULL, 16);
}

static void dequant_reads_recorded_blocks(void **state) {
    (void)state;
    const fr_qtype *known;
    for (int t = 0; (known = fr_qtype_at(t)); t++) { // every type has a record
        int r = 0;
        while (r < N_RECORDED && recorded[r].type != known->type)
            r++;
        if (r == N_RECORDED) fail_msg("%s: make_dequant_golden.py lacks it", known->name);
    }
    for (int r = 0; r < N_RECORDED; r++) {
        const fr_qtype *q = fr_qtype_of(recorded[r].type);
        assert_non_null(q);
        const size_t bytes = strlen(recorded[r].bytes) / 2, n = strlen(recorded[r].values) / 8;
        assert_int_equal(bytes, recorded[r].blocks * q->bytes);
        assert_int_equal(n, recorded[r].blocks * q->block);
        assert_int_equal(fr_qtype_row_bytes(q->type, (int64_t)n), bytes);
        uint8_t *block = malloc(bytes + 1); // read at an odd address: no alignment is promised
        float *value = malloc(n * sizeof *value);
        assert_true(block && value);
        for (size_t i = 0; i < bytes; i++)
            block[1 + i] = (uint8_t)hex(recorded[r].bytes + 2 * i, 2);
        fr_dequant_row(q->type, block + 1, value, (int64_t)n);
        for (size_t i = 0; i < n; i++) {
            const uint32_t expected = hex(recorded[r].values + 8 * i, 8);
            if (fr_f32_bits(value[i]) != expected)
                fail_msg("%s element %zu: expected %08x, found %08x", q->name, i, expected,
                         fr_f32_bits(value[i]));
        }
        free(block);
        free(value);
    }
}

// Every entry of every grid, by a hash: 1024 blocks of random bytes whose scale is 1.
static void grid_values_are_recorded(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t hash;
    } grids[] = {
#include "grid_golden.inc"
    };
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        const fr_qtype *q = fr_qtype_of(grids[i].type);
        assert_non_null(q);
        uint64_t x = 1, hash = 0xcbf29ce484222325;
        for (int b = 0; b < 1024; b++) {
            uint8_t block[256];
            float value[256];
            for (int k = 0; k < q->bytes; k++) {
                x = x * 6364136223846793005u + 1442695040888963407u;
                block[k] = (uint8_t)(x >> 56);
            }
            block[0] = 0, block[1] = 0x3c;
            fr_dequant_row(q->type, block, value, 256);
            for (int k = 0; k < 256; k++)
                hash = (hash ^ fr_f32_bits(value[k])) * 0x100000001b3;
        }
        if (hash != grids[i].hash) fail_msg("%s: other values than recorded", q->name);
    }
}

// A double holds every half exactly, and scalbn is exact: value = ±fraction · 2^exponent.
static void half_widens_by_definition(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const int exponent = h >> 10 & 31, fraction = h & 1023;
        const float x = fr_f16_to_f32((uint16_t)h);
        if (exponent == 31 && fraction) {
            assert_true(isnan(x));
            continue;
        }
        double expected = exponent == 31 ? INFINITY
                          : exponent     ? scalbn(1024 + fraction, exponent - 25)
                                         : scalbn(fraction, -24);
        if (h & 0x8000) expected = -expected;
        assert_true((double)x == expected && !signbit(x) == !(h & 0x8000));
        assert_int_equal(fr_f16_from_f32(x), h);
    }
}

// Between two neighbouring halves the nearer is taken, the even one in the middle.
static void half_narrows_to_nearest_even(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7bff; h++) {
        const float low = fr_f16_to_f32((uint16_t)h), high = fr_f16_to_f32((uint16_t)(h + 1));
        const float middle = (low + high) / 2; // exact: 12 bits
        assert_int_equal(fr_f16_from_f32(middle), h + (h & 1));
        assert_int_equal(fr_f16_from_f32(nextafterf(middle, 0)), h);
        assert_int_equal(fr_f16_from_f32(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(fr_f16_from_f32(-middle), 0x8000 | (h + (h & 1)));
    }
    assert_int_equal(fr_f16_from_f32(nextafterf(65520, 0)), 0x7bff);
    assert_int_equal(fr_f16_from_f32(65520), 0x7c00);
    assert_int_equal(fr_f16_from_f32_sat(65520), 0x7bff);
    assert_int_equal(fr_f16_from_f32_sat(-INFINITY), 0xfbff);
    assert_int_equal(fr_f16_from_f32_sat(-1.5f), 0xbe00);
    assert_true(isnan(fr_f16_to_f32(fr_f16_from_f32_sat(NAN))));
}

static void bfloat_narrows_to_nearest_even(void **state) {
    (void)state;
    assert_int_equal(fr_bf16_from_f32(1), 0x3f80);
    assert_int_equal(fr_bf16_from_f32(fr_f32_from_bits(0x3f808000)), 0x3f80); // middle, even below
    assert_int_equal(fr_bf16_from_f32(fr_f32_from_bits(0x3f818000)), 0x3f82); // middle, even above
    assert_int_equal(fr_bf16_from_f32(fr_f32_from_bits(0x3f808001)), 0x3f81);
    assert_int_equal(fr_bf16_from_f32(fr_f32_from_bits(0xff7fffff)), 0xff80); // overflow: infinity
    assert_true(isnan(fr_bf16_to_f32(fr_bf16_from_f32(fr_f32_from_bits(0x7f800001)))));
    for (uint32_t b = 0; b < 0x10000; b++)
        if ((b & 0x7fff) <= 0x7f80)
            assert_int_equal(fr_bf16_from_f32(fr_bf16_to_f32((uint16_t)b)), b);
}

// 255 is NaN by the format's definition, though ggml and the package gguf read 2^127.
static void exponents_are_powers_of_two(void **state) {
    (void)state;
    for (int e = 0; e < 255; e++)
        assert_true(fr_bf16_to_f32(fr_bf16_of_e8m0((uint8_t)e)) == scalbnf(1, e - 128));
    assert_true(isnan(fr_bf16_to_f32(fr_bf16_of_e8m0(255))));
    uint8_t block[17] = {255, 0x10}; // values 0 (code 0) and 1 (code 1)
    float value[32];
    fr_dequant_row(FR_TYPE_MXFP4, block, value, 32);
    for (int i = 0; i < 32; i++)
        assert_true(isnan(value[i]));
    block[0] = 254;
    fr_dequant_row(FR_TYPE_MXFP4, block, value, 32);
    assert_true(value[0] == 0 && value[16] == 0x1p126f);
}

static void qtype_knows_what_it_does_not_read(void **state) {
    (void)state;
    assert_null(fr_qtype_of(19));
    assert_null(fr_qtype_of(FR_TYPE_LIMIT));
    assert_null(fr_qtype_of(UINT32_MAX));
    assert_string_equal(fr_qtype_name(FR_TYPE_Q4_K), "q4_k");
    assert_string_equal(fr_qtype_name(19), "iq1_s");
    assert_string_equal(fr_qtype_name(4711), "unknown type");
#define UNREAD(id, name)                                                                           \
    assert_null(fr_qtype_of(id));                                                                  \
    assert_string_equal(fr_qtype_name(id), #name);
    FR_UNREAD_TYPES(UNREAD)
}

static void every_row_is_whole(void **state) {
    (void)state;
    const fr_qtype *q, *before = NULL;
    for (int t = 0; (q = fr_qtype_at(t)); before = q, t++) {
        assert_ptr_equal(q, fr_qtype_of(q->type));
        assert_true(!before || before->type < q->type);
        assert_string_equal(q->name, fr_qtype_name(q->type));
        assert_true(q->bytes > 0 && q->sub > 0 && q->block % q->sub == 0);
        assert_true(q->head >= 0 && q->panel > 0);
        // A block's scale lies in the header or, beside m or dmin, in the block.
        if (q->act != FR_ACT_F32) assert_true((q->head != 0) == (q->min == FR_MIN_NONE));
        // Inputs come in the blocks that weights have.
        assert_int_equal(q->block, q->act == FR_ACT_F32 ? 1 : q->act == FR_ACT_Q32 ? 32 : 256);
    }
    assert_null(fr_qtype_at(FR_TYPE_LIMIT));
}

// The tests' quantizers invert the layouts: what comes back is as near as the type's step allows.
static void quantize_comes_back_within_its_bound(void **state) {
    (void)state;
    const unsigned seed = 20240607;
    printf("seed %u\n", seed);
    uint32_t x = seed;
    float src[512], back[512];
    uint8_t packed[512 * 4];
    for (int round = 0; round < 40; round++) {
        const float size = powf(10, (float)(round % 4));
        for (int i = 0; i < 512; i++) {
            x = x * 1664525u + 1013904223u;
            const float part = i / 64 % 4 == 3 ? 0.05f : 1; // sub-blocks of unlike size
            src[i] = round == 0 ? 0 : part * size * ((float)(x >> 8) / (1 << 23) - 1);
            if (round % 5 == 4) src[i] = fabsf(src[i]);
        }
        const fr_qtype *q;
        for (int t = 0; (q = fr_qtype_at(t)); t++) {
            if (!fr_test_quantizes(q->type)) continue;
            fr_test_quantize(q->type, src, packed, 512);
            fr_dequant_row(q->type, packed, back, 512);
            for (int i = 0; i < 512; i++) {
                float most = 0;
                for (int k = 0; k < q->block; k++)
                    most = fmaxf(most, fabsf(src[i / q->block * q->block + k]));
                if (!(fabsf(back[i] - src[i]) <= fr_test_quantize_bound(q->type) * most + 0x1p-25f))
                    fail_msg("%s round %d element %d: %g came back as %g (largest %g)", q->name,
                             round, i, (double)src[i], (double)back[i], (double)most);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dequant_reads_recorded_blocks),
        cmocka_unit_test(grid_values_are_recorded),
        cmocka_unit_test(half_widens_by_definition),
        cmocka_unit_test(half_narrows_to_nearest_even),
        cmocka_unit_test(bfloat_narrows_to_nearest_even),
        cmocka_unit_test(exponents_are_powers_of_two),
        cmocka_unit_test(qtype_knows_what_it_does_not_read),
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(quantize_comes_back_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
