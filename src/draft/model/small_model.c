#include "draft/model/small_model.h"
#include "draft/kit/vocab_match.h"

static fr_status match_vocabularies(fr_small_model *s, const fr_tokenizer *target, fr_error *err) {
    fr_tokenizer *own;
    fr_status st = fr_tokenizer_open(&own, s->gguf, err);
    if (st) return st;
    s->n_common = fr_vocab_match(target, own, err);
    if (s->n_common < 0) st = FR_EUNSUP;
    fr_tokenizer_close(own);
    fr_gguf_release_all(s->gguf);
    return st;
}

static fr_status open_weights(fr_small_model *s, const fr_model *target, fr_error *err) {
    const fr_weights weights = target->scratch ? FR_WEIGHTS_IN_PLACE : FR_WEIGHTS_PACKED;
    const fr_status st =
        fr_model_open(&s->model, s->gguf, target->kern, target->pool, weights, NULL, NULL, err);
    if (st) return st;
    const fr_config *c = &s->model.config;
    if (s->n_common > c->n_vocab) s->n_common = c->n_vocab;
    // A target that is itself a draft model may have fewer rows than its tokenizer has tokens.
    if (s->n_common > target->config.n_vocab) s->n_common = target->config.n_vocab;
    if (s->n_ctx > c->n_ctx_train) s->n_ctx = c->n_ctx_train;
    return FR_OK;
}

fr_status fr_small_model_open(fr_small_model *s, const char *path, const fr_model *target,
                              const fr_tokenizer *tokenizer, int n_ctx, fr_error *err) {
    *s = (fr_small_model){.n_ctx = n_ctx};
    fr_status st = fr_gguf_open(&s->gguf, path, err);
    if (!st) st = match_vocabularies(s, tokenizer, err);
    if (!st) st = open_weights(s, target, err);
    if (st) fr_small_model_close(s);
    return st;
}

void fr_small_model_close(fr_small_model *s) {
    fr_model_close(&s->model);
    fr_gguf_close(s->gguf);
    *s = (fr_small_model){0};
}

bool fr_small_model_can_read(const fr_small_model *s, const int32_t *ids, int known, int n) {
    if (n > s->n_ctx) return false;
    for (int i = known; i < n; i++)
        if (ids[i] >= s->n_common) return false;
    return true;
}
