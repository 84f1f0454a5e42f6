// forward.c — one pass: rows enter, then each layer (layer.h) runs on the rows that have joined,
// then logits and final states are delivered.
#include "model/forward.h"
#include "base/clock.h"
#include "kern/math.h"
#include "model/layer.h"
#include <assert.h>
#include <string.h>

// ---------------------------------------------------------------- rows enter and leave

static void view_of_row(const fr_forward *f, int row, int layer, int window, fr_view *view) {
    const fr_kv *kv = f->pass->kv[f->pass->rows[row].seq];
    const int pos = f->pos[row];
    const bool chunks = f->m->config.chunks;
    const int oldest = !window ? 0 : chunks ? pos / window * window : pos - window + 1;
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
    fr_layer_barrier(f, t, FR_PHASE_ENTER);
    fr_layer_project(f, f->xn, d, n, &FR_LAYER_OUTPUT(p->maps[map], f->y), 1, FR_END_TO_END, t, nt);
    n = 0;
    for (int r = 0; r < p->n_rows && t == 0; r++) {
        const fr_row *row = &p->rows[r];
        if (row->kind == FR_ROW_LINEAR && row->join == layer && row->map == map)
            memcpy(f->x + (size_t)r * d, f->y + (size_t)n++ * d, sizeof(float) * d);
    }
    fr_layer_barrier(f, t, FR_PHASE_ENTER);
}

static void enter(fr_forward *f, int layer, int t, int nt) {
    const fr_pass *p = f->pass;
    int d = f->m->config.d, r0, r1;
    fr_layer_barrier(f, t, FR_PHASE_ENTER); // the residuals that maps read are complete
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
    fr_layer_barrier(f, t, FR_PHASE_ENTER);
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

// Columns [at, at + n) of a row of logits, as far as they are of the model's own head.
static void add_head_bias(const fr_forward *f, float *z, int at, int n) {
    const int left = f->head->m - at;
    if (f->head == &f->m->head && f->m->head_bias && left > 0)
        f->m->kern->add(z, f->m->head_bias + at, n < left ? n : left);
}

// What the model makes of its head's products, n rows of them: biased, scaled, then capped.
static void finish_logits(fr_forward *f, float *logits, int n, int t, int nt) {
    enum { PIECE = 2048 }; // columns that a thread takes at once
    const fr_config *c = &f->m->config;
    const int pieces = (f->n_outputs + PIECE - 1) / PIECE;
    int p0, p1;
    if (c->logit_scale == 1 && !(c->logit_cap > 0) && !f->m->head_bias) return;
    fr_pool_share(n * pieces, t, nt, &p0, &p1);
    for (int p = p0; p < p1; p++) {
        const int at = p % pieces * PIECE, left = f->n_outputs - at;
        const int columns = left < PIECE ? left : PIECE;
        float *z = logits + (size_t)(p / pieces) * (size_t)f->n_outputs + at;
        add_head_bias(f, z, at, columns);
        if (c->logit_scale != 1) f->m->kern->scale(z, c->logit_scale, columns);
        if (c->logit_cap > 0) f->m->kern->softcap(z, columns, c->logit_cap);
    }
    fr_layer_mark(f, t, FR_PHASE_HEAD);
}

// logits = the head on n final hidden states (row stride d).
static void read_head(fr_forward *f, const float *hidden, int n, float *logits, int t, int nt) {
    const fr_layer_output out = {.w = f->head, .y = logits, .ldy = f->n_outputs};
    fr_layer_project(f, hidden, f->m->config.d, n, &out, 1, FR_END_TO_END, t, nt);
}

// The row after `r` whose sequence is another one; *n: those between that want logits.
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
        const fr_layer_output out[] = {
            {.w = f->head, .y = f->logits, .ldy = f->n_outputs},
            {.w = p->own_head[0], .y = f->logits + f->head->m, .ldy = f->n_outputs}};
        fr_layer_project(f, f->xn, (int)d, f->n_logits, out, 2, FR_END_TO_END, t, nt);
        return;
    }
    read_head(f, f->xn, f->n_logits, f->logits, t, nt);
    if (!f->limits.own_outputs) return;
    for (int r = 0, at = 0, n; r < p->n_rows; at += n) {
        const fr_matrix *own = p->own_head[p->rows[r].seq];
        r = end_of_sequence(p, r, &n);
        if (!n) continue;
        float *y = f->logits + (size_t)at * (size_t)f->n_outputs + f->head->m;
        const fr_layer_output out = {.w = own, .y = y, .ldy = f->n_outputs};
        fr_layer_project(f, f->xn + (size_t)at * d, (int)d, n, &out, 1, FR_END_TO_END, t, nt);
    }
}

static void deliver(fr_forward *f, int t, int nt) {
    const fr_model *m = f->m;
    const fr_pass *p = f->pass;
    size_t d = (size_t)m->config.d;
    fr_layer_barrier(f, t, FR_PHASE_ENTER);
    int r0, r1;
    fr_pool_share(p->n_rows, t, nt, &r0, &r1);
    for (int r = r0; r < r1; r++) {
        if (!(p->rows[r].wants & (FR_WANT_LOGITS | FR_WANT_FINAL))) continue;
        fr_model_norm(m, f->final + r * d, f->x + r * d, m->output_norm);
        if (f->logit_row[r] >= 0)
            memcpy(f->xn + f->logit_row[r] * d, f->final + r * d, sizeof(float) * d);
    }
    fr_layer_mark(f, t, FR_PHASE_NORM);
    if (!f->n_logits) return;
    fr_layer_barrier(f, t, FR_PHASE_NORM);
    read_heads(f, t, nt);
    finish_logits(f, f->logits, f->n_logits, t, nt);
}

// What queries at a position are multiplied by (fr_config.temperature).
static float temper_of(const fr_config *c, int pos) {
    const double steps = (double)((pos + c->temper_ahead) / c->temper_length); // rounded down
    return (float)(1 + c->temperature * fr_log(1 + steps));
}

static void fill_rope(fr_forward *f, int t, int nt) {
    const fr_model *m = f->m;
    int r0, r1;
    fr_pool_share(f->pass->n_rows, t, nt, &r0, &r1);
    for (int r = r0; r < r1; r++) {
        const bool stretched = m->rope_long.freq && f->pass->kv[f->pass->rows[r].seq]->stretched;
        const fr_rope *rope = stretched ? &m->rope_long : &m->rope;
        fr_rope_fill(rope, false, f->pos[r], f->cs + (size_t)r * rope->n_rot);
        if (m->config.temperature > 0) f->temper[r] = temper_of(&m->config, f->pos[r]);
        if (m->config.has_local)
            fr_rope_fill(rope, true, f->pos[r], f->cs_local + (size_t)r * rope->n_rot);
    }
}

static bool joins_at(const fr_pass *p, int layer) {
    for (int r = 0; r < p->n_rows; r++)
        if (p->rows[r].join == layer) return true;
    return false;
}

// The last layer where not all rows deliver something: the others, of a prompt, leave their keys
// and values and are done.
static void last_layer(fr_forward *f, int layer, int t, int nt) {
    const fr_pass *p = f->pass;
    const bool attends = !p->skip || !p->skip[2 * layer];
    if (attends) fr_layer_keys(f, layer, t, nt);
    fr_layer_barrier(f, t, FR_PHASE_ENTER);
    if (t == 0) choose_active(f, layer, true);
    fr_layer_barrier(f, t, FR_PHASE_ENTER);
    if (!f->n_active) return;
    if (attends) fr_layer_queries(f, layer, t, nt);
    if (!p->skip || !p->skip[2 * layer + 1]) fr_layer_feed_forward(f, layer, attends, t, nt);
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
        const bool attends = !p->skip || !p->skip[2 * l];
        if (attends) fr_layer_attention(f, l, t, nt);
        if (!p->skip || !p->skip[2 * l + 1]) fr_layer_feed_forward(f, l, attends, t, nt);
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
    assert(fr_forward_is_sound(f));
    assert(pass->n_rows > 0 && pass->n_rows <= f->limits.max_rows &&
           pass->n_taps <= f->limits.max_taps);
    assert(pass->n_seq > 0 && pass->n_seq <= f->limits.max_rows && pass->stop >= 0 &&
           pass->stop <= f->m->config.n_layer);
    f->pass = pass;
    f->n_logits = 0;
    f->experts_read = 0;
    for (int r = 0; r < pass->n_rows; r++)
        place_row(f, r);
    assert(f->n_logits <= f->limits.max_logits);
    if (f->phase_seconds) f->marked = fr_seconds();
    fr_pool_run(f->m->pool, run_thread, f);
    fr_clock_pass(pass->n_rows, f->m->config.n_layer);
    f->pass = NULL; // the caller's
    assert(fr_forward_is_sound(f));
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

int fr_forward_experts(const fr_forward *f) {
    return f->experts_read;
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
    finish_logits(j->f, j->logits, j->n, t, nt);
}

void fr_forward_head(fr_forward *f, const float *hidden, int n, float *logits) {
    assert(n > 0 && n <= f->limits.max_rows && !f->limits.own_outputs);
    fr_pool_run(f->m->pool, head_thread, &(fr_head_job){f, hidden, n, logits});
}
