#include "draft/model/small_model.h"
#include "draft/kit/vocab_match.h"

typedef struct small_weights {
    fr_shared_part part;
    fr_gguf *gguf;
    fr_model model;
    int n_common;
} small_weights;

static fr_status match_vocabularies(small_weights *w, const fr_tokenizer *target, fr_error *err) {
    fr_tokenizer *own;
    fr_status st = fr_tokenizer_open(&own, w->gguf, err);
    if (st) return st;
    w->n_common = fr_vocab_match(target, own, err);
    if (w->n_common < 0) st = FR_EUNSUP;
    fr_tokenizer_close(own);
    fr_gguf_release_all(w->gguf);
    return st;
}

static fr_status open_model(small_weights *w, const fr_model *target, fr_error *err) {
    const fr_weights weights = target->scratch ? FR_WEIGHTS_IN_PLACE : FR_WEIGHTS_PACKED;
    const fr_status st =
        fr_model_open(&w->model, w->gguf, target->kern, target->pool, weights, NULL, NULL, err);
    if (st) return st;
    const int rows = w->model.config.n_vocab;
    if (w->n_common > rows) w->n_common = rows;
    // A target that is itself a draft model may have fewer rows than its tokenizer has tokens.
    if (w->n_common > target->config.n_vocab) w->n_common = target->config.n_vocab;
    return FR_OK;
}

static void close_weights(fr_shared_part *p) {
    small_weights *w = (small_weights *)p;
    fr_model_close(&w->model);
    fr_gguf_close(w->gguf);
}

static fr_status open_weights(fr_shared_part *p, const char *path, const fr_drafter_config *config,
                              const void *with, fr_error *err) {
    small_weights *w = (small_weights *)p;
    (void)with;
    fr_status st = fr_gguf_open(&w->gguf, path, err);
    if (!st) st = match_vocabularies(w, config->tokenizer, err);
    if (!st) st = open_model(w, config->model, err);
    if (st) close_weights(p);
    return st;
}

static const fr_shared_kind KIND = {
    .bytes = sizeof(small_weights), .open = open_weights, .close = close_weights};

fr_status fr_small_model_open(fr_small_model *s, const char *path, const fr_drafter_config *config,
                              fr_error *err) {
    *s = (fr_small_model){.n_ctx = config->n_ctx};
    const fr_status st = fr_shared_take(&s->weights, &KIND, path, config, NULL, err);
    if (st) return st;
    const small_weights *w = (const small_weights *)s->weights;
    s->model = &w->model;
    s->n_common = w->n_common;
    if (s->n_ctx > w->model.config.n_ctx_train) s->n_ctx = w->model.config.n_ctx_train;
    return FR_OK;
}

void fr_small_model_close(fr_small_model *s) {
    fr_shared_give_back(s->weights);
    *s = (fr_small_model){0};
}

bool fr_small_model_can_read(const fr_small_model *s, const int32_t *ids, int known, int n) {
    if (n > s->n_ctx) return false;
    for (int i = known; i < n; i++)
        if (ids[i] >= s->n_common) return false;
    return true;
}
