// block_inputs.c — opens the input maps of a pack and their buffers. Rows put their normed states
// and tokens there; before the pass one product for each map makes the vectors of all rows.
#include "draft/kit/block_inputs.h"
#include <string.h>

static const float EPS = (float)FR_PACK_EPS;

static const fr_draft_block_pack *own_of(const fr_block_inputs *in) {
    return fr_draft_block_pack_of(in->pack);
}

// ---------------------------------------------------------------- the pass

// The states of the rows that gave residuals.
static void join_taps(fr_block_inputs *in) {
    const int n = in->n_taps_rows, stride = in->stride;
    if (!n) return;
    fr_linear_run(&in->linear,
                  &(fr_linear_product){in->of_taps, in->taps, in->taps_stride, in->y, stride}, 1,
                  n);
    for (int i = 0; i < n; i++)
        in->target->kern->rmsnorm(in->state + (size_t)in->taps_row[i] * (size_t)stride,
                                  in->y + (size_t)i * (size_t)stride, in->state_norm, in->pack->d,
                                  EPS);
    in->n_taps_rows = 0;
}

static void prepare(fr_draft_inputs *base, int n) {
    fr_block_inputs *in = (fr_block_inputs *)base;
    const fr_kern *kern = in->target->kern;
    const int d = in->pack->d, stride = in->stride;
    const fr_linear_product maps[] = {{in->of_state, in->state, stride, in->x, stride},
                                      {in->of_token, in->token, stride, in->y, stride}};
    join_taps(in);
    fr_linear_run(&in->linear, maps, own_of(in)->pure ? 1 : 2, n);
    for (int i = 0; i < n; i++) {
        float *x = in->x + (size_t)i * (size_t)stride;
        if (!own_of(in)->pure) kern->add(x, in->y + (size_t)i * (size_t)stride, d);
        kern->add(x, in->bias, d);
    }
}

// ---------------------------------------------------------------- open and close

static void close_inputs(fr_draft_inputs *base) {
    fr_block_inputs *in = (fr_block_inputs *)base;
    fr_linear_close(&in->linear);
    fr_arena_close(&in->arena);
    fr_free(in->taps_row);
    fr_free(in);
}

static fr_status open_buffers(fr_block_inputs *in, fr_error *err) {
    const fr_pack *p = in->pack;
    const int n_taps = own_of(in)->n_taps, widest = n_taps ? n_taps * p->d : p->d;
    in->stride = fr_linear_stride(p->d);
    in->taps_stride = fr_linear_stride(n_taps * p->d);
    const size_t n = (size_t)in->max_rows;
    const size_t rows = FR_ARENA_ROUND(n * (size_t)in->stride * sizeof(float));
    const size_t taps = FR_ARENA_ROUND(n * (size_t)in->taps_stride * sizeof(float));
    fr_status st = fr_arena_open(&in->arena, 4 * rows + taps, "draft block", err);
    if (st) return st;
    float **const buffer[] = {&in->state, &in->token, &in->x, &in->y};
    for (int i = 0; i < 4; i++)
        *buffer[i] = fr_arena_take(&in->arena, rows);
    if (taps) in->taps = fr_arena_take(&in->arena, taps);
    if (!(in->taps_row = fr_alloc_array(n, sizeof *in->taps_row)))
        return fr_fail(err, FR_ENOMEM, "draft block: cannot get memory for %zu rows", n);
    return fr_linear_open(&in->linear, in->target->kern, in->target->pool, in->max_rows, widest,
                          err);
}

static fr_status take_taps(fr_block_inputs *in, fr_pack_weights *w, fr_error *err) {
    if (!own_of(in)->n_taps) return FR_OK;
    const fr_status st = fr_pack_weights_values(w, "fc_taps.norm", &in->taps_norm, err);
    return st ? st : fr_pack_weights_matrix(w, "fc_taps.weight", &in->of_taps, err);
}

static fr_status take_tokens(fr_block_inputs *in, fr_pack_weights *w, fr_error *err) {
    if (own_of(in)->pure) return FR_OK;
    fr_status st = fr_pack_weights_values(w, "fc_token.norm", &in->token_norm, err);
    if (!st && own_of(in)->null) st = fr_pack_weights_values(w, "null", &in->null_token, err);
    return st ? st : fr_pack_weights_matrix(w, "fc_token.weight", &in->of_token, err);
}

static fr_status take_weights(fr_block_inputs *in, fr_pack_weights *w, fr_error *err) {
    fr_status st = take_taps(in, w, err);
    if (!st) st = take_tokens(in, w, err);
    if (!st) st = fr_pack_weights_values(w, "fc_state.norm", &in->state_norm, err);
    if (!st) st = fr_pack_weights_values(w, "fc.bias", &in->bias, err);
    return st ? st : fr_pack_weights_matrix(w, "fc_state.weight", &in->of_state, err);
}

fr_status fr_block_inputs_open(fr_block_inputs **out, fr_pack_weights *w, int max_rows,
                               fr_error *err) {
    fr_block_inputs *in = fr_alloc_zero(sizeof *in);
    *out = NULL;
    if (!in) return fr_fail(err, FR_ENOMEM, "draft block: cannot get %zu bytes", sizeof *in);
    *in = (fr_block_inputs){.base = {.prepare = prepare, .close = close_inputs},
                            .pack = &w->pack,
                            .target = w->target,
                            .max_rows = max_rows};
    fr_status st = open_buffers(in, err);
    if (!st) st = take_weights(in, w, err);
    if (st)
        close_inputs(&in->base);
    else
        *out = in;
    return st;
}

uint64_t fr_block_inputs_bytes(const fr_block_inputs *in) {
    return fr_matrix_bytes(in->of_state) + (in->of_token ? fr_matrix_bytes(in->of_token) : 0);
}

// ---------------------------------------------------------------- rows

// Its token, normed; its x.
static const float *put_token(fr_block_inputs *in, int row, int32_t token) {
    const size_t at = (size_t)row * (size_t)in->stride;
    float *t = in->token + at;
    if (own_of(in)->pure) return in->x + at;
    if (token == FR_BLOCK_NULL_TOKEN)
        memcpy(t, in->null_token, sizeof *t * (size_t)in->pack->d);
    else
        fr_model_embed(in->target, token, t);
    in->target->kern->rmsnorm(t, t, in->token_norm, in->pack->d, EPS);
    return in->x + at;
}

const float *fr_block_inputs_put(fr_block_inputs *in, int row, const float *state, int32_t token) {
    in->target->kern->rmsnorm(in->state + (size_t)row * (size_t)in->stride, state, in->state_norm,
                              in->pack->d, EPS);
    return put_token(in, row, token);
}

const float *fr_block_inputs_put_taps(fr_block_inputs *in, int row, const float *residuals,
                                      int32_t token) {
    const int d = in->pack->d, i = in->n_taps_rows++;
    in->taps_row[i] = row;
    for (int t = 0; t < own_of(in)->n_taps; t++)
        in->target->kern->rmsnorm(in->taps + (size_t)i * (size_t)in->taps_stride + (size_t)t * d,
                                  residuals + (size_t)t * d, in->taps_norm + (size_t)t * d, d, EPS);
    return put_token(in, row, token);
}
