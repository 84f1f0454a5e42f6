// second_model.c — opens a small model with its KV, and keeps its text equal to the target's. A
// step reads the new tokens, runs passes over guesses in scratch slots, and commits the accepted
// ones.
#include "draft/model/second_model.h"
#include "tree/tree.h"
#include <assert.h>
#include <string.h>

static fr_status open_parts(fr_second_model *s, fr_draft_batches *batches, fr_error *err) {
    const fr_model *m = s->small.model;
    const int n_ctx = s->small.n_ctx;
    const fr_forward_limits limits = {
        .max_rows = FR_SECOND_MODEL_CHUNK, .max_logits = FR_SECOND_MODEL_LOGITS, .n_ctx = n_ctx};
    fr_status st;
    if ((st = fr_kv_open(&s->kv, &m->config, n_ctx, FR_KV_F16, err))) return st;
    if ((st = fr_draft_batch_take(&s->batch, m, &limits, batches, err))) return st;
    s->ids = fr_alloc_array((size_t)n_ctx + FR_TREE_MAX_DEPTH + 2, sizeof *s->ids);
    return s->ids ? FR_OK : fr_fail(err, FR_ENOMEM, "no memory for %d tokens", n_ctx);
}

fr_status fr_second_model_open(fr_second_model *s, const char *path,
                               const fr_drafter_config *config, fr_error *err) {
    *s = (fr_second_model){.ids = NULL};
    fr_status st = fr_small_model_open(&s->small, path, config, err);
    if (!st) st = open_parts(s, config->batches, err);
    if (st) fr_second_model_close(s);
    return st;
}

void fr_second_model_close(fr_second_model *s) {
    fr_free(s->ids);
    fr_draft_batch_give_back(s->batch);
    fr_kv_close(&s->kv);
    fr_small_model_close(&s->small);
    *s = (fr_second_model){0};
}

bool fr_second_model_is_sound(const fr_second_model *s) {
    if (!fr_kv_is_sound(&s->kv) || s->kv.n_committed > s->small.n_ctx) return false;
    for (int i = 0; i < s->kv.n_committed; i++)
        if (s->ids[i] < 0 || s->ids[i] >= s->small.n_common) return false;
    return true;
}

void fr_second_model_stretch(fr_second_model *s, int n) {
    fr_kv_stretch(&s->kv, fr_model_stretches(s->small.model, n - 1));
}

void fr_second_model_keep(fr_second_model *s, const int32_t *ids, int n) {
    int same = 0;
    fr_second_model_stretch(s, n);
    while (same < s->kv.n_committed && same < n - 1 && s->ids[same] == ids[same])
        same++;
    fr_kv_truncate(&s->kv, same);
    assert(fr_second_model_is_sound(s));
}

bool fr_second_model_can_read(const fr_second_model *s, const int32_t *ids, int n) {
    return fr_small_model_can_read(&s->small, ids, s->kv.n_committed, n);
}

static bool put(fr_second_model *s, const fr_row *rows, int n) {
    s->first = fr_draft_batch_put(s->batch, rows, n, &s->kv, NULL);
    s->n_rows = n;
    return s->first >= 0;
}

bool fr_second_model_put_text(fr_second_model *s, const int32_t *ids, int n) {
    fr_row rows[FR_SECOND_MODEL_CHUNK] = {{0}};
    const int at = s->kv.n_committed,
              m = n - at < FR_SECOND_MODEL_CHUNK ? n - at : FR_SECOND_MODEL_CHUNK;
    assert(m > 0 && n <= s->small.n_ctx);
    for (int i = 0; i < m; i++)
        rows[i] = fr_row_token(ids[at + i], i - 1, at + i == n - 1 ? FR_WANT_LOGITS : 0);
    return put(s, rows, m);
}

bool fr_second_model_took_text(fr_second_model *s, const int32_t *ids, int n) {
    int path[FR_SECOND_MODEL_CHUNK];
    const int at = s->kv.n_committed;
    for (int i = 0; i < s->n_rows; i++)
        path[i] = i;
    fr_kv_commit(&s->kv, path, s->n_rows);
    memcpy(s->ids + at, ids + at, sizeof *ids * (size_t)s->n_rows);
    assert(fr_second_model_is_sound(s));
    return s->kv.n_committed == n;
}

float *fr_second_model_last_logits(fr_second_model *s) {
    return fr_second_model_logits(s, s->n_rows - 1);
}

bool fr_second_model_put_guesses(fr_second_model *s, const int32_t *ids, const int *parent, int n) {
    fr_row rows[FR_SECOND_MODEL_LOGITS] = {{0}};
    for (int i = 0; i < n; i++)
        rows[i] =
            fr_row_token(ids[i], parent[i] < 0 ? FR_PARENT_COMMITTED : FR_PARENT_SLOT(parent[i]),
                         FR_WANT_LOGITS);
    return put(s, rows, n);
}

int fr_second_model_slot(const fr_second_model *s, int row) {
    return fr_forward_slot(s->batch->forward, s->first + row);
}

float *fr_second_model_logits(fr_second_model *s, int row) {
    return fr_forward_logits(s->batch->forward, s->first + row);
}

void fr_second_model_commit(fr_second_model *s, const int32_t *ids, const int *path, int n) {
    assert(s->kv.n_committed + n <= s->small.n_ctx);
    memcpy(s->ids + s->kv.n_committed, ids, sizeof *ids * (size_t)n);
    fr_kv_commit(&s->kv, path, n);
}
