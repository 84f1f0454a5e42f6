// emulate.h — AVX-512 and AMX intrinsics in plain code, so that the sources of kern/avx512 and
// kern/amx run on any x86-64 with AVX2, FMA and F16C and can be compared with ref/.
//
// SIMDe gives most of them, written by others from Intel's description: a second opinion on what
// the instructions do. What its version 0.7.4 lacks follows here, and fused multiply-adds, which
// must not be left to chance.
#ifndef EMULATE_H
#define EMULATE_H
#define SIMDE_ENABLE_NATIVE_ALIASES
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#pragma GCC diagnostic pop
#pragma GCC diagnostic ignored "-Wpsabi"
#include <math.h>
#include <stdint.h>
#include <string.h>

#define EMULATE static inline __attribute__((unused))

typedef union emulate_512 {
    __m512 v;
    __m512i i;
    __m256 h[2];
    __m256i hi[2];
    float f[16];
    int32_t d[16];
    uint32_t u[16];
    int16_t w[32];
    uint16_t uw[32];
    int8_t b[64];
    uint8_t ub[64];
} emulate_512;

// One float result by lane from lanes of a, b, c.
#define EMULATE_FLOAT3(name, expression)                                                           \
    EMULATE __m512 name(__m512 a, __m512 b, __m512 c) {                                            \
        emulate_512 x = {.v = a}, y = {.v = b}, z = {.v = c};                                      \
        for (int l = 0; l < 16; l++)                                                               \
            x.f[l] = (expression);                                                                 \
        return x.v;                                                                                \
    }
EMULATE_FLOAT3(emulate_fmadd, fmaf(x.f[l], y.f[l], z.f[l]))
EMULATE_FLOAT3(emulate_fmsub, fmaf(x.f[l], y.f[l], -z.f[l]))
EMULATE_FLOAT3(emulate_fmaddsub, fmaf(x.f[l], y.f[l], l % 2 ? z.f[l] : -z.f[l]))
#undef _mm512_fmadd_ps
#undef _mm512_fmsub_ps
#undef _mm512_fmaddsub_ps
#define _mm512_fmadd_ps    emulate_fmadd
#define _mm512_fmsub_ps    emulate_fmsub
#define _mm512_fmaddsub_ps emulate_fmaddsub

// ------------------------------------------------------------------ conversions
EMULATE __m512 emulate_cvtph(__m256i a) {
    emulate_512 x;
    x.h[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(a));
    x.h[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1));
    return x.v;
}
EMULATE __m256i emulate_cvtps_ph(__m512 a) {
    const emulate_512 x = {.v = a};
    return _mm256_set_m128i(_mm256_cvtps_ph(x.h[1], 0), _mm256_cvtps_ph(x.h[0], 0));
}
EMULATE __m512i emulate_cvtepi8(__m128i a) {
    int8_t in[16];
    emulate_512 x;
    memcpy(in, &a, 16);
    for (int l = 0; l < 16; l++)
        x.d[l] = in[l];
    return x.i;
}
EMULATE __m512i emulate_cvtepu8(__m128i a) {
    uint8_t in[16];
    emulate_512 x;
    memcpy(in, &a, 16);
    for (int l = 0; l < 16; l++)
        x.d[l] = in[l];
    return x.i;
}
EMULATE __m512i emulate_cvtepu16(__m256i a) {
    uint16_t in[16];
    emulate_512 x;
    memcpy(in, &a, 32);
    for (int l = 0; l < 16; l++)
        x.d[l] = in[l];
    return x.i;
}
EMULATE __m512 emulate_cvtepi32_ps(__m512i a) {
    emulate_512 x = {.i = a};
    for (int l = 0; l < 16; l++)
        x.f[l] = (float)x.d[l];
    return x.v;
}
EMULATE __m512i emulate_cvtps_epi32(__m512 a) {
    emulate_512 x = {.v = a};
    for (int l = 0; l < 16; l++)
        x.d[l] = (int32_t)nearbyintf(x.f[l]);
    return x.i;
}
EMULATE __m512i emulate_cvtps_epi64(__m256 a) {
    float in[8];
    int64_t out[8];
    __m512i r;
    memcpy(in, &a, 32);
    for (int l = 0; l < 8; l++)
        out[l] = (int64_t)nearbyint((double)in[l]);
    memcpy(&r, out, 64);
    return r;
}
EMULATE __m128i emulate_cvtepi32_epi8(__m512i a) {
    const emulate_512 x = {.i = a};
    uint8_t out[16];
    for (int l = 0; l < 16; l++)
        out[l] = (uint8_t)x.u[l];
    __m128i r;
    memcpy(&r, out, 16);
    return r;
}
EMULATE __m256i emulate_cvtepi32_epi16(__m512i a) {
    const emulate_512 x = {.i = a};
    uint16_t out[16];
    for (int l = 0; l < 16; l++)
        out[l] = (uint16_t)x.u[l];
    __m256i r;
    memcpy(&r, out, 32);
    return r;
}
EMULATE __m128i emulate_cvtepi32_epi16_256(__m256i a) {
    uint32_t in[8];
    uint16_t out[8];
    __m128i r;
    memcpy(in, &a, 32);
    for (int l = 0; l < 8; l++)
        out[l] = (uint16_t)in[l];
    memcpy(&r, out, 16);
    return r;
}
#undef _mm512_cvtph_ps
#undef _mm512_cvtps_ph
#undef _mm512_cvtepi8_epi32
#undef _mm512_cvtepu8_epi32
#undef _mm512_cvtepu16_epi32
#undef _mm512_cvtepi32_ps
#undef _mm512_cvtps_epi32
#undef _mm512_cvtps_epi64
#undef _mm512_cvtepi32_epi8
#undef _mm512_cvtepi32_epi16
#undef _mm256_cvtepi32_epi16
#define _mm512_cvtph_ps              emulate_cvtph
#define _mm512_cvtps_ph(a, rounding) emulate_cvtps_ph(a)
#define _mm512_cvtepi8_epi32         emulate_cvtepi8
#define _mm512_cvtepu8_epi32         emulate_cvtepu8
#define _mm512_cvtepu16_epi32        emulate_cvtepu16
#define _mm512_cvtepi32_ps           emulate_cvtepi32_ps
#define _mm512_cvtps_epi32           emulate_cvtps_epi32
#define _mm512_cvtps_epi64           emulate_cvtps_epi64
#define _mm512_cvtepi32_epi8         emulate_cvtepi32_epi8
#define _mm512_cvtepi32_epi16        emulate_cvtepi32_epi16
#define _mm256_cvtepi32_epi16        emulate_cvtepi32_epi16_256

// ------------------------------------------------------------------ masked memory: other lanes are
// not touched
EMULATE __m512 emulate_maskz_loadu(__mmask16 k, const void *p) {
    emulate_512 x;
    for (int l = 0; l < 16; l++) {
        x.d[l] = 0;
        if (k >> l & 1) memcpy(&x.d[l], (const char *)p + 4 * l, 4);
    }
    return x.v;
}
EMULATE void emulate_mask_storeu(void *p, __mmask16 k, __m512 a) {
    const emulate_512 x = {.v = a};
    for (int l = 0; l < 16; l++)
        if (k >> l & 1) memcpy((char *)p + 4 * l, &x.d[l], 4);
}
EMULATE __m256i emulate_maskz_loadu16(__mmask16 k, const void *p) {
    uint16_t in[16] = {0};
    __m256i r;
    for (int l = 0; l < 16; l++)
        if (k >> l & 1) memcpy(&in[l], (const char *)p + 2 * l, 2);
    memcpy(&r, in, 32);
    return r;
}
EMULATE void emulate_mask_storeu16(void *p, __mmask16 k, __m256i a) {
    uint16_t out[16];
    memcpy(out, &a, 32);
    for (int l = 0; l < 16; l++)
        if (k >> l & 1) memcpy((char *)p + 2 * l, &out[l], 2);
}
#undef _mm512_maskz_loadu_ps
#undef _mm512_mask_storeu_ps
#undef _mm256_maskz_loadu_epi16
#undef _mm256_mask_storeu_epi16
#define _mm512_maskz_loadu_ps    emulate_maskz_loadu
#define _mm512_mask_storeu_ps    emulate_mask_storeu
#define _mm256_maskz_loadu_epi16 emulate_maskz_loadu16
#define _mm256_mask_storeu_epi16 emulate_mask_storeu16

// ------------------------------------------------------------------ aligned memory faults where it
// is not
EMULATE void *emulate_aligned(const void *p) {
    if ((uintptr_t)p % 64) __builtin_trap();
    return (void *)(uintptr_t)p;
}
EMULATE __m512 emulate_load(const void *p) {
    __m512 a;
    memcpy(&a, emulate_aligned(p), 64);
    return a;
}
EMULATE __m512i emulate_load_integers(const void *p) {
    __m512i a;
    memcpy(&a, emulate_aligned(p), 64);
    return a;
}
EMULATE void emulate_store(void *p, __m512 a) {
    memcpy(emulate_aligned(p), &a, 64);
}
EMULATE void emulate_store_integers(void *p, __m512i a) {
    memcpy(emulate_aligned(p), &a, 64);
}
#undef _mm512_load_ps
#undef _mm512_load_si512
#undef _mm512_store_ps
#undef _mm512_store_si512
#define _mm512_load_ps     emulate_load
#define _mm512_load_si512  emulate_load_integers
#define _mm512_store_ps    emulate_store
#define _mm512_store_si512 emulate_store_integers

// ------------------------------------------------------------------ moves between lanes
EMULATE __m512 emulate_moveldup(__m512 a) {
    emulate_512 x = {.v = a};
    for (int l = 1; l < 16; l += 2)
        x.f[l] = x.f[l - 1];
    return x.v;
}
EMULATE __m512 emulate_movehdup(__m512 a) {
    emulate_512 x = {.v = a};
    for (int l = 0; l < 16; l += 2)
        x.f[l] = x.f[l + 1];
    return x.v;
}
EMULATE __m512i emulate_shuffle32(__m512i a, int order) {
    const emulate_512 x = {.i = a};
    emulate_512 r;
    for (int l = 0; l < 16; l++)
        r.d[l] = x.d[(l & ~3) + (order >> 2 * (l & 3) & 3)];
    return r.i;
}
EMULATE __m512 emulate_permute(__m512 a, int order) {
    const emulate_512 x = {.i = emulate_shuffle32(((emulate_512){.v = a}).i, order)};
    return x.v;
}
EMULATE __m256 emulate_extract_half(__m512 a, int which) {
    const emulate_512 x = {.v = a};
    return x.h[which];
}
#undef _mm512_moveldup_ps
#undef _mm512_movehdup_ps
#undef _mm512_shuffle_epi32
#undef _mm512_permute_ps
#undef _mm512_extractf32x8_ps
#define _mm512_moveldup_ps     emulate_moveldup
#define _mm512_movehdup_ps     emulate_movehdup
#define _mm512_shuffle_epi32   emulate_shuffle32
#define _mm512_permute_ps      emulate_permute
#define _mm512_extractf32x8_ps emulate_extract_half

// ------------------------------------------------------------------ AMX
// Eight tiles of 16 rows of 64 bytes, as LDTILECFG shapes them. Loads and products abort where the
// hardware would fault: no configuration, shapes that do not fit.
typedef struct emulate_tiles {
    int configured, rows[8], row_bytes[8];
    uint8_t data[8][16][64];
} emulate_tiles;
extern _Thread_local emulate_tiles emulate_state;
void emulate_loadconfig(const void *config);
void emulate_release(void);
void emulate_zero(int tile);
void emulate_tile_load(int tile, const void *p, long stride);
void emulate_tile_store(int tile, void *p, long stride);
void emulate_dpbssd(int c, int a, int b);
void emulate_dpbsud(int c, int a, int b);
#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbssd
#undef _tile_dpbsud
#define _tile_loadconfig emulate_loadconfig
#define _tile_release    emulate_release
#define _tile_zero       emulate_zero
#define _tile_loadd      emulate_tile_load
#define _tile_stored     emulate_tile_store
#define _tile_dpbssd     emulate_dpbssd
#define _tile_dpbsud     emulate_dpbsud

#endif
