// experts.c — rows choose experts; pairs of rows and experts are ordered by expert; then gate and up
// of all experts that are read are one list of panels, and down is one list of outputs.
#include "model/experts.h"
#include "kern/math.h"
#include "model/product.h"
#include <string.h>

// ---------------------------------------------------------------- the choice

// Rows of the router's products lie so far apart: the shared gate's stands after them.
static int score_stride(const fr_experts *e) {
    return e->n + 1;
}

static void read_router(fr_forward *f, const fr_layer_experts *l, int t, int nt) {
    const fr_experts *e = &f->m->config.experts;
    const int stride = score_stride(e);
    const fr_layer_output out[] = {
        {.w = &l->router, .y = f->experts.scores, .ldy = stride},
        {.w = &l->shared_gate, .y = f->experts.scores + e->n, .ldy = stride}};
    fr_layer_project(f, f->xn, f->m->config.d, f->n_active, out, l->shared_gate.m ? 2 : 1,
                     FR_END_TO_END, t, nt);
}

static void choose(fr_forward *f, const fr_layer_experts *l, int t, int nt) {
    const fr_experts *e = &f->m->config.experts;
    fr_expert_rows *r = &f->experts;
    int i0, i1;
    fr_pool_share(f->n_active, t, nt, &i0, &i1);
    for (int i = i0; i < i1; i++) {
        const size_t at = (size_t)i * (size_t)score_stride(e);
        float *scores = r->scores + at;
        if (l->router_bias) f->m->kern->add(scores, l->router_bias, e->n);
        fr_route(e, scores, l->choice_bias, r->mark + at, r->choice + (size_t)i * e->used);
    }
    fr_layer_barrier(f, t, FR_PHASE_ROUTE);
}

// ---------------------------------------------------------------- pairs by expert

// Sorts the pairs by expert: counts, then places. One thread.
static void order_pairs(fr_forward *f) {
    const fr_experts *e = &f->m->config.experts;
    fr_expert_rows *r = &f->experts;
    const int pairs = f->n_active * e->used;
    int at[FR_EXPERTS_MOST] = {0};
    for (int p = 0; p < pairs; p++)
        at[r->choice[p].expert]++;
    r->n_runs = 0;
    for (int x = 0, first = 0; x < e->n; x++) {
        const int n = at[x];
        at[x] = first;
        if (n) r->run[r->n_runs++] = (fr_expert_run){.expert = x, .first = first, .n = n};
        first += n;
    }
    for (int p = 0; p < pairs; p++) {
        const int to = at[r->choice[p].expert]++;
        r->row[to] = p / e->used;
        r->weight[to] = r->choice[p].weight;
    }
    f->experts_read += r->n_runs;
    if (e->d_shared) r->run[r->n_runs++] = (fr_expert_run){.expert = e->n, .n = f->n_active};
}

static bool is_shared(const fr_forward *f, const fr_expert_run *run) {
    return run->expert == f->m->config.experts.n;
}

// Every row, in order, as it is: then the rows' own inputs serve.
static bool takes_rows(const fr_forward *f, const fr_expert_run *run) {
    return is_shared(f, run) || (run->n == f->n_active && !f->m->config.experts.weighs_inputs);
}

// ---------------------------------------------------------------- gate and up

typedef struct inner { // the matrices of one expert before the activation
    fr_matrix w[2];
    fr_layer_output out[2];
} inner;

static void inner_of(fr_forward *f, const fr_layer *l, const fr_expert_run *run, inner *in) {
    const fr_layer_experts *e = &l->experts;
    const bool shared = is_shared(f, run);
    const size_t ff = (size_t)f->m->config.experts.d_ff, bias = (size_t)run->expert * ff;
    float *gate = shared ? f->gate : f->experts.gate + (size_t)run->first * ff;
    float *up = shared ? f->up : f->experts.up + (size_t)run->first * ff;
    in->w[0] = shared ? l->gate : fr_stack_at(&e->gate, run->expert);
    in->w[1] = shared ? l->up : fr_stack_at(&e->up, run->expert);
    in->out[0] = FR_LAYER_OUTPUT(in->w[0], gate);
    in->out[1] = FR_LAYER_OUTPUT(in->w[1], up);
    if (!shared && e->gate_bias) in->out[0].bias = e->gate_bias + bias;
    if (!shared && e->up_bias) in->out[1].bias = e->up_bias + bias;
}

// Quantised inputs of all rows; they are there after the next barrier.
static void quantize_rows(fr_forward *f, const fr_layer *l, fr_act act[FR_ACT_KINDS], int t,
                          int nt) {
    const fr_layer_output out[] = {
        {.w = &l->experts.gate.first}, {.w = &l->experts.up.first}, {.w = &l->gate}, {.w = &l->up}};
    const int d = f->m->config.d;
    fr_layer_quantize(f, act, f->xn, d, f->n_active, out, f->m->config.experts.d_shared ? 4 : 2, t,
                      nt);
}

// Where the run's inputs of a kind are, or will be.
static void place_input(fr_forward *f, fr_expert_run *run, fr_act_kind kind, const fr_act *rows) {
    const int d = f->m->config.d;
    if (takes_rows(f, run)) {
        run->in[kind] = *rows;
        return;
    }
    uint8_t *memory = f->experts.in[kind];
    if (kind != FR_ACT_F32) memory += (size_t)run->first * fr_act_bytes(kind, 1, d);
    fr_act_place(&run->in[kind], kind, run->n, d, memory);
    run->in[kind].x = f->experts.x + (size_t)run->first * (size_t)d;
    run->in[kind].ldx = d;
}

// The input of pair p for each kind of the run: the row's, copied.
static void copy_input(fr_forward *f, const fr_expert_run *run, const fr_act act[FR_ACT_KINDS],
                       const fr_act_kind *kinds, int n_kinds, int p) {
    const fr_expert_rows *r = &f->experts;
    const size_t d = (size_t)f->m->config.d, row = (size_t)r->row[p];
    for (int k = 0; k < n_kinds; k++)
        if (kinds[k] == FR_ACT_F32)
            memcpy(r->x + (size_t)p * d, f->xn + row * d, sizeof(float) * d);
        else
            fr_act_copy_row(&run->in[kinds[k]], p - run->first, &act[kinds[k]], r->row[p]);
}

// Its input in floats, times its weight.
static void weigh_input(fr_forward *f, int p) {
    const fr_expert_rows *r = &f->experts;
    const size_t d = (size_t)f->m->config.d;
    memcpy(r->x + (size_t)p * d, f->xn + (size_t)r->row[p] * d, sizeof(float) * d);
    f->m->kern->scale(r->x + (size_t)p * d, r->weight[p], (int)d);
}

// The k-blocks of all runs' inputs `of` are shared out as one list.
typedef const fr_act *input_of(const fr_expert_run *run, fr_act_kind kind);
static void quantize_runs(fr_forward *f, input_of *of, fr_act_kind kind, int n_runs, int t,
                          int nt) {
    const fr_expert_rows *r = &f->experts;
    int total = 0, b0, b1;
    for (int i = 0; i < n_runs; i++)
        total += of(&r->run[i], kind)->k / fr_act_block(of(&r->run[i], kind)->kind);
    fr_pool_share(total, t, nt, &b0, &b1);
    for (int i = 0, first = 0; i < n_runs; i++) {
        const fr_act *a = of(&r->run[i], kind);
        const int blocks = a->k / fr_act_block(a->kind);
        const int from = b0 > first ? b0 - first : 0,
                  to = b1 < first + blocks ? b1 - first : blocks;
        if (a->kind != FR_ACT_F32 && from < to) f->m->kern->quantize(a, a->x, a->ldx, from, to);
        first += blocks;
    }
}

static const fr_act *outer_input(const fr_expert_run *run, fr_act_kind kind) {
    return &run->in[kind];
}

static const fr_act *inner_input(const fr_expert_run *run, fr_act_kind kind) {
    (void)kind;
    return &run->inner;
}

// Inputs in the order of pairs.
static void gather(fr_forward *f, const fr_layer *l, const fr_act act[FR_ACT_KINDS], int t,
                   int nt) {
    const fr_expert_rows *r = &f->experts;
    const fr_experts *e = &f->m->config.experts;
    const fr_act_kind kinds[] = {fr_act_kind_of(l->experts.gate.first.type),
                                 fr_act_kind_of(l->experts.up.first.type)};
    const int n_kinds = kinds[0] == kinds[1] ? 1 : 2, routed = r->n_runs - (e->d_shared > 0);
    int p0, p1;
    fr_pool_share(f->n_active * e->used, t, nt, &p0, &p1);
    for (int i = 0; i < routed; i++) {
        const fr_expert_run *run = &r->run[i];
        if (takes_rows(f, run)) continue;
        const int from = p0 > run->first ? p0 : run->first;
        const int to = p1 < run->first + run->n ? p1 : run->first + run->n;
        for (int p = from; p < to; p++)
            if (e->weighs_inputs)
                weigh_input(f, p);
            else
                copy_input(f, run, act, kinds, n_kinds, p);
    }
    fr_layer_mark(f, t, FR_PHASE_ROUTE);
    if (!e->weighs_inputs) return;
    fr_layer_barrier(f, t, FR_PHASE_ROUTE);
    for (int k = 0; k < n_kinds; k++)
        quantize_runs(f, outer_input, kinds[k], routed, t, nt);
    fr_layer_mark(f, t, FR_PHASE_QUANTIZE);
}

static int pairs_of(int panels) {
    return (panels + FR_PANEL_PAIR - 1) / FR_PANEL_PAIR;
}

// Pairs of panels of gate (and up) of all runs, one after the other; all experts have as many.
static int n_inner_items(const fr_forward *f, const fr_layer *l) {
    const fr_expert_rows *r = &f->experts;
    const int shared = f->m->config.experts.d_shared ? 1 : 0;
    return (r->n_runs - shared) * pairs_of(l->experts.gate.first.n_panels) +
           shared * pairs_of(l->gate.n_panels);
}

static void multiply_inner(fr_forward *f, const fr_layer *l, fr_layer_joining joining, int t) {
    const fr_expert_rows *r = &f->experts;
    const int each = pairs_of(l->experts.gate.first.n_panels);
    const int least = fr_layer_least_pairs(2 * l->experts.gate.first.panel_bytes);
    const int last = r->n_runs - 1;
    int begin, end;
    while (fr_pool_take(f->m->pool, t, least, &begin, &end))
        while (begin < end) {
            const int i = begin / each < last ? begin / each : last; // the last may have more
            const int p0 = begin - i * each, left = i < last ? each - p0 : end - begin;
            const int n = left < end - begin ? left : end - begin;
            inner in;
            inner_of(f, l, &r->run[i], &in);
            fr_layer_multiply(f, in.out, 2, joining, r->run[i].n, r->run[i].in, FR_PANEL_PAIR * p0,
                              FR_PANEL_PAIR * (p0 + n), t);
            begin += n;
        }
    fr_layer_barrier(f, t, FR_PHASE_PRODUCTS);
}

// ---------------------------------------------------------------- down

static fr_matrix down_of(const fr_forward *f, const fr_layer *l, const fr_expert_run *run) {
    return is_shared(f, run) ? l->down : fr_stack_at(&l->experts.down, run->expert);
}

static void place_inner(fr_forward *f, const fr_layer *l, fr_expert_run *run) {
    const fr_matrix w = down_of(f, l, run);
    const fr_act_kind kind = fr_act_kind_of(w.type);
    const bool shared = is_shared(f, run);
    uint8_t *memory = shared ? f->act[kind] : f->experts.inner[kind];
    if (!shared && kind != FR_ACT_F32) memory += (size_t)run->first * fr_act_bytes(kind, 1, w.k);
    fr_act_place(&run->inner, kind, run->n, w.k, memory);
    run->inner.x = shared ? f->gate : f->experts.gate + (size_t)run->first * (size_t)w.k;
    run->inner.ldx = w.k;
}

// One thread, when the pairs are known.
static void place_runs(fr_forward *f, const fr_layer *l, const fr_act act[FR_ACT_KINDS]) {
    for (int i = 0; i < f->experts.n_runs; i++) {
        fr_expert_run *run = &f->experts.run[i];
        inner in;
        inner_of(f, l, run, &in);
        for (int k = 0; k < 2; k++) {
            const fr_act_kind kind = fr_act_kind_of(in.w[k].type);
            place_input(f, run, kind, &act[kind]);
        }
        place_inner(f, l, run);
    }
}

// Panels [p0, p1) as a matrix of their own.
static fr_matrix part_of(const fr_matrix *w, int p0, int p1) {
    fr_matrix part = *w;
    const int end = FR_PANEL * p1 < w->m ? FR_PANEL * p1 : w->m;
    part.m = end - FR_PANEL * p0;
    part.n_panels = p1 - p0;
    if (w->panels) part.panels += w->panel_bytes * (size_t)p0;
    if (w->rows) part.rows += (size_t)fr_qtype_row_bytes(w->type, w->k) * FR_PANEL * (size_t)p0;
    return part;
}

static float shared_weight(const fr_forward *f, const fr_layer *l, int row) {
    const fr_experts *e = &f->m->config.experts;
    if (!l->experts.shared_gate.m) return 1;
    return fr_sigmoid(f->experts.scores[(size_t)row * (size_t)score_stride(e) + (size_t)e->n]);
}

// What one expert gives in panels [p0, p1) is added to its rows, times their weights.
static void add_run(fr_forward *f, const fr_layer *l, const fr_expert_run *run, int p0, int p1,
                    float *part, int t) {
    const fr_kern *kern = f->m->kern;
    const fr_expert_rows *r = &f->experts;
    const bool shared = is_shared(f, run), weighs_inputs = f->m->config.experts.weighs_inputs;
    const int d = f->m->config.d;
    const fr_matrix w = down_of(f, l, run), some = part_of(&w, p0, p1);
    const float *bias = !shared && l->experts.down_bias
                            ? l->experts.down_bias + (size_t)run->expert * d + FR_PANEL * p0
                            : NULL;
    fr_product(f->m, &some, part, FR_EXPERT_COLUMNS, &run->inner, 0, some.n_panels, t);
    for (int j = 0; j < run->n; j++) {
        const int row = shared ? j : r->row[run->first + j];
        const float weight = shared          ? shared_weight(f, l, row)
                             : weighs_inputs ? 1
                                             : r->weight[run->first + j];
        float *o = part + (size_t)j * FR_EXPERT_COLUMNS;
        if (bias) kern->add(o, bias, some.m);
        kern->add_times(f->y + (size_t)row * d + FR_PANEL * p0, weight, o, some.m);
    }
}

static void multiply_down(fr_forward *f, const fr_layer *l, int t) {
    enum { PANELS = FR_EXPERT_COLUMNS / FR_PANEL };
    const fr_expert_rows *r = &f->experts;
    const int d = f->m->config.d, panels = l->experts.down.first.n_panels;
    float *part = r->part + (size_t)t * (size_t)f->limits.max_rows * FR_EXPERT_COLUMNS;
    int begin, end;
    while (fr_pool_take(f->m->pool, t, 1, &begin, &end))
        for (int p0 = PANELS * begin; p0 < PANELS * end && p0 < panels; p0 += PANELS) {
            const int p1 = p0 + PANELS < panels ? p0 + PANELS : panels;
            const int from = FR_PANEL * p0, to = FR_PANEL * p1 < d ? FR_PANEL * p1 : d;
            for (int i = 0; i < f->n_active; i++)
                memset(f->y + (size_t)i * d + from, 0, sizeof(float) * (size_t)(to - from));
            for (int i = 0; i < r->n_runs; i++)
                add_run(f, l, &r->run[i], p0, p1, part, t);
        }
    fr_layer_barrier(f, t, FR_PHASE_PRODUCTS);
}

void fr_layer_read_experts(fr_forward *f, int layer, fr_layer_joining joining, int t, int nt) {
    const fr_layer *l = &f->m->layers[layer];
    fr_act act[FR_ACT_KINDS];
    read_router(f, &l->experts, t, nt);
    quantize_rows(f, l, act, t, nt);
    choose(f, &l->experts, t, nt);
    if (t == 0) {
        order_pairs(f);
        place_runs(f, l, act);
    }
    fr_layer_barrier(f, t, FR_PHASE_ROUTE);
    gather(f, l, act, t, nt);
    fr_pool_deal(f->m->pool, t, n_inner_items(f, l));
    fr_layer_barrier(f, t, FR_PHASE_ROUTE);
    multiply_inner(f, l, joining, t);
    quantize_runs(f, inner_input, FR_ACT_F32, f->experts.n_runs, t, nt);
    fr_pool_deal(f->m->pool, t,
                 (l->experts.down.first.n_panels * FR_PANEL + FR_EXPERT_COLUMNS - 1) /
                     FR_EXPERT_COLUMNS);
    fr_layer_barrier(f, t, FR_PHASE_QUANTIZE);
    multiply_down(f, l, t);
}
