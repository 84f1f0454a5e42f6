# Refuses options in fr_math_flags by which a compiler may reorder sums or round otherwise: every result
# is fixed to the bit (docs/numerics.md). -ffp-contract is not refused, as the build sets it last.
#
#   cmake -Dfr_math_flags="-O2 -ffast-math" -P tools/math-flags.cmake
string(REGEX MATCH "(^|[ ;])(-ffast-math|-Ofast|-ffinite-math-only|-funsafe-math-optimizations|-fassociative-math|-freciprocal-math|-fno-signed-zeros|-fapprox-func|-ffp-model=(fast|aggressive)|-fsingle-precision-constant|-mdaz-ftz|-mfpmath=([a-z0-9,+]*387|both))"
       fr_math_flag "${fr_math_flags}")
if(fr_math_flag)
    string(STRIP "${fr_math_flag}" fr_math_flag)
    message(FATAL_ERROR "${fr_math_flag}: forerun fixes the order and rounding of every sum, so that all "
                        "instruction sets give the same bytes. Configure again without it.")
endif()
