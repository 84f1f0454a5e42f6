// What is kept of K and V (docs/numerics.md, "Attention"; layouts: fr_kv_type).
#include "kern/half.h"
#include "kern/ref/ref.h"

void fr_kv_store_f16_scalar(void *k, void *v, int slot, int head_dim, const float *key,
                            const float *value) {
    const size_t block = (size_t)(slot / FR_KEY_BLOCK) * FR_KEY_BLOCK * (size_t)head_dim;
    uint16_t *k_block = (uint16_t *)k + block, *v_block = (uint16_t *)v + block;
    const int lane = slot % FR_KEY_BLOCK;
    for (int d = 0; d < head_dim; d++) {
        k_block[d * FR_KEY_BLOCK + lane] = fr_f16_from_f32_sat(key[d]);
        v_block[lane * head_dim + d] = fr_f16_from_f32_sat(value[d]);
    }
}

// 32 values, first brought into the range of f16, as int8; the scale as f16.
static uint16_t quantize_32(int8_t *code, const float *x) {
    float inside[32], d, ds;
    int32_t sum;
    for (int i = 0; i < 32; i++)
        inside[i] = x[i] > 65504.0f ? 65504.0f : x[i] < -65504.0f ? -65504.0f : x[i];
    fr_quantize_scalar(
        &(fr_act){.kind = FR_ACT_Q32, .n = 1, .k = 32, .q = code, .d = &d, .s = &sum, .ds = &ds},
        inside, 32, 0, 1);
    return fr_f16_from_f32(d);
}

void fr_kv_store_q8_0_scalar(void *k, void *v, int slot, int head_dim, const float *key,
                             const float *value) {
    const size_t block = (size_t)(slot / FR_KEY_BLOCK) * fr_kv_block_bytes(FR_KV_Q8_0, head_dim);
    int8_t *k_block = (int8_t *)k + block, *v_block = (int8_t *)v + block, code[32];
    uint16_t *k_scale = (uint16_t *)(void *)(k_block + FR_KEY_BLOCK * head_dim);
    uint16_t *v_scale = (uint16_t *)(void *)(v_block + FR_KEY_BLOCK * head_dim);
    const int lane = slot % FR_KEY_BLOCK, scales = head_dim / 32;
    for (int b = 0; b < scales; b++) {
        k_scale[FR_KEY_BLOCK * b + lane] = quantize_32(code, key + 32 * b);
        for (int i = 0; i < 32; i++)
            k_block[(8 * b + i / 4) * 4 * FR_KEY_BLOCK + 4 * lane + i % 4] = code[i];
        v_scale[scales * lane + b] =
            quantize_32(v_block + head_dim * lane + 32 * b, value + 32 * b);
    }
}
