// linear.h — matrices of a drafter, and products with them on the threads of the target.
//
// A product quantises its rows and multiplies in one parallel region, by the kernels of a pass: the
// same bits for any number of rows and threads (kern.h).
#ifndef FR_DRAFT_SHARED_LINEAR_H
#define FR_DRAFT_SHARED_LINEAR_H
#include "base/alloc.h"
#include "base/pool.h"
#include "gguf/gguf.h"
#include "kern/kern.h"

// A matrix of m outputs and k inputs from its GGUF rows into panels of its own. k is a multiple of
// the type's block. FR_ENOMEM, naming `what`.
fr_status fr_matrix_open(fr_matrix *w, fr_type type, const void *rows, int m, int k, fr_pool *pool,
                         const char *what, fr_error *err);
void fr_matrix_close(fr_matrix *w); // a zeroed one is fine
static inline size_t fr_matrix_bytes(const fr_matrix *w) {
    return w->panel_bytes * (size_t)w->n_panels;
}

enum { FR_LINEAR_INPUTS = 2 };

// Floats from one row of n values to the next.
static inline int fr_linear_stride(int n) {
    return (n + 15) / 16 * 16;
}

typedef struct fr_linear { // workspace for up to max_rows rows of up to max_k values
    const fr_kern *kern;
    fr_pool *pool;
    void *act[FR_LINEAR_INPUTS][FR_ACT_KINDS];
    int max_rows, max_k;
} fr_linear;

fr_status fr_linear_open(fr_linear *l, const fr_kern *kern, fr_pool *pool, int max_rows, int max_k,
                         fr_error *err);
void fr_linear_close(fr_linear *l); // a zeroed one is fine

// y[i][0..w->m) = x[i][0..w->k) · w, ldx and ldy floats from one row to the next; 64-byte aligned,
// ldx and ldy multiples of 16 where there are several rows.
typedef struct fr_linear_product {
    const fr_matrix *w;
    const float *x;
    int ldx;
    float *y;
    int ldy;
} fr_linear_product;

// Several products of n rows each in one go, of up to FR_LINEAR_INPUTS different x; those of the
// same x stand next to each other. None reads what another writes.
void fr_linear_run(fr_linear *l, const fr_linear_product *products, int n_products, int n);

#endif
