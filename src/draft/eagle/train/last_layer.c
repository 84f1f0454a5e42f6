#include "draft/eagle/train/last_layer.h"
#include "base/alloc.h"
#include "draft/eagle/train/learn_eagle.h"
#include "kern/repack.h"
#include "train/math/layers.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 256, ROWS = FR_LAST_LAYER_ROWS };

static const fr_layer *last_of(const fr_model *m) {
    return &m->layers[m->config.n_layer - 1];
}

// ---------------------------------------------------------------- memory
static size_t floats(const fr_model *m) {
    const size_t d = (size_t)m->config.d, ff = (size_t)m->config.d_ff;
    return (size_t)ROWS * d + 2 * (size_t)ROWS * PIECE + 2 * (size_t)PIECE * d + 6 * ff + 16;
}

size_t fr_last_layer_bytes(const fr_model *m) {
    return floats(m) * sizeof(float);
}

static fr_status open_memory(fr_last_layer *l, const fr_model *m, fr_error *err) {
    const size_t d = (size_t)m->config.d, ff = (size_t)m->config.d_ff;
    l->target = m;
    l->block = fr_alloc_zero(fr_last_layer_bytes(m));
    if (!l->block) return fr_fail(err, FR_ENOMEM, "train: no memory for %d rows of a layer", ROWS);
    float *at = l->block;
    l->score = (double *)(void *)at, at += 2 * ff; // first: doubles
    l->sorted = (double *)(void *)at, at += 2 * ff;
    l->order = (int *)(void *)at, at += ff;
    l->row = at, at += ff;
    l->m = at, at += (size_t)ROWS * d;
    l->gate = at, at += (size_t)ROWS * PIECE;
    l->up = at, at += (size_t)ROWS * PIECE;
    l->w_gate = at, at += (size_t)PIECE * d;
    l->w_up = at;
    return FR_OK;
}

void fr_last_layer_close(fr_last_layer *l) {
    fr_free(l->block);
    *l = (fr_last_layer){0};
}

// ---------------------------------------------------------------- neurons by text
fr_status fr_last_layer_see(fr_last_layer *l, const fr_unrolled *c, const fr_model *target,
                            fr_error *err) {
    const size_t d = (size_t)c->shape.d;
    if (!l->block) {
        const fr_status st = open_memory(l, target, err);
        if (st) return st;
    }
    for (int row = 0; row < c->rows && l->n < ROWS; row++) {
        if (!c->position[row]) continue; // a context's first row is like no other
        const float *f = c->state + (size_t)row * d, *gain = target->output_norm.w;
        float *m = l->m + (size_t)l->n++ * d;
        for (size_t j = 0; j < d; j++)
            m[j] = fabsf(gain[j]) > 1e-4f ? f[j] / gain[j] : 0;
        fr_norm_forward(m, m, last_of(target)->ffn_norm.w, 1, c->shape.d);
    }
    return FR_OK;
}

// ---------------------------------------------------------------- neurons
// Lengths of the columns of the matrix that goes back to the residual.
static void weigh_columns(fr_last_layer *l) {
    const fr_config *t = &l->target->config;
    memset(l->score, 0, (size_t)t->d_ff * sizeof *l->score);
    for (int r = 0; r < t->d; r++) {
        fr_matrix_row(&last_of(l->target)->down, r, l->row);
        for (int j = 0; j < t->d_ff; j++)
            l->score[j] += (double)l->row[j] * (double)l->row[j];
    }
    for (int j = 0; j < t->d_ff; j++)
        l->score[j] = sqrt(l->score[j]);
}

// What neurons first .. first + n - 1 add.
static void weigh_piece(fr_last_layer *l, fr_gemm *gemm, int first, int n) {
    const int d = l->target->config.d;
    if (!l->n) return; // by the columns alone
    for (int j = 0; j < n; j++) {
        fr_matrix_row(&last_of(l->target)->gate, first + j, l->w_gate + (size_t)j * (size_t)d);
        fr_matrix_row(&last_of(l->target)->up, first + j, l->w_up + (size_t)j * (size_t)d);
    }
    fr_gemm_forward(gemm, l->gate, n, l->m, d, l->w_gate, l->n, n, d, false);
    fr_gemm_forward(gemm, l->up, n, l->m, d, l->w_up, l->n, n, d, false);
    fr_swiglu_forward(l->gate, l->gate, l->up, l->n, n);
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < l->n; i++)
            sum += fabs((double)l->gate[(size_t)i * (size_t)n + (size_t)j]);
        l->score[first + j] *= sum;
    }
}

static int falling(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

// The `keep` best, in the order in which the target has them.
static void choose(fr_last_layer *l, int keep) {
    const int all = l->target->config.d_ff;
    int n = 0, ties = keep;
    memcpy(l->sorted, l->score, (size_t)all * sizeof *l->score);
    qsort(l->sorted, (size_t)all, sizeof *l->sorted, falling);
    const double least = l->sorted[keep - 1];
    for (int j = 0; j < all; j++)
        ties -= l->score[j] > least;
    for (int j = 0; j < all; j++)
        if (l->score[j] > least || (l->score[j] == least && ties-- > 0)) l->order[n++] = j;
}

static void take_neurons(fr_last_layer *l, fr_unrolled *c, int n) {
    const fr_layer *from = last_of(l->target);
    const size_t d = (size_t)c->shape.d, ff = (size_t)c->shape.d_ff;
    float *down = fr_param_w(c->params, c->at.down);
    for (int j = 0; j < n; j++) {
        fr_matrix_row(&from->gate, l->order[j], fr_param_w(c->params, c->at.gate) + (size_t)j * d);
        fr_matrix_row(&from->up, l->order[j], fr_param_w(c->params, c->at.up) + (size_t)j * d);
    }
    for (size_t r = 0; r < d; r++) {
        fr_matrix_row(&from->down, (int)r, l->row);
        for (int j = 0; j < n; j++)
            down[r * ff + (size_t)j] = l->row[l->order[j]];
    }
    memcpy(fr_param_w(c->params, c->at.ffn_norm), from->ffn_norm.w, d * sizeof(float));
}

void fr_last_layer_take(fr_last_layer *l, fr_unrolled *c) {
    const int all = l->target->config.d_ff;
    fr_error unsaid;
    if (fr_unrolled_take_layer(c, l->target, l->target->config.n_layer - 1, &unsaid)) return;
    weigh_columns(l);
    for (int first = 0; first < all; first += PIECE)
        weigh_piece(l, c->gemm, first, all - first < PIECE ? all - first : PIECE);
    const int n = c->shape.d_ff < all ? c->shape.d_ff : all; // a wider block's others stay random
    choose(l, n);
    take_neurons(l, c, n);
}
