// param.h — the learned parameters: named matrices and vectors in four blocks of floats.
//
// All parameters of a module lie one after the other in `w`; their gradients, and AdamW's two
// moments, lie at the same places of blocks of their own. So the optimizer, checkpoints and sums
// over machines each are one loop over n_floats.
#ifndef FR_TRAIN_MATH_PARAM_H
#define FR_TRAIN_MATH_PARAM_H
#include "base/status.h"

enum { FR_PARAMS_MAX = 64 };

typedef struct fr_param {
    char name[48];  // of its tensor in the pack
    int rows, cols; // w[rows][cols]: outputs, inputs; a vector has one row
    size_t at;      // its first float in the blocks
    bool decays;    // weight decay applies: matrices
    bool given;     // by the pack that training begins with
} fr_param;

typedef struct fr_params {
    fr_param item[FR_PARAMS_MAX];
    int n;
    size_t n_floats;
    float *w, *grad, *m, *v; // [n_floats], zero at first; NULL until fr_params_alloc
} fr_params;

// Names a parameter; returns its number. Before fr_params_alloc. (Asserts that there is room.)
int fr_params_add(fr_params *p, const char *name, int rows, int cols);
fr_status fr_params_alloc(fr_params *p, fr_error *err); // FR_ENOMEM
void fr_params_free(fr_params *p);
// FR_EDATA names the first one with a value that is not finite.
fr_status fr_params_check(const fr_params *p, fr_error *err);
static inline float *fr_param_w(const fr_params *p, int i) {
    return p->w + p->item[i].at;
}
static inline float *fr_param_grad(const fr_params *p, int i) {
    return p->grad + p->item[i].at;
}
// Normal numbers of standard deviation `std` from a counter-based generator: a function of (seed,
// name, place).
void fr_param_random(const fr_params *p, int i, float std, uint64_t seed);
// The same of a matrix, so that an output's variance is gain² for inputs of variance 1. i < 0: none.
void fr_param_random_matrix(const fr_params *p, int i, float gain, uint64_t seed);

#endif
