#include "serve/counters.h"
#include <string.h>

// ---------------------------------------------------------------- histograms

static const double SECONDS[] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
                                 5,    10,    20,   40,  80,   160, 0};
static const double GAPS[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075,
                              0.1,   0.15,   0.2,   0.3,  0.5,   1,    0};
static const double TOKENS[] = {1,    4,    16,   64,   128,   256,   512,
                                1024, 2048, 4096, 8192, 16384, 65536, 0};
static const double ROWS[] = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 0};

static void add(fr_histogram *h, double value) {
    int i = 0;
    while (h->bound[i] > 0 && value > h->bound[i])
        i++;
    h->count[i]++;
    h->n++;
    h->sum += value;
}

void fr_counters_open(fr_counters *t) {
    *t = (fr_counters){0};
    t->first_token.bound = t->end_to_end.bound = t->queued.bound = SECONDS;
    t->between_tokens.bound = GAPS;
    t->prompt.bound = t->answer.bound = TOKENS;
    t->rows.bound = t->pass_tokens.bound = ROWS;
}

// ---------------------------------------------------------------- counting

static void count_drafts(fr_counters *t, const fr_stats *s) {
    t->drafts += (uint64_t)(s->passes - s->plain_passes);
    t->drafted += (uint64_t)(s->rows > s->passes ? s->rows - s->passes : 0);
    for (int i = 0; i < FR_MAX_DEPTH; i++)
        t->accepted[i] += (uint64_t)s->accepted[i];
}

static void count_times(fr_counters *t, const fr_job *job, double now) {
    add(&t->queued, job->started - job->submitted);
    add(&t->end_to_end, now - job->submitted);
    const double first = job->first_token > 0 ? job->first_token : now;
    t->reading += first - job->started;
    t->writing += now - first;
    if (job->first_token <= 0) return;
    add(&t->first_token, job->first_token - job->submitted);
    const int later = job->n_tokens - job->n_first;
    if (later > 0) add(&t->between_tokens, (now - job->first_token) / later);
}

uint64_t fr_counters_accepted(const fr_counters *t) {
    uint64_t n = 0;
    for (int i = 0; i < FR_MAX_DEPTH; i++)
        n += t->accepted[i];
    return n;
}

void fr_counters_end(fr_counters *t, const fr_job *job, fr_job_end end, const fr_stats *stats,
                     double now) {
    t->ended[end]++;
    if (!stats) return;
    t->prompt_tokens += (uint64_t)(stats->prompt_tokens - stats->prompt_reused);
    t->reused_tokens += (uint64_t)stats->prompt_reused;
    t->tokens += (uint64_t)stats->completion_tokens;
    add(&t->prompt, stats->prompt_tokens);
    add(&t->answer, stats->completion_tokens);
    const uint64_t all = (uint64_t)(stats->prompt_tokens + stats->completion_tokens);
    if (all > t->most_tokens) t->most_tokens = all;
    count_drafts(t, stats);
    count_times(t, job, now);
}

void fr_counters_pass(fr_counters *t, const fr_group_pass *pass, int tokens, double seconds) {
    t->busy += seconds;
    if (!pass->rows) return;
    t->passes++;
    t->last = *pass;
    t->last_tokens = tokens;
    t->sessions += (uint64_t)pass->sessions;
    t->passed += pass->seconds;
    t->predicted += pass->predicted;
    add(&t->rows, pass->rows);
    add(&t->pass_tokens, tokens);
}
