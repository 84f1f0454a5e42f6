// project.c — phases and their ends, panels of one product, then whole products.
#include "model/project.h"
#include "base/clock.h"
#include "model/product.h"

const char *fr_phase_name(fr_phase phase) {
    static const char *const names[FR_PHASES] = {"enter", "norm", "quantize",  "products",
                                                 "head",  "rope", "attention", "activation",
                                                 "route", "add",  "wait"};
    return names[phase];
}

void fr_layer_mark(fr_forward *f, int t, fr_phase phase) {
    if (!f->phase_seconds || t) return;
    const double now = fr_seconds();
    f->phase_seconds[phase] += now - f->marked;
    f->marked = now;
}

void fr_layer_barrier(fr_forward *f, int t, fr_phase phase) {
    fr_layer_mark(f, t, phase);
    fr_pool_barrier(f->m->pool);
    fr_layer_mark(f, t, FR_PHASE_WAIT);
}

// The least bytes of weights that a thread takes at once: some microseconds of reading.
enum { PIECE_BYTES = 32 << 10 };

int fr_layer_least_pairs(size_t panel_bytes) {
    return 1 + (int)((PIECE_BYTES - 1) / (FR_PANEL_PAIR * panel_bytes));
}

// Panels [p0, p1) of one output, as far as it has them.
static void multiply_one(const fr_forward *f, const fr_layer_output *out, const fr_act *act, int p0,
                         int p1, int t) {
    const fr_matrix *w = out->w;
    const int from = p0 > 0 ? p0 : 0, to = p1 < w->n_panels ? p1 : w->n_panels;
    if (from < to)
        fr_product(f->m, w, out->y, out->ldy, &act[fr_act_kind_of(w->type)], from, to, t);
}

// Panels [p0, p1) of all outputs laid end to end.
static void multiply(const fr_forward *f, const fr_layer_output *out, int n_out, const fr_act *act,
                     int p0, int p1, int t) {
    for (int i = 0; i < n_out && p1 > 0; i++) {
        multiply_one(f, &out[i], act, p0, p1, t);
        p0 -= out[i].w->n_panels;
        p1 -= out[i].w->n_panels;
    }
}

static void activate(const fr_kern *kern, fr_layer_joining joining, float *first,
                     const float *second, int n) {
    switch (joining) {
    case FR_END_TO_END:
        return;
    case FR_GATED_SILU:
        kern->silu_mul(first, first, second, n);
        return;
    case FR_GATED_GELU:
        kern->gelu_mul(first, first, second, n);
        return;
    case FR_GATED_CLAMPED:
        kern->clamped_mul(first, first, second, n);
        return;
    case FR_GELU:
        kern->gelu(first, first, n);
    }
}

// The activation of the columns follows while they are in this thread's cache. On another core the
// cache lines would have to travel.
void fr_layer_multiply(fr_forward *f, const fr_layer_output *out, int n_out,
                       fr_layer_joining joining, int n, const fr_act *act, int p0, int p1, int t) {
    const int m = out[0].w->m, begin = FR_PANEL * p0, end = FR_PANEL * p1 < m ? FR_PANEL * p1 : m;
    for (int i = 0; i < n_out; i++)
        multiply_one(f, &out[i], act, p0, p1, t);
    fr_layer_mark(f, t, FR_PHASE_PRODUCTS);
    for (int i = 0; i < n; i++) {
        float *y[2] = {NULL, NULL};
        for (int k = 0; k < n_out; k++) {
            y[k] = out[k].y + (size_t)i * (size_t)m + begin;
            if (out[k].bias) f->m->kern->add(y[k], out[k].bias + begin, end - begin);
        }
        activate(f->m->kern, joining, y[0], y[1], end - begin);
    }
    fr_layer_mark(f, t, FR_PHASE_ACTIVATION);
}

void fr_layer_quantize(fr_forward *f, fr_act act[FR_ACT_KINDS], const float *x, int ldx, int n,
                       const fr_layer_output *out, int n_out, int t, int nt) {
    bool have[FR_ACT_KINDS] = {false};
    const int k = out[0].w->k;
    for (int i = 0; i < n_out; i++) {
        const fr_act_kind kind = fr_act_kind_of(out[i].w->type);
        int b0, b1;
        if (have[kind]) continue;
        have[kind] = true;
        fr_act_place(&act[kind], kind, n, k, f->act[kind]);
        act[kind].x = x;
        act[kind].ldx = ldx;
        if (kind == FR_ACT_F32) continue;
        fr_pool_share(k / fr_act_block(kind), t, nt, &b0, &b1);
        f->m->kern->quantize(&act[kind], x, ldx, b0, b1);
    }
}

void fr_layer_project(fr_forward *f, const float *x, int ldx, int n, const fr_layer_output *out,
                      int n_out, fr_layer_joining joining, int t, int nt) {
    fr_act act[FR_ACT_KINDS];
    fr_layer_quantize(f, act, x, ldx, n, out, n_out, t, nt);
    int panels = 0, p0, p1;
    size_t panel_bytes = 1;
    for (int i = 0; i < n_out; i++) {
        panels += out[i].w->n_panels;
        if (out[i].w->panel_bytes > panel_bytes) panel_bytes = out[i].w->panel_bytes;
    }
    if (joining != FR_END_TO_END) panels = out[0].w->n_panels;
    fr_pool_deal(f->m->pool, t, (panels + FR_PANEL_PAIR - 1) / FR_PANEL_PAIR);
    fr_layer_barrier(f, t, FR_PHASE_QUANTIZE);
    const int least = fr_layer_least_pairs(panel_bytes);
    while (fr_pool_take(f->m->pool, t, least, &p0, &p1)) {
        if (joining != FR_END_TO_END)
            fr_layer_multiply(f, out, n_out, joining, n, act, FR_PANEL_PAIR * p0,
                              FR_PANEL_PAIR * p1, t);
        else
            multiply(f, out, n_out, act, FR_PANEL_PAIR * p0, FR_PANEL_PAIR * p1, t);
    }
    fr_layer_barrier(f, t, out[0].w == f->head ? FR_PHASE_HEAD : FR_PHASE_PRODUCTS);
}
