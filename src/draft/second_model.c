#include "draft/second_model.h"
#include "draft/vocab_match.h"
#include "tree/tree.h"
#include <assert.h>
#include <string.h>

static fr_status match_vocabularies(fr_second *s, const fr_tokenizer *target, fr_error *err) {
    fr_tokenizer *own;
    fr_status st = fr_tokenizer_open(&own, s->gguf, err);
    if (st) return st;
    s->n_common = fr_vocab_match(target, own, err);
    if (s->n_common < 0) st = FR_EUNSUP;
    fr_tokenizer_close(own);
    fr_gguf_release_all(s->gguf);
    return st;
}

static fr_status open_parts(fr_second *s, const fr_model *target, fr_error *err) {
    const fr_weights weights = target->scratch ? FR_WEIGHTS_IN_PLACE : FR_WEIGHTS_PACKED;
    const fr_forward_limits limits = {
        .max_rows = FR_SECOND_CHUNK, .max_logits = FR_SECOND_LOGITS, .n_ctx = s->n_ctx};
    fr_status st =
        fr_model_open(&s->model, s->gguf, target->kern, target->pool, weights, NULL, NULL, err);
    if (st) return st;
    const int n_vocab = s->model.config.n_vocab;
    if (s->n_common > n_vocab) s->n_common = n_vocab;
    if (s->n_ctx > s->model.config.n_ctx_train) s->n_ctx = s->model.config.n_ctx_train;
    if ((st = fr_kv_open(&s->kv, &s->model.config, s->n_ctx, FR_KV_F16, err))) return st;
    if ((st = fr_forward_open(&s->forward, &s->model, &limits, err))) return st;
    s->ids = fr_alloc_array((size_t)s->n_ctx + FR_TREE_MAX_DEPTH + 2, sizeof *s->ids);
    return s->ids ? FR_OK : fr_fail(err, FR_ENOMEM, "no memory for %d tokens", s->n_ctx);
}

fr_status fr_second_open(fr_second *s, const char *path, const fr_model *target,
                         const fr_tokenizer *tokenizer, int n_ctx, fr_error *err) {
    *s = (fr_second){.n_ctx = n_ctx};
    fr_status st = fr_gguf_open(&s->gguf, path, err);
    if (!st) st = match_vocabularies(s, tokenizer, err);
    if (!st) st = open_parts(s, target, err);
    if (st) fr_second_close(s);
    return st;
}

void fr_second_close(fr_second *s) {
    fr_free(s->ids);
    fr_forward_close(s->forward);
    fr_kv_close(&s->kv);
    fr_model_close(&s->model);
    fr_gguf_close(s->gguf);
    *s = (fr_second){0};
}

void fr_second_keep(fr_second *s, const int32_t *ids, int n) {
    int same = 0;
    while (same < s->kv.n_committed && same < n - 1 && s->ids[same] == ids[same])
        same++;
    fr_kv_truncate(&s->kv, same);
}

bool fr_second_can_read(const fr_second *s, const int32_t *ids, int n) {
    if (n > s->n_ctx) return false;
    for (int i = s->kv.n_committed; i < n; i++)
        if (ids[i] >= s->n_common) return false;
    return true;
}

float *fr_second_read(fr_second *s, const int32_t *ids, int n) {
    fr_row rows[FR_SECOND_CHUNK];
    int path[FR_SECOND_CHUNK], m = 0;
    assert(s->kv.n_committed < n && n <= s->n_ctx);
    while (s->kv.n_committed < n) {
        const int at = s->kv.n_committed;
        m = n - at < FR_SECOND_CHUNK ? n - at : FR_SECOND_CHUNK;
        for (int i = 0; i < m; i++) {
            rows[i] = fr_row_token(ids[at + i], i - 1, at + i == n - 1 ? FR_WANT_LOGITS : 0);
            path[i] = i;
        }
        fr_forward_run(
            s->forward,
            &(fr_pass){.rows = rows, .n_rows = m, .kv = (fr_kv *[]){&s->kv}, .n_seq = 1});
        fr_kv_commit(&s->kv, path, m);
        memcpy(s->ids + at, ids + at, sizeof *ids * (size_t)m);
    }
    return fr_forward_logits(s->forward, m - 1);
}

void fr_second_guess(fr_second *s, const int32_t *ids, const int *parent, int n, int *slot) {
    fr_row rows[FR_SECOND_LOGITS];
    for (int i = 0; i < n; i++)
        rows[i] =
            fr_row_token(ids[i], parent[i] < 0 ? FR_PARENT_COMMITTED : FR_PARENT_SLOT(parent[i]),
                         FR_WANT_LOGITS);
    fr_forward_run(s->forward,
                   &(fr_pass){.rows = rows, .n_rows = n, .kv = (fr_kv *[]){&s->kv}, .n_seq = 1});
    for (int i = 0; i < n; i++)
        slot[i] = fr_forward_slot(s->forward, i);
}

float *fr_second_logits(fr_second *s, int row) {
    return fr_forward_logits(s->forward, row);
}

void fr_second_commit(fr_second *s, const int32_t *ids, const int *path, int n) {
    assert(s->kv.n_committed + n <= s->n_ctx);
    memcpy(s->ids + s->kv.n_committed, ids, sizeof *ids * (size_t)n);
    fr_kv_commit(&s->kv, path, n);
}
