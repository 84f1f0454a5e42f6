// passes.c — plain passes over ids.
#include "cmd/lib/passes.h"
#include "engine/engine.h"
#include "model/finite.h"
#include <math.h>

fr_status fr_passes_open(fr_passes *p, fr_engine *engine, int n_ctx, int max_rows,
                         const char *kv_type, fr_error *err) {
    *p = (fr_passes){.engine = engine};
    const int most = engine->model.config.n_ctx_train;
    if (n_ctx > most)
        return fr_fail(err, FR_ECONTEXT, "%d tokens do not fit the model's context of %d", n_ctx,
                       most);
    const fr_forward_limits limits = {.max_rows = max_rows, .max_logits = max_rows};
    fr_kv_type type;
    fr_status st = fr_kv_type_of(&type, kv_type, err);
    if (!st) st = fr_kv_open(&p->kv, &engine->model.config, n_ctx, type, err);
    if (!st) st = fr_forward_open(&p->forward, &engine->model, &limits, err);
    return st;
}

void fr_passes_close(fr_passes *p) {
    fr_forward_close(p->forward);
    fr_kv_close(&p->kv);
    *p = (fr_passes){0};
}

// One chain of n rows at the end of what is committed.
static void run_chunk(fr_passes *p, const int32_t *ids, int n, int from) {
    fr_row rows[FR_PASSES_ROWS];
    int path[FR_PASSES_ROWS];
    fr_kv *kv = &p->kv;
    for (int i = 0; i < n; i++) {
        rows[i] =
            fr_row_token(ids[i], i ? i - 1 : FR_PARENT_COMMITTED, i >= from ? FR_WANT_LOGITS : 0);
        path[i] = i;
    }
    fr_forward_run(p->forward, &(fr_pass){.rows = rows, .n_rows = n, .kv = &kv, .n_seq = 1});
    fr_kv_commit(kv, path, n);
}

static fr_status read_rows(fr_passes *p, const int32_t *ids, int n, int from, fr_logits_fn *fn,
                           void *user, fr_error *err) {
    const int n_vocab = p->engine->model.config.n_vocab;
    fr_kv_truncate(&p->kv, 0);
    for (int at = 0; at < n; at += FR_PASSES_ROWS) {
        const int rows = n - at < FR_PASSES_ROWS ? n - at : FR_PASSES_ROWS;
        if (fr_cmd_interrupted()) return fr_fail(err, FR_EINTR, "interrupted");
        run_chunk(p, ids + at, rows, from - at);
        for (int i = from > at ? from - at : 0; i < rows; i++) {
            float *logits = fr_forward_logits(p->forward, i);
            if (!fr_are_logits(logits, n_vocab))
                return fr_logits_refuse(logits, n_vocab, at + i + 1, err);
            if (!fn(user, at + i, logits)) return fr_fail(err, FR_EINTR, "interrupted");
        }
    }
    return FR_OK;
}

fr_status fr_passes_read(fr_passes *p, const int32_t *ids, int n, int from, fr_logits_fn *fn,
                         void *user, fr_error *err) {
    const int n_vocab = p->engine->model.config.n_vocab;
    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= n_vocab)
            return fr_fail(err, FR_EARG, "token id %d at %d: the vocabulary ends at %d", ids[i], i,
                           n_vocab - 1);
    // Rows whose keys LongRoPE rotates by another table than those before them are read separately.
    const int at = fr_model_stretch_at(&p->engine->model), brief = n < at ? n : at;
    fr_status st = FR_OK;
    fr_kv_stretch(&p->kv, false);
    if (n <= at || from < at) st = read_rows(p, ids, brief, from, fn, user, err);
    if (st || n <= at) return st;
    fr_kv_stretch(&p->kv, true);
    return read_rows(p, ids, n, from > at ? from : at, fn, user, err);
}

double fr_logsumexp(const float *logits, int n) {
    float most = logits[0];
    for (int i = 1; i < n; i++)
        if (logits[i] > most) most = logits[i];
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += exp((double)logits[i] - (double)most);
    return (double)most + log(sum);
}
