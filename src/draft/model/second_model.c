// second_model.c — opens a small model with its KV and keeps what it read of the text in step with
// the target's. A step reads what is new, runs passes over guesses in scratch slots, and commits
// those that were accepted.
#include "draft/model/second_model.h"
#include "tree/tree.h"
#include <assert.h>
#include <string.h>

static fr_status open_parts(fr_second *s, fr_error *err) {
    const fr_model *m = s->small.model;
    const int n_ctx = s->small.n_ctx;
    const fr_forward_limits limits = {
        .max_rows = FR_SECOND_CHUNK, .max_logits = FR_SECOND_LOGITS, .n_ctx = n_ctx};
    fr_status st;
    if ((st = fr_kv_open(&s->kv, &m->config, n_ctx, FR_KV_F16, err))) return st;
    if ((st = fr_forward_open(&s->forward, m, &limits, err))) return st;
    s->ids = fr_alloc_array((size_t)n_ctx + FR_TREE_MAX_DEPTH + 2, sizeof *s->ids);
    return s->ids ? FR_OK : fr_fail(err, FR_ENOMEM, "no memory for %d tokens", n_ctx);
}

fr_status fr_second_open(fr_second *s, const char *path, const fr_drafter_config *config,
                         fr_error *err) {
    *s = (fr_second){.ids = NULL};
    fr_status st = fr_small_model_open(&s->small, path, config, err);
    if (!st) st = open_parts(s, err);
    if (st) fr_second_close(s);
    return st;
}

void fr_second_close(fr_second *s) {
    fr_free(s->ids);
    fr_forward_close(s->forward);
    fr_kv_close(&s->kv);
    fr_small_model_close(&s->small);
    *s = (fr_second){0};
}

bool fr_second_is_sound(const fr_second *s) {
    if (!fr_kv_is_sound(&s->kv) || s->kv.n_committed > s->small.n_ctx) return false;
    for (int i = 0; i < s->kv.n_committed; i++)
        if (s->ids[i] < 0 || s->ids[i] >= s->small.n_common) return false;
    return true;
}

void fr_second_stretch(fr_second *s, int n) {
    fr_kv_stretch(&s->kv, fr_model_stretches(s->small.model, n - 1));
}

void fr_second_keep(fr_second *s, const int32_t *ids, int n) {
    int same = 0;
    fr_second_stretch(s, n);
    while (same < s->kv.n_committed && same < n - 1 && s->ids[same] == ids[same])
        same++;
    fr_kv_truncate(&s->kv, same);
    assert(fr_second_is_sound(s));
}

bool fr_second_can_read(const fr_second *s, const int32_t *ids, int n) {
    return fr_small_model_can_read(&s->small, ids, s->kv.n_committed, n);
}

float *fr_second_read(fr_second *s, const int32_t *ids, int n) {
    fr_row rows[FR_SECOND_CHUNK];
    int path[FR_SECOND_CHUNK], m = 0;
    assert(s->kv.n_committed < n && n <= s->small.n_ctx);
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
    assert(fr_second_is_sound(s));
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
    assert(s->kv.n_committed + n <= s->small.n_ctx);
    memcpy(s->ids + s->kv.n_committed, ids, sizeof *ids * (size_t)n);
    fr_kv_commit(&s->kv, path, n);
}
