// chimera_heads.c — takes the matrices and norms of the pack. Then it takes the target's state, puts the
// block's states and runs head k on all of them: the sum of both maps, then norm and draft head
// unless the heads are Chimera's own.
#include "draft/chimera/chimera_heads.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

static const float EPS = (float)FR_PACK_EPS;

static bool own_heads(const fr_chimera_heads *h) {
    return fr_chimera_pack_of(h->pack)->own_heads;
}

// ---------------------------------------------------------------- open
static fr_status take_matrix(fr_chimera_heads *h, fr_pack_weights *w, const char *what, int k,
                             const fr_matrix **to, fr_error *err) {
    char name[40];
    snprintf(name, sizeof name, "chimera.%d.%s.weight", k, what);
    const fr_status st = fr_pack_weights_matrix(w, name, to, err);
    if (k == 1) h->bytes += fr_matrix_bytes(*to);
    return st;
}

static fr_status take_norm(fr_chimera_heads *h, fr_pack_weights *w, int k, fr_error *err) {
    char name[40];
    snprintf(name, sizeof name, "chimera.%d.norm", k);
    return fr_pack_weights_values(w, name, &h->norm[k - 1], err);
}

static fr_status take_weights(fr_chimera_heads *h, fr_pack_weights *w, fr_error *err) {
    fr_status st = FR_OK;
    for (int k = 1; k <= h->pack->depth && !st; k++) {
        st = take_matrix(h, w, "chain", k, &h->chain[k - 1], err);
        if (!st && fr_chimera_pack_of(h->pack)->residual)
            st = take_matrix(h, w, "state", k, &h->state[k - 1], err);
        if (!st && !own_heads(h)) st = take_norm(h, w, k, err);
    }
    if (own_heads(h)) return st;
    h->bytes += fr_matrix_bytes(&h->shared->vocabulary) + fr_matrix_bytes(&h->shared->text);
    return st;
}

static fr_status open_buffers(fr_chimera_heads *h, fr_error *err) {
    const int d = h->pack->d, n_logits = own_heads(h) ? h->pack->n_draft : h->shared->m;
    h->stride = fr_linear_stride(d);
    h->logit_stride = fr_linear_stride(n_logits);
    const size_t rows = FR_CHIMERA_ROWS * sizeof(float);
    const size_t state = FR_ARENA_ROUND((size_t)h->stride * sizeof(float));
    const size_t widest = (size_t)(h->stride > h->logit_stride ? h->stride : h->logit_stride);
    const size_t of_f = FR_ARENA_ROUND(widest * sizeof(float));
    const size_t states = FR_ARENA_ROUND((size_t)h->stride * rows);
    const size_t logits = FR_ARENA_ROUND((size_t)h->logit_stride * rows);
    const fr_status st = fr_arena_open(&h->arena, state + of_f + 2 * states + logits, "heads", err);
    if (st) return st;
    h->f = fr_arena_take(&h->arena, state);
    h->of_f = fr_arena_take(&h->arena, of_f);
    h->o = fr_arena_take(&h->arena, states);
    h->y = fr_arena_take(&h->arena, states);
    h->logits = fr_arena_take(&h->arena, logits);
    return FR_OK;
}

fr_status fr_chimera_heads_open(fr_chimera_heads *h, fr_pack_weights *w, const fr_text_head *shared,
                                fr_error *err) {
    const fr_model *target = w->target;
    *h = (fr_chimera_heads){.pack = &w->pack, .shared = shared};
    fr_status st = take_weights(h, w, err);
    if (!st) st = open_buffers(h, err);
    if (!st)
        st =
            fr_linear_open(&h->linear, target->kern, target->pool, FR_CHIMERA_ROWS, w->pack.d, err);
    if (st) fr_chimera_heads_close(h);
    return st;
}

void fr_chimera_heads_close(fr_chimera_heads *h) {
    fr_linear_close(&h->linear);
    fr_arena_close(&h->arena);
    *h = (fr_chimera_heads){0};
}

// ---------------------------------------------------------------- run
void fr_chimera_heads_state(fr_chimera_heads *h, const float *f) {
    memcpy(h->f, f, sizeof *f * (size_t)h->pack->d);
}

void fr_chimera_heads_put(fr_chimera_heads *h, int row, const float *o) {
    assert(row >= 0 && row < FR_CHIMERA_ROWS);
    memcpy(h->o + (size_t)row * (size_t)h->stride, o, sizeof *o * (size_t)h->pack->d);
}

static void product(fr_chimera_heads *h, const fr_matrix *w, const float *x, float *y, int ldy,
                    int n) {
    const fr_linear_product one = {w, x, h->stride, y, ldy};
    fr_linear_run(&h->linear, &one, 1, n);
}

void fr_chimera_heads_run(fr_chimera_heads *h, int k, int n) {
    const bool own = own_heads(h);
    float *y = own ? h->logits : h->y;
    const int ldy = own ? h->logit_stride : h->stride, m = h->chain[k - 1]->m;
    assert(k >= 1 && k <= h->pack->depth && n >= 1 && n <= FR_CHIMERA_ROWS);
    product(h, h->chain[k - 1], h->o, y, ldy, n);
    if (fr_chimera_pack_of(h->pack)->residual) {
        product(h, h->state[k - 1], h->f, h->of_f, ldy, 1);
        for (int i = 0; i < n; i++)
            h->linear.kern->add(y + (size_t)i * (size_t)ldy, h->of_f, m);
    }
    if (own) return;
    for (int i = 0; i < n; i++)
        h->linear.kern->rmsnorm(y + (size_t)i * (size_t)ldy, y + (size_t)i * (size_t)ldy,
                                h->norm[k - 1], m, EPS);
    const fr_text_head *head = h->shared;
    const fr_linear_product both[] = {
        {&head->vocabulary, y, ldy, h->logits, h->logit_stride},
        {&head->text, y, ldy, h->logits + head->first, h->logit_stride}};
    fr_linear_run(&h->linear, both, head->text.m ? 2 : 1, n);
}

const float *fr_chimera_heads_logits(const fr_chimera_heads *h, int row) {
    return h->logits + (size_t)row * (size_t)h->logit_stride;
}
