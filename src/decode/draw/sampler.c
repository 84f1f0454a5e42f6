// sampler.c — first the random numbers. Then a row is read through top-k,
// top-p, min-p and temperature, and answers draws, distributions and lists of the likeliest tokens.
#include "decode/draw/sampler.h"
#include "base/alloc.h"
#include "kern/math.h"
#include <assert.h>
#include <float.h>
#include <math.h>

fr_status fr_sampler_check(const fr_sampling *s, int n_vocab, fr_error *err) {
    if (!(s->temperature >= 0 && s->temperature <= FR_TEMPERATURE_MAX))
        return fr_fail(err, FR_EARG, "temperature: expected 0 to %d, found %g", FR_TEMPERATURE_MAX,
                       s->temperature);
    if (s->top_k < 0) return fr_fail(err, FR_EARG, "top-k: expected 0 or more, found %d", s->top_k);
    if (!(s->top_p >= 0 && s->top_p <= 1))
        return fr_fail(err, FR_EARG, "top-p: expected 0 to 1, found %g", s->top_p);
    if (!(s->min_p >= 0 && s->min_p <= 1))
        return fr_fail(err, FR_EARG, "min-p: expected 0 to 1, found %g", s->min_p);
    return fr_penalty_check(s, n_vocab, err);
}

static int runs_of(int n) {
    return (n + FR_RUN - 1) / FR_RUN;
}

fr_status fr_sampler_open(fr_sampler *s, const fr_kern *kern, int n_vocab, fr_error *err) {
    *s = (fr_sampler){.kern = kern, .n_vocab = n_vocab};
    fr_status st = fr_pick_open(&s->pick, kern, n_vocab, err);
    if (!st) st = fr_penalty_open(&s->penalty, n_vocab, err);
    if (st) {
        fr_sampler_close(s);
        return st;
    }
    s->run = fr_alloc_array((size_t)runs_of(n_vocab), sizeof *s->run);
    s->w = fr_alloc_array((size_t)n_vocab, sizeof *s->w);
    s->dist = fr_alloc_array((size_t)n_vocab, sizeof *s->dist);
    if (s->run && s->w && s->dist) return FR_OK;
    fr_sampler_close(s);
    return fr_fail(err, FR_ENOMEM, "sampler: cannot get memory for %d tokens", n_vocab);
}

void fr_sampler_close(fr_sampler *s) {
    fr_pick_close(&s->pick);
    fr_free(s->run);
    fr_free(s->w);
    fr_penalty_close(&s->penalty);
    fr_free(s->dist);
    *s = (fr_sampler){0};
}

void fr_sampler_begin(fr_sampler *s, const fr_sampling *sampling, int n_prompt) {
    s->sampling = *sampling;
    s->n_prompt = n_prompt;
    if (s->sampling.repeat_last_n == 0) s->sampling.repeat_last_n = 64;
}

// The finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit moves every output bit.
static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

double fr_uniform(uint64_t seed, uint64_t position) {
    uint64_t key = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    return (double)(mix(key + (position + 1) * UINT64_C(0x9e3779b97f4a7c15)) >> 11) * 0x1p-53;
}

void fr_shuffle(int *items, int n, uint64_t stream) {
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)(fr_uniform(stream, (uint64_t)i) * (i + 1)), t = items[i];
        items[i] = items[k];
        items[k] = t;
    }
}

double fr_uniform_at(uint64_t seed, int stream, uint64_t position, uint64_t k) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t key = mix(seed + golden); // that of fr_uniform; one more step for each coordinate
    key = mix(key ^ (uint64_t)stream * UINT64_C(0xd1b54a32d192ed03));
    key = mix(key + (position + 1) * golden);
    return (double)(mix(key + (k + 1) * golden) >> 11) * 0x1p-53;
}

int32_t fr_chance_draw(const fr_chance *dist, int n, double u) {
    double total = 0, sum = 0;
    int last = 0; // where rounding leaves nothing above u
    for (int i = 0; i < n; i++)
        total += dist[i].p;
    for (int i = 0; i < n; i++) {
        if ((sum += dist[i].p) > u * total) return dist[i].id;
        if (dist[i].p > 0) last = i;
    }
    return dist[last].id;
}

// ---------------------------------------------------------------- the row

static int32_t id_at(const fr_sampler *s, int i) {
    return s->id ? s->id[i] : i;
}

// Collects the tokens of the whole row with at least `low`; of those with `low` itself, none after
// place `last`. Only runs whose largest value reaches `low` are read. -1: they do not fit.
static int gather(const fr_sampler *s, float low, int last, float *x, int32_t *id) {
    int32_t at[FR_RUN];
    uint64_t none = 0;
    int m = 0;
    for (int r = 0, first = 0; first < s->n; r++, first += FR_RUN) {
        if (!(s->run[r] >= low)) continue;
        const int n = s->n - first < FR_RUN ? s->n - first : FR_RUN;
        const int found = s->kern->split(at, s->x + first, NULL, n, low, INFINITY, &none);
        if (m + found > FR_FEW_MOST) return -1;
        for (int i = 0; i < found; i++) {
            const int k = first + at[i];
            if (s->x[k] == low && k > last) continue;
            x[m] = s->x[k];
            id[m++] = k;
        }
    }
    return m;
}

// Cuts the row after place `last`, whose value is `low`. If few tokens are left they become a row
// of their own; otherwise the whole row stays and the bound is kept.
static void bound(fr_sampler *s, float low, int last) {
    int m = 0;
    if (!(low > s->low || (low == s->low && last < s->last))) return; // NaN bounds nothing
    s->low = low;
    s->last = last;
    if (!s->id) {
        m = gather(s, low, last, s->few_x, s->few_id);
        if (m < 1) return;
    } else {
        for (int i = 0; i < s->n; i++) {
            if (s->x[i] < low || (s->x[i] == low && i > last)) continue;
            s->few_x[m] = s->x[i];
            s->few_id[m++] = s->id[i];
        }
    }
    s->x = s->few_x;
    s->id = s->few_id;
    s->n = m;
    s->low = -INFINITY;
    s->last = INT32_MAX;
}

// w = exp((x - best) * rate) of the row, and its sum.
static void weigh(fr_sampler *s, float rate) {
    s->rate = rate;
    s->total = s->kern->weigh(s->w, s->x, s->n, s->best, rate, s->low);
    if (s->last >= s->n - 1) return;
    const int after = s->last + 1;
    int32_t *tie = s->pick.at;
    uint64_t none = 0;
    const int n = s->kern->split(tie, s->x + after, NULL, s->n - after, s->low, s->low, &none);
    for (int i = 0; i < n; i++) {
        s->total -= fr_fixed(s->w[after + tie[i]]);
        s->w[after + tie[i]] = 0;
    }
}

// The place where the sum of w passes `target`. Of a whole row the best are looked at first, as
// most of the weight is usually there.
static int pick(fr_sampler *s, uint64_t target) {
    if (!s->id) {
        const float low = s->best - 8 / s->rate;
        const int n = gather(s, low > s->low ? low : s->low, INT32_MAX, s->head_x, s->head_id);
        uint64_t sum = 0;
        for (int i = 0; i < n; i++)
            sum += fr_fixed(s->head_w[i] = s->w[s->head_id[i]]);
        if (sum > target)
            return s->head_id[fr_pick_at(&s->pick, s->head_x, s->head_w, n, target, sum)];
    }
    return fr_pick_at(&s->pick, s->x, s->w, s->n, target, s->total);
}

// ---------------------------------------------------------------- settings

// Keeps the k best. The k-th largest of the runs' maxima is a lower bound of the k-th largest
// value, and but for ties only k runs hold values that large.
static void keep_best(fr_sampler *s, int k) {
    const uint64_t before = (uint64_t)(k - 1) << FR_FIXED_BITS;
    const int runs = runs_of(s->n);
    if (!s->id && k <= runs) {
        const int at =
            fr_pick_at(&s->pick, s->run, NULL, runs, before, (uint64_t)runs << FR_FIXED_BITS);
        bound(s, s->run[at], INT32_MAX);
    }
    if (k >= s->n) return;
    const int at = fr_pick_at(&s->pick, s->x, NULL, s->n, before, (uint64_t)s->n << FR_FIXED_BITS);
    bound(s, s->x[at], s->pick.tied ? at : INT32_MAX);
}

// Keeps the fewest tokens, likeliest first, whose probability reaches top_p.
static void keep_mass(fr_sampler *s, float top_p) {
    weigh(s, 1);
    const double needed = ceil((double)top_p * (double)s->total);
    const uint64_t target = needed < 1 ? 0 : (uint64_t)needed - 1;
    const int at = pick(s, target < s->total ? target : s->total - 1);
    bound(s, s->x[at], s->pick.tied ? at : INT32_MAX);
}

static bool is_greedy(const fr_sampling *g) {
    return g->temperature == 0 || g->top_k == 1;
}

static void only(fr_sampler *s, int32_t id) {
    s->few_x[0] = s->best = 0;
    s->few_id[0] = id;
    s->x = s->few_x;
    s->id = s->few_id;
    s->n = 1;
    weigh(s, 1);
}

static float largest(const float *x, int n) {
    float best = x[0];
    for (int i = 1; i < n; i++)
        best = x[i] > best ? x[i] : best;
    return best;
}

void fr_sampler_read(fr_sampler *s, float *logits, const int32_t *ids, int n_ids) {
    const fr_sampling *g = &s->sampling;
    fr_penalise(&s->penalty, g, logits, ids, n_ids, s->n_prompt);
    s->x = logits;
    s->id = NULL;
    s->n = s->n_vocab;
    s->low = -INFINITY;
    s->last = INT32_MAX;
    if (is_greedy(g)) {
        only(s, s->kern->argmax(logits, s->n_vocab));
        return;
    }
    s->kern->run_max(s->run, logits, s->n);
    s->best = largest(s->run, runs_of(s->n));
    if (!isfinite(s->best)) { // no usable logits, but a token must be given
        only(s, s->kern->argmax(logits, s->n_vocab));
        return;
    }
    if (g->top_k > 0 && g->top_k < s->n) keep_best(s, g->top_k);
    if (g->top_p > 0 && g->top_p < 1) keep_mass(s, g->top_p);
    if (g->min_p > 0) bound(s, (float)(s->best + fr_log(g->min_p)), INT32_MAX);
    const float rate = 1 / g->temperature;
    weigh(s, rate < FLT_MAX ? rate : FLT_MAX);
}

// ---------------------------------------------------------------- answers

static float chance(const fr_sampler *s, float w) {
    return (float)(w * (double)FR_FIXED_ONE / (double)s->total);
}

fr_chance fr_sampler_draw(fr_sampler *s, int position) {
    const double u = fr_uniform(s->sampling.seed, (uint64_t)position);
    const uint64_t target = (uint64_t)(u * (double)s->total);
    const int at = pick(s, target < s->total ? target : s->total - 1);
    return (fr_chance){id_at(s, at), chance(s, s->w[at])};
}

int32_t fr_sampler_token(fr_sampler *s, float *logits, const int32_t *ids, int n_ids,
                         int position) {
    fr_sampler_read(s, logits, ids, n_ids);
    return fr_sampler_draw(s, position).id;
}

int fr_sampler_dist(fr_sampler *s, const fr_chance **dist) {
    int m = 0;
    *dist = s->dist;
    for (int i = 0; i < s->n; i++)
        if (fr_fixed(s->w[i])) s->dist[m++] = (fr_chance){id_at(s, i), chance(s, s->w[i])};
    return m;
}

static bool worse(const fr_chance *a, const fr_chance *b) { // a is ordered after b; p: the logit
    return a->p < b->p || (a->p == b->p && a->id > b->id);
}

static void sift_down(fr_chance *heap, int n, int i) { // the worst on top
    for (;;) {
        int child = 2 * i + 1;
        if (child >= n) return;
        if (child + 1 < n && worse(&heap[child + 1], &heap[child])) child++;
        if (!worse(&heap[child], &heap[i])) return;
        const fr_chance swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
}

static void sort_best_first(fr_chance *c, int n) {
    for (int i = n / 2 - 1; i >= 0; i--)
        sift_down(c, n, i);
    for (int m = n - 1; m > 0; m--) {
        const fr_chance worst = c[0];
        c[0] = c[m];
        c[m] = worst;
        sift_down(c, m, 0);
    }
}

int fr_sampler_likeliest(fr_sampler *s, int most, const fr_chance **dist) {
    assert(most >= 1 && most <= FR_LIKELIEST_MOST);
    *dist = s->dist;
    if (most < s->n) keep_best(s, most);
    const int n = s->n < most ? s->n : most;
    for (int i = 0; i < n; i++)
        s->dist[i] = (fr_chance){id_at(s, i), s->x[i]};
    sort_best_first(s->dist, n);
    for (int i = 0; i < n; i++)
        s->dist[i].p = chance(s, fr_exp((s->dist[i].p - s->best) * s->rate));
    return n;
}
