// product.h — a share of y = x · w, wherever the weights lie.
#ifndef FR_MODEL_PRODUCT_H
#define FR_MODEL_PRODUCT_H
#include "model/model.h"

// y[r][16*p0 ..) = x[r][:] · w for panels [p0, p1), all rows of `act` (see fr_kern.matmul). A
// matrix in panels goes to the kernel as it is; of one left in its file `thread` packs a panel at a
// time into its own scratch, which stays in its cache, and the same kernel runs on that: the same
// bits. Inside a run of the model's pool, as thread `thread`.
void fr_product(const fr_model *m, const fr_matrix *w, float *y, int ldy, const fr_act *act, int p0,
                int p1, int thread);

#endif
