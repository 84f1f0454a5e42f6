// ref.h — the reference kernels: plain C, slow, final. docs/numerics.md says the same in words.
#ifndef FR_KERN_REF_REF_H
#define FR_KERN_REF_REF_H
#include "kern/matmul.h"

void fr_quantize_scalar(const fr_act *a, const float *x, int ldx, int b0, int b1);

// vector.c
void fr_rmsnorm_scalar(float *y, const float *x, const float *w, int n, float eps);
void fr_layernorm_scalar(float *y, const float *x, const float *w, const float *b, int n,
                         float eps);
void fr_add_scalar(float *y, const float *x, int n);
void fr_scale_scalar(float *y, float factor, int n);
void fr_add_times_scalar(float *y, float factor, const float *x, int n);
void fr_silu_mul_scalar(float *y, const float *gate, const float *up, int n);
void fr_clamped_mul_scalar(float *y, const float *gate, const float *up, int n);
void fr_gelu_mul_scalar(float *y, const float *gate, const float *up, int n);
void fr_gelu_scalar(float *y, const float *x, int n);
void fr_softcap_scalar(float *x, int n, float cap);
void fr_rope_scalar(float *head, const float *cs, int n_rot, bool neox);
int fr_argmax_scalar(const float *x, int n);

// draw.c
void fr_run_max_scalar(float *most, const float *x, int n);
uint64_t fr_weigh_scalar(float *w, const float *x, int n, float best, float rate, float low);
int fr_split_scalar(int32_t *at, const float *x, const float *w, int n, float low, float high,
                    uint64_t *above);

// attend.c, kv_store.c
fr_kv_store_fn fr_store_k_f16_scalar, fr_store_k_q8_0_scalar, fr_store_v_f16_scalar,
    fr_store_v_q8_0_scalar;
void fr_attend_scalar(const fr_attend *job);

#endif
