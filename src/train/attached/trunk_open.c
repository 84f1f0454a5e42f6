// trunk_open.c — a trunk's memory, and which targets it can be of.
#include "base/alloc.h"
#include "train/attached/trunk.h"
#include <assert.h>

static fr_status check_target(const fr_model *m, int from, int positions, fr_error *err) {
    for (int i = from; i < m->config.n_layer; i++) {
        const fr_layer_plan *p = &m->config.plan[i];
        const fr_layer *l = &m->layers[i];
        const bool biased = l->gate_bias || l->up_bias || l->down_bias;
        if (!fr_plan_is_plain(p, m->config.head_dim) || biased ||
            (p->window && p->window < positions))
            return fr_fail(
                err, FR_EUNSUP,
                "train: attached rows: layer %d of %s is not a layer as Llama has it, or "
                "has a window, which is not built yet",
                i, m->config.arch_name);
    }
    return FR_OK;
}

// Counts when there is no block yet, then deals it out: called twice.
static void deal(fr_trunk *t, size_t *used, float **slot, size_t n) {
    if (t->block) *slot = t->block + *used;
    *used += (n + 15) / 16 * 16;
}

static void deal_tape(fr_trunk *t, size_t *used, int layer) {
    const fr_config *c = &t->m->config;
    const fr_layer *l = &t->m->layers[layer];
    fr_trunk_tape *at = &t->tape[layer - t->shape.entry[0]];
    size_t n = 0;
    for (int i = 0; i < t->shape.steps && t->shape.entry[i] <= layer; i++)
        n += (size_t)t->shape.max_chains;
    const size_t q = n * (size_t)c->n_head * (size_t)c->head_dim;
    const size_t kv = n * (size_t)c->n_kv * (size_t)c->head_dim;
    deal(t, used, &at->x, n * (size_t)c->d);
    deal(t, used, &at->q, q);
    deal(t, used, &at->k, kv);
    deal(t, used, &at->v, kv);
    if (l->q_norm) deal(t, used, &at->q_plain, q);
    if (l->k_norm) deal(t, used, &at->k_plain, kv);
    deal(t, used, &at->o, q);
    deal(t, used, &at->lse, n * (size_t)c->n_head);
    deal(t, used, &at->y, n * (size_t)c->d);
    deal(t, used, &at->gate, n * (size_t)c->d_ff);
    deal(t, used, &at->up, n * (size_t)c->d_ff);
}

static int positions_of(const fr_trunk *t) {
    return t->context->max_rows + t->shape.steps;
}

static int layers_of(const fr_trunk *t) {
    return t->m->config.n_layer - t->shape.entry[0];
}

static int layers_kept(const fr_trunk *t) {
    return t->shape.keeps ? layers_of(t) : 1;
}

static void deal_weights(fr_trunk *t, size_t *used, fr_trunk_weights *w) {
    const fr_config *c = &t->m->config;
    const size_t d = (size_t)c->d, ff = (size_t)c->d_ff;
    const size_t q = (size_t)c->n_head * (size_t)c->head_dim;
    const size_t kv = (size_t)c->n_kv * (size_t)c->head_dim;
    deal(t, used, &w->q, q * d);
    deal(t, used, &w->k, kv * d);
    deal(t, used, &w->v, kv * d);
    deal(t, used, &w->o, q * d);
    deal(t, used, &w->gate, ff * d);
    deal(t, used, &w->up, ff * d);
    deal(t, used, &w->down, ff * d);
}

size_t fr_trunk_weight_bytes(const fr_model *m, int from) {
    fr_trunk t = {.m = m};
    fr_trunk_weights w;
    size_t used = 0;
    deal_weights(&t, &used, &w);
    return used * sizeof(float) * (size_t)(m->config.n_layer - from);
}

static size_t deal_all(fr_trunk *t) {
    const fr_config *c = &t->m->config;
    const size_t n = (size_t)t->shape.steps * (size_t)t->shape.max_chains;
    const size_t d = (size_t)c->d, ff = (size_t)c->d_ff;
    const size_t q = (size_t)c->n_head * (size_t)c->head_dim;
    const size_t kv = (size_t)c->n_kv * (size_t)c->head_dim;
    const size_t floats = (size_t)positions_of(t) * (size_t)c->n_rot;
    size_t used = 0;
    for (int l = t->shape.entry[0]; l < c->n_layer; l++)
        deal_tape(t, &used, l);
    float **const of_d[] = {&t->in, &t->final, &t->dx, &t->out, &t->mean, &t->s};
    for (size_t i = 0; i < sizeof of_d / sizeof *of_d; i++)
        deal(t, &used, of_d[i], n * d);
    if (t->shape.prefix) {
        float **const of_keys[] = {&t->own_k, &t->own_v, &t->own_dk, &t->own_dv};
        for (size_t i = 0; i < sizeof of_keys / sizeof *of_keys; i++)
            deal(t, &used, of_keys[i], n * kv);
    }
    deal(t, &used, &t->h, n * ff);
    deal(t, &used, &t->dq, n * q);
    deal(t, &used, &t->d_o, n * q);
    deal(t, &used, &t->dk, n * kv);
    deal(t, &used, &t->dv, n * kv);
    for (int l = 0; l < layers_kept(t); l++)
        deal_weights(t, &used, &t->weights[l]);
    deal(t, &used, &t->rope_table[0], floats);
    deal(t, &used, &t->rope_table[1], floats);
    return used;
}

// The angles of the context's keys.
static void fill_rope_table(fr_trunk *t) {
    const fr_model *m = t->m;
    const fr_rope *rope = t->context->kv.stretched ? &m->rope_long : &m->rope;
    for (int p = 0; p < positions_of(t); p++) {
        float *there = t->rope_table[0] + (size_t)p * (size_t)rope->n_rot;
        float *back = t->rope_table[1] + (size_t)p * (size_t)rope->n_rot;
        fr_rope_fill(rope, false, p, there);
        for (int i = 0; i < rope->n_rot; i++)
            back[i] = i % 2 ? -there[i] : there[i];
    }
}

static fr_status take_memory(fr_trunk *t, fr_error *err) {
    const size_t contexts = (size_t)t->context->max_rows + 1;
    const size_t chains = (size_t)t->shape.max_chains, steps = (size_t)t->shape.steps;
    const size_t layers = (size_t)layers_of(t), kept = (size_t)layers_kept(t);
    const size_t numbers = 2 * contexts + chains * (1 + steps);
    t->tape = fr_alloc_array(layers, sizeof *t->tape);
    t->weights = fr_alloc_zero(kept * sizeof *t->weights);
    if (!t->tape || !t->weights) return fr_fail(err, FR_ENOMEM, "train: no memory");
    const size_t floats = deal_all(t);
    t->block = fr_alloc_array(floats, sizeof *t->block);
    t->numbers = fr_alloc_array(numbers, sizeof *t->numbers);
    if (!t->block || !t->numbers)
        return fr_fail(err, FR_ENOMEM,
                       "train: no memory for %zu rows through the target: %zu bytes",
                       chains * steps, floats * sizeof *t->block);
    deal_all(t);
    t->row0 = t->numbers;
    t->base0 = t->row0 + contexts;
    t->row = t->base0 + contexts;
    t->place = t->row + chains;
    t->chains = (fr_bases){.row0 = t->row0, .base0 = t->base0, .row = t->row};
    t->bytes = floats * sizeof *t->block + numbers * sizeof *t->numbers + layers * sizeof *t->tape +
               kept * sizeof *t->weights + fr_attention_bytes(&t->attention);
    return FR_OK;
}

fr_status fr_trunk_open(fr_trunk *t, const fr_trunk_shape *shape, const fr_trunk_context *context,
                        fr_gemm *gemm, fr_error *err) {
    const fr_config *c = &context->m->config;
    assert(shape->steps > 0 && shape->steps <= FR_TRUNK_STEPS && context->from == shape->entry[0]);
    assert(shape->exits > 0 && shape->exits <= c->n_layer - shape->entry[shape->steps - 1]);
    assert(!shape->prefix || shape->entry[shape->steps - 1] == shape->entry[0]);
    *t = (fr_trunk){.m = context->m, .context = context, .gemm = gemm, .shape = *shape};
    fr_status st = check_target(t->m, shape->entry[0], positions_of(t), err);
    if (!st)
        st = fr_attention_open(&t->attention, c->n_head, c->n_kv, c->head_dim, context->max_rows,
                               fr_gemm_threads(gemm), err);
    if (!st) st = take_memory(t, err);
    if (st) {
        fr_trunk_close(t);
        return st;
    }
    fill_rope_table(t);
    return FR_OK;
}

void fr_trunk_close(fr_trunk *t) {
    fr_attention_close(&t->attention);
    fr_free(t->tape);
    fr_free(t->weights);
    fr_free(t->block);
    fr_free(t->numbers);
    *t = (fr_trunk){0};
}
