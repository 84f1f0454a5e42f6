// table.c — the kernel table for AVX-512 with VNNI.
#include "kern/avx512/avx512.h"

extern const fr_kern fr_kern_avx512;
const fr_kern fr_kern_avx512 = {
    .isa = FR_ISA_AVX512,
    .name = "avx512",
    .quantize = fr_quantize_avx512,
    .matmul = FR_MATMULS(avx512),
    .rmsnorm = fr_rmsnorm_avx512,
    .layernorm = fr_layernorm_avx512,
    .add = fr_add_avx512,
    .scale = fr_scale_avx512,
    .add_times = fr_add_times_avx512,
    .silu_mul = fr_silu_mul_avx512,
    .clamped_mul = fr_clamped_mul_avx512,
    .gelu_mul = fr_gelu_mul_avx512,
    .gelu = fr_gelu_avx512,
    .softcap = fr_softcap_avx512,
    .rope = fr_rope_avx512,
    .store_k = {fr_store_k_f16_avx512, fr_store_k_q8_0_avx512},
    .store_v = {fr_store_v_f16_avx512, fr_store_v_q8_0_avx512},
    .attend = fr_attend_avx512,
    .argmax = fr_argmax_avx512,
    .run_max = fr_run_max_avx512,
    .weigh = fr_weigh_avx512,
    .split = fr_split_avx512,
};
