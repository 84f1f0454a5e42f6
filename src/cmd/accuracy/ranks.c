#include "cmd/accuracy/ranks.h"
#include "base/alloc.h"
#include <assert.h>
#include <math.h>

fr_status fr_ranks_open(fr_ranks *r, int prompts, fr_error *err) {
    const size_t bytes = (size_t)prompts * sizeof *r->prompt;
    *r = (fr_ranks){.prompt = fr_alloc_zero(bytes), .n = prompts};
    return r->prompt ? FR_OK : fr_fail(err, FR_ENOMEM, "accuracy: cannot get %zu bytes", bytes);
}

void fr_ranks_close(fr_ranks *r) {
    fr_free(r->prompt);
    *r = (fr_ranks){0};
}

void fr_ranks_count(fr_prompt_ranks *r, int distance, const int32_t *guess, int n, int32_t truth) {
    assert(distance >= 1 && distance <= FR_DISTANCES);
    r->guessed[distance - 1] += n > 0;
    for (int rank = 0; rank < n && rank < FR_ACCURACY_RANKS; rank++)
        r->right[distance - 1][rank] += guess[rank] == truth;
}

static bool is_among(const int32_t *guess, int n, int32_t id) {
    for (int i = 0; i < n; i++)
        if (guess[i] == id) return true;
    return false;
}

// The best node of a depth whose token was not taken yet, or -1.
static int best_left(const fr_tree *t, int depth, const int32_t *taken, int n) {
    int best = -1;
    for (int i = 1; i < t->n; i++)
        if (t->node[i].depth == depth && (best < 0 || t->node[i].score > t->node[best].score) &&
            !is_among(taken, n, t->node[i].id))
            best = i;
    return best;
}

int fr_ranks_of_tree(const fr_tree *t, int depth, int32_t guess[FR_ACCURACY_RANKS]) {
    int n = 0, node;
    while (n < FR_ACCURACY_RANKS && (node = best_left(t, depth, guess, n)) >= 0)
        guess[n++] = t->node[node].id;
    return n;
}

// ---------------------------------------------------------------- sums

int64_t fr_ranks_places(const fr_ranks *r, int distance) {
    int64_t sum = 0;
    for (int i = 0; i < r->n; i++)
        sum += r->prompt[i].places[distance - 1];
    return sum;
}

int64_t fr_ranks_guessed(const fr_ranks *r, int distance) {
    int64_t sum = 0;
    for (int i = 0; i < r->n; i++)
        sum += r->prompt[i].guessed[distance - 1];
    return sum;
}

int64_t fr_ranks_right(const fr_prompt_ranks *r, int distance, int k) {
    int64_t sum = 0;
    for (int rank = 0; rank < k; rank++)
        sum += r->right[distance - 1][rank];
    return sum;
}

double fr_ranks_top(const fr_ranks *r, int distance, int k) {
    const int64_t places = fr_ranks_places(r, distance);
    int64_t right = 0;
    for (int i = 0; i < r->n; i++)
        right += fr_ranks_right(&r->prompt[i], distance, k);
    return places ? (double)right / (double)places : NAN;
}

fr_status fr_ranks_interval(const fr_ranks *r, int distance, int k, fr_interval *to,
                            fr_error *err) {
    fr_share *shares = fr_alloc_array((size_t)r->n, sizeof *shares);
    if (!shares) return fr_fail(err, FR_ENOMEM, "accuracy: no memory for %d prompts", r->n);
    for (int i = 0; i < r->n; i++)
        shares[i] = (fr_share){(double)fr_ranks_right(&r->prompt[i], distance, k),
                               (double)r->prompt[i].places[distance - 1]};
    const fr_status st = fr_bootstrap_ratio(to, shares, r->n, err);
    fr_free(shares);
    return st;
}
