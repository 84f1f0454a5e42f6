#include "kern/ref/ref.h"

const fr_kern fr_kern_scalar = {
    .isa = FR_ISA_SCALAR,
    .name = "scalar",
    .quantize = fr_quantize_scalar,
    .matmul = FR_MATMULS(scalar),
    .rmsnorm = fr_rmsnorm_scalar,
    .layernorm = fr_layernorm_scalar,
    .add = fr_add_scalar,
    .scale = fr_scale_scalar,
    .silu_mul = fr_silu_mul_scalar,
    .gelu_mul = fr_gelu_mul_scalar,
    .gelu = fr_gelu_scalar,
    .softcap = fr_softcap_scalar,
    .rope = fr_rope_scalar,
    .store_k = {fr_store_k_f16_scalar, fr_store_k_q8_0_scalar},
    .store_v = {fr_store_v_f16_scalar, fr_store_v_q8_0_scalar},
    .attend = fr_attend_scalar,
    .argmax = fr_argmax_scalar,
    .run_max = fr_run_max_scalar,
    .weigh = fr_weigh_scalar,
    .split = fr_split_scalar,
};
