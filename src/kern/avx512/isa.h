// isa.h — the intrinsics that avx512/ and amx/ are written in, and the flags that they need.
//
// The folder is compiled with AVX-512 F, BW, VL, DQ and VNNI (amx/ also with AMX-TILE and
// AMX-INT8). FR_EMULATE takes the same intrinsics from plain code instead, so that any x86-64 with
// AVX2 can compare these very sources with ref/ (tests/kern/emulate).
#ifndef FR_KERN_AVX512_ISA_H
#define FR_KERN_AVX512_ISA_H
#include "kern/tile.h"
#ifdef FR_EMULATE
#include "emulate.h"
#else
#include <immintrin.h>
#endif
#include <stdint.h>
#include <string.h>

// The dword at p (any alignment) in every lane.
FR_INLINE __m512i fr_dword(const void *p) {
    int32_t x;
    memcpy(&x, p, sizeof x);
    return _mm512_set1_epi32(x);
}

// sum += w * x, in each lane four products of u8 codes and s8 activations. As assembly: gcc copies
// the sums of an array around the intrinsic.
FR_INLINE void fr_add_products(__m512i *sum, __m512i w, __m512i x) {
#ifdef FR_EMULATE
    *sum = _mm512_dpbusd_epi32(*sum, w, x);
#else
    __asm__ volatile("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(w), "v"(x));
#endif
}

// Stores 16 floats, 64-byte aligned. `late`: they are not read soon; then as two halves, because
// Zen 4 stops products for a store of 64 bytes. (A load of 64 bytes right after two halves waits
// for both to reach the cache.)
FR_INLINE void fr_store(float *p, __m512 v, const int late) {
    if (late) {
        _mm256_store_ps(p, _mm512_castps512_ps256(v));
        _mm256_store_ps(p + 8, _mm512_extractf32x8_ps(v, 1));
    } else {
        _mm512_store_ps(p, v);
    }
}

// The first `n` of 16 lanes; all of them from 16 on.
FR_INLINE __mmask16 fr_lane_mask(int n) {
    return (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1u);
}

FR_INLINE __m512 fr_load_f16(const void *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

#endif
