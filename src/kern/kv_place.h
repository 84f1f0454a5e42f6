// kv_place.h — where the codes and scales of one slot go in a q8_0 block (layout: fr_kv_form).
//
// Shared by the vector instruction sets, which differ in how 32 values are quantised only; ref/
// spells the same places out on its own.
#ifndef FR_KERN_KV_PLACE_H
#define FR_KERN_KV_PLACE_H
#include "kern/kern.h"
#include <string.h>

// Makes 32 values int8 codes; returns their scale as f16.
typedef uint16_t fr_kv_quantize_fn(int8_t *code, const float *x);

static inline int8_t *fr_kv_place_block(void *plane, int slot, int head_dim) {
    return (int8_t *)plane +
           (size_t)(slot / FR_KV_BLOCK) * fr_kv_block_bytes(FR_FORM_Q8_0, head_dim);
}

static inline __attribute__((always_inline)) void
fr_kv_place_k(void *plane, int slot, int head_dim, const float *x, fr_kv_quantize_fn *quantize_32) {
    int8_t *k = fr_kv_place_block(plane, slot, head_dim), code[32];
    uint16_t *scale = (uint16_t *)(void *)(k + FR_KV_BLOCK * head_dim);
    const int lane = slot % FR_KV_BLOCK;
    for (int b = 0; b < head_dim / 32; b++) {
        scale[FR_KV_BLOCK * b + lane] = quantize_32(code, x + 32 * b);
        for (int g = 0; g < 8; g++)
            memcpy(k + (8 * b + g) * 4 * FR_KV_BLOCK + 4 * lane, code + 4 * g, 4);
    }
}

static inline __attribute__((always_inline)) void
fr_kv_place_v(void *plane, int slot, int head_dim, const float *x, fr_kv_quantize_fn *quantize_32) {
    int8_t *v = fr_kv_place_block(plane, slot, head_dim);
    uint16_t *scale = (uint16_t *)(void *)(v + FR_KV_BLOCK * head_dim);
    const int lane = slot % FR_KV_BLOCK, scales = head_dim / 32;
    for (int b = 0; b < scales; b++)
        scale[scales * lane + b] = quantize_32(v + head_dim * lane + 32 * b, x + 32 * b);
}

#endif
