// request.c — reads and checks the request of a generation.
#include "base/sized.h"
#include "engine/session.h"
#include <limits.h>
#include <math.h>
#include <string.h>

FR_SIZED_ENDS_WITH(fr_request, n_stop_tokens);
FR_SIZED_ENDS_WITH(fr_sampling, seed);

bool fr_is_listed(const int32_t *ids, size_t n, int32_t token) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] == token) return true;
    return false;
}

// Whether it is an end, and no stop token of the request.
static bool is_forbidden(const fr_generation *g, int32_t id) {
    return fr_token_is_end(g->s->engine->tokenizer, id) &&
           !fr_is_listed(g->request.stop_tokens, g->request.n_stop_tokens, id);
}

// What stands after an end is another turn, so none is drawn. Lists that are wrong stay as they are,
// for the check.
static fr_status forbid_ends(fr_generation *g, fr_error *err) {
    const int n_vocab = g->s->engine->model.config.n_vocab;
    fr_sampling *s = &g->sampling;
    int n = 0;
    if (s->n_bias < 0 || (s->n_bias && !s->bias)) return FR_OK;
    if (g->request.n_stop_tokens && !g->request.stop_tokens) return FR_OK;
    for (int32_t id = 0; id < n_vocab; id++)
        n += is_forbidden(g, id);
    g->bias = fr_alloc_array((size_t)s->n_bias + (size_t)n, sizeof *g->bias);
    if (!g->bias) return fr_fail(err, FR_ENOMEM, "logit-bias: no memory for %d ends", n);
    if (s->n_bias) memcpy(g->bias, s->bias, (size_t)s->n_bias * sizeof *g->bias);
    for (int32_t id = 0; id < n_vocab; id++)
        if (is_forbidden(g, id)) g->bias[s->n_bias++] = (fr_logit_bias){id, -INFINITY};
    s->bias = g->bias;
    return FR_OK;
}

static fr_status copy_request(fr_generation *g, const fr_request *request, fr_error *err) {
    fr_status st = fr_sized_read(&g->request, sizeof g->request, request, "fr_request", err);
    if (st) return st;
    st = fr_sized_read(&g->sampling, sizeof g->sampling, g->request.sampling, "fr_sampling", err);
    g->request.sampling = &g->sampling;
    return st || !g->request.ignore_eos ? st : forbid_ends(g, err);
}

fr_status fr_generation_check_ids(const fr_generation *g, const char *what, const int32_t *ids,
                                  int n, fr_error *err) {
    const int n_vocab = g->s->engine->model.config.n_vocab;
    if (n < 0 || (n && !ids))
        return fr_fail(err, FR_EARG, "%s: expected ids and how many, found %s and %d", what,
                       ids ? "ids" : "none", n);
    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= n_vocab)
            return fr_fail(err, FR_EARG, "%s: expected token ids below %d, found %d at %d", what,
                           n_vocab, ids[i], i);
    return FR_OK;
}

// A number that check_ids takes; of too many one that it refuses.
static int count_of(size_t n) {
    return n < INT_MAX ? (int)n : -1;
}

static fr_status check_lists(const fr_generation *g, fr_error *err) {
    const fr_request *r = &g->request;
    fr_status st = fr_generation_check_ids(g, "prompt", r->prompt, r->n_prompt, err);
    if (!st) st = fr_generation_check_ids(g, "prediction", r->prediction, r->n_prediction, err);
    if (!st) st = fr_generation_check_ids(g, "shown", r->shown, count_of(r->n_shown), err);
    if (!st)
        st = fr_generation_check_ids(g, "stop tokens", r->stop_tokens, count_of(r->n_stop_tokens),
                                     err);
    return st;
}

static fr_status check_request(const fr_generation *g, fr_error *err) {
    const fr_request *r = &g->request;
    const int n_ctx = g->s->decoder.n_ctx;
    if (r->n_prompt < 1)
        return fr_fail(err, FR_EARG, "prompt: expected at least one token, found none");
    if (r->n_prompt >= n_ctx)
        return fr_fail(err, FR_ECONTEXT,
                       "prompt: expected less than the context of %d tokens, found %d", n_ctx,
                       r->n_prompt);
    if (r->n_predict < -1)
        return fr_fail(err, FR_EARG, "n-predict: expected -1 or more, found %d", r->n_predict);
    const fr_status st = check_lists(g, err);
    if (st) return st;
    if (r->top_logprobs < 0 || r->top_logprobs > FR_TOP_LOGPROBS)
        return fr_fail(err, FR_EARG, "top-logprobs: expected 0 to %d, found %d", FR_TOP_LOGPROBS,
                       r->top_logprobs);
    if (r->logprobs && g->s->decoder.accept.rule == FR_RULE_TYPICAL)
        return fr_fail(err, FR_EARG, "logprobs: not with accept typical");
    return fr_sampler_check(r->sampling, g->s->engine->model.config.n_vocab, err);
}

fr_status fr_generation_read(fr_generation *g, const fr_request *request, fr_error *err) {
    const fr_status st = copy_request(g, request, err);
    return st ? st : check_request(g, err);
}
