// pack.c — GGUF rows to panels (fr_pack_panels) and one lane of a panel back to numbers
// (fr_panel_lane).
//
// Writing goes lane by lane: a lane's dword of vector v lies at 64*v + 4*lane. Most types are a
// plain dword transpose of the GGUF bytes; those that spread a code over several places are spelled
// out to one code a byte first.
#include "kern/pack.h"
#include "kern/half.h"
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// ---------------------------------------------------------------- sizes
size_t fr_panel_block_bytes(fr_type type) {
    switch (type) {
    case FR_TYPE_Q4_0:
    case FR_TYPE_IQ4_NL:
        return 4 * 64;
    case FR_TYPE_Q4_1:
    case FR_TYPE_Q5_0:
        return 5 * 64;
    case FR_TYPE_Q5_1:
        return 6 * 64;
    case FR_TYPE_Q8_0:
        return 8 * 64;
    case FR_TYPE_Q2_K:
        return 64 + 256 + 16 * 64;
    case FR_TYPE_Q3_K:
        return 256 + (16 + 8) * 64;
    case FR_TYPE_Q4_K:
        return 64 + (3 + 32) * 64;
    case FR_TYPE_Q5_K:
        return 64 + (3 + 8 + 32) * 64;
    case FR_TYPE_Q6_K:
        return 256 + 16 * 3 * 64;
    case FR_TYPE_IQ4_XS:
        return 128 + 8 * 4 * 64;
    case FR_TYPE_F32:
        return 16 * 4;
    case FR_TYPE_F16:
    case FR_TYPE_BF16:
        return 16 * 2;
    }
    return 0;
}

static bool has_header(fr_type type) {
    return type == FR_TYPE_Q4_0 || type == FR_TYPE_Q5_0 || type == FR_TYPE_Q8_0 ||
           type == FR_TYPE_IQ4_NL || type == FR_TYPE_Q3_K || type == FR_TYPE_Q6_K ||
           type == FR_TYPE_IQ4_XS;
}

static size_t round64(size_t bytes) {
    return (bytes + 63) & ~(size_t)63;
}

size_t fr_panel_header_bytes(fr_type type, int k) {
    if (!has_header(type)) return 0;
    return round64((size_t)(k / fr_qtype_of((uint32_t)type)->block) * 32);
}

size_t fr_pack_panel_bytes(fr_type type, int k) {
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    if (!t || k <= 0 || k % t->block) return 0;
    return fr_panel_header_bytes(type, k) +
           round64((size_t)(k / t->block) * fr_panel_block_bytes(type));
}

// ---------------------------------------------------------------- one GGUF block into its lane
static void put_half(uint8_t *dst, int lane, const uint8_t *src) {
    memcpy(dst + 2 * lane, src, 2);
}

// n_vec dwords of the source become the lane's dwords of n_vec consecutive vectors.
static void put_dwords(uint8_t *dst, int lane, const uint8_t *src, int n_vec) {
    for (int v = 0; v < n_vec; v++)
        memcpy(dst + 64 * v + 4 * lane, src + 4 * v, 4);
}

// The fifth bits of 32 codes, bit i of `bits` for code i: bit g of byte b <- code 4g+b.
static void put_fifth(uint8_t *dst, int lane, uint32_t bits) {
    uint8_t h[4] = {0};
    for (int i = 0; i < 32; i++)
        h[i % 4] |= (uint8_t)((bits >> i & 1) << (i / 4));
    memcpy(dst + 4 * lane, h, 4);
}

// Low 2 bits of 16 codes in one dword: bits 2g, 2g+1 of byte b <- code 4g+b.
static void put_crumbs(uint8_t *dst, int lane, const uint8_t *code) {
    for (int b = 0; b < 4; b++)
        dst[4 * lane + b] = (uint8_t)((code[b] & 3) | (code[4 + b] & 3) << 2 |
                                      (code[8 + b] & 3) << 4 | (code[12 + b] & 3) << 6);
}

// The 2-bit fields that Q2_K and Q3_K share: 256 codes from 64 bytes.
static void spell_crumbs(uint8_t *code, const uint8_t *qs) {
    for (int i = 0; i < 256; i++)
        code[i] = qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

static void put_q2_k(uint8_t *dst, int lane, const uint8_t *src) {
    uint8_t code[256];
    spell_crumbs(code, src + 16);
    put_half(dst, lane, src + 80);
    put_half(dst + 32, lane, src + 82);
    for (int j = 0; j < 16; j++) {
        dst[64 + 16 * j + lane] = src[j];
        put_crumbs(dst + 320 + 64 * j, lane, code + 16 * j);
    }
}

static void put_q3_k(uint8_t *dst, int lane, const uint8_t *src) {
    const uint8_t *hmask = src, *scales = src + 96;
    uint8_t code[256];
    spell_crumbs(code, src + 32);
    for (int i = 0; i < 256; i++)
        code[i] |= (uint8_t)((hmask[i % 32] >> (i / 32) & 1) << 2);
    for (int j = 0; j < 16; j++) {
        const int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
        const int high = scales[8 + j % 4] >> (2 * (j / 4)) & 3;
        dst[16 * j + lane] = (uint8_t)((low | high << 4) - 32);
        put_crumbs(dst + 256 + 64 * j, lane, code + 16 * j);
        uint8_t *third = dst + 256 + 16 * 64 + 64 * (j / 2) + 4 * lane;
        for (int i = 0; i < 16; i++)
            third[i % 4] |= (uint8_t)((code[16 * j + i] >> 2) << (i / 4 + 4 * (j % 2)));
    }
}

static void put_q4_k(uint8_t *dst, int lane, const uint8_t *src) {
    put_half(dst, lane, src);
    put_half(dst + 32, lane, src + 2);
    put_dwords(dst + 64, lane, src + 4, 3 + 32);
}

static void put_q5_k(uint8_t *dst, int lane, const uint8_t *src) {
    put_half(dst, lane, src);
    put_half(dst + 32, lane, src + 2);
    put_dwords(dst + 64, lane, src + 4, 3);
    const uint8_t *qh = src + 16;
    for (int j = 0; j < 8; j++) {
        uint32_t bits = 0;
        for (int i = 0; i < 32; i++)
            bits |= (uint32_t)(qh[i] >> j & 1) << i;
        put_fifth(dst + 256 + 64 * j, lane, bits);
    }
    put_dwords(dst + 256 + 512, lane, src + 48, 32);
}

static void put_q6_k(uint8_t *dst, int lane, const uint8_t *src) {
    const uint8_t *ql = src, *qh = src + 128, *scales = src + 192;
    uint8_t code[256];
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < 32; l++) {
            const uint8_t a = ql[64 * h + l], b = ql[64 * h + 32 + l], t = qh[32 * h + l];
            uint8_t *c = code + 128 * h + l;
            c[0] = (uint8_t)((a & 15) | (t & 3) << 4);
            c[32] = (uint8_t)((b & 15) | (t >> 2 & 3) << 4);
            c[64] = (uint8_t)(a >> 4 | (t >> 4 & 3) << 4);
            c[96] = (uint8_t)(b >> 4 | (t >> 6) << 4);
        }
    for (int j = 0; j < 16; j++) {
        dst[16 * j + lane] = scales[j];
        for (int v = 0; v < 3; v++)
            for (int b = 0; b < 4; b++) {
                const uint8_t last = code[16 * j + 12 + b] >> (2 * v) & 3;
                dst[256 + 64 * (3 * j + v) + 4 * lane + b] =
                    (uint8_t)(code[16 * j + 4 * v + b] | last << 6);
            }
    }
}

static void put_iq4_xs(uint8_t *dst, int lane, const uint8_t *src) {
    const int high = src[2] | src[3] << 8;
    for (int j = 0; j < 8; j++) {
        const int low = src[4 + j / 2] >> (4 * (j % 2)) & 15;
        dst[16 * j + lane] = (uint8_t)((low | (high >> (2 * j) & 3) << 4) - 32);
    }
    put_dwords(dst + 128, lane, src + 8, 32);
}

static uint32_t read_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// One GGUF block into lane `lane` of the panel's block at dst; `head`: the f16 of this block in the
// header.
static void put_block(fr_type type, uint8_t *head, uint8_t *dst, int lane, const uint8_t *src) {
    switch (type) {
    case FR_TYPE_Q4_0:
    case FR_TYPE_IQ4_NL:
        put_half(head, lane, src);
        put_dwords(dst, lane, src + 2, 4);
        break;
    case FR_TYPE_Q4_1:
        put_half(dst, lane, src);
        put_half(dst + 32, lane, src + 2);
        put_dwords(dst + 64, lane, src + 4, 4);
        break;
    case FR_TYPE_Q5_0:
        put_half(head, lane, src);
        put_fifth(dst, lane, read_u32(src + 2));
        put_dwords(dst + 64, lane, src + 6, 4);
        break;
    case FR_TYPE_Q5_1:
        put_half(dst, lane, src);
        put_half(dst + 32, lane, src + 2);
        put_fifth(dst + 64, lane, read_u32(src + 4));
        put_dwords(dst + 128, lane, src + 8, 4);
        break;
    case FR_TYPE_Q8_0:
        put_half(head, lane, src);
        for (int i = 0; i < 32; i++)
            dst[i / 4 * 64 + 4 * lane + i % 4] = src[2 + i] ^ 0x80;
        break;
    case FR_TYPE_Q2_K:
        put_q2_k(dst, lane, src);
        break;
    case FR_TYPE_Q3_K:
        put_half(head, lane, src + 108);
        put_q3_k(dst, lane, src);
        break;
    case FR_TYPE_Q4_K:
        put_q4_k(dst, lane, src);
        break;
    case FR_TYPE_Q5_K:
        put_q5_k(dst, lane, src);
        break;
    case FR_TYPE_Q6_K:
        put_half(head, lane, src + 208);
        put_q6_k(dst, lane, src);
        break;
    case FR_TYPE_IQ4_XS:
        put_half(head, lane, src);
        put_iq4_xs(dst, lane, src);
        break;
    case FR_TYPE_F32:
        memcpy(dst + 4 * lane, src, 4);
        break;
    case FR_TYPE_F16:
    case FR_TYPE_BF16:
        put_half(dst, lane, src);
        break;
    }
}

void fr_pack_panels(fr_type type, uint8_t *dst, const uint8_t *src, int m, int k, int p0, int p1) {
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    const size_t panel_bytes = fr_pack_panel_bytes(type, k),
                 header = fr_panel_header_bytes(type, k);
    const size_t block_bytes = fr_panel_block_bytes(type), step = header ? 32 : 0;
    assert(t && panel_bytes);
    const int blocks = k / t->block;
    for (int p = p0; p < p1; p++) {
        uint8_t *panel = dst + (size_t)p * panel_bytes;
        memset(panel, 0, panel_bytes);
        const int lanes = m - p * FR_PANEL < FR_PANEL ? m - p * FR_PANEL : FR_PANEL;
        const uint8_t *rows = src + (size_t)p * FR_PANEL * (size_t)blocks * (size_t)t->bytes;
        for (int b = 0; b < blocks; b++)
            for (int lane = 0; lane < lanes; lane++)
                put_block(type, panel + step * (size_t)b, panel + header + block_bytes * (size_t)b,
                          lane,
                          rows + ((size_t)lane * (size_t)blocks + (size_t)b) * (size_t)t->bytes);
    }
}

// ---------------------------------------------------------------- and back
static float get_half(const uint8_t *p, int lane) {
    return fr_f16_to_f32((uint16_t)(p[2 * lane] | p[2 * lane + 1] << 8));
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

static int crumb(const uint8_t *vec, int lane, int i) { // i: 0..255
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
        o->code[i] = (int8_t)crumb(src + 320, lane, i);
}

static void get_q3_k(fr_lane_block *o, const uint8_t *src, int lane) {
    const uint8_t *low = src + 256, *high = src + 256 + 16 * 64;
    for (int j = 0; j < 16; j++)
        o->sc[j] = (int8_t)src[16 * j + lane];
    for (int i = 0; i < 256; i++) {
        const int third = high[i / 32 * 64 + 4 * lane + i % 4] >> (i % 32 / 4) & 1;
        o->code[i] = (int8_t)((crumb(low, lane, i) | third << 2) - 4);
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
    for (int i = 0; i < 256; i++)
        o->code[i] = fr_iq4_values[o->code[i]];
}

void fr_panel_lane(fr_type type, const uint8_t *panel, int k, int b, int lane, fr_lane_block *o) {
    const size_t header = fr_panel_header_bytes(type, k);
    const uint8_t *src = panel + header + (size_t)b * fr_panel_block_bytes(type);
    const bool k256 = fr_qtype_of((uint32_t)type)->block == 256;
    memset(o, 0, sizeof *o);
    o->block = k256 ? 256 : 32;
    o->sub = type == FR_TYPE_Q2_K || type == FR_TYPE_Q3_K || type == FR_TYPE_Q6_K ? 16 : 32;
    if (!k256) o->sc[0] = 1;
    if (header) o->d = get_half(panel + 32 * (size_t)b, lane);
    int offset = 0;
    switch (type) {
    case FR_TYPE_Q4_0:
        get_nibbles(o->code, src, lane);
        offset = 8;
        break;
    case FR_TYPE_IQ4_NL:
        get_nibbles(o->code, src, lane);
        for (int i = 0; i < 32; i++)
            o->code[i] = fr_iq4_values[o->code[i]];
        break;
    case FR_TYPE_Q4_1:
        o->d = get_half(src, lane);
        o->m = get_half(src + 32, lane);
        get_nibbles(o->code, src + 64, lane);
        break;
    case FR_TYPE_Q5_0:
        get_nibbles(o->code, src + 64, lane);
        get_fifth(o->code, src, lane);
        offset = 16;
        break;
    case FR_TYPE_Q5_1:
        o->d = get_half(src, lane);
        o->m = get_half(src + 32, lane);
        get_nibbles(o->code, src + 128, lane);
        get_fifth(o->code, src + 64, lane);
        break;
    case FR_TYPE_Q8_0:
        for (int i = 0; i < 32; i++)
            o->code[i] = (int8_t)(src[i / 4 * 64 + 4 * lane + i % 4] ^ 0x80);
        break;
    case FR_TYPE_Q2_K:
        get_q2_k(o, src, lane);
        break;
    case FR_TYPE_Q3_K:
        get_q3_k(o, src, lane);
        break;
    case FR_TYPE_Q4_K:
    case FR_TYPE_Q5_K:
        o->d = get_half(src, lane);
        o->m = get_half(src + 32, lane);
        get_scales_k4(o, src + 64, lane);
        get_codes_k4(o->code, src + (type == FR_TYPE_Q4_K ? 256 : 256 + 512), lane);
        for (int j = 0; j < 8 && type == FR_TYPE_Q5_K; j++)
            get_fifth(o->code + 32 * j, src + 256 + 64 * j, lane);
        break;
    case FR_TYPE_Q6_K:
        get_q6_k(o, src, lane);
        break;
    case FR_TYPE_IQ4_XS:
        get_iq4_xs(o, src, lane);
        break;
    case FR_TYPE_F32:
    case FR_TYPE_F16:
    case FR_TYPE_BF16:
        assert(!"a type with codes");
        break;
    }
    if (offset)
        for (int i = 0; i < 32; i++)
            o->code[i] = (int8_t)(o->code[i] - offset);
}

static void unpack_floats(const fr_matrix *w, const uint8_t *panel, int lane, float *dst) {
    for (int i = 0; i < w->k; i++) {
        const uint8_t *e = panel + (size_t)i * fr_panel_block_bytes(w->type);
        if (w->type == FR_TYPE_F32) memcpy(&dst[i], e + 4 * lane, 4);
        if (w->type == FR_TYPE_F16) dst[i] = get_half(e, lane);
        if (w->type == FR_TYPE_BF16)
            dst[i] = fr_bf16_to_f32((uint16_t)(e[2 * lane] | e[2 * lane + 1] << 8));
    }
}

void fr_unpack_row(const fr_matrix *w, int row, float *dst) {
    const uint8_t *panel = w->panels + (size_t)(row / FR_PANEL) * w->panel_bytes;
    const int lane = row % FR_PANEL, block = fr_qtype_of((uint32_t)w->type)->block;
    if (block == 1) {
        unpack_floats(w, panel, lane, dst);
        return;
    }
    const bool adds_m = w->type == FR_TYPE_Q4_1 || w->type == FR_TYPE_Q5_1;
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
