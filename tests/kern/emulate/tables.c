// tables.c — stands in for kern/dispatch.c and check_bench.c in checkkern_emulated: the emulated
// AVX-VNNI, AVX-512 and AMX tables are available everywhere, and there is nothing to time.
#include "../check.h"
#include "kern/kern.h"
#include <stdio.h>

extern const fr_kern fr_kern_avxvnni, fr_kern_avx512, fr_kern_amx;

const fr_kern *fr_kern_of(fr_isa isa) {
    switch (isa) {
    case FR_ISA_SCALAR:
        return &fr_kern_scalar;
    case FR_ISA_AVX_VNNI:
        return &fr_kern_avxvnni;
    case FR_ISA_AVX512:
        return &fr_kern_avx512;
    case FR_ISA_AMX:
        return &fr_kern_amx;
    case FR_ISA_AVX2:
    case FR_ISA_COUNT:
        break;
    }
    return NULL;
}

bool fr_isa_available(fr_isa isa) {
    return fr_kern_of(isa);
}

const char *fr_isa_name(fr_isa isa) {
    static const char *const names[FR_ISA_COUNT] = {"scalar", "avx2", "avx-vnni", "avx512", "amx"};
    return (unsigned)isa < FR_ISA_COUNT ? names[isa] : "?";
}

void check_bench(const fr_kern *kern, int only_type, bool quick, int threads) {
    (void)only_type, (void)quick, (void)threads;
    printf("%s: emulated, not timed\n", kern->name);
}
