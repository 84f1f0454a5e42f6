// check_rows.c — random GGUF rows whose scales are sane and whose codes are random or extreme.
#include "check.h"
#include "kern/dequant.h"
#include "kern/half.h"
#include "support/bf16.h"
#include <assert.h>
#include <math.h>
#include <string.h>

// Where a block keeps its f16 (-1: none) and its scale bytes. MXFP4's exponent is drawn by put_exponent.
typedef struct fields {
    int half0, half1, scales, n_scales;
} fields;

static fields fields_of(fr_type type) {
    switch (type) {
    case FR_TYPE_Q4_1:
    case FR_TYPE_Q5_1:
        return (fields){0, 2, 0, 0};
    case FR_TYPE_Q2_K:
        return (fields){80, 82, 0, 16};
    case FR_TYPE_Q3_K:
        return (fields){108, -1, 96, 12};
    case FR_TYPE_Q4_K:
    case FR_TYPE_Q5_K:
        return (fields){0, 2, 4, 12};
    case FR_TYPE_Q6_K:
        return (fields){208, -1, 192, 16};
    case FR_TYPE_IQ4_XS:
        return (fields){0, -1, 2, 6};
    case FR_TYPE_Q4_0:
    case FR_TYPE_Q5_0:
    case FR_TYPE_Q8_0:
    case FR_TYPE_IQ4_NL:
        return (fields){0, -1, 0, 0};
    case FR_TYPE_MXFP4:
    case FR_TYPE_MXFP4_OLLAMA:
        return (fields){-1, -1, 0, 0};
    case FR_TYPE_IQ2_XXS: // scales among the codes
        return (fields){0, -1, 0, 0};
    case FR_TYPE_IQ2_XS:
        return (fields){0, -1, 66, 8};
    case FR_TYPE_IQ2_S:
        return (fields){0, -1, 74, 8};
    case FR_TYPE_IQ3_XXS:
        return (fields){0, -1, 66, 32};
    case FR_TYPE_IQ3_S:
        return (fields){0, -1, 106, 4};
    case FR_TYPE_LIMIT FR_TYPES(FR_OTHER, FR_NO_ROW, FR_NO_ROW, FR_OTHER, FR_NO_ROW):
        break;
    }
    assert(!"a quantized type");
    return (fields){0};
}

static void put_half(check *c, uint8_t *p, int mode) {
    float value = check_uniform(c, -0.02f, 0.02f);
    const int odd = check_below(c, 40); // a few zeros, subnormals and large ones
    if (odd == 0) value = 0;
    if (odd == 1) value = check_uniform(c, -6e-5f, 6e-5f);
    if (odd == 2 && mode == 0) value = check_uniform(c, -100.0f, 100.0f);
    const uint16_t h = fr_f16_from_f32(value);
    memcpy(p, &h, 2);
}

// Of MXFP4: scales about those of put_half. A few are the least that there are, but not in mode 0:
// a processor handles subnormal numbers slowly, and that is what a benchmark would time.
static void put_exponent(check *c, uint8_t *p, int mode) {
    const int odd = check_below(c, 40);
    *p = (uint8_t)(117 + check_below(c, 8));
    if (odd == 0 && mode) *p = (uint8_t)check_below(c, 3);
    if (odd == 2 && mode == 0) *p = (uint8_t)(125 + check_below(c, 8));
}

static uint8_t code_byte(check *c, int mode) {
    switch (mode) {
    case 1:
        return 0;
    case 2:
        return 0xff;
    case 3:
        return check_below(c, 2) ? 0xff : 0;
    case 4:
        return 0;
    default:
        return (uint8_t)check_random(c);
    }
}

static uint8_t scale_byte(check *c, int mode) {
    switch (mode) {
    case 1:
        return 0;
    case 2:
        return 0xff;
    case 3:
        return check_below(c, 2) ? 0x80 : 0x7f;
    case 4:
        return 0x80;
    default:
        return (uint8_t)check_random(c);
    }
}

static void float_rows(check *c, fr_type type, uint8_t *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const float value = check_uniform(c, -1.0f, 1.0f) * (check_below(c, 50) ? 1.0f : 1e-6f);
        const uint16_t h = type == FR_TYPE_F16 ? fr_f16_from_f32(value) : fr_bf16_from_f32(value);
        if (type == FR_TYPE_F32)
            memcpy(rows + 4 * i, &value, 4);
        else
            memcpy(rows + 2 * i, &h, 2);
    }
}

// Blocks of which only the values are known: bytes are drawn until these are sane.
static void generic_rows(check *c, const fr_qtype *t, uint8_t *rows, size_t blocks) {
    float value[256];
    assert(t->block <= 256);
    for (size_t b = 0; b < blocks; b++) {
        uint8_t *p = rows + b * (size_t)t->bytes;
        bool sane;
        do {
            for (int i = 0; i < t->bytes; i++)
                p[i] = (uint8_t)check_random(c);
            fr_dequant_row(t->type, p, value, t->block);
            sane = true;
            for (int i = 0; i < t->block; i++)
                sane &= fabsf(value[i]) <= 1e4f; // false for NaN
        } while (!sane);
    }
}

static bool is_generic(fr_type type) {
#define YES(id, NAME, ...) || type == FR_TYPE_##NAME
    return type == FR_TYPE_LIMIT FR_TYPES(FR_NO_ROW, FR_NO_ROW, FR_NO_ROW, YES, FR_NO_ROW);
}

void check_random_rows(check *c, fr_type type, uint8_t *rows, int m, int k, int mode) {
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    const size_t blocks = (size_t)m * (size_t)(k / t->block);
    if (t->block == 1) {
        float_rows(c, type, rows, blocks);
        return;
    }
    if (is_generic(type)) {
        generic_rows(c, t, rows, blocks);
        return;
    }
    const fields f = fields_of(type);
    for (size_t b = 0; b < blocks; b++) {
        uint8_t *p = rows + b * (size_t)t->bytes;
        const int now = mode == 5 ? check_below(c, 5) : mode; // 5: extremes side by side
        for (int i = 0; i < t->bytes; i++)
            p[i] = code_byte(c, now);
        for (int i = 0; i < f.n_scales; i++)
            p[f.scales + i] = scale_byte(c, now);
        if (t->scale == FR_SCALE_BF16)
            put_exponent(c, p, mode);
        else
            put_half(c, p + f.half0, mode);
        if (f.half1 >= 0) put_half(c, p + f.half1, mode);
    }
}
