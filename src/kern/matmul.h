// matmul.h — the names of the product kernels: fr_matmul_<weight type>_<isa>, one of each for every
// type.
#ifndef FR_KERN_MATMUL_H
#define FR_KERN_MATMUL_H
#include "kern/kern.h"

// clang-format off
#define FR_MATMUL_DECLARE(isa)                                                                      \
    fr_matmul_fn fr_matmul_f32_##isa,  fr_matmul_f16_##isa,  fr_matmul_bf16_##isa,                  \
                 fr_matmul_q4_0_##isa, fr_matmul_q4_1_##isa, fr_matmul_q5_0_##isa,                  \
                 fr_matmul_q5_1_##isa, fr_matmul_q8_0_##isa, fr_matmul_iq4_nl_##isa,                \
                 fr_matmul_q2_k_##isa, fr_matmul_q3_k_##isa, fr_matmul_q4_k_##isa,                  \
                 fr_matmul_q5_k_##isa, fr_matmul_q6_k_##isa, fr_matmul_iq4_xs_##isa

// The initialiser of fr_kern.matmul.
#define FR_MATMUL_TABLE(isa) {                                                                      \
    [FR_TYPE_F32]    = fr_matmul_f32_##isa,    [FR_TYPE_F16]    = fr_matmul_f16_##isa,              \
    [FR_TYPE_BF16]   = fr_matmul_bf16_##isa,   [FR_TYPE_Q4_0]   = fr_matmul_q4_0_##isa,             \
    [FR_TYPE_Q4_1]   = fr_matmul_q4_1_##isa,   [FR_TYPE_Q5_0]   = fr_matmul_q5_0_##isa,             \
    [FR_TYPE_Q5_1]   = fr_matmul_q5_1_##isa,   [FR_TYPE_Q8_0]   = fr_matmul_q8_0_##isa,             \
    [FR_TYPE_IQ4_NL] = fr_matmul_iq4_nl_##isa, [FR_TYPE_Q2_K]   = fr_matmul_q2_k_##isa,             \
    [FR_TYPE_Q3_K]   = fr_matmul_q3_k_##isa,   [FR_TYPE_Q4_K]   = fr_matmul_q4_k_##isa,             \
    [FR_TYPE_Q5_K]   = fr_matmul_q5_k_##isa,   [FR_TYPE_Q6_K]   = fr_matmul_q6_k_##isa,             \
    [FR_TYPE_IQ4_XS] = fr_matmul_iq4_xs_##isa }
// clang-format on

#endif
