// latency.c — fills a near and a far context, then times passes of every row count, trunk and head
// apart. What a longer context adds comes from pairs of near and far passes, and what an expert
// takes from pairs of passes whose rows choose apart and alike.
#include "tune/latency.h"
#include "base/clock.h"
#include <stdlib.h>

enum { MOST_ROWS = 64, NEAR = 64, FAR = 1024, ROUNDS_MAX = 15, DECODE_ROWS = 12 };
enum { FILL = 16 }; // rows of a pass that fills a context
// A median of three is wrong after one bad moment, so there are more pairs than rounds.
enum { MORE_PAIRS = 2, PAIRS_MAX = ROUNDS_MAX + MORE_PAIRS };
typedef struct points { // row counts that are measured
    int n, rows[FR_COST_POINTS];
} points;
static const points SMOOTH = {12, {1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, MOST_ROWS}};
// Kernels that work in tiles of 16 rows: both sides of every step.
static const points STAIR = {16, {1, 2, 3, 4, 6, 8, 10, 12, 16, 17, 24, 32, 33, 48, 49, MOST_ROWS}};
static const int KEY_ROWS[2] = {1, 8}; // what context adds is taken at these
enum { EXPERT_ROWS = 8 };              // what an expert takes is taken at these

typedef struct bench { // everything that a measurement holds
    const fr_model *m;
    const points *points;
    fr_kv near, far;
    fr_forward *forward;
    float *hidden, *logits; // [MOST_ROWS][d], [MOST_ROWS][n_vocab]
    fr_row rows[NEAR];
    int first; // token of the next pass
    fr_progress_fn *progress;
    void *user;
    uint64_t done, total;
} bench;

// Other tokens each, as in a text, and in every pass: experts that the last one read may lie in a
// cache.
static int32_t token(const bench *b, int i) {
    return (int32_t)((b->first + i) * 7919LL % b->m->config.n_vocab);
}

static void set_chain(bench *b, int n, uint8_t wants) {
    for (int i = 0; i < n; i++)
        b->rows[i] = fr_row_token(token(b, i), i - 1, wants);
}

// Of one token, which choose the same experts, or of other tokens each.
static void set_siblings(bench *b, int n, bool alike) {
    for (int i = 0; i < n; i++)
        b->rows[i] = fr_row_token(token(b, alike ? 0 : i), FR_PARENT_COMMITTED, FR_WANT_FINAL);
}

static double time_rows(bench *b, fr_kv *kv, int n) {
    b->first += n;
    const double start = fr_seconds();
    fr_forward_run(b->forward, &(fr_pass){.rows = b->rows, .n_rows = n, .kv = &kv, .n_seq = 1});
    const double seconds = fr_seconds() - start;
    fr_kv_drop_scratch(kv);
    return seconds;
}

static double time_trunk(bench *b, fr_kv *kv, int n) {
    set_chain(b, n, FR_WANT_FINAL);
    return time_rows(b, kv, n);
}

static double time_head(bench *b, int n) {
    const double start = fr_seconds();
    fr_forward_head(b->forward, b->hidden, n, b->logits);
    return fr_seconds() - start;
}

static bool has_experts(const bench *b) {
    return b->m->config.experts.n > 0;
}

static bool tell(bench *b) {
    b->done++;
    return !b->progress || b->progress(b->user, "measuring passes", b->done, b->total);
}

static fr_status interrupted(fr_error *err) {
    return fr_fail(err, FR_EINTR, "interrupted while measuring passes");
}

static int least(int a, int b) {
    return a < b ? a : b;
}

static int fill_passes(int n) {
    return (least(n, NEAR) + FILL - 1) / FILL;
}

// Any tokens, in passes short enough to be interrupted between; their keys and values repeat.
static bool fill(bench *b, fr_kv *kv, int n) {
    int slots[FILL];
    const int first = least(n, NEAR);
    for (int at = 0; at < first; at += FILL) {
        const int rows = least(first - at, FILL);
        set_chain(b, rows, 0);
        fr_forward_run(b->forward,
                       &(fr_pass){.rows = b->rows, .n_rows = rows, .kv = &kv, .n_seq = 1});
        for (int i = 0; i < rows; i++)
            slots[i] = fr_forward_slot(b->forward, i);
        fr_kv_commit(kv, slots, rows);
        if (!tell(b)) return false;
    }
    fr_kv_repeat(kv, n);
    return true;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean(const double *v, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[i];
    return sum / n;
}

// The mean of the fastest half. A pass that another program delayed does not predict the next one.
// If decoding is delayed too, the budget's drift follows it. A cost that is too high would never be
// corrected, as rows that seem too expensive are not tried.
static double typical(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return mean(v, (n + 1) / 2);
}

// Mean experts of the passes that typical() means, before it sorts them: those of fewer experts are
// the fast ones.
static double experts_of(const double *seconds, const double *experts, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        int faster = 0;
        for (int j = 0; j < n; j++)
            faster += seconds[j] < seconds[i] || (seconds[j] == seconds[i] && j < i);
        if (faster < (n + 1) / 2) sum += experts[i];
    }
    return sum / ((n + 1) / 2);
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

// The cost is the time of undisturbed passes, but a long run has disturbed ones too. So this is the
// mean pass over the typical one, the median of that over the row counts of decoding.
static double held_up(const points *p, double trunk[][ROUNDS_MAX], double head[][ROUNDS_MAX],
                      int rounds) {
    double ratio[FR_COST_POINTS];
    int n = 0;
    for (; n < p->n && p->rows[n] <= DECODE_ROWS; n++)
        ratio[n] = (mean(trunk[n], rounds) + mean(head[n], rounds)) /
                   (typical(trunk[n], rounds) + typical(head[n], rounds));
    return median(ratio, n);
}

// What context adds is smaller than the host's noise, which changes from second to second. So a
// near and a far pass that follow one another are compared, and the median of the differences
// counts.
static fr_status measure_keys(bench *b, fr_cost *cost, int pairs, fr_error *err) {
    double more[2][PAIRS_MAX];
    for (int i = 0; i < pairs; i++) {
        for (int k = 0; k < 2; k++) {
            const double near = time_trunk(b, &b->near, KEY_ROWS[k]);
            more[k][i] = time_trunk(b, &b->far, KEY_ROWS[k]) - near;
        }
        if (!tell(b)) return interrupted(err);
    }
    const int slots = b->far.n_committed - b->near.n_committed;
    fr_cost_keys(cost, median(more[0], pairs) / slots, KEY_ROWS[1], median(more[1], pairs) / slots);
    return FR_OK;
}

// Passes of unlike and of like rows differ in the experts that they read alone.
static fr_status measure_expert(bench *b, fr_cost *cost, int pairs, fr_error *err) {
    double seconds[PAIRS_MAX];
    for (int i = 0; i < pairs; i++) {
        set_siblings(b, EXPERT_ROWS, true);
        const double alike = time_rows(b, &b->near, EXPERT_ROWS);
        const int few = fr_forward_experts(b->forward);
        set_siblings(b, EXPERT_ROWS, false);
        const double more = time_rows(b, &b->near, EXPERT_ROWS) - alike;
        const int many = fr_forward_experts(b->forward);
        seconds[i] = many > few ? more / (many - few) : 0;
        if (!tell(b)) return interrupted(err);
    }
    fr_cost_set_expert(cost, median(seconds, pairs));
    return FR_OK;
}

static fr_status measure(bench *b, fr_cost *cost, int rounds, fr_error *err) {
    const points *p = b->points;
    double trunk[FR_COST_POINTS][ROUNDS_MAX], head[FR_COST_POINTS][ROUNDS_MAX],
        experts[FR_COST_POINTS][ROUNDS_MAX];
    for (int r = -1; r < rounds; r++) { // the first round only warms up
        const int at = r < 0 ? 0 : r;
        for (int i = 0; i < (r < 0 ? 1 : p->n); i++) {
            trunk[i][at] = time_trunk(b, &b->near, p->rows[i]);
            experts[i][at] = fr_forward_experts(b->forward);
            head[i][at] = time_head(b, p->rows[i]);
            if (!tell(b)) return interrupted(err);
        }
    }
    fr_cost c = {.n = p->n};
    fr_status st = measure_keys(b, &c, rounds + MORE_PAIRS, err);
    if (st) return st;
    for (int i = 0; i < p->n; i++) {
        c.rows[i] = p->rows[i];
        c.experts[i] = experts_of(trunk[i], experts[i], rounds);
        c.trunk[i] = typical(trunk[i], rounds);
        c.head[i] = typical(head[i], rounds);
        const double keys = b->near.n_committed * (c.key + c.key_row * p->rows[i]);
        if (keys < c.trunk[i] / 2) c.trunk[i] -= keys; // to an empty context
    }
    if (has_experts(b) && (st = measure_expert(b, &c, rounds + MORE_PAIRS, err))) return st;
    fr_cost_smooth(&c);
    c.held = held_up(p, trunk, head, rounds);
    *cost = c;
    return FR_OK;
}

// Contexts of `near` and `far` tokens, still empty; rows that are like no text's. After an error
// close_bench has to be called too.
static fr_status open_bench(bench *b, int near, int far, fr_error *err) {
    const fr_config *c = &b->m->config;
    const fr_forward_limits limits = {.max_rows = NEAR, .max_logits = 1, .n_ctx = far};
    fr_status st = fr_kv_open(&b->near, c, near, FR_KV_F16, err);
    if (!st) st = fr_kv_open(&b->far, c, far, FR_KV_F16, err);
    if (!st) st = fr_forward_open(&b->forward, b->m, &limits, err);
    if (st) return st;
    b->hidden = fr_alloc_array((size_t)MOST_ROWS * (size_t)c->d, sizeof *b->hidden);
    b->logits = fr_alloc_array((size_t)MOST_ROWS * (size_t)c->n_vocab, sizeof *b->logits);
    if (!b->hidden || !b->logits)
        return fr_fail(err, FR_ENOMEM, "measuring passes: cannot get memory for %d rows",
                       MOST_ROWS);
    for (int i = 0; i < MOST_ROWS * c->d; i++)
        b->hidden[i] = (float)(i % 13) - 6;
    return FR_OK;
}

static void close_bench(bench *b) {
    fr_free(b->logits);
    fr_free(b->hidden);
    fr_forward_close(b->forward);
    fr_kv_close(&b->far);
    fr_kv_close(&b->near);
}

// Fills the contexts, then measures, alone.
static fr_status run_bench(bench *b, fr_cost *cost, int near, int far, int rounds, fr_error *err) {
    fr_pool *pool = b->m->pool;
    fr_pool_hold(pool); // no pass of another thread's is waited for in a time
    const bool adapts = fr_pool_adapt(pool, false);
    const bool filled = fill(b, &b->near, near) && fill(b, &b->far, far);
    const fr_status st = filled ? measure(b, cost, rounds, err) : interrupted(err);
    fr_pool_adapt(pool, adapts);
    fr_pool_release(pool);
    return st;
}

fr_status fr_latency_measure(fr_cost *cost, const fr_model *m, int rounds, fr_progress_fn *progress,
                             void *user, fr_error *err) {
    const int far = least(m->config.n_ctx_train, FAR);
    const int near = far > 2 * NEAR ? NEAR : far / 2 > 0 ? far / 2 : 1;
    bench b = {.m = m,
               .points = m->kern->isa == FR_ISA_AMX ? &STAIR : &SMOOTH,
               .progress = progress,
               .user = user};
    rounds = rounds < 1 ? 1 : least(rounds, ROUNDS_MAX);
    const int pairs = (has_experts(&b) ? 2 : 1) * (rounds + MORE_PAIRS);
    b.total = (uint64_t)(rounds * b.points->n + 1 + pairs + fill_passes(near) + fill_passes(far));
    fr_status st = open_bench(&b, near, far, err);
    if (!st) st = run_bench(&b, cost, near, far, rounds, err);
    close_bench(&b);
    if (st) *cost = (fr_cost){.n = 0};
    return st;
}
