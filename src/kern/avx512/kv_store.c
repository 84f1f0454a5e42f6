// K and V to the cache, AVX-512. Bound by the stores of K, whose lanes are slots.
#include "kern/avx512/avx512.h"
#include "kern/avx512/isa.h"
#include "kern/half.h"
#include "kern/kv_place.h"

// 16 values inside the range of f16; NaN stays NaN.
FR_INLINE __m512 saturate(__m512 x) {
    x = _mm512_min_ps(_mm512_set1_ps(65504.0f), x);
    return _mm512_max_ps(_mm512_set1_ps(-65504.0f), x);
}

FR_INLINE __m256i to_f16(__m512 x) {
    return _mm512_cvtps_ph(saturate(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

void fr_store_k_f16_avx512(void *plane, int slot, int head_dim, const float *x) {
    const size_t block = (size_t)(slot / FR_KV_BLOCK) * (size_t)head_dim * FR_KV_BLOCK;
    uint16_t *column = (uint16_t *)plane + block + slot % FR_KV_BLOCK;
    for (int i = 0; i < head_dim; i += 16) {
        uint16_t h[16];
        _mm256_storeu_si256((void *)h,
                            to_f16(_mm512_maskz_loadu_ps(fr_lane_mask(head_dim - i), x + i)));
        for (int j = 0; j < 16 && i + j < head_dim; j++)
            column[(i + j) * FR_KV_BLOCK] = h[j];
    }
}

void fr_store_v_f16_avx512(void *plane, int slot, int head_dim, const float *x) {
    uint16_t *row = (uint16_t *)plane + (size_t)slot * (size_t)head_dim;
    for (int i = 0; i < head_dim; i += 16) {
        const __mmask16 lanes = fr_lane_mask(head_dim - i);
        _mm256_mask_storeu_epi16(row + i, lanes, to_f16(_mm512_maskz_loadu_ps(lanes, x + i)));
    }
}

static uint16_t quantize_32(int8_t *code, const float *x) {
    float inside[32], d, ds;
    int32_t sum;
    _mm512_storeu_ps(inside, saturate(_mm512_loadu_ps(x)));
    _mm512_storeu_ps(inside + 16, saturate(_mm512_loadu_ps(x + 16)));
    fr_quantize_avx512(
        &(fr_act){.kind = FR_ACT_Q32, .n = 1, .k = 32, .q = code, .d = &d, .s = &sum, .ds = &ds},
        inside, 32, 0, 1);
    return fr_f16_from_f32(d);
}

void fr_store_k_q8_0_avx512(void *plane, int slot, int head_dim, const float *x) {
    fr_kv_place_k(plane, slot, head_dim, x, quantize_32);
}

void fr_store_v_q8_0_avx512(void *plane, int slot, int head_dim, const float *x) {
    fr_kv_place_v(plane, slot, head_dim, x, quantize_32);
}
