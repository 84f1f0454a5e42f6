// kv_place.h — where the codes and scales of one slot go in a q8_0 cache block (layout:
// fr_kv_type).
//
// Shared by the vector instruction sets, which differ in how 32 values are quantised only; ref/
// spells the same places out on its own.
#ifndef FR_KERN_KV_PLACE_H
#define FR_KERN_KV_PLACE_H
#include "kern/kern.h"
#include <string.h>

// Makes 32 values int8 codes; returns their scale as f16.
typedef uint16_t fr_kv_quantize_fn(int8_t *code, const float *x);

static inline __attribute__((always_inline)) void fr_kv_place_q8_0(void *k, void *v, int slot,
                                                                   int head_dim, const float *key,
                                                                   const float *value,
                                                                   fr_kv_quantize_fn *quantize_32) {
    const size_t block = (size_t)(slot / FR_KEY_BLOCK) * fr_kv_block_bytes(FR_KV_Q8_0, head_dim);
    const int lane = slot % FR_KEY_BLOCK, scales = head_dim / 32;
    int8_t *k_block = (int8_t *)k + block, *v_block = (int8_t *)v + block, code[32];
    uint16_t *k_scale = (uint16_t *)(void *)(k_block + FR_KEY_BLOCK * head_dim);
    uint16_t *v_scale = (uint16_t *)(void *)(v_block + FR_KEY_BLOCK * head_dim);
    for (int b = 0; b < scales; b++) {
        k_scale[FR_KEY_BLOCK * b + lane] = quantize_32(code, key + 32 * b);
        for (int g = 0; g < 8; g++)
            memcpy(k_block + (8 * b + g) * 4 * FR_KEY_BLOCK + 4 * lane, code + 4 * g, 4);
        v_scale[scales * lane + b] =
            quantize_32(v_block + head_dim * lane + 32 * b, value + 32 * b);
    }
}

#endif
