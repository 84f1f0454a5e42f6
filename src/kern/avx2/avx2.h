// avx2.h — the kernels for AVX2 + FMA + F16C. Same bits as ref/.
#ifndef FR_KERN_AVX2_AVX2_H
#define FR_KERN_AVX2_AVX2_H
#include "kern/matmul.h"

void fr_quantize_avx2(const fr_act *a, const float *x, int ldx, int b0, int b1);

// vector.c
void fr_rmsnorm_avx2(float *y, const float *x, const float *w, int n, float eps);
void fr_layernorm_avx2(float *y, const float *x, const float *w, const float *b, int n, float eps);
void fr_add_avx2(float *y, const float *x, int n);
void fr_scale_avx2(float *y, float factor, int n);
void fr_add_times_avx2(float *y, float factor, const float *x, int n);
void fr_silu_mul_avx2(float *y, const float *gate, const float *up, int n);
void fr_clamped_mul_avx2(float *y, const float *gate, const float *up, int n);
void fr_gelu_mul_avx2(float *y, const float *gate, const float *up, int n);
void fr_gelu_avx2(float *y, const float *x, int n);
void fr_softcap_avx2(float *x, int n, float cap);
void fr_rope_avx2(float *head, const float *cs, int n_rot, bool neox);
int fr_argmax_avx2(const float *x, int n);

// draw.c
void fr_run_max_avx2(float *most, const float *x, int n);
uint64_t fr_weigh_avx2(float *w, const float *x, int n, float best, float rate, float low);
int fr_split_avx2(int32_t *at, const float *x, const float *w, int n, float low, float high,
                  uint64_t *above);

// attend.c, kv_store.c
fr_kv_store_fn fr_store_k_f16_avx2, fr_store_k_q8_0_avx2, fr_store_v_f16_avx2, fr_store_v_q8_0_avx2;
void fr_attend_avx2(const fr_attend *job);

#endif
