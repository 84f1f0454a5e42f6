// float_mode.h — how a thread rounds: what a host program has set must not change results.
#ifndef FR_BASE_FLOAT_MODE_H
#define FR_BASE_FLOAT_MODE_H
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

// Default rounding, no trap, and above all no flush-to-zero. What was set before.
static inline unsigned fr_float_mode_set(void) {
#ifdef __x86_64__
    const unsigned before = _mm_getcsr();
    _mm_setcsr(0x1f80);
    return before;
#elif defined(__aarch64__)
    unsigned long before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(0ul));
    return (unsigned)before;
#else
    return 0;
#endif
}

static inline void fr_float_mode_restore(unsigned mode) {
#ifdef __x86_64__
    _mm_setcsr(mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((unsigned long)mode));
#else
    (void)mode;
#endif
}

#endif
