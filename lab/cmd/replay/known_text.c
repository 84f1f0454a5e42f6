#include "lab/cmd/replay/known_text.h"
#include "base/alloc.h"
#include "decode/decoder.h"
#include <assert.h>
#include <string.h>

// ---------------------------------------------------------------- open and close

fr_status fr_known_reader_open(fr_known_reader *r, const fr_model *m, int n_ctx, fr_error *err) {
    const fr_forward_limits limits = {.max_rows = FR_PREFILL_ROWS,
                                      .max_logits = FR_PREFILL_ROWS,
                                      .max_taps = FR_KNOWN_TAPS,
                                      .n_ctx = n_ctx};
    *r = (fr_known_reader){0};
    fr_status st = fr_sampler_open(&r->sampler, m->kern, m->config.n_vocab, err);
    if (!st) st = fr_forward_open(&r->forward, m, &limits, err);
    if (st) fr_known_reader_close(r);
    return st;
}

void fr_known_reader_close(fr_known_reader *r) {
    fr_forward_close(r->forward);
    fr_sampler_close(&r->sampler);
    *r = (fr_known_reader){0};
}

fr_status fr_known_text_open(fr_known_text *t, const fr_model *m, int n_ctx, fr_kv_type type,
                             fr_error *err) {
    const size_t n = (size_t)n_ctx, d = (size_t)m->config.d;
    *t = (fr_known_text){.model = m};
    fr_status st = fr_kv_open(&t->kv, &m->config, n_ctx, type, err);
    if (st) return st;
    t->ids = fr_alloc_array(n, sizeof *t->ids);
    t->final = fr_alloc_array(n * d, sizeof *t->final);
    if (t->ids && t->final) return FR_OK;
    fr_known_text_close(t);
    return fr_fail(err, FR_ENOMEM, "known text: no memory for the states of %d tokens", n_ctx);
}

void fr_known_text_close(fr_known_text *t) {
    fr_kv_close(&t->kv);
    fr_free(t->ids);
    fr_free(t->final);
    for (int i = 0; i < t->n_taps; i++)
        fr_free(t->tap[i]);
    *t = (fr_known_text){0};
}

// ---------------------------------------------------------------- reading

static int place_of(const fr_known_text *t, int layer) {
    int at = 0;
    while (at < t->n_taps && t->taps[at] < layer)
        at++;
    return at;
}

static bool has_tap(const fr_known_text *t, int layer) {
    const int at = place_of(t, layer);
    return at < t->n_taps && t->taps[at] == layer;
}

static fr_status add_tap(fr_known_text *t, int layer, fr_error *err) {
    const int at = place_of(t, layer);
    if (t->n_taps == FR_KNOWN_TAPS)
        return fr_fail(err, FR_EUNSUP,
                       "known text: expected at most %d layers to be kept, found %d", FR_KNOWN_TAPS,
                       t->n_taps + 1);
    float *rows = fr_alloc_array((size_t)t->kv.n_ctx * (size_t)t->model->config.d, sizeof *rows);
    if (!rows)
        return fr_fail(err, FR_ENOMEM, "known text: no memory for layer %d of %d tokens", layer,
                       t->kv.n_ctx);
    memmove(t->taps + at + 1, t->taps + at, sizeof *t->taps * (size_t)(t->n_taps - at));
    memmove(t->tap + at + 1, t->tap + at, sizeof *t->tap * (size_t)(t->n_taps - at));
    t->taps[at] = layer;
    t->tap[at] = rows;
    t->n_taps++;
    fr_kv_truncate(&t->kv, 0);
    return FR_OK;
}

static void keep_states(fr_known_text *t, const fr_forward *forward, int from, int n) {
    const size_t d = (size_t)t->model->config.d;
    for (int i = 0; i < n; i++) {
        const size_t at = (size_t)(from + i) * d;
        memcpy(t->final + at, fr_forward_final(forward, i), d * sizeof(float));
        for (int k = 0; k < t->n_taps; k++)
            memcpy(t->tap[k] + at, fr_forward_tap(forward, k, i), d * sizeof(float));
    }
}

// The next n tokens of a text that ends before `end`. Those from n_prompt on have to be what the
// target draws.
static void read_chunk(fr_known_text *t, fr_known_reader *r, int n, int n_prompt, int end) {
    const int from = t->kv.n_committed;
    fr_row row[FR_PREFILL_ROWS];
    int path[FR_PREFILL_ROWS];
    for (int i = 0; i < n; i++) {
        const bool draws = from + i + 1 >= n_prompt && from + i + 1 < end;
        row[i] = fr_row_token(t->ids[from + i], i ? i - 1 : FR_PARENT_COMMITTED,
                              (uint8_t)(FR_WANT_FINAL | (t->n_taps ? FR_WANT_TAPS : 0) |
                                        (draws ? FR_WANT_LOGITS : 0)));
        path[i] = i;
    }
    fr_forward_run(r->forward, &(fr_pass){.rows = row,
                                          .n_rows = n,
                                          .kv = &(fr_kv *){&t->kv},
                                          .n_seq = 1,
                                          .taps = t->taps,
                                          .n_taps = t->n_taps});
    keep_states(t, r->forward, from, n);
    for (int i = 0; i < n && t->n_sound == from + i + 1; i++) {
        const int next = from + i + 1;
        t->n_sound += next < n_prompt && next < end;
        if (!(row[i].wants & FR_WANT_LOGITS)) continue;
        float *logits = fr_forward_logits(r->forward, i);
        t->n_sound += fr_sampler_token(&r->sampler, logits, t->ids, next, next) == t->ids[next];
    }
    fr_kv_commit(&t->kv, path, n);
}

fr_status fr_known_text_read(fr_known_text *t, fr_known_reader *r, const int *taps, int n_taps,
                             const int32_t *ids, int n, int n_prompt, const fr_sampling *sampling,
                             fr_error *err) {
    fr_status st = FR_OK;
    int same = 0;
    assert(n <= t->kv.n_ctx && n_prompt >= 1 && n_prompt <= n);
    for (int i = 0; i < n_taps && !st; i++)
        if (!has_tap(t, taps[i])) st = add_tap(t, taps[i], err);
    if (st) return st;
    while (same < n && same < t->kv.n_committed && t->ids[same] == ids[same])
        same++;
    // Prompts are given; tokens of answers stand as they were compared.
    const int given = same < n_prompt ? same : n_prompt,
              sound = t->n_sound < same ? t->n_sound : same;
    if (same == n) { // what stands after serves again
        if (t->n_sound < given) t->n_sound = given;
        return FR_OK;
    }
    // The last token that is the same is read again, as the one after it was not compared.
    fr_kv_truncate(&t->kv, same ? same - 1 : 0);
    t->n_sound = given > sound ? given : sound;
    if (t->n_sound < 1) t->n_sound = 1;
    memcpy(t->ids, ids, sizeof *ids * (size_t)n);
    fr_sampler_begin(&r->sampler, sampling, n_prompt);
    while (t->kv.n_committed < n) {
        const int left = n - t->kv.n_committed;
        read_chunk(t, r, left < FR_PREFILL_ROWS ? left : FR_PREFILL_ROWS, n_prompt, n);
    }
    return FR_OK;
}

// ---------------------------------------------------------------- what was read

bool fr_known_text_has(const fr_known_text *t, const int32_t *ids, int n) {
    return n <= t->n_sound && !memcmp(t->ids, ids, sizeof *ids * (size_t)n);
}

const float *fr_known_text_final(const fr_known_text *t, int at) {
    assert(at >= 0 && at < t->kv.n_committed);
    return t->final + (size_t)at * (size_t)t->model->config.d;
}

const float *fr_known_text_tap(const fr_known_text *t, int layer, int at) {
    assert(at >= 0 && at < t->kv.n_committed && has_tap(t, layer));
    return t->tap[place_of(t, layer)] + (size_t)at * (size_t)t->model->config.d;
}
