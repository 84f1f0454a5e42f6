// gemm.h — the matrix products of training: one small interface to a library.
//
// Row-major float matrices; the product runs in bf16 with sums in f32 where the CPU has
// instructions for that (AVX512_BF16, AMX), else in f32. One handle serves one thread of control;
// the library's threads look for more work for some milliseconds after a call and then sleep. For
// the same handle settings and machine the same bits come out.
#ifndef FR_TRAIN_MATH_GEMM_H
#define FR_TRAIN_MATH_GEMM_H
#include "base/status.h"

typedef struct fr_gemm fr_gemm;
typedef enum fr_gemm_type { FR_GEMM_AUTO, FR_GEMM_F32, FR_GEMM_BF16 } fr_gemm_type;

// threads 0: all that this process may use. FR_EUNSUP: BF16 on a CPU without it; FR_ENOMEM.
fr_status fr_gemm_open(fr_gemm **out, int threads, fr_gemm_type type, fr_error *err);
void fr_gemm_close(fr_gemm *g);             // NULL is fine
const char *fr_gemm_name(const fr_gemm *g); // "f32", "bf16"
int fr_gemm_threads(const fr_gemm *g);

// The three products of a linear layer y = x wᵀ (x [n][k], w [m][k], y [n][m]); `add`: adds to
// the output, else overwrites it. Strides are ld*, in floats.
void fr_gemm_forward(fr_gemm *g, float *y, int ldy, const float *x, int ldx, const float *w, int n,
                     int m, int k, bool add); // y (+)= x wᵀ
void fr_gemm_input(fr_gemm *g, float *dx, int ldx, const float *dy, int ldy, const float *w, int n,
                   int m, int k, bool add); // dx (+)= dy w
void fr_gemm_weight(fr_gemm *g, float *dw, const float *dy, int ldy, const float *x, int ldx, int n,
                    int m, int k, bool add); // dw (+)= dyᵀ x

// One product c (+)= op(a) op(b) in f32, op(a) [m][k], op(b) [k][n], for tiles of attention: needs
// no handle, and inside a parallel loop runs on the thread that calls it.
typedef enum fr_gemm_op { FR_GEMM_NN, FR_GEMM_NT, FR_GEMM_TN } fr_gemm_op; // T: stored transposed
void fr_gemm_tile(fr_gemm_op op, float *c, int ldc, const float *a, int lda, const float *b,
                  int ldb, int m, int n, int k, bool add);

#endif
