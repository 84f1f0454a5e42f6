// workspace.c — the memory of a pass: added up, taken at once, given back at once.
#include "model/workspace.h"
#include <assert.h>

_Static_assert((int)FR_CANDIDATE_ROWS + (int)FR_PREFILL_EXPERTS <= (int)FR_MAX_ROWS,
               "kernels take the rows of every pass");
_Static_assert((int)FR_MAX_ROWS <= (int)FR_MAX_SCRATCH, "one sequence may have them all");

// Inner values of a layer's feed-forward that all rows share: a dense one, or a shared expert.
static size_t largest_inner(const fr_config *c) {
    return (size_t)(c->d_ff > c->experts.d_shared ? c->d_ff : c->experts.d_shared);
}

static size_t largest_k(const fr_config *c) {
    const size_t heads = (size_t)c->n_head * c->head_dim, inner = largest_inner(c);
    const size_t k = heads > (size_t)c->d ? heads : (size_t)c->d;
    return k > inner ? k : inner;
}

static fr_forward_limits limits_of(const fr_forward_limits *given, const fr_config *c) {
    fr_forward_limits l = given ? *given : (fr_forward_limits){0};
    if (l.max_rows <= 0 || l.max_rows > fr_most_rows(c)) l.max_rows = fr_most_rows(c);
    if (l.max_logits <= 0) l.max_logits = 64;
    if (l.max_logits > l.max_rows) l.max_logits = l.max_rows;
    if (l.n_ctx <= 0) l.n_ctx = c->n_ctx_train;
    return l;
}

// Places every buffer in the arena; with f->arena unset it only adds up the sizes.
static size_t place(fr_forward *f) {
    const fr_config *c = &f->m->config;
    size_t total = 0, n = (size_t)f->limits.max_rows, nq = (size_t)c->n_head * c->head_dim;
    size_t nkv = (size_t)c->n_kv * c->head_dim;
#define TAKE(member, bytes)                                                                        \
    do {                                                                                           \
        size_t take_bytes = (bytes);                                                               \
        total += FR_ARENA_ROUND(take_bytes);                                                       \
        if (f->arena.base) member = fr_arena_take(&f->arena, take_bytes);                          \
    } while (0)
    TAKE(f->x, n * c->d * sizeof(float));
    TAKE(f->xn, n * c->d * sizeof(float));
    TAKE(f->q, n * nq * sizeof(float));
    TAKE(f->att, n * nq * sizeof(float));
    TAKE(f->k, n * nkv * sizeof(float));
    TAKE(f->v, n * nkv * sizeof(float));
    TAKE(f->gate, n * largest_inner(c) * sizeof(float));
    TAKE(f->up, n * largest_inner(c) * sizeof(float));
    TAKE(f->y, n * c->d * sizeof(float));
    TAKE(f->cs, n * c->n_rot * sizeof(float));
    TAKE(f->cs_local, n * c->n_rot * sizeof(float));
    TAKE(f->temper, n * sizeof(float));
    TAKE(f->final, n * c->d * sizeof(float));
    TAKE(f->taps, (size_t)f->limits.max_taps * n * c->d * sizeof(float));
    TAKE(f->logits, (size_t)f->limits.max_logits * (size_t)f->n_outputs * sizeof(float));
    for (int kind = FR_ACT_Q32; kind < FR_ACT_KINDS; kind++) {
        size_t block = kind == FR_ACT_Q32 ? 32 : 256;
        size_t k = (largest_k(c) + block - 1) / block * block;
        TAKE(f->act[kind], fr_act_bytes(kind, (int)n, (int)k));
    }
    TAKE(f->slot, n * sizeof(int));
    TAKE(f->pos, n * sizeof(int));
    TAKE(f->logit_row, n * sizeof(int));
    TAKE(f->active, n * sizeof(int));
    TAKE(f->seq_begin, (n + 1) * sizeof(int));
    TAKE(f->view[VIEW_FULL], n * sizeof(fr_view));
    TAKE(f->view[VIEW_WINDOW], n * sizeof(fr_view));
    TAKE(f->work, (size_t)fr_pool_threads(f->m->pool) * f->work_floats * sizeof(float));
    if (c->experts.n) {
        const fr_experts *e = &c->experts;
        const size_t pairs = n * (size_t)e->used, scores = n * ((size_t)e->n + 1) * sizeof(float);
        fr_expert_rows *r = &f->experts;
        TAKE(r->scores, scores);
        TAKE(r->mark, scores);
        TAKE(r->choice, pairs * sizeof *r->choice);
        TAKE(r->row, pairs * sizeof *r->row);
        TAKE(r->weight, pairs * sizeof *r->weight);
        TAKE(r->run, ((size_t)e->n + 1) * sizeof *r->run);
        for (int kind = FR_ACT_Q32; kind < FR_ACT_KINDS; kind++) {
            TAKE(r->in[kind], pairs * fr_act_bytes(kind, 1, c->d));
            TAKE(r->inner[kind], pairs * fr_act_bytes(kind, 1, e->d_ff));
        }
        TAKE(r->x, pairs * (size_t)c->d * sizeof(float));
        TAKE(r->gate, pairs * (size_t)e->d_ff * sizeof(float));
        TAKE(r->up, pairs * (size_t)e->d_ff * sizeof(float));
        TAKE(r->part, (size_t)fr_pool_threads(f->m->pool) * n * FR_EXPERT_COLUMNS * sizeof(float));
    }
#undef TAKE
    return total;
}

static fr_forward describe(const fr_model *m, const fr_forward_limits *limits) {
    fr_forward f = {.m = m, .limits = limits_of(limits, &m->config)};
    f.head = limits && limits->head ? limits->head : &m->head;
    f.n_outputs = f.head->m + f.limits.own_outputs;
    f.work_floats = FR_ARENA_ROUND(
        fr_attend_work_floats(f.limits.n_ctx + fr_most_rows(&m->config), m->config.head_dim));
    return f;
}

size_t fr_forward_bytes(const fr_model *m, const fr_forward_limits *limits) {
    fr_forward f = describe(m, limits);
    return place(&f);
}

fr_status fr_forward_open(fr_forward **out, const fr_model *m, const fr_forward_limits *limits,
                          fr_error *err) {
    *out = NULL;
    fr_forward *f = fr_alloc_zero(sizeof *f);
    if (!f) return fr_fail(err, FR_ENOMEM, "pass workspace: cannot get %zu bytes", sizeof *f);
    *f = describe(m, limits);
    fr_status st = fr_arena_open(&f->arena, place(f), "pass workspace", err);
    if (st) {
        fr_forward_close(f);
        return st;
    }
    place(f);
    assert(fr_forward_is_sound(f));
    *out = f;
    return FR_OK;
}

bool fr_forward_is_sound(const fr_forward *f) {
    const fr_forward_limits *l = &f->limits;
    return !f->pass && fr_arena_is_sound(&f->arena) && l->max_rows >= 1 &&
           l->max_rows <= fr_most_rows(&f->m->config) && l->max_logits >= 1 &&
           l->max_logits <= l->max_rows && l->max_taps >= 0 && l->n_ctx >= 1 &&
           l->own_outputs >= 0 && f->n_outputs == f->head->m + l->own_outputs && f->n_logits >= 0 &&
           f->n_logits <= l->max_logits && f->n_active >= 0 && f->n_active <= l->max_rows;
}

void fr_forward_close(fr_forward *f) {
    if (!f) return;
    fr_arena_close(&f->arena);
    fr_free(f);
}
