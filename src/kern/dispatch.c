// The choice of kernels when an engine opens: by name, or the best that this CPU has.
#define _GNU_SOURCE
#include "kern/kern.h"
#include <string.h>
#ifdef FR_HAVE_X86
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef FR_HAVE_X86
// Register states that the system saves for programs (XCR0): SSE and AVX, AVX-512, AMX.
enum { STATE_AVX = 0x6, STATE_AVX512 = 0xe6, STATE_AMX = 0x60000 };

// Bits of CPUID that the kernels of each set need, as they are compiled.
enum {
    LEAF1_ECX = bit_FMA | bit_OSXSAVE | bit_AVX | bit_F16C,
    LEAF7_EBX_AVX2 = bit_AVX2,
    LEAF7_1_EAX_VNNI = 1 << 4, // avx-vnni, in sub-leaf 1
    LEAF7_EBX_AVX512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | (int)bit_AVX512VL,
    LEAF7_ECX_AVX512 = bit_AVX512VNNI,
    LEAF7_EDX_AMX = 1 << 24 | 1 << 25, // amx-tile, amx-int8
};

static uint64_t saved_states(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has(uint32_t found, uint32_t needed) {
    return (found & needed) == needed;
}

// AMX's tiles are large, so Linux gives them only to processes that request them; a second request
// is harmless.
static bool amx_granted(void) {
#if defined(SYS_arch_prctl) && defined(FR_HAVE_AMX)
    enum { REQUEST_STATE = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_STATE, TILE_DATA) == 0;
#else
    return false;
#endif
}

static bool has_avx_vnni(void) {
    uint32_t last, a, b, c, d; // `last`: the highest sub-leaf that exists
    return __get_cpuid_count(7, 0, &last, &b, &c, &d) && last >= 1 &&
           __get_cpuid_count(7, 1, &a, &b, &c, &d) && has(a, LEAF7_1_EAX_VNNI);
}

static bool cpu_has(fr_isa isa) {
    uint32_t a, b, c, d, b7, c7, d7;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, LEAF1_ECX)) return false;
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) return false;
    const uint64_t states = saved_states();
    const bool avx2 = (states & STATE_AVX) == STATE_AVX && has(b7, LEAF7_EBX_AVX2);
    const bool avx512 = avx2 && (states & STATE_AVX512) == STATE_AVX512 &&
                        has(b7, (uint32_t)LEAF7_EBX_AVX512) && has(c7, LEAF7_ECX_AVX512);
    if (isa == FR_ISA_AVX2) return avx2;
    if (isa == FR_ISA_AVX_VNNI) return avx2 && has_avx_vnni();
    if (isa == FR_ISA_AVX512) return avx512;
    return avx512 && (states & STATE_AMX) == STATE_AMX && has(d7, LEAF7_EDX_AMX) && amx_granted();
}
#endif

// What this build has, whether this CPU can run it or not.
static const fr_kern *built(fr_isa isa) {
    switch (isa) {
    case FR_ISA_SCALAR:
        return &fr_kern_scalar;
    case FR_ISA_AVX2:
#if defined(FR_HAVE_X86) && defined(FR_HAVE_AVX2)
        return &fr_kern_avx2;
#endif
        break;
    case FR_ISA_AVX_VNNI:
#if defined(FR_HAVE_X86) && defined(FR_HAVE_AVXVNNI)
        return &fr_kern_avxvnni;
#endif
        break;
    case FR_ISA_AVX512:
#if defined(FR_HAVE_X86) && defined(FR_HAVE_AVX512)
        return &fr_kern_avx512;
#endif
        break;
    case FR_ISA_AMX:
#if defined(FR_HAVE_X86) && defined(FR_HAVE_AMX)
        return &fr_kern_amx;
#endif
        break;
    case FR_ISA_COUNT:
        break;
    }
    return NULL;
}

bool fr_isa_available(fr_isa isa) {
    if (!built(isa)) return false;
    if (isa == FR_ISA_SCALAR) return true;
#ifdef FR_HAVE_X86
    return cpu_has(isa);
#else
    return false;
#endif
}

const char *fr_isa_name(fr_isa isa) {
    static const char *const names[FR_ISA_COUNT] = {"scalar", "avx2", "avx-vnni", "avx512", "amx"};
    return (unsigned)isa < FR_ISA_COUNT ? names[isa] : "unknown";
}

const fr_kern *fr_kern_of(fr_isa isa) {
    return fr_isa_available(isa) ? built(isa) : NULL;
}

fr_status fr_kern_pick(const fr_kern **out, const char *isa, fr_error *err) {
    static const char *const titles[FR_ISA_COUNT] = {"", "AVX2", "AVX-VNNI", "AVX-512", "AMX"};
    *out = NULL;
    if (!isa || !strcmp(isa, "auto")) {
        for (int i = FR_ISA_COUNT - 1; i >= 0 && !*out; i--)
            *out = fr_kern_of((fr_isa)i);
        return FR_OK;
    }
    for (int i = 0; i < FR_ISA_COUNT; i++) {
        if (strcmp(isa, fr_isa_name((fr_isa)i)) != 0) continue;
        if ((*out = fr_kern_of((fr_isa)i))) return FR_OK;
        return fr_fail(err, FR_EUNSUP, "isa %s: this %s has no %s", isa,
                       built((fr_isa)i) ? "CPU" : "build", titles[i]);
    }
    return fr_fail(err, FR_EARG,
                   "isa: expected auto, scalar, avx2, avx-vnni, avx512 or amx, found '%.40s'", isa);
}
