#include "draft/green.h"
#include <assert.h>
#include <string.h>

static const float EPS = 1e-6f;

// ---------------------------------------------------------------- open
static fr_status open_matrix(fr_green *g, fr_matrix *w, const char *name, fr_error *err) {
    const fr_gguf_tensor *t = fr_pack_tensor(g->pack, name);
    const fr_status st = fr_matrix_open(w, t->type, t->data, (int)t->ne[1], (int)t->ne[0],
                                        g->target->pool, name, err);
    g->bytes += w->panel_bytes * (size_t)w->n_panels;
    return st;
}

static fr_status open_buffers(fr_green *g, fr_error *err) {
    const fr_pack *p = g->pack;
    const size_t rows = FR_GREEN_ROWS * sizeof(float);
    g->t_stride = fr_linear_stride(p->ngram * p->d);
    g->h_stride = fr_linear_stride(p->hidden);
    g->stride = fr_linear_stride(p->d);
    const size_t hidden = FR_ARENA_ROUND((size_t)p->hidden * sizeof(float));
    const size_t t = FR_ARENA_ROUND((size_t)g->t_stride * rows);
    const size_t h = FR_ARENA_ROUND((size_t)g->h_stride * rows);
    const size_t y = FR_ARENA_ROUND((size_t)g->stride * rows);
    const fr_status st = fr_arena_open(&g->arena, 2 * hidden + t + h + y, "encoder", err);
    if (st) return st;
    g->bias = fr_arena_take(&g->arena, hidden);
    g->ones = fr_arena_take(&g->arena, hidden);
    g->t = fr_arena_take(&g->arena, t);
    g->h = fr_arena_take(&g->arena, h);
    g->y = fr_arena_take(&g->arena, y);
    for (int i = 0; i < p->hidden; i++)
        g->ones[i] = 1;
    fr_pack_vector(p, "ngram.hidden.bias", g->bias, p->hidden);
    return FR_OK;
}

fr_status fr_green_open(fr_green *g, const fr_pack *pack, const fr_model *target, fr_error *err) {
    *g = (fr_green){.pack = pack, .target = target};
    const int t = pack->ngram * pack->d;
    fr_status st = open_matrix(g, &g->hidden, "ngram.hidden.weight", err);
    if (!st) st = open_matrix(g, &g->out, "ngram.out.weight", err);
    if (!st && pack->encoder == FR_ENCODER_WIDE)
        st = open_matrix(g, &g->skip, "ngram.skip.weight", err);
    if (!st) st = open_buffers(g, err);
    if (!st)
        st = fr_linear_open(&g->linear, target->kern, target->pool, FR_GREEN_ROWS,
                            t > pack->hidden ? t : pack->hidden, err);
    if (st) fr_green_close(g);
    return st;
}

void fr_green_close(fr_green *g) {
    fr_matrix_close(&g->hidden);
    fr_matrix_close(&g->out);
    fr_matrix_close(&g->skip);
    fr_linear_close(&g->linear);
    fr_arena_close(&g->arena);
    *g = (fr_green){0};
}

// ---------------------------------------------------------------- run
static void put_tokens(fr_green *g, int row, const int32_t *gram) {
    const int d = g->pack->d;
    const float by = 1 / (float)g->pack->ngram;
    float *t = g->t + (size_t)row * (size_t)g->t_stride;
    for (int i = 0; i < g->pack->ngram; i++, t += d) {
        if (gram[i] < 0) {
            memset(t, 0, sizeof *t * (size_t)d);
            continue;
        }
        fr_model_embed(g->target, gram[i], t);
        g->target->kern->rmsnorm(t, t, NULL, d, EPS);
        for (int k = 0; k < d; k++)
            t[k] *= by;
    }
}

// h of the rows, from W_1 t.
static void finish_hidden(fr_green *g, int n) {
    const fr_kern *kern = g->target->kern;
    const int hidden = g->pack->hidden;
    for (int i = 0; i < n; i++) {
        float *h = g->h + (size_t)i * (size_t)g->h_stride;
        kern->add(h, g->bias, hidden);
        kern->silu_mul(h, h, g->ones, hidden);
        if (g->pack->encoder == FR_ENCODER_RESIDUAL)
            kern->add(h, g->t + (size_t)i * (size_t)g->t_stride, hidden);
    }
}

void fr_green_states(fr_green *g, const int32_t gram[][FR_PACK_NGRAM], int n, float *x, int ldx) {
    const int d = g->pack->d;
    const bool wide = g->pack->encoder == FR_ENCODER_WIDE;
    assert(n >= 1 && n <= FR_GREEN_ROWS && ldx % 16 == 0);
    for (int i = 0; i < n; i++)
        put_tokens(g, i, gram[i]);
    const fr_linear_product first[] = {{&g->hidden, g->t, g->t_stride, g->h, g->h_stride},
                                       {&g->skip, g->t, g->t_stride, g->y, g->stride}};
    fr_linear_run(&g->linear, first, wide ? 2 : 1, n);
    finish_hidden(g, n);
    const fr_linear_product second = {&g->out, g->h, g->h_stride, x, ldx};
    fr_linear_run(&g->linear, &second, 1, n);
    for (int i = 0; i < n && wide; i++)
        g->target->kern->add(x + (size_t)i * (size_t)ldx, g->y + (size_t)i * (size_t)g->stride, d);
}
