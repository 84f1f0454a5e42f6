#include "lab/train/first_layer.h"
#include "draft/eagle/train/learn_eagle.h"
#include <string.h>

void fr_first_layer_add_params(fr_first_layer *l, fr_params *params, const fr_unrolled_shape *like,
                               const fr_config *target, bool frozen) {
    fr_unrolled_shape shape = *like;
    const int first = params->n;
    shape.d_ff = target->d_ff;
    shape.rope_base = target->rope_base;
    shape.given = shape.first = true;
    shape.token = shape.null = false;
    shape.depth = 1;
    shape.prefix = "first.";
    *l = (fr_first_layer){.frozen = frozen};
    fr_unrolled_add_params(&l->chain, params, &shape);
    for (int i = first; i < params->n && frozen; i++)
        params->item[i].decays = false;
}

fr_status fr_first_layer_open(fr_first_layer *l, fr_gemm *gemm, const fr_model *target,
                              fr_error *err) {
    const fr_params *p = l->chain.params;
    fr_status st = fr_unrolled_open(&l->chain, gemm, err);
    if (st) return st;
    if ((st = fr_unrolled_take_layer(&l->chain, target, 0, err))) return st;
    for (int i = 0; i < l->chain.shape.d; i++)
        fr_param_w(p, l->chain.at.out_norm)[i] = 1;
    return FR_OK;
}

void fr_first_layer_close(fr_first_layer *l) {
    fr_unrolled_close(&l->chain);
}

// Every row is a base.
static void set_rows(fr_unrolled *c, const fr_unrolled *of) {
    const size_t floats = (size_t)of->rows * (size_t)of->shape.d;
    const size_t bounds = (size_t)of->bases.contexts + 1;
    memcpy(c->state, of->embedding, floats * sizeof *c->state);
    memcpy(c->position, of->position, (size_t)of->rows * sizeof *c->position);
    memcpy(c->row0, of->row0, bounds * sizeof *c->row0);
    memcpy(c->base0, of->row0, bounds * sizeof *c->base0);
    for (int i = 0; i < of->rows; i++)
        c->row[i] = i;
    c->rows = c->bases.n = of->rows;
    c->bases.contexts = of->bases.contexts;
}

void fr_first_layer_forward(fr_first_layer *l, const fr_unrolled *of, float *t) {
    fr_unrolled *c = &l->chain;
    set_rows(c, of);
    fr_unrolled_context(c);
    fr_unrolled_step_forward(c, 1);
    memcpy(t, c->step[1].g, (size_t)c->rows * (size_t)c->shape.d * sizeof *t);
}

void fr_first_layer_backward(fr_first_layer *l, const float *dt) {
    fr_unrolled *c = &l->chain;
    if (l->frozen) return;
    fr_unrolled_begin_back(c);
    memcpy(c->dg, dt, (size_t)c->rows * (size_t)c->shape.d * sizeof *dt);
    fr_unrolled_step_back(c, 1);
    fr_unrolled_context_back(c);
}
