#include "lab/train/skip_search.h"
#include "decode/draw/sampler.h"
#include "lab/train/gauss.h"
#include <math.h>
#include <string.h>

// Sets without anything left out are the target itself: no draft.
static fr_skip_value judge(fr_skip_search *s, const uint8_t *skip) {
    fr_skip_value v;
    s->judge(s->user, skip, &v);
    s->judgements++;
    if (v.speed > s->best_value.speed && memchr(skip, 1, (size_t)s->n)) {
        memcpy(s->best, skip, (size_t)s->n);
        s->best_value = v;
    }
    s->ended = s->ended || !s->watch(s->user, s);
    return v;
}

// Takes the value of the best set anew, which then counts in place of the old one.
static void judge_best_anew(fr_skip_search *s, const uint8_t *best) {
    const fr_skip_value before = s->best_value;
    s->best_value.speed = 0;
    judge(s, best);
    if (!(s->best_value.speed > 0)) s->best_value = before;
}

// ---------------------------------------------------------------- elimination

typedef struct candidate {
    int sublayer;
    double price; // divergence for a byte, as judged last
    bool fresh;   // ... against the present set
} candidate;

static void sort(candidate *c, int n) {
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && c[k].price < c[k - 1].price; k--) {
            const candidate other = c[k];
            c[k] = c[k - 1];
            c[k - 1] = other;
        }
}

// Brings the cheapest sublayer to the front, judged against the present set. What leaving out one
// more costs rarely falls as others go, so old prices are lower bounds, nearly: only those that
// look cheapest are judged anew.
static void find_cheapest(fr_skip_search *s, uint8_t *skip, candidate *c, int n, double base) {
    for (int i = 0; i < n; i++)
        c[i].fresh = false;
    while (!c[0].fresh && !s->ended) {
        const int at = c[0].sublayer;
        skip[at] = 1;
        const fr_skip_value v = judge(s, skip);
        skip[at] = 0;
        c[0].price = (v.divergence - base) / (double)s->bytes[at];
        c[0].fresh = true;
        sort(c, n);
    }
}

void fr_skip_eliminate(fr_skip_search *s) {
    enum { HOPELESS = 8 }; // sublayers beyond the fastest set
    uint8_t skip[FR_SKIP_MOST] = {0};
    candidate c[FR_SKIP_MOST];
    int since = 0;
    double divergence = 0, fastest = 0;
    for (int i = 0; i < s->n; i++)
        c[i] = (candidate){i, -INFINITY, false};
    for (int n = s->n; n > 0 && since < HOPELESS; n--) {
        find_cheapest(s, skip, c, n, divergence);
        if (s->ended) return;
        divergence += c[0].price * (double)s->bytes[c[0].sublayer];
        skip[c[0].sublayer] = 1;
        memmove(c, c + 1, sizeof *c * (size_t)(n - 1));
        since = s->best_value.speed > fastest ? 0 : since + 1;
        fastest = s->best_value.speed;
    }
}

// ---------------------------------------------------------------- flips

void fr_skip_flip(fr_skip_search *s) {
    uint8_t skip[FR_SKIP_MOST];
    int unchanged = 0;
    memcpy(skip, s->best, (size_t)s->n);
    judge_best_anew(s, skip);
    for (int i = 0; unchanged < s->n && !s->ended; i = (i + 1) % s->n) {
        const double before = s->best_value.speed;
        skip[i] ^= 1;
        judge(s, skip);
        unchanged = s->best_value.speed > before ? 0 : unchanged + 1;
        if (unchanged) skip[i] ^= 1;
    }
}

// ---------------------------------------------------------------- Bayesian optimisation

typedef struct dice {
    uint64_t seed, n;
} dice;

static double roll(dice *d) {
    return fr_uniform(d->seed, d->n++);
}

// A set near `from`: about `flips` sublayers other than there.
static void near(dice *d, const uint8_t *from, int n, double flips, uint8_t *skip) {
    for (int i = 0; i < n; i++)
        skip[i] = from[i] ^ (roll(d) < flips / n);
}

static void relax(const uint8_t *skip, int n, double *x) {
    for (int i = 0; i < n; i++)
        x[i] = skip[i];
}

// Of sets near the best one and of any, the one that is expected to improve most.
static void most_promising(const fr_skip_search *s, fr_gauss *g, dice *d, uint8_t *skip) {
    enum { TRIES = 400 };
    static const double flips[] = {1, 2, 4, 8};
    uint8_t any[FR_SKIP_MOST] = {0}, trial[FR_SKIP_MOST];
    double x[FR_SKIP_MOST], best = -1;
    fr_gauss_fit(g);
    for (int k = 0; k < TRIES; k++) {
        const bool wide = k % 5 == 4;
        near(d, wide ? any : s->best, s->n, wide ? roll(d) * s->n : flips[k % 4], trial);
        relax(trial, s->n, x);
        const double gain = fr_gauss_improvement(g, x);
        if (gain <= best) continue;
        best = gain;
        memcpy(skip, trial, (size_t)s->n);
    }
}

fr_status fr_skip_bayes(fr_skip_search *s, int most, uint64_t seed, fr_error *err) {
    enum { FIRST = 8 }; // sets near the one to begin with, for the model to begin with
    fr_gauss g;
    dice d = {.seed = seed};
    uint8_t skip[FR_SKIP_MOST], start[FR_SKIP_MOST];
    double x[FR_SKIP_MOST];
    const fr_status st = fr_gauss_open(&g, s->n, most, err);
    if (st) return st;
    memcpy(start, s->best, (size_t)s->n);
    s->best_value.speed = 0;
    while (g.n < most && !s->ended) {
        if (g.n == 0)
            memcpy(skip, start, (size_t)s->n);
        else if (g.n < FIRST)
            near(&d, start, s->n, g.n, skip);
        else
            most_promising(s, &g, &d, skip);
        const fr_skip_value v = judge(s, skip);
        relax(skip, s->n, x);
        fr_gauss_add(&g, x, v.speed);
    }
    fr_gauss_close(&g);
    return FR_OK;
}

double fr_skip_seconds(double all, double prepared) {
    return fmax(all - prepared, 0.1 * all);
}
