// penalty.c — finds the distinct tokens of a text by stamps, so that nothing has to be cleared
// between calls, and changes the logits of each once.
#include "decode/draw/penalty.h"
#include "base/alloc.h"
#include <math.h>
#include <string.h>

enum { ADDED_MOST = 100 };

fr_status fr_penalty_open(fr_penalty *p, int n_vocab, fr_error *err) {
    *p = (fr_penalty){.n_vocab = n_vocab};
    p->stamp = fr_alloc_array((size_t)n_vocab, sizeof *p->stamp);
    p->count = fr_alloc_array((size_t)n_vocab, sizeof *p->count);
    if (p->stamp && p->count) return FR_OK;
    fr_penalty_close(p);
    return fr_fail(err, FR_ENOMEM, "penalties: cannot get memory for %d tokens", n_vocab);
}

void fr_penalty_close(fr_penalty *p) {
    fr_free(p->stamp);
    fr_free(p->count);
    *p = (fr_penalty){0};
}

// A bias of -infinity on every token would leave none that may come.
static fr_status check_some_left(const fr_sampling *s, int n_vocab, fr_error *err) {
    if (s->n_bias < n_vocab) return FR_OK;
    bool *never = fr_alloc_array((size_t)n_vocab, sizeof *never);
    int left = n_vocab;
    if (!never) return fr_fail(err, FR_ENOMEM, "logit-bias: no memory for %d tokens", n_vocab);
    for (int i = 0; i < s->n_bias; i++) {
        if (s->bias[i].bias != -INFINITY || never[s->bias[i].token]) continue;
        never[s->bias[i].token] = true;
        left--;
    }
    fr_free(never);
    if (left) return FR_OK;
    return fr_fail(err, FR_EARG,
                   "logit-bias: expected a token that may come, found -infinity for %d", n_vocab);
}

fr_status fr_penalty_check(const fr_sampling *s, int n_vocab, fr_error *err) {
    if (!(s->repeat_penalty >= 0 && s->repeat_penalty <= FR_REPEAT_PENALTY_MAX))
        return fr_fail(err, FR_EARG, "repeat-penalty: expected 0 to %d, found %g",
                       FR_REPEAT_PENALTY_MAX, s->repeat_penalty);
    if (s->repeat_last_n < -1)
        return fr_fail(err, FR_EARG, "repeat-last-n: expected -1 or more, found %d",
                       s->repeat_last_n);
    if (!(fabsf(s->frequency_penalty) <= ADDED_MOST))
        return fr_fail(err, FR_EARG, "frequency-penalty: expected %d to %d, found %g", -ADDED_MOST,
                       ADDED_MOST, s->frequency_penalty);
    if (!(fabsf(s->presence_penalty) <= ADDED_MOST))
        return fr_fail(err, FR_EARG, "presence-penalty: expected %d to %d, found %g", -ADDED_MOST,
                       ADDED_MOST, s->presence_penalty);
    if (s->n_bias < 0 || (s->n_bias && !s->bias))
        return fr_fail(err, FR_EARG, "logit-bias: expected a list, found %d entries of none",
                       s->n_bias);
    for (int i = 0; i < s->n_bias; i++) {
        const fr_logit_bias *b = &s->bias[i];
        if (b->token < 0 || b->token >= n_vocab)
            return fr_fail(err, FR_EARG, "logit-bias: expected token ids below %d, found %d",
                           n_vocab, b->token);
        if (!(fabsf(b->bias) <= ADDED_MOST) && b->bias != -INFINITY)
            return fr_fail(err, FR_EARG,
                           "logit-bias of %d: expected %d to %d or -infinity, found %g", b->token,
                           -ADDED_MOST, ADDED_MOST, b->bias);
    }
    return check_some_left(s, n_vocab, err);
}

// Stamps and counts the tokens of ids[0..n); afterwards each stamped token is taken once.
static void count_tokens(fr_penalty *p, const int32_t *ids, int n) {
    if (++p->now == INT32_MAX) {
        memset(p->stamp, 0, sizeof *p->stamp * (size_t)p->n_vocab);
        p->now = 1;
    }
    for (int i = 0; i < n; i++) {
        const int32_t id = ids[i];
        if (p->stamp[id] != p->now) p->count[id] = 0;
        p->stamp[id] = p->now;
        p->count[id]++;
    }
}

static int take(fr_penalty *p, int32_t id) { // its count, or 0 where it was taken before
    if (p->stamp[id] != p->now) return 0;
    p->stamp[id] = 0;
    return p->count[id];
}

static void repeat(fr_penalty *p, const fr_sampling *s, float *logits, const int32_t *ids, int n) {
    count_tokens(p, ids, n);
    for (int i = 0; i < n; i++) {
        float *x = &logits[ids[i]];
        if (take(p, ids[i])) *x = *x > 0 ? *x / s->repeat_penalty : *x * s->repeat_penalty;
    }
}

static void subtract(fr_penalty *p, const fr_sampling *s, float *logits, const int32_t *ids,
                     int n) {
    count_tokens(p, ids, n);
    for (int i = 0; i < n; i++) {
        const int count = take(p, ids[i]);
        if (count) logits[ids[i]] -= (float)count * s->frequency_penalty + s->presence_penalty;
    }
}

void fr_penalise(fr_penalty *p, const fr_sampling *s, float *logits, const int32_t *ids, int n_ids,
                 int n_prompt) {
    const int last = s->repeat_last_n, first = last < 0 || last > n_ids ? 0 : n_ids - last;
    for (int i = 0; i < s->n_bias; i++)
        if (s->bias[i].token < p->n_vocab) logits[s->bias[i].token] += s->bias[i].bias;
    if (s->repeat_penalty != 0 && s->repeat_penalty != 1)
        repeat(p, s, logits, ids + first, n_ids - first);
    if ((s->frequency_penalty != 0 || s->presence_penalty != 0) && n_ids > n_prompt)
        subtract(p, s, logits, ids + n_prompt, n_ids - n_prompt);
}
