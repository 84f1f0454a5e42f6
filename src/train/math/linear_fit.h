// linear_fit.h — the linear map of least squares, from rows given in pieces.
//
// W [m][k] minimises sum |y - W x|² + ridge n sum_j s_j |w_j|², s_j the mean square of input j,
// over all n rows (x [k], y [m]). It is what a module can begin with where its first layer is
// linear: seconds of work in place of thousands of steps. The normal equations are solved for all
// outputs at once by conjugate gradients with the diagonal as preconditioner [Hestenes and Stiefel
// 1952].
#ifndef FR_TRAIN_MATH_LINEAR_FIT_H
#define FR_TRAIN_MATH_LINEAR_FIT_H
#include "base/watch.h"
#include "train/math/gemm.h"

enum { FR_LINEAR_FIT_ROWS = 512 }; // of a piece

typedef struct fr_linear_fit {
    int k, m;
    float *x, *y;   // [FR_LINEAR_FIT_ROWS][k] and [..][m]: the caller's rows of the next piece
    float *w;       // [m][k]: the map, once it is solved
    float *xx, *yx; // [k][k] and [m][k]: sums of x xᵀ and y xᵀ
    fr_gemm *gemm;  // own: always f32
    float *numbers; // [2 (k + m + 1)] for solving
    float *block;
} fr_linear_fit;

size_t fr_linear_fit_bytes(int k, int m); // its memory, including that for solving
// FR_ENOMEM.
fr_status fr_linear_fit_open(fr_linear_fit *f, int k, int m, int threads, fr_error *err);
void fr_linear_fit_close(fr_linear_fit *f);      // {0} is fine
void fr_linear_fit_add(fr_linear_fit *f, int n); // the first n rows of x and y
// w, after `steps` steps of conjugate gradients from zero; the sums are gone then. ridge > 0.
// False: it was left before the end.
bool fr_linear_fit_solve(fr_linear_fit *f, float ridge, int steps, const fr_watch *watch);

#endif
