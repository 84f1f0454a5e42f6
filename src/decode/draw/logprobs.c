// logprobs.c — one sum over the row gives the logarithm that all logits are less; one more walk finds
// the likeliest.
#include "decode/draw/logprobs.h"
#include "base/alloc.h"
#include "kern/math.h"
#include <math.h>
#include <string.h>

fr_status fr_logprob_scorer_open(fr_logprob_scorer *s, const fr_kern *kern, int n_vocab,
                                 fr_error *err) {
    *s = (fr_logprob_scorer){.kern = kern, .n_vocab = n_vocab};
    s->x = fr_alloc_array((size_t)n_vocab, sizeof *s->x);
    s->w = fr_alloc_array((size_t)n_vocab, sizeof *s->w);
    if (s->x && s->w) return FR_OK;
    fr_logprob_scorer_close(s);
    return fr_fail(err, FR_ENOMEM, "logprobs: cannot get memory for %d tokens", n_vocab);
}

void fr_logprob_scorer_close(fr_logprob_scorer *s) {
    fr_free(s->x);
    fr_free(s->w);
    *s = (fr_logprob_scorer){0};
}

void fr_logprob_scorer_keep(fr_logprob_scorer *s, const float *logits) {
    memcpy(s->x, logits, sizeof *s->x * (size_t)s->n_vocab);
}

static void insert(fr_logprobs *out, int most, int32_t id, float x) {
    int at = out->n_top < most ? out->n_top++ : most - 1;
    for (; at > 0 && out->top[at - 1].logprob < x; at--)
        out->top[at] = out->top[at - 1];
    out->top[at] = (fr_logprob){id, x};
}

void fr_logprob_scorer_score(fr_logprob_scorer *s, int32_t id, fr_logprobs *out) {
    const float best = s->x[s->kern->argmax(s->x, s->n_vocab)];
    const uint64_t total = s->kern->weigh(s->w, s->x, s->n_vocab, best, 1, -INFINITY);
    const float log_sum = best + fr_log((float)((double)total / (double)FR_FIXED_ONE));
    *out = (fr_logprobs){.logprob = s->x[id] - log_sum};
    float least = -INFINITY;
    for (int i = 0; i < s->n_vocab && s->n_top; i++) {
        if (out->n_top == s->n_top && !(s->x[i] > least)) continue;
        insert(out, s->n_top, i, s->x[i]);
        least = out->top[out->n_top - 1].logprob;
    }
    for (int i = 0; i < out->n_top; i++)
        out->top[i].logprob -= log_sum;
}

void fr_drawn_logprobs(fr_sampler *s, int32_t id, int n_top, fr_logprobs *out) {
    const fr_chance *dist;
    const int n = fr_sampler_dist(s, &dist);
    *out = (fr_logprobs){.logprob = -INFINITY};
    for (int i = 0; i < n; i++) {
        const float p = dist[i].p;
        if (dist[i].id == id) out->logprob = fr_log(p);
        if (out->n_top < n_top || (n_top && p > out->top[n_top - 1].logprob))
            insert(out, n_top, dist[i].id, p);
    }
    for (int i = 0; i < out->n_top; i++)
        out->top[i].logprob = fr_log(out->top[i].logprob);
}
