// layers.h — the small parts of draft modules, forward and backward: functions on rows of floats.
//
// x [n][d] are n rows of d. Forward functions overwrite; backward functions overwrite gradients of
// activations and *add* to gradients of parameters. Loops share rows or columns among the threads
// that fr_gemm_open set, and no sum depends on how many they are. Nothing allocates or fails.
#ifndef FR_TRAIN_MATH_LAYERS_H
#define FR_TRAIN_MATH_LAYERS_H
#include <stdbool.h>
#include <stdint.h>

// RMS norm: y = x / sqrt(mean(x²) + FR_PACK_EPS) * gain (NULL: none). y may be x.
void fr_norm_forward(float *y, const float *x, const float *gain, int n, int d);
// dx = gradient into x; with `add` it is added to dx. dgain or dx may be NULL: not wanted. dx may
// be dy (without add).
void fr_norm_backward(float *dx, bool add, float *dgain, const float *dy, const float *x,
                      const float *gain, int n, int d);

// The same with the eps of a target, whose gains are constants.
void fr_frozen_norm_forward(float *y, const float *x, const float *gain, float eps, int n, int d);
void fr_frozen_norm_backward(float *dx, bool add, const float *dy, const float *x,
                             const float *gain, float eps, int n, int d);

void fr_bias_forward(float *y, const float *bias, int n, int d); // y += bias
void fr_bias_backward(float *dbias, const float *dy, int n, int d);

// SwiGLU: h = silu(gate) * up; h may be gate. Backward: dgate may be gate and dup may be up.
void fr_swiglu_forward(float *h, const float *gate, const float *up, int n, int d);
void fr_swiglu_backward(float *dgate, float *dup, const float *dh, const float *gate,
                        const float *up, int n, int d);

// Medusa's residual block after its product: y = x + silu(u); du = dy silu'(u) (dx is dy). u may
// be du. Source: Medusa, section 2.1.1 (arXiv 2401.10774).
void fr_resblock_forward(float *y, const float *x, const float *u, int n, int d);
void fr_resblock_backward(float *du, const float *dy, const float *u, int n, int d);

// y = x * sigmoid(u), and back; dx and du may be x and u.
void fr_gated_forward(float *y, const float *x, const float *u, int n, int d);
void fr_gated_backward(float *dx, float *du, const float *dy, const float *x, const float *u, int n,
                       int d);

// Rotary embedding in halves: (x_i, x_{i + hd/2}) rotated by position * base^(-2i/hd). `rope_table`
// holds (cos, sin) of every position and pair. Backward is the inverse rotation.
typedef enum fr_rope_direction { FR_ROPE_FORWARD, FR_ROPE_BACKWARD } fr_rope_direction;
void fr_rope_table_fill(float *rope_table, int positions, int head_dim,
                        float base); // rope_table [positions][hd/2][2]
void fr_rope_rows(float *x, const int *position, const float *rope_table, int n, int heads,
                  int head_dim, fr_rope_direction direction);

// to[i] = from[at[i]]; and to[at[i]] += from[i] (at without repetition; negative: left out).
void fr_rows_gather(float *to, const float *from, const int *at, int n, int d);
void fr_rows_scatter(float *to, const float *from, const int *at, int n, int d);
void fr_rows_add(float *to, const float *from, int n, int d); // to += from
void fr_rows_scale(float *x, float by, int n, int d);         // x *= by
void fr_rows_add_one(float *to, const float *from, int d);    // one row, on the calling thread

#endif
