#include "train/block/unrolled.h"
#include "train/math/layers.h"
#include <string.h>

static const float *weight(const fr_unrolled *c, int i) {
    return fr_param_w(c->params, i);
}

static float *grad(const fr_unrolled *c, int i) {
    return fr_param_grad(c->params, i);
}

// y (+)= x Wᵀ with all rows dense; W is parameter i.
static void product(const fr_unrolled *c, float *y, const float *x, int i, int n, bool add) {
    const fr_param *p = &c->params->item[i];
    fr_gemm_forward(c->gemm, y, p->rows, x, p->cols, weight(c, i), n, p->rows, p->cols, add);
}

// dx (+)= dy W, and dW += dyᵀ x.
static void product_back(const fr_unrolled *c, float *dx, bool add, const float *dy, const float *x,
                         int i, int n) {
    const fr_param *p = &c->params->item[i];
    fr_gemm_weight(c->gemm, grad(c, i), dy, p->rows, x, p->cols, n, p->rows, p->cols, true);
    fr_gemm_input(c->gemm, dx, p->cols, dy, p->rows, weight(c, i), n, p->rows, p->cols, add);
}

static void norm(const fr_unrolled *c, float *y, const float *x, int gain, int n) {
    fr_norm_forward(y, x, weight(c, gain), n, c->shape.d);
}

static void norm_back(const fr_unrolled *c, float *dx, bool add, const float *dy, const float *x,
                      int gain, int n) {
    fr_norm_backward(dx, add, grad(c, gain), dy, x, weight(c, gain), n, c->shape.d);
}

static void rotate(const fr_unrolled *c, float *x, const int *position, int n, int heads,
                   fr_rope_direction how) {
    fr_rope_rows(x, position, c->rope_table, n, heads, c->shape.head_dim, how);
}

// Positions of the bases at step k: a step further with every step.
static const int *positions(const fr_unrolled *c, int k) {
    for (int b = 0; b < c->bases.n; b++)
        c->place[b] = c->position[c->bases.row[b]] + k - 1;
    return c->place;
}

static fr_attention_step attention_step(const fr_unrolled *c, int k) {
    const fr_unrolled_step *s = &c->step[k];
    return (fr_attention_step){.bases = &c->bases,
                               .step = k,
                               .q = s->q,
                               .k0 = c->k0,
                               .v0 = c->v0,
                               .k = c->k,
                               .v = c->v,
                               .o = s->o,
                               .lse = s->lse};
}

// ---------------------------------------------------------------- forward
// Rows of W_e t in place of the tokens' numbers: the null vector's is the last.
static int token_row(const fr_unrolled *c, int k, int b) {
    return c->token[k][b] < 0 ? c->rows : c->token[k][b];
}

static void add_tokens(const fr_unrolled *c, float *x, int k) {
    if (!c->shape.token) return;
    const size_t d = (size_t)c->shape.d;
#pragma omp parallel for schedule(static)
    for (int b = 0; b < c->bases.n; b++)
        fr_rows_add_one(x + (size_t)b * d, c->tokens + (size_t)token_row(c, k, b) * d, c->shape.d);
}

static void embed_tokens(fr_unrolled *c) {
    const size_t d = (size_t)c->shape.d;
    float *null = c->embedding + (size_t)c->rows * d;
    if (c->at.null >= 0)
        memcpy(null, weight(c, c->at.null), d * sizeof *null);
    else
        memset(null, 0, d * sizeof *null);
    norm(c, c->s, c->embedding, c->at.token_norm, c->rows + 1);
    product(c, c->tokens, c->s, c->at.fc_token, c->rows + 1, false);
}

// The context's states as they enter.
static const float *states(const fr_unrolled *c) {
    return c->shape.taps ? c->joined : c->state;
}

// x0 from states and tokens.
static void map_context(fr_unrolled *c) {
    const int n = c->rows;
    if (c->shape.taps) product(c, c->joined, c->taps, c->at.fc_taps, n, false);
    norm(c, c->s, states(c), c->at.state_norm, n);
    product(c, c->x0, c->s, c->at.fc_state, n, false);
    fr_bias_forward(c->x0, weight(c, c->at.bias), n, c->shape.d);
    if (!c->shape.token) return;
    embed_tokens(c);
    fr_rows_add(c->x0, c->tokens, n, c->shape.d);
}

// The given row of a context's own token: that of the token after the row before; -1: none.
static int own_given(const fr_unrolled *c, int row) {
    return c->position[row] ? row - 1 : -1;
}

static void take_given_context(fr_unrolled *c) {
    const size_t d = (size_t)c->shape.d;
    for (int row = 0; row < c->rows; row++) {
        const int from = own_given(c, row) < 0 ? c->rows : own_given(c, row);
        memcpy(c->x0 + (size_t)row * d, c->given + (size_t)from * d, d * sizeof *c->x0);
    }
}

static const float *context_inputs(const fr_unrolled *c) {
    return c->shape.given && !c->shape.given_context ? c->state : c->x0;
}

void fr_unrolled_context(fr_unrolled *c) {
    const fr_unrolled_shape *s = &c->shape;
    const int n = c->rows;
    if (s->given)
        memset(c->given + (size_t)n * (size_t)s->d, 0, (size_t)s->d * sizeof *c->given);
    else
        map_context(c);
    if (s->given_context) take_given_context(c);
    norm(c, c->a0, context_inputs(c), c->at.attn_norm, n);
    product(c, c->k0, c->a0, c->at.k, n, false);
    product(c, c->v0, c->a0, c->at.v, n, false);
    rotate(c, c->k0, c->position, n, s->n_kv, FR_ROPE_FORWARD);
}

static void map_step(fr_unrolled *c, int k) {
    fr_unrolled_step *step = &c->step[k];
    const int n = c->bases.n;
    norm(c, c->s, c->step[k - 1].g, c->at.state_norm, n);
    product(c, step->x, c->s, c->at.fc_state, n, false);
    fr_bias_forward(step->x, weight(c, c->at.bias), n, c->shape.d);
    add_tokens(c, step->x, k);
}

static void take_given(fr_unrolled *c, int k) {
    for (int b = 0; b < c->bases.n; b++)
        c->place[b] = token_row(c, k, b);
    fr_rows_gather(c->step[k].x, c->given, c->place, c->bases.n, c->shape.d);
}

// The input of step k, and its norm in c->s; keys and values of steps after the first.
static void step_input(fr_unrolled *c, int k) {
    const fr_unrolled_shape *s = &c->shape;
    fr_unrolled_step *step = &c->step[k];
    const int n = c->bases.n;
    if (k == 1) {
        fr_rows_gather(step->x, s->given ? c->state : c->x0, c->bases.row, n, s->d);
        fr_rows_gather(c->s, c->a0, c->bases.row, n, s->d);
        return;
    }
    if (s->given)
        take_given(c, k);
    else
        map_step(c, k);
    norm(c, c->s, step->x, c->at.attn_norm, n);
    product(c, c->k[k], c->s, c->at.k, n, false);
    product(c, c->v[k], c->s, c->at.v, n, false);
    rotate(c, c->k[k], positions(c, k), n, s->n_kv, FR_ROPE_FORWARD);
}

void fr_unrolled_step_forward(fr_unrolled *c, int k) {
    const fr_unrolled_shape *s = &c->shape;
    fr_unrolled_step *step = &c->step[k];
    const int n = c->bases.n;
    const size_t bytes = (size_t)n * (size_t)s->d * sizeof(float);
    step_input(c, k);
    product(c, step->q, c->s, c->at.q, n, false);
    rotate(c, step->q, positions(c, k), n, s->n_head, FR_ROPE_FORWARD);
    const fr_attention_step attention = attention_step(c, k);
    fr_attention_forward(&c->attention, &attention);
    memcpy(step->y, step->x, bytes);
    product(c, step->y, step->o, c->at.o, n, true);
    norm(c, c->s, step->y, c->at.ffn_norm, n);
    product(c, step->gate, c->s, c->at.gate, n, false);
    product(c, step->up, c->s, c->at.up, n, false);
    fr_swiglu_forward(c->h, step->gate, step->up, n, s->d_ff);
    memcpy(step->z, step->y, bytes);
    product(c, step->z, c->h, c->at.down, n, true);
    norm(c, step->g, step->z, c->at.out_norm, n);
}

// ---------------------------------------------------------------- backward
void fr_unrolled_begin_back(fr_unrolled *c) {
    const size_t d = (size_t)c->shape.d, kv = (size_t)c->shape.n_kv * (size_t)c->shape.head_dim;
    const size_t rows = (size_t)c->rows, bases = (size_t)c->bases.n;
    memset(c->dg, 0, bases * d * sizeof(float));
    memset(c->dk0, 0, rows * kv * sizeof(float));
    memset(c->dv0, 0, rows * kv * sizeof(float));
    for (int k = 2; k <= c->shape.depth; k++) {
        memset(c->dk[k], 0, bases * kv * sizeof(float));
        memset(c->dv[k], 0, bases * kv * sizeof(float));
    }
    if (c->shape.token) memset(c->dtokens, 0, (rows + 1) * d * sizeof(float));
    if (c->shape.given) memset(c->dgiven, 0, (rows + 1) * d * sizeof(float));
}

// From dg to the gradient into y, in c->dx.
static void ffn_back(fr_unrolled *c, int k) {
    fr_unrolled_step *step = &c->step[k];
    const int n = c->bases.n, ff = c->shape.d_ff;
    norm_back(c, c->dx, false, c->dg, step->z, c->at.out_norm, n);
    fr_swiglu_forward(c->h, step->gate, step->up, n, ff);
    product_back(c, c->dh, false, c->dx, c->h, c->at.down, n);
    fr_swiglu_backward(step->gate, step->up, c->dh, step->gate, step->up, n, ff);
    norm(c, c->s, step->y, c->at.ffn_norm, n);
    product_back(c, c->t, false, step->gate, c->s, c->at.gate, n);
    product_back(c, c->t, true, step->up, c->s, c->at.up, n);
    norm_back(c, c->dx, true, c->t, step->y, c->at.ffn_norm, n);
}

// From dx (into y) to the gradient into the norm of x, in c->t.
static void attention_back(fr_unrolled *c, int k) {
    const fr_unrolled_shape *s = &c->shape;
    fr_unrolled_step *step = &c->step[k];
    const int n = c->bases.n;
    product_back(c, c->d_o, false, c->dx, step->o, c->at.o, n);
    const fr_attention_step attention = attention_step(c, k);
    fr_attention_backward(&c->attention, &attention, c->d_o, c->dq, c->dk0, c->dv0, c->dk, c->dv);
    rotate(c, c->dq, positions(c, k), n, s->n_head, FR_ROPE_BACKWARD);
    norm(c, c->s, step->x, c->at.attn_norm, n);
    product_back(c, c->t, false, c->dq, c->s, c->at.q, n);
    if (k == 1) return;
    rotate(c, c->dk[k], positions(c, k), n, s->n_kv, FR_ROPE_BACKWARD);
    product_back(c, c->t, true, c->dk[k], c->s, c->at.k, n);
    product_back(c, c->t, true, c->dv[k], c->s, c->at.v, n);
}

// dx into the tokens of step k. Bases of a context read different rows; null is read by many.
static void tokens_back(fr_unrolled *c, int k) {
    if (!c->shape.token) return;
    fr_rows_scatter(c->dtokens, c->dx, c->token[k], c->bases.n, c->shape.d);
    const size_t d = (size_t)c->shape.d;
    for (int b = 0; b < c->bases.n; b++)
        if (c->token[k][b] < 0)
            fr_rows_add_one(c->dtokens + (size_t)c->rows * d, c->dx + (size_t)b * d, c->shape.d);
}

// dx into what gave the input of step k, and dg of the step before.
static void map_back(fr_unrolled *c, int k) {
    const int n = c->bases.n;
    fr_bias_backward(grad(c, c->at.bias), c->dx, n, c->shape.d);
    tokens_back(c, k);
    norm(c, c->s, c->step[k - 1].g, c->at.state_norm, n);
    product_back(c, c->t, false, c->dx, c->s, c->at.fc_state, n);
    norm_back(c, c->dg, false, c->t, c->step[k - 1].g, c->at.state_norm, n);
}

static void given_back(fr_unrolled *c, int k) {
    const size_t bytes = (size_t)c->bases.n * (size_t)c->shape.d * sizeof(float);
    fr_rows_scatter(c->dgiven, c->dx, c->token[k], c->bases.n, c->shape.d);
    memset(c->dg, 0, bytes);
}

void fr_unrolled_step_back(fr_unrolled *c, int k) {
    fr_unrolled_step *step = &c->step[k];
    const int n = c->bases.n;
    ffn_back(c, k);
    attention_back(c, k);
    if (k == 1) return; // what is left is the context's
    norm_back(c, c->dx, true, c->t, step->x, c->at.attn_norm, n);
    if (c->shape.given)
        given_back(c, k);
    else
        map_back(c, k);
}

static void embed_tokens_back(fr_unrolled *c) {
    const int n = c->rows + 1, d = c->shape.d;
    const size_t last = (size_t)c->rows * (size_t)d;
    norm(c, c->s, c->embedding, c->at.token_norm, n);
    product_back(c, c->t, false, c->dtokens, c->s, c->at.fc_token, n);
    norm_back(c, NULL, false, c->t, c->embedding, c->at.token_norm, n);
    if (c->at.null >= 0)
        fr_norm_backward(grad(c, c->at.null), true, NULL, c->t + last, c->embedding + last,
                         weight(c, c->at.token_norm), 1, d);
}

// From t, the gradient into the normed states; s is overwritten.
static void states_back(fr_unrolled *c) {
    const int n = c->rows, d = c->shape.d;
    norm_back(c, c->shape.taps ? c->s : NULL, false, c->t, states(c), c->at.state_norm, n);
    if (!c->shape.taps) return;
    const fr_param *p = &c->params->item[c->at.fc_taps];
    fr_gemm_weight(c->gemm, grad(c, c->at.fc_taps), c->s, d, c->taps, p->cols, n, d, p->cols, true);
}

static void given_context_back(fr_unrolled *c, const float *dx) {
    const size_t d = (size_t)c->shape.d;
    for (int row = 0; row < c->rows; row++)
        if (own_given(c, row) >= 0)
            fr_rows_add_one(c->dgiven + (size_t)own_given(c, row) * d, dx + (size_t)row * d,
                            c->shape.d);
}

// After the first step: dx and t then hold the bases' gradients into their input and its norm.
void fr_unrolled_context_back(fr_unrolled *c) {
    const fr_unrolled_shape *s = &c->shape;
    const int n = c->rows;
    float *da = c->s, *dx = c->a0; // a0 is read last by the products of keys and values
    rotate(c, c->dk0, c->position, n, s->n_kv, FR_ROPE_BACKWARD);
    product_back(c, da, false, c->dk0, c->a0, c->at.k, n);
    product_back(c, da, true, c->dv0, c->a0, c->at.v, n);
    if (!s->given || s->first) fr_rows_scatter(da, c->t, c->bases.row, c->bases.n, s->d);
    if (s->given) {
        norm_back(c, s->given_context ? dx : NULL, false, da, context_inputs(c), c->at.attn_norm,
                  n);
        if (s->given_context) given_context_back(c, dx);
        return;
    }
    norm_back(c, dx, false, da, c->x0, c->at.attn_norm, n);
    fr_rows_scatter(dx, c->dx, c->bases.row, c->bases.n, s->d);
    fr_bias_backward(grad(c, c->at.bias), dx, n, s->d);
    norm(c, c->s, states(c), c->at.state_norm, n);
    product_back(c, c->t, false, dx, c->s, c->at.fc_state, n);
    states_back(c);
    if (!s->token) return;
    fr_rows_add(c->dtokens, dx, n, s->d);
    embed_tokens_back(c);
}
