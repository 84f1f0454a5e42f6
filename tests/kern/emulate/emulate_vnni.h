// emulate_vnni.h — the two instructions that AVX-VNNI adds to AVX2, from SIMDe.
#ifndef EMULATE_VNNI_H
#define EMULATE_VNNI_H
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#include <simde/x86/avx512/dpbusd.h>
#include <simde/x86/avx512/dpwssd.h>
#pragma GCC diagnostic pop

// Not inlined: the tiles hold hundreds of them.
__attribute__((noinline, unused)) static simde__m256i
emulate_dpbusd(simde__m256i sum, simde__m256i a, simde__m256i b) {
    return simde_mm256_dpbusd_epi32(sum, a, b);
}
__attribute__((noinline, unused)) static simde__m256i
emulate_dpwssd(simde__m256i sum, simde__m256i a, simde__m256i b) {
    return simde_mm256_dpwssd_epi32(sum, a, b);
}
#define _mm256_dpbusd_avx_epi32 emulate_dpbusd
#define _mm256_dpwssd_avx_epi32 emulate_dpwssd

#endif
