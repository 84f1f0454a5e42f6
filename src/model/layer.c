// layer.c — first what both sublayers share (norms, the residual), then attention, then
// feed-forward.
#include "model/layer.h"
#include "model/experts.h"
#include "model/finite.h"
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- norms and the residual

// The input of a sublayer: its norm of the residual, or the residual where it has none.
static void norm_rows(fr_forward *f, fr_norm norm, int t, int nt) {
    const int d = f->m->config.d;
    int i0, i1;
    fr_pool_share(f->n_active, t, nt, &i0, &i1);
    for (int i = i0; i < i1; i++) {
        float *y = f->xn + (size_t)i * d;
        const float *x = f->x + (size_t)f->active[i] * d;
        if (norm.w)
            fr_model_norm(f->m, y, x, norm);
        else
            memcpy(y, x, sizeof *y * (size_t)d);
    }
    fr_layer_barrier(f, t, FR_PHASE_NORM);
}

// x += post-norm(y + bias), scaled. Threads share rows here, so a next phase that shares rows needs
// no barrier.
static void add_rows(fr_forward *f, int layer, const float *bias, fr_norm post_norm, int t,
                     int nt) {
    const int d = f->m->config.d;
    const float scale = f->m->config.plan[layer].residual_scale;
    const fr_kern *kern = f->m->kern;
    int i0, i1;
    fr_pool_share(f->n_active, t, nt, &i0, &i1);
    for (int i = i0; i < i1; i++) {
        float *y = f->y + (size_t)i * d;
        if (bias) kern->add(y, bias, d);
        if (post_norm.w) fr_model_norm(f->m, y, y, post_norm);
        if (scale != 1) kern->scale(y, scale, d);
        kern->add(f->x + (size_t)f->active[i] * d, y, d);
    }
    fr_layer_mark(f, t, FR_PHASE_ADD);
}

// ---------------------------------------------------------------- attention

// Where K or V is not finite, V becomes 0 and the key NaN. Kernels multiply hidden values by a
// weight of 0, and 0 times NaN is NaN: a NaN in V would reach rows that do not see it. A NaN key
// gives a NaN score to the rows that do see it. An infinity would be stored as the largest finite
// value and not be noticed.
static void mark_broken_key(float *k, float *v, int n) {
    if (fr_are_finite(k, n) && fr_are_finite(v, n)) return;
    memset(v, 0, sizeof *v * (size_t)n);
    k[0] = NAN;
}

// Bias, norm and RoPE of one head of queries or keys of a row of the pass.
static void turn_head(fr_forward *f, const fr_layer_plan *p, int row, float *x, const float *bias,
                      const float *norm) {
    const fr_config *c = &f->m->config;
    const fr_kern *kern = f->m->kern;
    const float *cs = p->rope == FR_ROPE_OF_LOCAL ? f->cs_local : f->cs;
    if (bias && p->qk_norm != FR_QK_WHOLE) kern->add(x, bias, c->head_dim);
    if (p->qk_norm == FR_QK_HEAD) kern->rmsnorm(x, x, norm, c->head_dim, c->eps);
    if (p->rope != FR_ROPE_OF_NONE) kern->rope(x, cs + (size_t)row * c->n_rot, c->n_rot, c->neox);
    if (p->qk_norm == FR_QK_ROTATED || (p->qk_norm == FR_QK_UNIT && p->rope != FR_ROPE_OF_NONE))
        kern->rmsnorm(x, x, norm, c->head_dim, c->eps);
}

static const float *part(const float *v, size_t at) { // of a vector that may be absent
    return v ? v + at : NULL;
}

// One head of the row at place i; K and V heads go to the cache.
static void finish_head(fr_forward *f, const fr_layer *l, int layer, int i, int head) {
    const fr_config *c = &f->m->config;
    const fr_layer_plan *p = &c->plan[layer];
    const fr_kern *kern = f->m->kern;
    const int row = f->active[i], hd = c->head_dim;
    if (head < c->n_head) {
        float *q = f->q + ((size_t)i * c->n_head + head) * hd;
        turn_head(f, p, row, q, part(l->q_bias, (size_t)head * hd), l->q_norm);
        if (p->tempered) kern->scale(q, f->temper[row], hd);
        return;
    }
    head -= c->n_head;
    float *k = f->k + ((size_t)i * c->n_kv + head) * hd,
          *v = f->v + ((size_t)i * c->n_kv + head) * hd;
    turn_head(f, p, row, k, part(l->k_bias, (size_t)head * hd), l->k_norm);
    if (l->v_bias) kern->add(v, l->v_bias + head * hd, hd);
    mark_broken_key(k, v, hd);
    fr_kv *kv = f->pass->kv[f->pass->rows[row].seq];
    const int slot = kv->n_committed + f->slot[row];
    kern->store_k[kv->k_form](fr_kv_k(kv, layer, head), slot, hd, k);
    kern->store_v[kv->v_form](fr_kv_v(kv, layer, head), slot, hd, v);
}

// Query rows [from, to) of one sequence and KV head: row / group counts rows of the pass, row %
// group the heads that share the KV head. At most FR_ATTEND_ROWS.
static void attend_rows(fr_forward *f, int layer, int seq, int head, int from, int to, int t) {
    const fr_config *c = &f->m->config;
    const fr_layer_plan *p = &c->plan[layer];
    int group = c->n_head / c->n_kv, hd = c->head_dim;
    const float *q[FR_ATTEND_ROWS];
    float *o[FR_ATTEND_ROWS];
    const fr_view *view[FR_ATTEND_ROWS];
    const float *sinks = f->m->layers[layer].sinks;
    float sink[FR_ATTEND_ROWS];
    for (int j = from; j < to; j++) {
        int i = f->seq_begin[seq] + j / group;
        size_t at = ((size_t)i * c->n_head + head * group + j % group) * hd;
        q[j - from] = f->q + at;
        o[j - from] = f->att + at;
        if (sinks) sink[j - from] = sinks[head * group + j % group];
        view[j - from] = &f->view[p->window ? VIEW_WINDOW : VIEW_FULL][i];
    }
    const fr_kv *kv = f->pass->kv[seq];
    f->m->kern->attend(&(fr_attend){.n_q = to - from,
                                    .head_dim = hd,
                                    .q = q,
                                    .o = o,
                                    .view = view,
                                    .k = fr_kv_k(kv, layer, head),
                                    .v = fr_kv_v(kv, layer, head),
                                    .k_form = kv->k_form,
                                    .v_form = kv->v_form,
                                    .committed = kv->n_committed,
                                    .scratch = kv->n_scratch,
                                    .pos = kv->pos,
                                    .scale = p->attn_scale,
                                    .cap = p->attn_cap,
                                    .sink = sinks ? sink : NULL,
                                    .work = f->work + (size_t)t * f->work_floats});
}

// Every thread takes the same number of query rows, however many heads and sequences they belong
// to; rows of one head go over its keys together.
static void attend_share(fr_forward *f, int layer, int t, int nt) {
    int n_kv = f->m->config.n_kv, group = f->m->config.n_head / n_kv, r0, r1, first = 0;
    fr_pool_share(f->n_active * f->m->config.n_head, t, nt, &r0, &r1);
    for (int item = 0; item < f->pass->n_seq * n_kv; item++) {
        int s = item / n_kv, n = (f->seq_begin[s + 1] - f->seq_begin[s]) * group;
        int row = r0 > first ? r0 - first : 0, end = r1 < first + n ? r1 - first : n;
        for (int blocks = (end - row + FR_ATTEND_ROWS - 1) / FR_ATTEND_ROWS; row < end; blocks--) {
            int rows = (end - row + blocks - 1) / blocks; // query blocks of nearly the same size
            attend_rows(f, layer, s, item % n_kv, row, row + rows, t);
            row += rows;
        }
        first += n;
    }
}

static void norm_whole(const fr_forward *f, float *x, const float *bias, const float *norm, int n) {
    if (bias) f->m->kern->add(x, bias, n);
    f->m->kern->rmsnorm(x, x, norm, n, f->m->config.eps);
}

// Biases and norms of queries or keys that span all heads, of heads [from, to).
static void norm_heads(fr_forward *f, int layer, int from, int to, int t, int nt) {
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    const int nq = c->n_head * c->head_dim, nkv = c->n_kv * c->head_dim;
    int i0, i1;
    fr_pool_share(f->n_active, t, nt, &i0, &i1);
    for (int i = i0; i < i1; i++) {
        float *q = f->q + (size_t)i * nq, *k = f->k + (size_t)i * nkv;
        if (from < c->n_head) norm_whole(f, q, l->q_bias, l->q_norm, nq);
        if (to > c->n_head) norm_whole(f, k, l->k_bias, l->k_norm, nkv);
    }
    fr_layer_barrier(f, t, FR_PHASE_ROPE);
}

// Bias, norm, RoPE and, of K and V, storing of heads [from, to) of all active rows.
static void finish_heads(fr_forward *f, int layer, int from, int to, int t, int nt) {
    int h0, h1, heads = to - from;
    if (f->m->config.plan[layer].qk_norm == FR_QK_WHOLE) norm_heads(f, layer, from, to, t, nt);
    fr_pool_share(f->n_active * heads, t, nt, &h0, &h1);
    for (int h = h0; h < h1; h++)
        finish_head(f, &f->m->layers[layer], layer, h / heads, from + h % heads);
    fr_layer_barrier(f, t, FR_PHASE_ROPE);
}

// From queries and stored keys to the residual.
static void attend(fr_forward *f, int layer, int t, int nt) {
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    attend_share(f, layer, t, nt);
    fr_layer_barrier(f, t, FR_PHASE_ATTENTION);
    fr_layer_project(f, f->att, c->n_head * c->head_dim, f->n_active, &FR_LAYER_OUTPUT(l->o, f->y),
                     1, FR_END_TO_END, t, nt);
    add_rows(f, layer, l->o_bias, l->post_attn_norm, t, nt);
}

void fr_layer_attention(fr_forward *f, int layer, int t, int nt) {
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    norm_rows(f, l->attn_norm, t, nt);
    fr_layer_project(f, f->xn, c->d, f->n_active,
                     (fr_layer_output[]){FR_LAYER_OUTPUT(l->q, f->q), FR_LAYER_OUTPUT(l->k, f->k),
                                         FR_LAYER_OUTPUT(l->v, f->v)},
                     3, FR_END_TO_END, t, nt);
    finish_heads(f, layer, 0, c->n_head + c->n_kv, t, nt);
    attend(f, layer, t, nt);
}

void fr_layer_keys(fr_forward *f, int layer, int t, int nt) {
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    norm_rows(f, l->attn_norm, t, nt);
    fr_layer_project(f, f->xn, c->d, f->n_active,
                     (fr_layer_output[]){FR_LAYER_OUTPUT(l->k, f->k), FR_LAYER_OUTPUT(l->v, f->v)},
                     2, FR_END_TO_END, t, nt);
    finish_heads(f, layer, c->n_head, c->n_head + c->n_kv, t, nt);
}

void fr_layer_queries(fr_forward *f, int layer, int t, int nt) {
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    norm_rows(f, l->attn_norm, t, nt);
    fr_layer_project(f, f->xn, c->d, f->n_active, &FR_LAYER_OUTPUT(l->q, f->q), 1, FR_END_TO_END, t,
                     nt);
    finish_heads(f, layer, 0, c->n_head, t, nt);
    attend(f, layer, t, nt);
}

// f->y = what a dense feed-forward makes of f->xn.
static void feed(fr_forward *f, const fr_layer *l, fr_layer_joining joining, int t, int nt) {
    const fr_config *c = &f->m->config;
    const bool plain = joining == FR_GELU;
    fr_layer_output gate = FR_LAYER_OUTPUT(l->gate, f->gate), up = FR_LAYER_OUTPUT(l->up, f->up);
    gate.bias = l->gate_bias;
    up.bias = l->up_bias;
    fr_layer_project(f, f->xn, c->d, f->n_active, plain ? &up : (fr_layer_output[]){gate, up},
                     plain ? 1 : 2, joining, t, nt);
    fr_layer_project(f, plain ? f->up : f->gate, c->d_ff, f->n_active,
                     &FR_LAYER_OUTPUT(l->down, f->y), 1, FR_END_TO_END, t, nt);
}

void fr_layer_feed_forward(fr_forward *f, int layer, bool attended, int t, int nt) {
    static const fr_layer_joining joining[] = {[FR_FEED_SILU] = FR_GATED_SILU,
                                               [FR_FEED_GELU] = FR_GATED_GELU,
                                               [FR_FEED_CLAMPED] = FR_GATED_CLAMPED,
                                               [FR_FEED_PLAIN] = FR_GELU};
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    const fr_layer_plan *p = &c->plan[layer];
    // A shared norm is of the residual before attention changed it: xn still holds it.
    if (p->place != FR_NORM_SHARED || !attended) norm_rows(f, l->ffn_norm, t, nt);
    if (p->experts)
        fr_layer_read_experts(f, layer, joining[p->feed], t, nt);
    else
        feed(f, l, joining[p->feed], t, nt);
    add_rows(f, layer, l->down_bias, l->post_ffn_norm, t, nt);
}
