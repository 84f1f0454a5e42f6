// unrolled_open.c — a chain's parameters and memory.
#include "base/alloc.h"
#include "train/block/unrolled.h"
#include "train/math/layers.h"
#include <stdio.h>

static int add(const fr_unrolled *c, const char *name, int rows, int cols) {
    char whole[sizeof c->params->item->name];
    snprintf(whole, sizeof whole, "%s%s", c->shape.prefix ? c->shape.prefix : "", name);
    return fr_params_add(c->params, whole, rows, cols);
}

void fr_unrolled_add_params(fr_unrolled *c, fr_params *p, const fr_unrolled_shape *s) {
    const int d = s->d, q = s->n_head * s->head_dim, kv = s->n_kv * s->head_dim;
    *c = (fr_unrolled){.shape = *s, .params = p};
    c->at = (fr_unrolled_params){
        .fc_state = s->given ? -1 : add(c, "fc_state.weight", d, d),
        .state_norm = s->given ? -1 : add(c, "fc_state.norm", 1, d),
        .fc_token = s->token ? add(c, "fc_token.weight", d, d) : -1,
        .token_norm = s->token ? add(c, "fc_token.norm", 1, d) : -1,
        .bias = s->given ? -1 : add(c, "fc.bias", 1, d),
        .null = s->null ? add(c, "null", 1, d) : -1,
        .fc_taps = s->taps ? add(c, "fc_taps.weight", d, s->taps * d) : -1,
        .taps_norm = s->taps ? add(c, "fc_taps.norm", 1, s->taps * d) : -1,
        .attn_norm = add(c, "blk.0.attn_norm.weight", 1, d),
        .q = add(c, "blk.0.attn_q.weight", q, d),
        .k = add(c, "blk.0.attn_k.weight", kv, d),
        .v = add(c, "blk.0.attn_v.weight", kv, d),
        .o = add(c, "blk.0.attn_output.weight", d, q),
        .ffn_norm = add(c, "blk.0.ffn_norm.weight", 1, d),
        .gate = add(c, "blk.0.ffn_gate.weight", s->d_ff, d),
        .up = add(c, "blk.0.ffn_up.weight", s->d_ff, d),
        .down = add(c, "blk.0.ffn_down.weight", d, s->d_ff),
        .out_norm = add(c, "output_norm.weight", 1, d),
    };
}

// Counts when there is no block yet, then deals it out: called twice.
static void deal(fr_unrolled *c, size_t *used, float **slot, size_t n) {
    if (c->block) *slot = c->block + *used;
    *used += (n + 15) / 16 * 16;
}

typedef struct sizes {
    size_t n, d, ff, q, kv; // rows, and numbers of a row
} sizes;

// What the first step reads.
static void deal_inputs(fr_unrolled *c, const sizes *z, size_t *used) {
    const fr_unrolled_shape *s = &c->shape;
    float **const wide[] = {&c->state,  &c->embedding, &c->x0, &c->a0,
                            &c->tokens, &c->s,         &c->t,  &c->dtokens};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        deal(c, used, wide[i], (z->n + 1) * z->d);
    float **const given[] = {&c->given, &c->dgiven};
    for (int i = 0; i < 2 && s->given; i++)
        deal(c, used, given[i], (z->n + 1) * z->d);
    if (!s->taps) return;
    deal(c, used, &c->taps, z->n * (size_t)s->taps * z->d);
    deal(c, used, &c->joined, z->n * z->d);
}

// What step k keeps for the way back; the first step's keys and values are the rows' own.
static void deal_step(fr_unrolled *c, const sizes *z, size_t *used, int k) {
    fr_unrolled_step *step = &c->step[k];
    float **const of_d[] = {&step->x, &step->y, &step->z, &step->g};
    for (int i = 0; i < 4; i++)
        deal(c, used, of_d[i], z->n * z->d);
    deal(c, used, &step->q, z->n * z->q);
    deal(c, used, &step->o, z->n * z->q);
    deal(c, used, &step->lse, z->n * (size_t)c->shape.n_head);
    deal(c, used, &step->gate, z->n * z->ff);
    deal(c, used, &step->up, z->n * z->ff);
    float **const of_kv[] = {&c->k[k], &c->v[k], &c->dk[k], &c->dv[k]};
    for (int i = 0; i < 4 && k > 1; i++)
        deal(c, used, of_kv[i], z->n * z->kv);
}

static size_t deal_all(fr_unrolled *c) {
    const fr_unrolled_shape *s = &c->shape;
    const sizes z = {.n = (size_t)s->max_rows,
                     .d = (size_t)s->d,
                     .ff = (size_t)s->d_ff,
                     .q = (size_t)s->n_head * (size_t)s->head_dim,
                     .kv = (size_t)s->n_kv * (size_t)s->head_dim};
    size_t used = 0;
    deal_inputs(c, &z, &used);
    for (int k = 1; k <= s->depth; k++)
        deal_step(c, &z, &used, k);
    float **const first[] = {&c->k0, &c->v0, &c->dk0, &c->dv0};
    for (int i = 0; i < 4; i++)
        deal(c, &used, first[i], z.n * z.kv);
    deal(c, &used, &c->h, z.n * z.ff);
    deal(c, &used, &c->dh, z.n * z.ff);
    deal(c, &used, &c->dg, z.n * z.d);
    deal(c, &used, &c->dx, z.n * z.d);
    deal(c, &used, &c->dq, z.n * z.q);
    deal(c, &used, &c->d_o, z.n * z.q);
    deal(c, &used, &c->rope_table, (z.n + FR_UNROLLED_STEPS) * (size_t)s->head_dim);
    return used;
}

static void deal_numbers(fr_unrolled *c) {
    const size_t n = (size_t)c->shape.max_rows;
    int *at = c->numbers;
    c->row0 = at, at += n + 1;
    c->base0 = at, at += n + 1;
    c->row = at, at += n;
    c->position = at, at += n;
    c->place = at, at += n;
    for (int k = 1; k <= c->shape.depth; k++, at += n)
        c->token[k] = at;
    c->bases = (fr_bases){.row0 = c->row0, .base0 = c->base0, .row = c->row};
}

fr_status fr_unrolled_open(fr_unrolled *c, fr_gemm *gemm, fr_error *err) {
    const fr_unrolled_shape *s = &c->shape;
    c->gemm = gemm;
    const size_t floats = deal_all(c);
    const size_t numbers = (size_t)s->max_rows * (size_t)(5 + s->depth) + 2;
    const fr_status st = fr_attention_open(&c->attention, s->n_head, s->n_kv, s->head_dim,
                                           s->max_rows, fr_gemm_threads(gemm), err);
    if (st) return st;
    c->block = fr_alloc_array(floats, sizeof(float));
    c->numbers = fr_alloc_array(numbers, sizeof(int));
    if (!c->block || !c->numbers) {
        fr_unrolled_close(c);
        return fr_fail(err, FR_ENOMEM, "train: no memory for %d rows of a chain", s->max_rows);
    }
    deal_all(c);
    deal_numbers(c);
    c->bytes = floats * sizeof(float) + numbers * sizeof(int) + fr_attention_bytes(&c->attention);
    fr_rope_table_fill(c->rope_table, s->max_rows + FR_UNROLLED_STEPS, s->head_dim, s->rope_base);
    return FR_OK;
}

void fr_unrolled_close(fr_unrolled *c) {
    fr_attention_close(&c->attention);
    fr_free(c->block);
    fr_free(c->numbers);
    c->block = NULL;
    c->numbers = NULL;
}
