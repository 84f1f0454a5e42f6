// exact_math.h — refuses to compile where an option lets the compiler reorder sums: every result is
// fixed to the bit (docs/numerics.md), and all instruction sets give the same. tools/math-flags.cmake
// refuses the options themselves; this refuses what they define, in builds that do without CMake.
#ifndef FR_KERN_EXACT_MATH_H
#define FR_KERN_EXACT_MATH_H

#if defined __FAST_MATH__ || defined __ASSOCIATIVE_MATH__ || defined __RECIPROCAL_MATH__ ||        \
    defined __NO_SIGNED_ZEROS__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__)
#error "forerun fixes the order of every sum: build it without -ffast-math, -Ofast and their parts"
#endif
// -1: the compiler may use either unit (-mfpmath=both).
#if defined __FLT_EVAL_METHOD__ &&                                                                 \
    (__FLT_EVAL_METHOD__ == -1 || __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "forerun rounds every float: build it without -mfpmath=387"
#endif

#endif
