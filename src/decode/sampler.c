#include "decode/sampler.h"
#include "base/alloc.h"
#include "kern/math.h"
#include <math.h>
#include <string.h>

typedef struct fr_candidate {
    float logit;
    int32_t id;
} fr_candidate;

fr_status fr_sampler_check(const fr_sampling *s, fr_error *err) {
    if (!(s->temperature >= 0 && s->temperature <= FR_TEMPERATURE_MAX))
        return fr_fail(err, FR_EARG, "temperature: expected 0 to %d, found %g", FR_TEMPERATURE_MAX,
                       s->temperature);
    if (s->top_k < 0) return fr_fail(err, FR_EARG, "top-k: expected 0 or more, found %d", s->top_k);
    if (!(s->top_p >= 0 && s->top_p <= 1))
        return fr_fail(err, FR_EARG, "top-p: expected 0 to 1, found %g", s->top_p);
    if (!(s->min_p >= 0 && s->min_p <= 1))
        return fr_fail(err, FR_EARG, "min-p: expected 0 to 1, found %g", s->min_p);
    if (!(s->repeat_penalty >= 0 && s->repeat_penalty <= FR_REPEAT_PENALTY_MAX))
        return fr_fail(err, FR_EARG, "repeat-penalty: expected 0 to %d, found %g",
                       FR_REPEAT_PENALTY_MAX, s->repeat_penalty);
    if (s->repeat_last_n < -1)
        return fr_fail(err, FR_EARG, "repeat-last-n: expected -1 or more, found %d",
                       s->repeat_last_n);
    return FR_OK;
}

fr_status fr_sampler_open(fr_sampler *s, const fr_kern *kern, int n_vocab, fr_error *err) {
    *s = (fr_sampler){.kern = kern, .n_vocab = n_vocab};
    s->candidate = fr_alloc_array((size_t)n_vocab, sizeof *s->candidate);
    s->sorted = fr_alloc_array((size_t)n_vocab, sizeof *s->sorted);
    s->stamp = fr_alloc_array((size_t)n_vocab, sizeof *s->stamp);
    s->law = fr_alloc_array((size_t)n_vocab, sizeof *s->law);
    if (s->candidate && s->sorted && s->stamp && s->law) return FR_OK;
    fr_sampler_close(s);
    return fr_fail(err, FR_ENOMEM, "sampler: cannot get memory for %d tokens", n_vocab);
}

void fr_sampler_close(fr_sampler *s) {
    fr_free(s->candidate);
    fr_free(s->sorted);
    fr_free(s->stamp);
    fr_free(s->law);
    *s = (fr_sampler){0};
}

void fr_sampler_begin(fr_sampler *s, const fr_sampling *sampling) {
    s->sampling = *sampling;
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

int32_t fr_chance_draw(const fr_chance *law, int n, double u) {
    double total = 0, sum = 0;
    int last = 0; // where rounding leaves nothing above u
    for (int i = 0; i < n; i++)
        total += law[i].p;
    for (int i = 0; i < n; i++) {
        if ((sum += law[i].p) > u * total) return law[i].id;
        if (law[i].p > 0) last = i;
    }
    return law[last].id;
}

// Each token seen lately counts once: positive logits are divided, negative ones multiplied. [CTRL,
// Keskar 2019, §4.1]
static void penalise(fr_sampler *s, float *logits, const int32_t *ids, int n_ids) {
    float penalty = s->sampling.repeat_penalty;
    int last = s->sampling.repeat_last_n, first = last < 0 || last > n_ids ? 0 : n_ids - last;
    if (penalty == 0 || penalty == 1) return;
    if (++s->stamp_now == INT32_MAX) {
        memset(s->stamp, 0, sizeof *s->stamp * (size_t)s->n_vocab);
        s->stamp_now = 1;
    }
    for (int i = first; i < n_ids; i++) {
        int32_t id = ids[i];
        if (s->stamp[id] == s->stamp_now) continue;
        s->stamp[id] = s->stamp_now;
        logits[id] = logits[id] > 0 ? logits[id] / penalty : logits[id] * penalty;
    }
}

static bool worse(fr_candidate a, fr_candidate b) { // a stands behind b
    return a.logit < b.logit || (a.logit == b.logit && a.id > b.id);
}

// Heap whose top is the worst of the k kept so far.
static void sift_down(fr_candidate *heap, int n, int i) {
    for (;;) {
        int child = 2 * i + 1;
        if (child >= n) return;
        if (child + 1 < n && worse(heap[child + 1], heap[child])) child++;
        if (!worse(heap[child], heap[i])) return;
        fr_candidate swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
}

static int keep_best(fr_sampler *s, const float *logits, int k) {
    fr_candidate *heap = s->candidate;
    for (int i = 0; i < k; i++)
        heap[i] = (fr_candidate){logits[i], i};
    for (int i = k / 2 - 1; i >= 0; i--)
        sift_down(heap, k, i);
    float bound = heap[0].logit;
    for (int i = k; i < s->n_vocab; i++) {
        if (!(logits[i] > bound)) continue; // an equal logit with a higher id stands behind
        heap[0] = (fr_candidate){logits[i], i};
        sift_down(heap, k, 0);
        bound = heap[0].logit;
    }
    for (int n = k - 1; n > 0; n--) { // heap sort: best first
        fr_candidate worst = heap[0];
        heap[0] = heap[n];
        heap[n] = worst;
        sift_down(heap, n, 0);
    }
    return k;
}

// Key that sorts floats descending as unsigned integers ascending.
static uint32_t descending_key(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x80000000u ? bits : ~bits & 0x7fffffffu;
}

// All tokens, best first: a stable radix sort, three digits of 11 bits, so that equal logits stay
// in order of ids.
static int sort_all(fr_sampler *s, const float *logits) {
    fr_candidate *from = s->candidate, *to = s->sorted;
    for (int i = 0; i < s->n_vocab; i++)
        from[i] = (fr_candidate){logits[i] == 0 ? 0.0f : logits[i], i};
    for (int shift = 0; shift < 33; shift += 11) {
        int count[2049] = {0};
        for (int i = 0; i < s->n_vocab; i++)
            count[(descending_key(from[i].logit) >> shift & 2047) + 1]++;
        for (int d = 0; d < 2048; d++)
            count[d + 1] += count[d];
        for (int i = 0; i < s->n_vocab; i++)
            to[count[descending_key(from[i].logit) >> shift & 2047]++] = from[i];
        fr_candidate *swap = from;
        from = to;
        to = swap;
    }
    s->candidate = from;
    s->sorted = to;
    return s->n_vocab;
}

// Keeps the shortest prefix whose probability reaches top_p, then what has at least min_p of the
// best one's.
static int truncate(const fr_sampling *g, const fr_candidate *c, int n) {
    float best = c[0].logit;
    if (g->top_p > 0 && g->top_p < 1) {
        double total = 0, sum = 0;
        for (int i = 0; i < n; i++)
            total += fr_exp(c[i].logit - best);
        for (int i = 0; i < n; i++)
            if ((sum += fr_exp(c[i].logit - best)) >= g->top_p * total) {
                n = i + 1;
                break;
            }
    }
    if (g->min_p > 0)
        for (int i = 1; i < n; i++)
            if (fr_exp(c[i].logit - best) < g->min_p) return i;
    return n;
}

static bool is_greedy(const fr_sampling *g) {
    return g->temperature == 0 || g->top_k == 1;
}

// The tokens that may be drawn, best first, in s->candidate; how many.
static int choose_candidates(fr_sampler *s, const float *logits) {
    const fr_sampling *g = &s->sampling;
    const int n = g->top_k > 0 && g->top_k < s->n_vocab ? keep_best(s, logits, g->top_k)
                                                        : sort_all(s, logits);
    return truncate(g, s->candidate, n);
}

static double weight(const fr_sampler *s, int i) {
    return fr_exp((s->candidate[i].logit - s->candidate[0].logit) / s->sampling.temperature);
}

int32_t fr_sampler_token(fr_sampler *s, float *logits, const int32_t *ids, int n_ids,
                         int position) {
    penalise(s, logits, ids, n_ids);
    if (is_greedy(&s->sampling)) return s->kern->argmax(logits, s->n_vocab);
    const int n = choose_candidates(s, logits);
    double total = 0, sum = 0, u = fr_uniform(s->sampling.seed, (uint64_t)position);
    for (int i = 0; i < n; i++)
        total += weight(s, i);
    for (int i = 0; i < n; i++)
        if ((sum += weight(s, i)) > u * total) return s->candidate[i].id;
    return s->candidate[0].id; // only where the logits are no numbers
}

int fr_sampler_law(fr_sampler *s, float *logits, const int32_t *ids, int n_ids,
                   const fr_chance **law) {
    *law = s->law;
    penalise(s, logits, ids, n_ids);
    if (is_greedy(&s->sampling)) {
        s->law[0] = (fr_chance){s->kern->argmax(logits, s->n_vocab), 1};
        return 1;
    }
    const int n = choose_candidates(s, logits);
    double total = 0;
    for (int i = 0; i < n; i++)
        total += weight(s, i);
    for (int i = 0; i < n; i++)
        s->law[i] = (fr_chance){s->candidate[i].id, (float)(weight(s, i) / total)};
    return n;
}
