// unpack.c — one lane of a panel back to numbers (fr_panel_lane, a function for each type), a row
// back to floats.
//
// What the panels mean, one code at a time: the reference kernels read weights through this.
#include "kern/half.h"
#include "kern/repack.h"
#include <assert.h>
#include <stdbool.h>
#include <string.h>

static float get_half(const uint8_t *p, int lane) {
    return fr_f16_to_f32((uint16_t)(p[2 * lane] | p[2 * lane + 1] << 8));
}

static float get_bf16(const uint8_t *e, int lane) {
    return fr_bf16_to_f32((uint16_t)(e[2 * lane] | e[2 * lane + 1] << 8));
}

static float get_scale(fr_scale_kind kind, const uint8_t *p, int lane) {
    return kind == FR_SCALE_BF16 ? get_bf16(p, lane) : get_half(p, lane) * fr_scale_part(kind);
}

// 32 codes from 4 vectors of nibbles.
static void get_nibbles(int8_t *code, const uint8_t *vec, int lane) {
    for (int i = 0; i < 16; i++) {
        const uint8_t byte = vec[i / 4 * 64 + 4 * lane + i % 4];
        code[i] = (int8_t)(byte & 15);
        code[16 + i] = (int8_t)(byte >> 4);
    }
}

// Adds 16 where the fifth bit of one of 32 codes is set.
static void get_fifth(int8_t *code, const uint8_t *vec, int lane) {
    for (int i = 0; i < 32; i++)
        code[i] = (int8_t)(code[i] | (vec[4 * lane + i % 4] >> (i / 4) & 1) << 4);
}

static void subtract(int8_t *code, int offset) { // of 32 codes
    for (int i = 0; i < 32; i++)
        code[i] = (int8_t)(code[i] - offset);
}

// ---------------------------------------------------------------- blocks of 32
static void get_q4_0(fr_lane_block *o, const uint8_t *src, int lane) {
    get_nibbles(o->code, src, lane);
    subtract(o->code, 8);
}

static void get_q4_1(fr_lane_block *o, const uint8_t *src, int lane) {
    o->d = get_half(src, lane);
    o->m = get_half(src + 32, lane);
    get_nibbles(o->code, src + 64, lane);
}

static void get_q5_0(fr_lane_block *o, const uint8_t *src, int lane) {
    get_nibbles(o->code, src + 64, lane);
    get_fifth(o->code, src, lane);
    subtract(o->code, 16);
}

static void get_q5_1(fr_lane_block *o, const uint8_t *src, int lane) {
    o->d = get_half(src, lane);
    o->m = get_half(src + 32, lane);
    get_nibbles(o->code, src + 128, lane);
    get_fifth(o->code, src + 64, lane);
}

static void get_q8_0(fr_lane_block *o, const uint8_t *src, int lane) {
    for (int i = 0; i < 32; i++)
        o->code[i] = (int8_t)(src[i / 4 * 64 + 4 * lane + i % 4] ^ 0x80);
}

static void get_iq4_nl(fr_lane_block *o, const uint8_t *src, int lane) {
    get_nibbles(o->code, src, lane);
}

#define get_mxfp4 get_iq4_nl // their blocks are alike

// ---------------------------------------------------------------- superblocks
static void get_scales_k4(fr_lane_block *o, const uint8_t *vec, int lane) {
    uint8_t s[12];
    for (int i = 0; i < 12; i++)
        s[i] = vec[i / 4 * 64 + 4 * lane + i % 4];
    for (int j = 0; j < 4; j++) {
        o->sc[j] = s[j] & 63;
        o->mn[j] = s[4 + j] & 63;
        o->sc[4 + j] = (s[8 + j] & 15) | s[j] >> 6 << 4;
        o->mn[4 + j] = s[8 + j] >> 4 | s[4 + j] >> 6 << 4;
    }
}

// Q4_K and Q5_K: 32 vectors, each the low codes of one sub-block and the high codes of the next.
static void get_codes_k4(int8_t *code, const uint8_t *vec, int lane) {
    for (int i = 0; i < 128; i++) {
        const uint8_t byte = vec[i / 4 * 64 + 4 * lane + i % 4];
        int8_t *c = code + i / 32 * 64 + i % 32;
        c[0] = (int8_t)(byte & 15);
        c[32] = (int8_t)(byte >> 4);
    }
}

// Scales, minima and codes of Q4_K, and of Q5_K without the fifth bits.
static void get_k4(fr_lane_block *o, const uint8_t *src, const uint8_t *codes, int lane) {
    o->d = get_half(src, lane);
    o->m = get_half(src + 32, lane);
    get_scales_k4(o, src + 64, lane);
    get_codes_k4(o->code, codes, lane);
}

static void get_q4_k(fr_lane_block *o, const uint8_t *src, int lane) {
    get_k4(o, src, src + 256, lane);
}

static void get_q5_k(fr_lane_block *o, const uint8_t *src, int lane) {
    get_k4(o, src, src + 256 + 512, lane);
    for (int j = 0; j < 8; j++)
        get_fifth(o->code + 32 * j, src + 256 + 64 * j, lane);
}

static int bit_pair(const uint8_t *vec, int lane, int i) { // i: 0..255
    return vec[i / 16 * 64 + 4 * lane + i % 4] >> (i % 16 / 4 * 2) & 3;
}

static void get_q2_k(fr_lane_block *o, const uint8_t *src, int lane) {
    o->d = get_half(src, lane);
    o->m = get_half(src + 32, lane);
    for (int j = 0; j < 16; j++) {
        o->sc[j] = src[64 + 16 * j + lane] & 15;
        o->mn[j] = src[64 + 16 * j + lane] >> 4;
    }
    for (int i = 0; i < 256; i++)
        o->code[i] = (int8_t)bit_pair(src + 320, lane, i);
}

static void get_q3_k(fr_lane_block *o, const uint8_t *src, int lane) {
    const uint8_t *low = src + 256, *high = src + 256 + 16 * 64;
    for (int j = 0; j < 16; j++)
        o->sc[j] = (int8_t)src[16 * j + lane];
    for (int i = 0; i < 256; i++) {
        const int third = high[i / 32 * 64 + 4 * lane + i % 4] >> (i % 32 / 4) & 1;
        o->code[i] = (int8_t)((bit_pair(low, lane, i) | third << 2) - 4);
    }
}

static void get_q6_k(fr_lane_block *o, const uint8_t *src, int lane) {
    for (int j = 0; j < 16; j++) {
        o->sc[j] = (int8_t)src[16 * j + lane];
        const uint8_t *vec = src + 256 + 192 * j + 4 * lane;
        for (int b = 0; b < 4; b++) {
            const uint8_t v0 = vec[b], v1 = vec[64 + b], v2 = vec[128 + b];
            int8_t *c = o->code + 16 * j + b;
            c[0] = (int8_t)((v0 & 63) - 32);
            c[4] = (int8_t)((v1 & 63) - 32);
            c[8] = (int8_t)((v2 & 63) - 32);
            c[12] = (int8_t)((v0 >> 6 | v1 >> 6 << 2 | v2 >> 6 << 4) - 32);
        }
    }
}

static void get_iq4_xs(fr_lane_block *o, const uint8_t *src, int lane) {
    for (int j = 0; j < 8; j++) {
        o->sc[j] = (int8_t)src[16 * j + lane];
        get_nibbles(o->code + 32 * j, src + 128 + 256 * j, lane);
    }
}

static void get_iq2_s(fr_lane_block *o, const uint8_t *src, int lane) {
    for (int j = 0; j < 16; j++)
        o->sc[j] = (int8_t)src[16 * j + lane];
    for (int j = 0; j < 8; j++)
        get_nibbles(o->code + 32 * j, src + 256 + 256 * j, lane);
}

// From a block of the type. d is there already where the panel's header has it; codes of types with
// a table are looked up there afterwards.
typedef void get_fn(fr_lane_block *o, const uint8_t *src, int lane);

void fr_panel_lane(fr_type type, const uint8_t *panel, int k, int b, int lane, fr_lane_block *o) {
#define BLOCKS(id, NAME, name, ...) [FR_TYPE_##NAME] = get_##name,
#define LIKE(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel, like)         \
    [FR_TYPE_##NAME] = get_##like,
    static get_fn *const get[FR_TYPE_LIMIT] = {FR_TYPES(FR_NO_ROW, BLOCKS, BLOCKS, BLOCKS, LIKE)};
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    assert(get[type]); // a type with codes
    memset(o, 0, sizeof *o);
    o->sub = t->sub;
    if (t->sub == t->block) o->sc[0] = 1;
    if (t->head) o->d = get_scale(t->scale, panel + (size_t)t->head * (size_t)b, lane);
    get[type](o, panel + fr_panel_header_bytes(type, k) + (size_t)b * (size_t)t->panel, lane);
    for (int i = 0; t->table && i < t->block; i++)
        o->code[i] = t->table[o->code[i]];
}

// ---------------------------------------------------------------- floats
// A lane of the 16 elements at e.
static float get_f32(const uint8_t *e, int lane) {
    float value;
    memcpy(&value, e + 4 * lane, sizeof value);
    return value;
}

static float get_f16(const uint8_t *e, int lane) {
    return get_half(e, lane);
}

typedef float get_float_fn(const uint8_t *e, int lane);

static void unpack_floats(const fr_matrix *w, const uint8_t *panel, int lane, float *dst) {
#define FLOAT(id, NAME, name, ...) [FR_TYPE_##NAME] = get_##name,
    static get_float_fn *const get[FR_TYPE_LIMIT] = {
        FR_TYPES(FLOAT, FR_NO_ROW, FR_NO_ROW, FR_NO_ROW, FR_NO_ROW)};
    const size_t step = fr_panel_block_bytes(w->type);
    for (int i = 0; i < w->k; i++)
        dst[i] = get[w->type](panel + (size_t)i * step, lane);
}

// ---------------------------------------------------------------- rows
void fr_unpack_row(const fr_matrix *w, int row, float *dst) {
    const uint8_t *panel = w->panels + (size_t)(row / FR_PANEL) * w->panel_bytes;
    const int lane = row % FR_PANEL, block = fr_qtype_of((uint32_t)w->type)->block;
    if (block == 1) {
        unpack_floats(w, panel, lane, dst);
        return;
    }
    const bool adds_m = fr_qtype_of((uint32_t)w->type)->min == FR_MIN_ADDED;
    fr_lane_block o;
    for (int b = 0; b < w->k / block; b++) {
        fr_panel_lane(w->type, panel, w->k, b, lane, &o);
        for (int i = 0; i < block; i++) {
            const int j = i / o.sub;
            const float scaled = o.d * (float)o.sc[j] * (float)o.code[i];
            dst[b * block + i] = adds_m ? scaled + o.m : scaled - o.m * (float)o.mn[j];
        }
    }
}

void fr_matrix_row(const fr_matrix *w, int row, float *dst) {
    if (w->panels)
        fr_unpack_row(w, row, dst);
    else
        fr_dequant_row(w->type, w->rows + (size_t)fr_qtype_row_bytes(w->type, w->k) * (size_t)row,
                       dst, w->k);
}
