// medusa_heads.c — takes the maps and heads of a pack and opens the buffers. Then it takes the state, runs the
// maps and reads the heads: all depths at once, or for Hydra one depth for several paths.
#include "draft/medusa/medusa_heads.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

static const float EPS = (float)FR_PACK_EPS;

// ---------------------------------------------------------------- open

static fr_status take_matrix(fr_medusa_heads *h, fr_pack_weights *w, const char *what, int k,
                             const fr_matrix **to, fr_error *err) {
    char name[40];
    snprintf(name, sizeof name, "medusa.%d.%s", k, what);
    const fr_status st = fr_pack_weights_matrix(w, name, to, err);
    h->bytes += fr_matrix_bytes(*to);
    return st;
}

static fr_status take_bias(fr_medusa_heads *h, fr_pack_weights *w, int k, fr_error *err) {
    char name[40];
    snprintf(name, sizeof name, "medusa.%d.bias", k);
    return fr_pack_weights_values(w, name, &h->bias[k - 1], err);
}

static fr_status take_weights(fr_medusa_heads *h, fr_pack_weights *w, fr_error *err) {
    const fr_pack *p = h->pack;
    const bool own = fr_medusa_pack_of(p)->variant == FR_MEDUSA_OWN_HEADS;
    fr_status st = FR_OK;
    for (int k = 1; k <= p->depth && !st; k++) {
        st = take_matrix(h, w, "weight", k, &h->map[k - 1], err);
        if (!st && own) st = take_matrix(h, w, "head", k, &h->own[k - 1], err);
        if (!st) st = take_bias(h, w, k, err);
    }
    if (st || own) return st;
    st = fr_pack_weights_head(w, &h->shared, err);
    h->bytes += fr_matrix_bytes(h->shared);
    return st;
}

static fr_status open_buffers(fr_medusa_heads *h, fr_error *err) {
    const fr_pack *p = h->pack;
    const size_t rows = FR_MEDUSA_PATHS, d = (size_t)p->d, f = sizeof(float);
    h->stride = fr_linear_stride(p->d);
    h->in_stride = fr_linear_stride(
        fr_medusa_pack_of(p)->variant == FR_MEDUSA_HYDRA ? (p->depth + 1) * p->d : p->d);
    h->logit_stride = fr_linear_stride(p->n_draft);
    const size_t state = FR_ARENA_ROUND(d * f);
    const size_t in = FR_ARENA_ROUND(rows * (size_t)h->in_stride * f);
    const size_t y = FR_ARENA_ROUND(rows * (size_t)h->stride * f);
    const size_t logits = FR_ARENA_ROUND(rows * (size_t)h->logit_stride * f);
    const fr_status st = fr_arena_open(&h->arena, 2 * state + in + y + logits, "medusa", err);
    if (st) return st;
    h->state = fr_arena_take(&h->arena, state);
    h->ones = fr_arena_take(&h->arena, state);
    h->in = fr_arena_take(&h->arena, in);
    h->y = fr_arena_take(&h->arena, y);
    h->logits = fr_arena_take(&h->arena, logits);
    for (int i = 0; i < p->d; i++)
        h->ones[i] = 1;
    return fr_linear_open(&h->linear, h->target->kern, h->target->pool, FR_MEDUSA_PATHS,
                          h->in_stride, err);
}

fr_status fr_medusa_heads_open(fr_medusa_heads *h, fr_pack_weights *w, fr_error *err) {
    *h = (fr_medusa_heads){.pack = &w->pack, .target = w->target};
    fr_status st = take_weights(h, w, err);
    if (!st) st = open_buffers(h, err);
    if (st) fr_medusa_heads_close(h);
    return st;
}

void fr_medusa_heads_close(fr_medusa_heads *h) {
    fr_linear_close(&h->linear);
    fr_arena_close(&h->arena);
    *h = (fr_medusa_heads){0};
}

// ---------------------------------------------------------------- run

void fr_medusa_heads_state(fr_medusa_heads *h, const float *f) {
    const fr_model *t = h->target;
    if (fr_medusa_pack_of(h->pack)->variant == FR_MEDUSA_EXIT)
        fr_model_norm(t, h->state, f, t->output_norm);
    else
        memcpy(h->state, f, sizeof *f * (size_t)h->pack->d);
}

// y_k of row i, from A_k's product, which stands there.
static void finish_row(fr_medusa_heads *h, int k, int i) {
    const fr_kern *kern = h->target->kern;
    const int d = h->pack->d;
    float *y = h->y + (size_t)i * h->stride;
    kern->add(y, h->bias[k - 1], d);
    kern->silu_mul(y, y, h->ones, d);
    kern->add(y, h->state, d);
}

static fr_linear_product head_of_row(fr_medusa_heads *h, const fr_matrix *head, int row) {
    return (fr_linear_product){head, h->y + (size_t)row * h->stride, h->stride,
                               h->logits + (size_t)row * h->logit_stride, h->logit_stride};
}

static void run_shared_head(fr_medusa_heads *h, int n) {
    const fr_linear_product head = head_of_row(h, h->shared, 0);
    fr_linear_run(&h->linear, &head, 1, n);
}

void fr_medusa_heads_run(fr_medusa_heads *h) {
    const fr_pack *p = h->pack;
    fr_linear_product map[FR_PACK_HEADS];
    const fr_medusa_variant variant = fr_medusa_pack_of(p)->variant;
    assert(variant != FR_MEDUSA_HYDRA);
    h->target->kern->rmsnorm(h->in, h->state, NULL, p->d, EPS);
    for (int k = 0; k < p->depth; k++)
        map[k] = (fr_linear_product){h->map[k], h->in, h->in_stride, h->y + (size_t)k * h->stride,
                                     h->stride};
    fr_linear_run(&h->linear, map, p->depth, 1);
    for (int k = 0; k < p->depth; k++)
        finish_row(h, k + 1, k);
    if (variant != FR_MEDUSA_OWN_HEADS) run_shared_head(h, p->depth);
    for (int k = 0; k < p->depth && variant == FR_MEDUSA_OWN_HEADS; k++) {
        const fr_linear_product head = head_of_row(h, h->own[k], k);
        fr_linear_run(&h->linear, &head, 1, 1);
    }
}

void fr_medusa_heads_run_paths(fr_medusa_heads *h, int k, const int32_t path[][FR_PACK_HEADS],
                               int n) {
    const fr_kern *kern = h->target->kern;
    const int d = h->pack->d;
    assert(fr_medusa_pack_of(h->pack)->variant == FR_MEDUSA_HYDRA && n >= 1 &&
           n <= FR_MEDUSA_PATHS);
    for (int i = 0; i < n; i++) {
        float *in = h->in + (size_t)i * h->in_stride;
        kern->rmsnorm(in, h->state, NULL, d, EPS);
        for (int j = 0; j < k; j++) {
            float *e = in + (size_t)(j + 1) * d;
            fr_model_embed(h->target, path[i][j], e);
            kern->rmsnorm(e, e, NULL, d, EPS);
        }
    }
    const fr_linear_product map = {h->map[k - 1], h->in, h->in_stride, h->y, h->stride};
    fr_linear_run(&h->linear, &map, 1, n);
    for (int i = 0; i < n; i++)
        finish_row(h, k, i);
    run_shared_head(h, n);
}

const float *fr_medusa_heads_logits(const fr_medusa_heads *h, int row) {
    return h->logits + (size_t)row * h->logit_stride;
}
