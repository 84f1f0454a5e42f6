// table.c — the kernel table for AVX-VNNI: its own integer products, the rest as AVX2.
#include "kern/avx2/avx2.h"

extern const fr_kern fr_kern_avxvnni;
const fr_kern fr_kern_avxvnni = {
    .isa = FR_ISA_AVX_VNNI,
    .name = "avx-vnni",
    .quantize = fr_quantize_avx2,
    .matmul = FR_MATMULS(avxvnni),
    .rmsnorm = fr_rmsnorm_avx2,
    .layernorm = fr_layernorm_avx2,
    .add = fr_add_avx2,
    .scale = fr_scale_avx2,
    .add_times = fr_add_times_avx2,
    .silu_mul = fr_silu_mul_avx2,
    .clamped_mul = fr_clamped_mul_avx2,
    .gelu_mul = fr_gelu_mul_avx2,
    .gelu = fr_gelu_avx2,
    .softcap = fr_softcap_avx2,
    .rope = fr_rope_avx2,
    .store_k = {fr_store_k_f16_avx2, fr_store_k_q8_0_avx2},
    .store_v = {fr_store_v_f16_avx2, fr_store_v_q8_0_avx2},
    .attend = fr_attend_avx2,
    .argmax = fr_argmax_avx2,
    .run_max = fr_run_max_avx2,
    .weigh = fr_weigh_avx2,
    .split = fr_split_avx2,
};
