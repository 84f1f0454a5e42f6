// K and V to the cache. Bound by the stores of K, whose lanes are slots.
#include "kern/avx2/avx2.h"
#include "kern/avx2/lanes.h"
#include "kern/half.h"
#include "kern/kv_place.h"

// Eight values inside the range of f16; NaN stays NaN (second operands).
static __m256 saturate(const float *x) {
    const __m256 v = _mm256_min_ps(_mm256_set1_ps(65504.0f), _mm256_loadu_ps(x));
    return _mm256_max_ps(_mm256_set1_ps(-65504.0f), v);
}

static __m128i half8(const float *x) {
    return _mm256_cvtps_ph(saturate(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

void fr_store_k_f16_avx2(void *plane, int slot, int head_dim, const float *x) {
    const size_t block = (size_t)(slot / FR_KV_BLOCK) * FR_KV_BLOCK * (size_t)head_dim;
    uint16_t *column = (uint16_t *)plane + block + slot % FR_KV_BLOCK;
    int d = 0;
    for (; d + 8 <= head_dim; d += 8) {
        _Alignas(16) uint16_t h[8];
        _mm_store_si128((__m128i *)h, half8(x + d));
        FR_UNROLL for (int i = 0; i < 8; i++) column[(d + i) * FR_KV_BLOCK] = h[i];
    }
    for (; d < head_dim; d++)
        column[d * FR_KV_BLOCK] = fr_f16_from_f32_sat(x[d]);
}

void fr_store_v_f16_avx2(void *plane, int slot, int head_dim, const float *x) {
    uint16_t *row = (uint16_t *)plane + (size_t)slot * (size_t)head_dim;
    int d = 0;
    for (; d + 8 <= head_dim; d += 8)
        _mm_storeu_si128((__m128i *)(void *)(row + d), half8(x + d));
    for (; d < head_dim; d++)
        row[d] = fr_f16_from_f32_sat(x[d]);
}

static uint16_t quantize_32(int8_t *code, const float *x) {
    float inside[32], d, ds;
    int32_t sum;
    FR_UNROLL for (int i = 0; i < 32; i += 8) _mm256_storeu_ps(inside + i, saturate(x + i));
    fr_quantize_avx2(
        &(fr_act){.kind = FR_ACT_Q32, .n = 1, .k = 32, .q = code, .d = &d, .s = &sum, .ds = &ds},
        inside, 32, 0, 1);
    return fr_f16_from_f32(d);
}

void fr_store_k_q8_0_avx2(void *plane, int slot, int head_dim, const float *x) {
    fr_kv_place_k(plane, slot, head_dim, x, quantize_32);
}

void fr_store_v_q8_0_avx2(void *plane, int slot, int head_dim, const float *x) {
    fr_kv_place_v(plane, slot, head_dim, x, quantize_32);
}
