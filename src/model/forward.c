// forward.c — one pass: rows enter, then each layer runs attention and feed-forward on the rows
// that have joined, then logits and final states are delivered.
#include "model/forward.h"
#include "base/clock.h"
#include "model/finite.h"
#include "model/product.h"
#include "model/workspace.h"
#include <assert.h>
#include <math.h>
#include <string.h>

// One pass runs as one parallel region: every thread walks the layers, takes its share of each
// phase, and meets the others at barriers. Shares are of rows (norms, residual), of k-blocks
// (quantisation), of panels (products), of heads (RoPE) and of query tiles (attention); no sum is
// ever split.

// ---------------------------------------------------------------- shared phases

const char *fr_phase_name(fr_phase phase) {
    static const char *const names[FR_PHASES] = {"enter", "norm", "quantize",  "products",
                                                 "head",  "rope", "attention", "activation",
                                                 "add",   "wait"};
    return names[phase];
}

// What the first thread did since the last mark belongs to `phase`.
static void mark(fr_forward *f, int t, fr_phase phase) {
    if (!f->phase_seconds || t) return;
    const double now = fr_seconds();
    f->phase_seconds[phase] += now - f->marked;
    f->marked = now;
}

// The end of a phase, for all threads.
static void barrier(fr_forward *f, int t, fr_phase phase) {
    mark(f, t, phase);
    fr_pool_barrier(f->m->pool);
    mark(f, t, FR_PHASE_WAIT);
}

typedef struct fr_output { // one matrix of a group that shares its input
    const fr_matrix *w;
    float *y;
    int ldy; // floats between rows of y
} fr_output;
#define OUTPUT(w_, y_) ((fr_output){.w = &(w_), .y = (y_), .ldy = (w_).m}) // rows of w_ alone

// The least bytes of weights that a thread takes at once: some microseconds of reading. Kernels
// take panels in pairs, so threads do too.
enum { PIECE_BYTES = 32 << 10, PAIR = 2 };

// Panels [p0, p1) of one output, as far as it has them.
static void multiply_one(const fr_forward *f, const fr_output *out, const fr_act *act, int p0,
                         int p1, int t) {
    const fr_matrix *w = out->w;
    const int from = p0 > 0 ? p0 : 0, to = p1 < w->n_panels ? p1 : w->n_panels;
    if (from < to)
        fr_product(f->m, w, out->y, out->ldy, &act[fr_act_kind_of(w->type)], from, to, t);
}

// Panels [p0, p1) of all outputs laid end to end.
static void multiply(const fr_forward *f, const fr_output *out, int n_out, const fr_act *act,
                     int p0, int p1, int t) {
    for (int i = 0; i < n_out && p1 > 0; i++) {
        multiply_one(f, &out[i], act, p0, p1, t);
        p0 -= out[i].w->n_panels;
        p1 -= out[i].w->n_panels;
    }
}

// The same panels of the gate and the up projection, then the activation of their columns while
// they are in this thread's cache. On another core the cache lines would have to travel.
static void multiply_gated(fr_forward *f, const fr_output *out, int n, const fr_act *act, int p0,
                           int p1, int t) {
    const int m = out[0].w->m, begin = FR_PANEL * p0, end = FR_PANEL * p1 < m ? FR_PANEL * p1 : m;
    for (int i = 0; i < 2; i++)
        multiply_one(f, &out[i], act, p0, p1, t);
    mark(f, t, FR_PHASE_PRODUCTS);
    for (int i = 0; i < n; i++) {
        float *gate = out[0].y + (size_t)i * (size_t)m + begin;
        const float *up = out[1].y + (size_t)i * (size_t)m + begin;
        (f->m->config.gelu ? f->m->kern->gelu_mul : f->m->kern->silu_mul)(gate, gate, up,
                                                                          end - begin);
    }
    mark(f, t, FR_PHASE_ACTIVATION);
}

static int block_of(fr_act_kind kind) {
    return kind == FR_ACT_Q256 ? 256 : 32;
}

typedef enum fr_joining { FR_END_TO_END, FR_GATED } fr_joining; // how outputs belong together

// y = x · w for n rows and each output. FR_GATED: the activation of the two outputs replaces the
// first one. ldx: floats between rows of x.
static void project(fr_forward *f, const float *x, int ldx, int n, const fr_output *out, int n_out,
                    fr_joining joining, int t, int nt) {
    fr_act act[FR_ACT_KINDS];
    bool have[FR_ACT_KINDS] = {false};
    int k = out[0].w->k;
    for (int i = 0; i < n_out; i++) {
        fr_act_kind kind = fr_act_kind_of(out[i].w->type);
        if (have[kind]) continue;
        have[kind] = true;
        fr_act_place(&act[kind], kind, n, k, f->act[kind]);
        act[kind].x = x;
        act[kind].ldx = ldx;
        if (kind == FR_ACT_F32) continue;
        int b0, b1;
        fr_pool_share(k / block_of(kind), t, nt, &b0, &b1);
        f->m->kern->quantize(&act[kind], x, ldx, b0, b1);
    }
    int panels = 0, p0, p1;
    size_t panel_bytes = 1;
    for (int i = 0; i < n_out; i++) {
        panels += out[i].w->n_panels;
        if (out[i].w->panel_bytes > panel_bytes) panel_bytes = out[i].w->panel_bytes;
    }
    if (joining == FR_GATED) panels = out[0].w->n_panels;
    fr_pool_deal(f->m->pool, t, (panels + PAIR - 1) / PAIR);
    barrier(f, t, FR_PHASE_QUANTIZE);
    const int least = 1 + (int)((PIECE_BYTES - 1) / (PAIR * panel_bytes));
    while (fr_pool_take(f->m->pool, t, least, &p0, &p1)) {
        if (joining == FR_GATED)
            multiply_gated(f, out, n, act, PAIR * p0, PAIR * p1, t);
        else
            multiply(f, out, n_out, act, PAIR * p0, PAIR * p1, t);
    }
    barrier(f, t, out[0].w == f->head ? FR_PHASE_HEAD : FR_PHASE_PRODUCTS);
}

static void norm_rows(fr_forward *f, const float *weight, int t, int nt) {
    const fr_config *c = &f->m->config;
    int i0, i1;
    fr_pool_share(f->n_active, t, nt, &i0, &i1);
    for (int i = i0; i < i1; i++)
        f->m->kern->rmsnorm(f->xn + (size_t)i * c->d, f->x + (size_t)f->active[i] * c->d, weight,
                            c->d, c->eps);
    barrier(f, t, FR_PHASE_NORM);
}

// x += post-norm(y + bias). Threads share rows here, so a next phase that shares rows needs no
// barrier.
static void add_rows(fr_forward *f, const float *bias, const float *post_norm, int t, int nt) {
    const fr_config *c = &f->m->config;
    const fr_kern *kern = f->m->kern;
    int i0, i1;
    fr_pool_share(f->n_active, t, nt, &i0, &i1);
    for (int i = i0; i < i1; i++) {
        float *y = f->y + (size_t)i * c->d;
        if (bias) kern->add(y, bias, c->d);
        if (post_norm) kern->rmsnorm(y, y, post_norm, c->d, c->eps);
        kern->add(f->x + (size_t)f->active[i] * c->d, y, c->d);
    }
    mark(f, t, FR_PHASE_ADD);
}

// ---------------------------------------------------------------- attention

// Where K or V is not finite, V becomes 0 and the key NaN. Kernels multiply hidden values by a
// weight of 0, and 0 times NaN is NaN: a NaN in V would reach rows that do not see it. A NaN key
// gives a NaN score to the rows that do see it. An infinity would be stored as the largest finite
// value and not be noticed.
static void tell_by_key(float *k, float *v, int n) {
    if (fr_are_finite(k, n) && fr_are_finite(v, n)) return;
    memset(v, 0, sizeof *v * (size_t)n);
    k[0] = NAN;
}

// Bias, query/key norm and RoPE of one head of the row at place i; K and V heads go to the cache.
static void finish_head(fr_forward *f, const fr_layer *l, int layer, int i, int head) {
    const fr_config *c = &f->m->config;
    const fr_kern *kern = f->m->kern;
    int row = f->active[i], hd = c->head_dim;
    const float *cs = (l->window ? f->cs_local : f->cs) + (size_t)row * c->n_rot;
    if (head < c->n_head) {
        float *q = f->q + ((size_t)i * c->n_head + head) * hd;
        if (l->q_bias) kern->add(q, l->q_bias + head * hd, hd);
        if (l->q_norm) kern->rmsnorm(q, q, l->q_norm, hd, c->eps);
        kern->rope(q, cs, c->n_rot, c->neox);
        return;
    }
    head -= c->n_head;
    float *k = f->k + ((size_t)i * c->n_kv + head) * hd,
          *v = f->v + ((size_t)i * c->n_kv + head) * hd;
    if (l->k_bias) kern->add(k, l->k_bias + head * hd, hd);
    if (l->v_bias) kern->add(v, l->v_bias + head * hd, hd);
    if (l->k_norm) kern->rmsnorm(k, k, l->k_norm, hd, c->eps);
    kern->rope(k, cs, c->n_rot, c->neox);
    tell_by_key(k, v, hd);
    fr_kv *kv = f->pass->kv[f->pass->rows[row].seq];
    const int slot = kv->n_committed + f->slot[row];
    kern->store_k[kv->k_form](fr_kv_k(kv, layer, head), slot, hd, k);
    kern->store_v[kv->v_form](fr_kv_v(kv, layer, head), slot, hd, v);
}

// Query rows [from, to) of one sequence and KV head: row / group counts rows of the pass, row %
// group the heads that share the KV head. At most FR_ATTEND_ROWS.
static void attend_rows(fr_forward *f, const fr_layer *l, int layer, int seq, int head, int from,
                        int to, int t) {
    const fr_config *c = &f->m->config;
    int group = c->n_head / c->n_kv, hd = c->head_dim;
    const float *q[FR_ATTEND_ROWS];
    float *o[FR_ATTEND_ROWS];
    const fr_view *view[FR_ATTEND_ROWS];
    for (int j = from; j < to; j++) {
        int i = f->seq_begin[seq] + j / group;
        size_t at = ((size_t)i * c->n_head + head * group + j % group) * hd;
        q[j - from] = f->q + at;
        o[j - from] = f->att + at;
        view[j - from] = &f->view[l->window ? VIEW_WINDOW : VIEW_FULL][i];
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
                                    .scale = c->attn_scale,
                                    .work = f->work + (size_t)t * f->work_floats});
}

// Every thread takes the same number of query rows, however many heads and sequences they belong
// to; rows of one head go over its keys together.
static void attend_share(fr_forward *f, const fr_layer *l, int layer, int t, int nt) {
    int n_kv = f->m->config.n_kv, group = f->m->config.n_head / n_kv, r0, r1, first = 0;
    fr_pool_share(f->n_active * f->m->config.n_head, t, nt, &r0, &r1);
    for (int item = 0; item < f->pass->n_seq * n_kv; item++) {
        int s = item / n_kv, n = (f->seq_begin[s + 1] - f->seq_begin[s]) * group;
        int row = r0 > first ? r0 - first : 0, end = r1 < first + n ? r1 - first : n;
        for (int bands = (end - row + FR_ATTEND_ROWS - 1) / FR_ATTEND_ROWS; row < end; bands--) {
            int rows = (end - row + bands - 1) / bands; // bands of nearly the same size
            attend_rows(f, l, layer, s, item % n_kv, row, row + rows, t);
            row += rows;
        }
        first += n;
    }
}

// Bias, norm, RoPE and, of K and V, storing of heads [from, to) of all active rows.
static void finish_heads(fr_forward *f, int layer, int from, int to, int t, int nt) {
    int h0, h1, heads = to - from;
    fr_pool_share(f->n_active * heads, t, nt, &h0, &h1);
    for (int h = h0; h < h1; h++)
        finish_head(f, &f->m->layers[layer], layer, h / heads, from + h % heads);
    barrier(f, t, FR_PHASE_ROPE);
}

// From queries and stored keys to the residual.
static void attend(fr_forward *f, int layer, int t, int nt) {
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    attend_share(f, l, layer, t, nt);
    barrier(f, t, FR_PHASE_ATTENTION);
    project(f, f->att, c->n_head * c->head_dim, f->n_active, &OUTPUT(l->o, f->y), 1, FR_END_TO_END,
            t, nt);
    add_rows(f, l->o_bias, l->post_attn_norm, t, nt);
}

static void attention(fr_forward *f, int layer, int t, int nt) {
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    norm_rows(f, l->attn_norm, t, nt);
    project(f, f->xn, c->d, f->n_active,
            (fr_output[]){OUTPUT(l->q, f->q), OUTPUT(l->k, f->k), OUTPUT(l->v, f->v)}, 3,
            FR_END_TO_END, t, nt);
    finish_heads(f, layer, 0, c->n_head + c->n_kv, t, nt);
    attend(f, layer, t, nt);
}

static void feed_forward(fr_forward *f, int layer, int t, int nt) {
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    norm_rows(f, l->ffn_norm, t, nt);
    project(f, f->xn, c->d, f->n_active,
            (fr_output[]){OUTPUT(l->gate, f->gate), OUTPUT(l->up, f->up)}, 2, FR_GATED, t, nt);
    project(f, f->gate, c->d_ff, f->n_active, &OUTPUT(l->down, f->y), 1, FR_END_TO_END, t, nt);
    add_rows(f, NULL, l->post_ffn_norm, t, nt);
}

// ---------------------------------------------------------------- rows enter and leave

static void view_of_row(const fr_forward *f, int row, int layer, int window, fr_view *view) {
    const fr_kv *kv = f->pass->kv[f->pass->rows[row].seq];
    int oldest = window ? f->pos[row] - window + 1 : 0; // the first position inside the window
    view->first = oldest > 0 ? oldest : 0;
    if (view->first > kv->n_committed) view->first = kv->n_committed;
    memcpy(view->scratch, kv->ancestors[f->slot[row]], sizeof view->scratch);
    for (int s = 0; s < kv->n_scratch; s++)
        if (kv->join[s] > layer || kv->pos[s] < oldest)
            view->scratch[s / 64] &= ~(UINT64_C(1) << (s % 64));
}

// Whether the row delivers something of what the last layer computes.
static bool is_awaited(const fr_pass *p, const fr_row *row, int layers) {
    for (int k = 0; k < p->n_taps && row->wants & FR_WANT_TAPS; k++)
        if (p->taps[k] == layers) return true;
    return row->wants & (FR_WANT_LOGITS | FR_WANT_FINAL);
}

// Which rows layer `layer` computes, by sequence, and what each sees. `awaited`: those alone.
static void choose_active(fr_forward *f, int layer, bool awaited) {
    const fr_pass *p = f->pass;
    f->n_active = 0;
    for (int s = 0; s < p->n_seq; s++) {
        f->seq_begin[s] = f->n_active;
        for (int r = 0; r < p->n_rows; r++)
            if (p->rows[r].seq == s && p->rows[r].join <= layer &&
                (!awaited || is_awaited(p, &p->rows[r], layer + 1)))
                f->active[f->n_active++] = r;
    }
    f->seq_begin[p->n_seq] = f->n_active;
    for (int i = 0; i < f->n_active; i++) {
        view_of_row(f, f->active[i], layer, 0, &f->view[VIEW_FULL][i]);
        view_of_row(f, f->active[i], layer, f->m->config.window, &f->view[VIEW_WINDOW][i]);
    }
}

// Rows that enter at `layer` as map `map` of another row's residual.
static void enter_linear(fr_forward *f, int layer, int map, int t, int nt) {
    const fr_pass *p = f->pass;
    int d = f->m->config.d, n = 0;
    for (int r = 0; r < p->n_rows; r++) {
        const fr_row *row = &p->rows[r];
        if (row->kind != FR_ROW_LINEAR || row->join != layer || row->map != map) continue;
        if (t == 0)
            memcpy(f->xn + (size_t)n * d, f->x + (size_t)row->source * d, sizeof(float) * d);
        n++;
    }
    if (!n) return;
    barrier(f, t, FR_PHASE_ENTER);
    project(f, f->xn, d, n, &OUTPUT(p->maps[map], f->y), 1, FR_END_TO_END, t, nt);
    n = 0;
    for (int r = 0; r < p->n_rows && t == 0; r++) {
        const fr_row *row = &p->rows[r];
        if (row->kind == FR_ROW_LINEAR && row->join == layer && row->map == map)
            memcpy(f->x + (size_t)r * d, f->y + (size_t)n++ * d, sizeof(float) * d);
    }
    barrier(f, t, FR_PHASE_ENTER);
}

static void enter(fr_forward *f, int layer, int t, int nt) {
    const fr_pass *p = f->pass;
    int d = f->m->config.d, r0, r1;
    barrier(f, t, FR_PHASE_ENTER); // the residuals that maps read are complete
    fr_pool_share(p->n_rows, t, nt, &r0, &r1);
    for (int r = r0; r < r1; r++) {
        const fr_row *row = &p->rows[r];
        if (row->join != layer) continue;
        if (row->kind == FR_ROW_TOKEN) fr_model_embed(f->m, row->id, f->x + (size_t)r * d);
        if (row->kind == FR_ROW_VECTOR) memcpy(f->x + (size_t)r * d, row->vec, sizeof(float) * d);
    }
    for (int map = 0; map < p->n_maps; map++)
        enter_linear(f, layer, map, t, nt);
    if (t == 0) choose_active(f, layer, false);
    barrier(f, t, FR_PHASE_ENTER);
}

static void tap(fr_forward *f, int depth, int t, int nt) {
    const fr_pass *p = f->pass;
    size_t d = (size_t)f->m->config.d;
    for (int k = 0; k < p->n_taps; k++) {
        if (p->taps[k] != depth) continue;
        int i0, i1;
        fr_pool_share(f->n_active, t, nt, &i0, &i1);
        for (int i = i0; i < i1; i++) {
            int r = f->active[i];
            if (!(p->rows[r].wants & FR_WANT_TAPS)) continue;
            memcpy(f->taps + ((size_t)k * f->limits.max_rows + r) * d, f->x + r * d,
                   sizeof(float) * d);
        }
    }
}

// logits = the head on n final hidden states (row stride d).
static void read_head(fr_forward *f, const float *hidden, int n, float *logits, int t, int nt) {
    const fr_output out = {f->head, logits, f->n_outputs};
    project(f, hidden, f->m->config.d, n, &out, 1, FR_END_TO_END, t, nt);
}

// The row behind `r` whose sequence is another one; *n: those between that want logits.
static int end_of_sequence(const fr_pass *p, int r, int *n) {
    const int seq = p->rows[r].seq;
    for (*n = 0; r < p->n_rows && p->rows[r].seq == seq; r++)
        *n += (p->rows[r].wants & FR_WANT_LOGITS) != 0;
    return r;
}

// The head on the states of all rows that want logits; then each sequence's own on its rows.
static void read_heads(fr_forward *f, int t, int nt) {
    const fr_pass *p = f->pass;
    const size_t d = (size_t)f->m->config.d;
    if (p->n_seq == 1 && f->limits.own_outputs) { // both in one go
        const fr_output out[] = {{f->head, f->logits, f->n_outputs},
                                 {p->own_head[0], f->logits + f->head->m, f->n_outputs}};
        project(f, f->xn, (int)d, f->n_logits, out, 2, FR_END_TO_END, t, nt);
        return;
    }
    read_head(f, f->xn, f->n_logits, f->logits, t, nt);
    if (!f->limits.own_outputs) return;
    for (int r = 0, at = 0, n; r < p->n_rows; at += n) {
        const fr_matrix *own = p->own_head[p->rows[r].seq];
        r = end_of_sequence(p, r, &n);
        if (!n) continue;
        float *y = f->logits + (size_t)at * (size_t)f->n_outputs + f->head->m;
        const fr_output out = {own, y, f->n_outputs};
        project(f, f->xn + (size_t)at * d, (int)d, n, &out, 1, FR_END_TO_END, t, nt);
    }
}

static void deliver(fr_forward *f, int t, int nt) {
    const fr_model *m = f->m;
    const fr_pass *p = f->pass;
    size_t d = (size_t)m->config.d;
    barrier(f, t, FR_PHASE_ENTER);
    int r0, r1;
    fr_pool_share(p->n_rows, t, nt, &r0, &r1);
    for (int r = r0; r < r1; r++) {
        if (!(p->rows[r].wants & (FR_WANT_LOGITS | FR_WANT_FINAL))) continue;
        m->kern->rmsnorm(f->final + r * d, f->x + r * d, m->output_norm, m->config.d,
                         m->config.eps);
        if (f->logit_row[r] >= 0)
            memcpy(f->xn + f->logit_row[r] * d, f->final + r * d, sizeof(float) * d);
    }
    mark(f, t, FR_PHASE_NORM);
    if (!f->n_logits) return;
    barrier(f, t, FR_PHASE_NORM);
    read_heads(f, t, nt);
}

static void fill_rope(fr_forward *f, int t, int nt) {
    const fr_model *m = f->m;
    int r0, r1;
    fr_pool_share(f->pass->n_rows, t, nt, &r0, &r1);
    for (int r = r0; r < r1; r++) {
        const bool stretched = m->rope_long.freq && f->pass->kv[f->pass->rows[r].seq]->stretched;
        const fr_rope *rope = stretched ? &m->rope_long : &m->rope;
        fr_rope_fill(rope, rope->freq, f->pos[r], f->cs + (size_t)r * rope->n_rot);
        if (f->m->config.window)
            fr_rope_fill(rope, rope->freq_local, f->pos[r], f->cs_local + (size_t)r * rope->n_rot);
    }
}

static bool joins_at(const fr_pass *p, int layer) {
    for (int r = 0; r < p->n_rows; r++)
        if (p->rows[r].join == layer) return true;
    return false;
}

// The last layer where not all rows deliver something: the others, of a prompt, leave their keys and
// values and are done.
static void last_layer(fr_forward *f, int layer, int t, int nt) {
    const fr_pass *p = f->pass;
    const fr_config *c = &f->m->config;
    const fr_layer *l = &f->m->layers[layer];
    const bool attends = !p->skip || !p->skip[2 * layer];
    if (attends) {
        norm_rows(f, l->attn_norm, t, nt);
        project(f, f->xn, c->d, f->n_active, (fr_output[]){OUTPUT(l->k, f->k), OUTPUT(l->v, f->v)},
                2, FR_END_TO_END, t, nt);
        finish_heads(f, layer, c->n_head, c->n_head + c->n_kv, t, nt);
    }
    barrier(f, t, FR_PHASE_ENTER);
    if (t == 0) choose_active(f, layer, true);
    barrier(f, t, FR_PHASE_ENTER);
    if (!f->n_active) return;
    if (attends) {
        norm_rows(f, l->attn_norm, t, nt);
        project(f, f->xn, c->d, f->n_active, &OUTPUT(l->q, f->q), 1, FR_END_TO_END, t, nt);
        finish_heads(f, layer, 0, c->n_head, t, nt);
        attend(f, layer, t, nt);
    }
    if (!p->skip || !p->skip[2 * layer + 1]) feed_forward(f, layer, t, nt);
}

// Whether some rows deliver nothing that the last layer computes.
static bool some_end_early(const fr_pass *p, int layers) {
    for (int r = 0; r < p->n_rows; r++)
        if (!is_awaited(p, &p->rows[r], layers)) return true;
    return false;
}

static void run_thread(void *arg, int t, int nt) {
    fr_forward *f = arg;
    const fr_pass *p = f->pass;
    const int layers = p->stop ? p->stop : f->m->config.n_layer;
    const int last = some_end_early(p, layers) ? layers - 1 : layers;
    fill_rope(f, t, nt);
    for (int l = 0; l < layers; l++) {
        if (l == 0 || joins_at(p, l)) enter(f, l, t, nt);
        if (!f->n_active) continue; // every row joins later
        tap(f, l, t, nt);
        if (l == last) {
            last_layer(f, l, t, nt);
            continue;
        }
        if (!p->skip || !p->skip[2 * l]) attention(f, l, t, nt);
        if (!p->skip || !p->skip[2 * l + 1]) feed_forward(f, l, t, nt);
    }
    tap(f, layers, t, nt);
    deliver(f, t, nt);
}

// ---------------------------------------------------------------- the pass

static void place_row(fr_forward *f, int r) {
    const fr_row *row = &f->pass->rows[r];
    fr_kv *kv = f->pass->kv[row->seq];
    int parent = row->parent >= 0                     ? f->slot[row->parent]
                 : row->parent == FR_PARENT_COMMITTED ? -1
                                                      : -2 - row->parent;
    assert(row->seq >= 0 && row->seq < f->pass->n_seq);
    assert(row->parent < r && row->join >= 0 && row->join < f->m->config.n_layer);
    assert(row->parent < 0 || f->pass->rows[row->parent].seq == row->seq);
    assert(row->kind != FR_ROW_LINEAR ||
           (row->source >= 0 && row->source < f->pass->n_rows && row->map >= 0 &&
            row->map < f->pass->n_maps && f->pass->rows[row->source].join < row->join));
    assert(row->kind != FR_ROW_TOKEN ||
           (row->join == 0 && row->id >= 0 && row->id < f->m->config.n_vocab));
    if (row->resume) {
        f->slot[r] = row->resume - 1;
        f->pos[r] = kv->pos[f->slot[r]];
    } else {
        int pos = row->pos != FR_POS_AUTO ? row->pos
                  : parent >= 0           ? kv->pos[parent] + 1
                                          : kv->n_committed;
        f->pos[r] = pos;
        f->slot[r] = fr_kv_scratch(kv, parent, pos, row->join);
    }
    f->logit_row[r] = row->wants & FR_WANT_LOGITS ? f->n_logits++ : -1;
}

void fr_forward_run(fr_forward *f, const fr_pass *pass) {
    assert(pass->n_rows > 0 && pass->n_rows <= f->limits.max_rows &&
           pass->n_taps <= f->limits.max_taps);
    assert(pass->n_seq > 0 && pass->n_seq <= f->limits.max_rows && pass->stop >= 0 &&
           pass->stop <= f->m->config.n_layer);
    f->pass = pass;
    f->n_logits = 0;
    for (int r = 0; r < pass->n_rows; r++)
        place_row(f, r);
    assert(f->n_logits <= f->limits.max_logits);
    if (f->phase_seconds) f->marked = fr_seconds();
    fr_pool_run(f->m->pool, run_thread, f);
}

void fr_forward_time_phases(fr_forward *f, double seconds[FR_PHASES]) {
    f->phase_seconds = seconds;
}

float *fr_forward_logits(fr_forward *f, int row) {
    assert(f->logit_row[row] >= 0);
    return f->logits + (size_t)f->logit_row[row] * (size_t)f->n_outputs;
}

const float *fr_forward_final(const fr_forward *f, int row) {
    return f->final + (size_t)row * f->m->config.d;
}

const float *fr_forward_tap(const fr_forward *f, int tap_index, int row) {
    return f->taps + ((size_t)tap_index * f->limits.max_rows + row) * f->m->config.d;
}

void fr_forward_put_final(fr_forward *f, int row, const float *final) {
    const size_t d = (size_t)f->m->config.d;
    assert(row < f->limits.max_rows);
    memcpy(f->final + (size_t)row * d, final, d * sizeof *final);
}

void fr_forward_put_tap(fr_forward *f, int tap, int row, const float *residual) {
    const size_t d = (size_t)f->m->config.d;
    assert(row < f->limits.max_rows && tap < f->limits.max_taps);
    memcpy(f->taps + ((size_t)tap * f->limits.max_rows + row) * d, residual, d * sizeof *residual);
}

int fr_forward_slot(const fr_forward *f, int row) {
    return f->slot[row];
}

typedef struct fr_head_job {
    fr_forward *f;
    const float *hidden;
    int n;
    float *logits;
} fr_head_job;

static void head_thread(void *arg, int t, int nt) {
    fr_head_job *j = arg;
    read_head(j->f, j->hidden, j->n, j->logits, t, nt);
}

void fr_forward_head(fr_forward *f, const float *hidden, int n, float *logits) {
    assert(n > 0 && n <= f->limits.max_rows && !f->limits.own_outputs);
    fr_pool_run(f->m->pool, head_thread, &(fr_head_job){f, hidden, n, logits});
}
