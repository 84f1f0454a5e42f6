// What is kept of K and V (docs/numerics.md, "Attention"; layouts: fr_kv_form).
#include "kern/half.h"
#include "kern/ref/ref.h"

static void *block_of(void *plane, fr_kv_form form, int slot, int head_dim) {
    return (char *)plane + (size_t)(slot / FR_KV_BLOCK) * fr_kv_block_bytes(form, head_dim);
}

void fr_store_k_f16_scalar(void *plane, int slot, int head_dim, const float *x) {
    uint16_t *k = block_of(plane, FR_FORM_F16, slot, head_dim);
    for (int d = 0; d < head_dim; d++)
        k[d * FR_KV_BLOCK + slot % FR_KV_BLOCK] = fr_f16_from_f32_sat(x[d]);
}

void fr_store_v_f16_scalar(void *plane, int slot, int head_dim, const float *x) {
    uint16_t *v = block_of(plane, FR_FORM_F16, slot, head_dim);
    for (int d = 0; d < head_dim; d++)
        v[slot % FR_KV_BLOCK * head_dim + d] = fr_f16_from_f32_sat(x[d]);
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

void fr_store_k_q8_0_scalar(void *plane, int slot, int head_dim, const float *x) {
    int8_t *k = block_of(plane, FR_FORM_Q8_0, slot, head_dim), code[32];
    uint16_t *scale = (uint16_t *)(void *)(k + FR_KV_BLOCK * head_dim);
    const int lane = slot % FR_KV_BLOCK;
    for (int b = 0; b < head_dim / 32; b++) {
        scale[FR_KV_BLOCK * b + lane] = quantize_32(code, x + 32 * b);
        for (int i = 0; i < 32; i++)
            k[(8 * b + i / 4) * 4 * FR_KV_BLOCK + 4 * lane + i % 4] = code[i];
    }
}

void fr_store_v_q8_0_scalar(void *plane, int slot, int head_dim, const float *x) {
    int8_t *v = block_of(plane, FR_FORM_Q8_0, slot, head_dim);
    uint16_t *scale = (uint16_t *)(void *)(v + FR_KV_BLOCK * head_dim);
    const int lane = slot % FR_KV_BLOCK, scales = head_dim / 32;
    for (int b = 0; b < scales; b++)
        scale[scales * lane + b] = quantize_32(v + head_dim * lane + 32 * b, x + 32 * b);
}
