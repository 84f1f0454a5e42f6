#include "train/attached/trunk_context.h"
#include "base/alloc.h"
#include <assert.h>
#include <string.h>

static int chunk_of(const fr_trunk_context *c) {
    return c->max_rows < FR_ROWS ? c->max_rows : FR_ROWS;
}

static fr_forward_limits limits_of(const fr_trunk_context *c) {
    return (fr_forward_limits){
        .max_rows = chunk_of(c), .max_logits = 1, .max_taps = c->n_taps, .n_ctx = c->max_rows};
}

static fr_status take_memory(fr_trunk_context *c, fr_error *err) {
    const fr_config *m = &c->m->config;
    const fr_forward_limits limits = limits_of(c);
    const size_t rows = (size_t)c->max_rows, chunk = (size_t)chunk_of(c);
    const size_t keys = fr_trunk_context_at(c, m->n_layer),
                 taps = (size_t)c->n_taps * rows * (size_t)m->d;
    c->k = fr_alloc_array(keys, sizeof *c->k);
    c->v = fr_alloc_array(keys, sizeof *c->v);
    c->tap = fr_alloc_array(taps, sizeof *c->tap);
    c->row = fr_alloc_array(chunk, sizeof *c->row);
    c->path = fr_alloc_array(chunk, sizeof *c->path);
    if (!c->k || !c->v || (taps && !c->tap) || !c->row || !c->path)
        return fr_fail(err, FR_ENOMEM, "train: no memory for keys and values of %zu rows", rows);
    c->bytes = (2 * keys + taps) * sizeof(float) + chunk * (sizeof *c->row + sizeof *c->path) +
               c->kv.bytes + fr_forward_bytes(c->m, &limits);
    return FR_OK;
}

fr_status fr_trunk_context_open(fr_trunk_context *c, const fr_model *m, int from, const int *taps,
                                int n_taps, int max_rows, fr_error *err) {
    assert(n_taps <= FR_TRUNK_CONTEXT_TAPS);
    *c = (fr_trunk_context){.m = m, .from = from, .n_taps = n_taps, .max_rows = max_rows};
    for (int i = 0; i < n_taps; i++)
        c->taps[i] = taps[i];
    const fr_forward_limits limits = limits_of(c);
    fr_status st = fr_kv_open(&c->kv, &m->config, max_rows, FR_KV_F16, err);
    if (!st) fr_kv_stretch(&c->kv, fr_model_stretches(m, max_rows - 1));
    if (!st) st = fr_forward_open(&c->forward, m, &limits, err);
    if (!st) st = take_memory(c, err);
    if (st) fr_trunk_context_close(c);
    return st;
}

void fr_trunk_context_close(fr_trunk_context *c) {
    fr_forward_close(c->forward);
    fr_kv_close(&c->kv);
    fr_free(c->k), fr_free(c->v), fr_free(c->tap), fr_free(c->row), fr_free(c->path);
    *c = (fr_trunk_context){0};
}

// ---------------------------------------------------------------- passes
// The next n tokens, after what is committed; they become context rows from `to` on.
static void run_chunk(fr_trunk_context *c, const int32_t *ids, int n, int to, int stop) {
    const size_t d = (size_t)c->m->config.d;
    for (int i = 0; i < n; i++) {
        c->row[i] =
            fr_row_token(ids[i], i ? i - 1 : FR_PARENT_COMMITTED, c->n_taps ? FR_WANT_TAPS : 0);
        c->path[i] = i;
    }
    fr_forward_run(c->forward, &(fr_pass){.rows = c->row,
                                          .n_rows = n,
                                          .kv = &(fr_kv *){&c->kv},
                                          .n_seq = 1,
                                          .stop = stop,
                                          .taps = c->taps,
                                          .n_taps = c->n_taps});
    for (int t = 0; t < c->n_taps; t++)
        for (int i = 0; i < n; i++)
            memcpy(c->tap + ((size_t)t * (size_t)c->max_rows + (size_t)(to + i)) * d,
                   fr_forward_tap(c->forward, t, i), d * sizeof(float));
    fr_kv_commit(&c->kv, c->path, n);
}

static void run_sample(fr_trunk_context *c, const int32_t *ids, int n, int stop) {
    assert(c->rows + n <= c->max_rows);
    fr_kv_truncate(&c->kv, 0);
    const int chunk = chunk_of(c);
    for (int at = 0; at < n; at += chunk)
        run_chunk(c, ids + at, n - at < chunk ? n - at : chunk, c->rows + at, stop);
}

void fr_trunk_context_add(fr_trunk_context *c, const int32_t *ids, int n) {
    const size_t width = (size_t)c->kv.n_kv * (size_t)c->kv.head_dim;
    run_sample(c, ids, n, 0);
#pragma omp parallel for schedule(static)
    for (int l = c->from; l < c->m->config.n_layer; l++) {
        const size_t at = fr_trunk_context_at(c, l) + (size_t)c->rows * width;
        fr_kv_read(&c->kv, l, 0, n, c->k + at, c->v + at);
    }
    c->rows += n;
}

void fr_trunk_context_add_taps(fr_trunk_context *c, const int32_t *ids, int n) {
    assert(c->n_taps);
    run_sample(c, ids, n, c->taps[c->n_taps - 1]);
    c->rows += n;
}
