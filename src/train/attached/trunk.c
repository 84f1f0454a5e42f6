#include "train/attached/trunk.h"
#include "kern/repack.h"
#include "train/math/layers.h"
#include <string.h>

fr_trunk_shape fr_trunk_chain(int steps) {
    fr_trunk_shape s = {.steps = steps, .exits = 1};
    for (int i = 0; i < steps; i++) {
        s.ahead[i] = i + 1;
        s.sees[i] = (2u << i) - 1;
    }
    return s;
}

static int steps_at(const fr_trunk *t, int layer) { // of a chain, that the layer computes
    int n = 0;
    while (n < t->shape.steps && t->shape.entry[n] <= layer)
        n++;
    return n;
}

static int rows_at(const fr_trunk *t, int layer) {
    return steps_at(t, layer) * t->chains.n;
}

static fr_trunk_tape *tape_of(const fr_trunk *t, int layer) {
    return &t->tape[layer - t->shape.entry[0]];
}

// ---------------------------------------------------------------- weights
static void dequantise(float *to, const fr_matrix *w) {
#pragma omp parallel for schedule(static)
    for (int r = 0; r < w->m; r++)
        fr_matrix_row(w, r, to + (size_t)r * (size_t)w->k);
}

static void load(const fr_trunk_weights *w, const fr_layer *l) {
    dequantise(w->q, &l->q), dequantise(w->k, &l->k), dequantise(w->v, &l->v);
    dequantise(w->o, &l->o);
    dequantise(w->gate, &l->gate), dequantise(w->up, &l->up), dequantise(w->down, &l->down);
}

// Stored values are converted to floats at their first use.
static const fr_trunk_weights *weights_of(const fr_trunk *t, int layer) {
    fr_trunk_weights *w = &t->weights[t->shape.keeps ? layer - t->shape.entry[0] : 0];
    if (!w->ready) load(w, &t->m->layers[layer]);
    w->ready = t->shape.keeps;
    return w;
}

// y (+)= x Wᵀ, W being the matrix `of` in floats.
static void product(const fr_trunk *t, float *y, const float *x, const float *w,
                    const fr_matrix *of, int n, bool add) {
    fr_gemm_forward(t->gemm, y, of->m, x, of->k, w, n, of->m, of->k, add);
}

static void product_back(const fr_trunk *t, float *dx, bool add, const float *dy, const float *w,
                         const fr_matrix *of, int n) {
    fr_gemm_input(t->gemm, dx, of->k, dy, of->m, w, n, of->m, of->k, add);
}

// ---------------------------------------------------------------- parts of a layer
static void norm(const fr_trunk *t, float *y, const float *x, const float *gain, int n) {
    fr_frozen_norm_forward(y, x, gain, t->m->config.eps, n, t->m->config.d);
}

static void norm_back(const fr_trunk *t, float *dx, const float *dy, const float *x,
                      const float *gain, int n) {
    fr_frozen_norm_backward(dx, true, dy, x, gain, t->m->config.eps, n, t->m->config.d);
}

static void rotate(const fr_trunk *t, float *x, int n, int heads, fr_rope_direction how) {
    const fr_config *c = &t->m->config;
    const float *rope_table = t->rope_table[how == FR_ROPE_BACKWARD];
#pragma omp parallel for schedule(static)
    for (int r = 0; r < n; r++)
        for (int h = 0; h < heads; h++)
            t->m->kern->rope(x + ((size_t)r * (size_t)heads + (size_t)h) * (size_t)c->head_dim,
                             rope_table + (size_t)t->place[r] * (size_t)c->n_rot, c->n_rot,
                             c->neox);
}

// Bias, norm and rotation of queries or keys in place.
static void finish_heads(const fr_trunk *t, float *x, float *plain, const float *bias,
                         const float *gain, int n, int heads) {
    const fr_config *c = &t->m->config;
    const int width = heads * c->head_dim;
    if (bias) fr_bias_forward(x, bias, n, width);
    if (gain) {
        memcpy(plain, x, (size_t)n * (size_t)width * sizeof *x);
        fr_frozen_norm_forward(x, plain, gain, c->eps, n * heads, c->head_dim);
    }
    rotate(t, x, n, heads, FR_ROPE_FORWARD);
}

static void finish_heads_back(const fr_trunk *t, float *dx, const float *plain, const float *gain,
                              int n, int heads) {
    const fr_config *c = &t->m->config;
    rotate(t, dx, n, heads, FR_ROPE_BACKWARD);
    if (gain) fr_frozen_norm_backward(dx, false, dx, plain, gain, c->eps, n * heads, c->head_dim);
}

static size_t key_width(const fr_trunk *t) {
    return (size_t)t->m->config.n_kv * (size_t)t->m->config.head_dim;
}

// Keys, values or their gradients that a step sees, as attention.h numbers them (from 2); returns
// the last number.
static int by_step(const fr_trunk *t, float *of[FR_ATTENTION_STEPS + 1], float *x, float *prefix,
                   int layer, int step) {
    const size_t stride = (size_t)t->chains.n * key_width(t);
    int last = 1;
    for (int j = 0; j < steps_at(t, layer); j++)
        if (t->shape.sees[step] >> j & 1) of[++last] = x + (size_t)j * stride;
    if (t->shape.prefix) of[++last] = prefix + (size_t)step * stride;
    return last;
}

typedef struct step_keys {
    float *k[FR_ATTENTION_STEPS + 1], *v[FR_ATTENTION_STEPS + 1];
} step_keys;

// Row `step` (from 0) of all chains; `keys` holds what the result points to.
static fr_attention_step attention_of(const fr_trunk *t, int layer, int step, step_keys *keys) {
    const fr_trunk_tape *at = tape_of(t, layer);
    const fr_config *c = &t->m->config;
    const size_t first = (size_t)step * (size_t)t->chains.n, heads = (size_t)c->n_head;
    by_step(t, keys->k, at->k, t->own_k, layer, step);
    return (fr_attention_step){.bases = &t->chains,
                               .step = by_step(t, keys->v, at->v, t->own_v, layer, step),
                               .q = at->q + first * heads * (size_t)c->head_dim,
                               .k0 = t->context->k + fr_trunk_context_at(t->context, layer),
                               .v0 = t->context->v + fr_trunk_context_at(t->context, layer),
                               .k = keys->k,
                               .v = keys->v,
                               .o = at->o + first * heads * (size_t)c->head_dim,
                               .lse = at->lse + first * heads};
}

// ---------------------------------------------------------------- prefix
static const float *prefix_at(const fr_trunk *t, int layer) {
    return t->prefix +
           (size_t)(layer - t->shape.entry[0]) * 2 * (size_t)t->shape.steps * key_width(t);
}

// Every chain gets keys and values of its own.
static void deal_prefix(const fr_trunk *t, int layer) {
    const size_t width = key_width(t), chains = (size_t)t->chains.n, steps = (size_t)t->shape.steps;
    const float *from = prefix_at(t, layer);
    for (size_t r = 0; r < steps * chains; r++) {
        const size_t step = r / chains;
        memcpy(t->own_k + r * width, from + step * width, width * sizeof *from);
        memcpy(t->own_v + r * width, from + (steps + step) * width, width * sizeof *from);
    }
}

static void collect_prefix(const fr_trunk *t, int layer) {
    const size_t width = key_width(t), chains = (size_t)t->chains.n, steps = (size_t)t->shape.steps;
    float *to = t->dprefix + (prefix_at(t, layer) - t->prefix);
    for (size_t r = 0; r < steps * chains; r++) {
        const size_t step = r / chains;
        fr_rows_add_one(to + step * width, t->own_dk + r * width, (int)width);
        fr_rows_add_one(to + (steps + step) * width, t->own_dv + r * width, (int)width);
    }
}

// ---------------------------------------------------------------- forward
// Rows whose entry this layer is.
static void enter(const fr_trunk *t, int layer) {
    const size_t d = (size_t)t->m->config.d, chains = (size_t)t->chains.n;
    for (int i = 0; i < t->shape.steps; i++)
        if (t->shape.entry[i] == layer)
            memcpy(tape_of(t, layer)->x + (size_t)i * chains * d, t->in + (size_t)i * chains * d,
                   chains * d * sizeof(float));
}

static void layer_forward(fr_trunk *t, int layer) {
    const fr_trunk_weights *w = weights_of(t, layer);
    const fr_config *c = &t->m->config;
    const fr_layer *l = &t->m->layers[layer];
    const fr_trunk_tape *at = tape_of(t, layer);
    const int n = rows_at(t, layer);
    const size_t bytes = (size_t)n * (size_t)c->d * sizeof(float);
    norm(t, t->s, at->x, l->attn_norm.w, n);
    product(t, at->q, t->s, w->q, &l->q, n, false);
    product(t, at->k, t->s, w->k, &l->k, n, false);
    product(t, at->v, t->s, w->v, &l->v, n, false);
    finish_heads(t, at->q, at->q_plain, l->q_bias, l->q_norm, n, c->n_head);
    finish_heads(t, at->k, at->k_plain, l->k_bias, l->k_norm, n, c->n_kv);
    if (l->v_bias) fr_bias_forward(at->v, l->v_bias, n, c->n_kv * c->head_dim);
    if (t->shape.prefix) deal_prefix(t, layer);
    for (int i = 0; i < steps_at(t, layer); i++) {
        step_keys keys;
        const fr_attention_step step = attention_of(t, layer, i, &keys);
        fr_attention_forward(&t->attention, &step);
    }
    memcpy(at->y, at->x, bytes);
    product(t, at->y, at->o, w->o, &l->o, n, true);
    if (l->o_bias) fr_bias_forward(at->y, l->o_bias, n, c->d);
    norm(t, t->s, at->y, l->ffn_norm.w, n);
    product(t, at->gate, t->s, w->gate, &l->gate, n, false);
    product(t, at->up, t->s, w->up, &l->up, n, false);
    fr_swiglu_forward(t->h, at->gate, at->up, n, c->d_ff);
    float *out = layer + 1 < c->n_layer ? tape_of(t, layer + 1)->x : t->out;
    memcpy(out, at->y, bytes);
    product(t, out, t->h, w->down, &l->down, n, true);
}

static void place_rows(fr_trunk *t) {
    const fr_bases *b = &t->chains;
    for (int context = 0; context < b->contexts; context++)
        for (int c = b->base0[context]; c < b->base0[context + 1]; c++)
            for (int i = 0; i < t->shape.steps; i++)
                t->place[i * b->n + c] = b->row[c] - b->row0[context] + t->shape.ahead[i];
}

static bool is_exit(const fr_trunk *t, int layer) {
    return layer >= t->m->config.n_layer - t->shape.exits;
}

static void take_mean(const fr_trunk *t) {
    const fr_config *c = &t->m->config;
    const int n = t->shape.steps * t->chains.n;
    memcpy(t->mean, t->out, (size_t)n * (size_t)c->d * sizeof *t->mean);
    for (int l = c->n_layer - t->shape.exits; l < c->n_layer - 1; l++)
        fr_rows_add(t->mean, tape_of(t, l + 1)->x, n, c->d);
    fr_rows_scale(t->mean, 1 / (float)t->shape.exits, n, c->d);
}

void fr_trunk_forward(fr_trunk *t) {
    place_rows(t);
    for (int l = t->shape.entry[0]; l < t->m->config.n_layer && fr_go_on(t->watch); l++) {
        enter(t, l);
        layer_forward(t, l);
    }
    take_mean(t);
    norm(t, t->final, t->mean, t->m->output_norm.w, t->shape.steps * t->chains.n);
}

// ---------------------------------------------------------------- backward
static void ffn_back(fr_trunk *t, const fr_trunk_weights *w, int layer) {
    const fr_layer *l = &t->m->layers[layer];
    const fr_trunk_tape *at = tape_of(t, layer);
    const int n = rows_at(t, layer);
    product_back(t, t->h, false, t->dx, w->down, &l->down, n);
    fr_swiglu_backward(at->gate, at->up, t->h, at->gate, at->up, n, t->m->config.d_ff);
    product_back(t, t->s, false, at->gate, w->gate, &l->gate, n);
    product_back(t, t->s, true, at->up, w->up, &l->up, n);
    norm_back(t, t->dx, t->s, at->y, l->ffn_norm.w, n);
}

static void attention_back(fr_trunk *t, const fr_trunk_weights *w, int layer) {
    const fr_config *c = &t->m->config;
    const fr_layer *l = &t->m->layers[layer];
    const fr_trunk_tape *at = tape_of(t, layer);
    const int n = rows_at(t, layer);
    const size_t q_width = (size_t)c->n_head * (size_t)c->head_dim;
    const size_t key_bytes = (size_t)n * key_width(t) * sizeof(float);
    product_back(t, t->d_o, false, t->dx, w->o, &l->o, n);
    memset(t->dk, 0, key_bytes);
    memset(t->dv, 0, key_bytes);
    if (t->shape.prefix) {
        deal_prefix(t, layer);
        memset(t->own_dk, 0, key_bytes);
        memset(t->own_dv, 0, key_bytes);
    }
    for (int i = steps_at(t, layer) - 1; i >= 0; i--) {
        step_keys keys, into;
        const fr_attention_step step = attention_of(t, layer, i, &keys);
        const size_t first = (size_t)i * (size_t)t->chains.n * q_width;
        by_step(t, into.k, t->dk, t->own_dk, layer, i);
        by_step(t, into.v, t->dv, t->own_dv, layer, i);
        fr_attention_backward(&t->attention, &step, t->d_o + first, t->dq + first, NULL, NULL,
                              into.k, into.v);
    }
    if (t->shape.prefix) collect_prefix(t, layer);
    finish_heads_back(t, t->dq, at->q_plain, l->q_norm, n, c->n_head);
    finish_heads_back(t, t->dk, at->k_plain, l->k_norm, n, c->n_kv);
    product_back(t, t->s, false, t->dq, w->q, &l->q, n);
    product_back(t, t->s, true, t->dk, w->k, &l->k, n);
    product_back(t, t->s, true, t->dv, w->v, &l->v, n);
    norm_back(t, t->dx, t->s, at->x, l->attn_norm.w, n);
}

void fr_trunk_backward(fr_trunk *t) {
    const fr_config *c = &t->m->config;
    const int n = t->shape.steps * t->chains.n;
    fr_frozen_norm_backward(t->dx, false, t->dx, t->mean, t->m->output_norm.w, c->eps, n, c->d);
    fr_rows_scale(t->dx, 1 / (float)t->shape.exits, n, c->d);
    memcpy(t->mean, t->dx, (size_t)n * (size_t)c->d * sizeof *t->mean);
    // Below a row's entry its part of dx is left as it is: the gradient into its input.
    for (int l = c->n_layer - 1; l >= t->shape.entry[0] && fr_go_on(t->watch); l--) {
        const fr_trunk_weights *w = weights_of(t, l);
        ffn_back(t, w, l);
        attention_back(t, w, l);
        if (is_exit(t, l - 1)) fr_rows_add(t->dx, t->mean, n, c->d);
    }
}
