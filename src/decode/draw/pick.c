// pick.c — three ways to find the place: sorting where few are left, buckets where there are more,
// and a sample first where the row is large. Each leaves a shorter list for the one before.
#include "decode/draw/pick.h"
#include "base/alloc.h"
#include "kern/math.h"
#include <math.h>
#include <string.h>

enum {
    FEW = 48,      // so many are sorted
    BUCKETS = 512, // of one counting
    SAMPLE = 2048,
    LARGE = 4 * SAMPLE, // rows that a sample is taken of
};

typedef struct list { // the remaining values, in order of index
    const float *x, *w;
    const int32_t *at; // index in the row; NULL: the place in the list
    int n;
} list;

fr_status fr_pick_open(fr_pick *p, const fr_kern *kern, int n, fr_error *err) {
    *p = (fr_pick){.kern = kern};
    p->at = fr_alloc_array((size_t)n, sizeof *p->at);
    p->found = fr_alloc_array((size_t)n, sizeof *p->found);
    p->x = fr_alloc_array((size_t)n, sizeof *p->x);
    p->w = fr_alloc_array((size_t)n, sizeof *p->w);
    if (p->at && p->found && p->x && p->w) return FR_OK;
    fr_pick_close(p);
    return fr_fail(err, FR_ENOMEM, "sampler: cannot get memory for %d tokens", n);
}

void fr_pick_close(fr_pick *p) {
    fr_free(p->at);
    fr_free(p->found);
    fr_free(p->x);
    fr_free(p->w);
    *p = (fr_pick){0};
}

static uint64_t weight(const list *l, int i) {
    return l->w ? fr_fixed(l->w[i]) : FR_FIXED_ONE;
}

static int index_of(const list *l, int i) {
    return l->at ? l->at[i] : i;
}

// ---------------------------------------------------------------- a few

static int walk_sorted(fr_pick *p, const list *l, uint64_t target) {
    int order[FEW], at = 0;
    uint64_t sum = 0;
    for (int i = 0; i < l->n; i++) { // insertion keeps equal ones in order of index
        int k = i;
        for (; k > 0 && l->x[order[k - 1]] < l->x[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    while (at < l->n - 1 && (sum += weight(l, order[at])) <= target)
        at++;
    p->tied = at < l->n - 1 && l->x[order[at]] == l->x[order[at + 1]];
    return index_of(l, order[at]);
}

static int walk_equal(fr_pick *p, const list *l, uint64_t target) {
    uint64_t sum = 0;
    int at = 0;
    while (at < l->n - 1 && (sum += weight(l, at)) <= target)
        at++;
    p->tied = at < l->n - 1;
    return index_of(l, at);
}

// ---------------------------------------------------------------- counting

typedef struct range {
    double most, scale; // a value is in bucket (most - x) * scale
} range;

// False: all are equal, or no numbers. Values of -inf go into the last bucket, whatever the range
// of the others.
static bool measure(range *r, const list *l) {
    float most = -INFINITY, least = INFINITY;
    bool lost = false;
    for (int i = 0; i < l->n; i++) {
        most = l->x[i] > most ? l->x[i] : most;
        least = l->x[i] < least && l->x[i] > -INFINITY ? l->x[i] : least;
        lost |= l->x[i] == -INFINITY;
    }
    if (!(most > least) && !(lost && most > -INFINITY)) return false;
    *r = (range){most, most > least ? BUCKETS / ((double)most - least) : 1};
    return true;
}

static int bucket_of(const range *r, float x) {
    const double b = (r->most - x) * r->scale;
    return b < BUCKETS - 1 ? (int)b : BUCKETS - 1;
}

// Cuts the list down to the bucket in which the running sum passes the target, and takes the weight
// before it off the target. The largest and the least value are in different buckets, so the list
// gets shorter.
static void keep_bucket(fr_pick *p, list *l, const range *r, uint64_t *target) {
    uint64_t sum[BUCKETS] = {0};
    bool any[BUCKETS] = {false};
    int passed = -1, m = 0;
    for (int i = 0; i < l->n; i++) {
        const int b = bucket_of(r, l->x[i]);
        sum[b] += weight(l, i);
        any[b] = true;
    }
    for (int b = 0; b < BUCKETS; b++) {
        if (!any[b]) continue;
        if (passed >= 0) *target -= sum[passed];
        passed = b;
        if (sum[b] > *target) break;
    }
    for (int i = 0; i < l->n; i++) { // writing never overtakes reading
        if (bucket_of(r, l->x[i]) != passed) continue;
        p->at[m] = index_of(l, i);
        p->x[m] = l->x[i];
        if (l->w) p->w[m] = l->w[i];
        m++;
    }
    *l = (list){p->x, l->w ? p->w : NULL, p->at, m};
}

static int pick_from(fr_pick *p, list l, uint64_t target) {
    range r;
    while (l.n > FEW) {
        const int before = l.n;
        if (!measure(&r, &l)) return walk_equal(p, &l, target);
        keep_bucket(p, &l, &r, &target);
        if (l.n == before) return walk_equal(p, &l, target); // only where there is an infinity
    }
    return walk_sorted(p, &l, target);
}

// ---------------------------------------------------------------- a sample

typedef struct sample { // by bucket, best first
    range range;
    double sum[BUCKETS], squares[BUCKETS]; // of weights
    double total;
} sample;

static bool take_sample(sample *s, const list *l) {
    float x[SAMPLE];
    const int step = l->n / SAMPLE;
    for (int i = 0; i < SAMPLE; i++)
        x[i] = l->x[i * step];
    if (!measure(&s->range, &(list){x, NULL, NULL, SAMPLE})) return false;
    memset(s->sum, 0, sizeof s->sum);
    memset(s->squares, 0, sizeof s->squares);
    s->total = 0;
    for (int i = 0; i < SAMPLE; i++) {
        const int b = bucket_of(&s->range, x[i]);
        const double w = l->w ? (double)l->w[i * step] : 1;
        s->sum[b] += w;
        s->squares[b] += w * w;
        s->total += w;
    }
    return s->total > 0;
}

// The first bucket at whose end the sum reaches `share` of the weight; BUCKETS: there is none.
static int bucket_at(const sample *s, double share) {
    double sum = 0;
    int b = 0;
    while (b < BUCKETS && (sum += s->sum[b]) <= share * s->total)
        b++;
    return b;
}

// Standard deviation of the share of weight in front of a value that a sample finds at `share`.
static double deviation(const sample *s, double share) {
    const int at = bucket_at(s, share);
    double sum = 0;
    for (int b = 0; b < BUCKETS; b++) {
        const double d = b <= at ? 1 - share : share;
        sum += d * d * s->squares[b];
    }
    return sqrt(sum) / s->total;
}

static float end_of(const sample *s, int b) { // of bucket b - 1, where b begins
    return (float)(s->range.most - b / s->range.scale);
}

// Cuts a large list down to the values around the target, whose place a sample estimates; *total
// becomes their sum. False: the estimate was wrong or saved too little, and what the workspace held
// is lost.
static bool narrow(fr_pick *p, list *l, uint64_t *target, uint64_t *total) {
    sample s;
    if (!take_sample(&s, l)) return false;
    const double share = (double)*target / (double)*total, margin = 3 * deviation(&s, share);
    const int first = bucket_at(&s, share - margin), last = bucket_at(&s, share + margin);
    // The list may hold values beyond the outermost buckets of the sample.
    const float high = first > 0 && share > margin ? end_of(&s, first) : INFINITY;
    const float low = last < BUCKETS - 1 ? end_of(&s, last + 1) : -INFINITY;
    uint64_t above = 0, sum = 0;
    const int m = p->kern->split(p->found, l->x, l->w, l->n, low, high, &above);
    if (above > *target || m > l->n / 2) return false;
    for (int i = 0; i < m; i++) { // writing never overtakes reading
        const int k = p->found[i];
        p->at[i] = index_of(l, k);
        p->x[i] = l->x[k];
        if (l->w) p->w[i] = l->w[k];
        sum += weight(l, k);
    }
    *l = (list){p->x, l->w ? p->w : NULL, p->at, m};
    *target -= above;
    *total = sum;
    return sum > *target;
}

int fr_pick_at(fr_pick *p, const float *x, const float *w, int n, uint64_t target, uint64_t total) {
    const list all = {x, w, NULL, n};
    list l = all;
    uint64_t rest = target;
    while (l.n >= LARGE)
        if (!narrow(p, &l, &rest, &total)) return pick_from(p, all, target);
    return pick_from(p, l, rest);
}
