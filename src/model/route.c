// route.c — scores become marks, the best marks are chosen, the scores of the chosen become weights.
#include "model/route.h"
#include "kern/math.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

// Softmax of n values; in this order, so that each sum is one chain.
static void softmax(float *x, int n) {
    float most = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int i = 0; i < n; i++) {
        x[i] = fr_exp(x[i] - most);
        sum += x[i];
    }
    for (int i = 0; i < n; i++)
        x[i] /= sum;
}

static void score(fr_gating gating, float *x, int n) {
    switch (gating) {
    case FR_GATE_SOFTMAX:
        softmax(x, n);
        return;
    case FR_GATE_SIGMOID:
        for (int i = 0; i < n; i++)
            x[i] = fr_sigmoid(x[i]);
        return;
    case FR_GATE_CHOSEN:
        return;
    }
}

// The best `most` of n marks into best[], which is ascending by rank. Returns how many there are.
static int choose(const float *mark, int n, int most, fr_choice *best) {
    int have = 0;
    for (int i = 0; i < n; i++) {
        int at = have;
        while (at > 0 && mark[i] > best[at - 1].weight)
            at--;
        if (at == most) continue;
        if (have < most) have++;
        for (int k = have - 1; k > at; k--)
            best[k] = best[k - 1];
        best[at] = (fr_choice){i, mark[i]};
    }
    return have;
}

// Experts of all but the best groups get the mark -inf. A group counts as its two best experts do
// together.
static void keep_groups(const fr_experts *e, float *mark) {
    enum { PAIR = 2 };
    float sum[FR_EXPERT_GROUPS];
    fr_choice best[FR_EXPERT_GROUPS], two[PAIR];
    bool kept[FR_EXPERT_GROUPS] = {false};
    const int each = e->n / e->groups;
    for (int g = 0; g < e->groups; g++) {
        choose(mark + g * each, each, PAIR, two);
        sum[g] = two[0].weight + two[1].weight;
    }
    const int n = choose(sum, e->groups, e->groups_used, best);
    for (int i = 0; i < n; i++)
        kept[best[i].expert] = true;
    for (int i = 0; i < e->n; i++)
        if (!kept[i / each]) mark[i] = -INFINITY;
}

static void order_by_number(fr_choice *c, int n) {
    for (int i = 1; i < n; i++) {
        const fr_choice moved = c[i];
        int at = i;
        for (; at > 0 && c[at - 1].expert > moved.expert; at--)
            c[at] = c[at - 1];
        c[at] = moved;
    }
}

static void weigh(const fr_experts *e, const float *scores, fr_choice *c) {
    static const float LEAST = 0x1p-14f; // llama.cpp divides by no less: the smallest normal f16
    float w[FR_EXPERTS_USED], sum = 0;
    for (int i = 0; i < e->used; i++)
        w[i] = scores[c[i].expert];
    if (e->gating == FR_GATE_CHOSEN) softmax(w, e->used);
    for (int i = 0; i < e->used; i++)
        sum += w[i];
    if (sum < LEAST) sum = LEAST;
    for (int i = 0; i < e->used; i++) {
        c[i].weight = e->normed ? w[i] / sum : w[i];
        if (e->scale != 1) c[i].weight *= e->scale;
    }
}

static bool has_nan(const float *x, int n) {
    for (int i = 0; i < n; i++)
        if (isnan(x[i])) return true;
    return false;
}

void fr_route(const fr_experts *e, float *scores, const float *bias, float *mark,
              fr_choice *chosen) {
    if (e->weighs_inputs) memcpy(mark, scores, sizeof *mark * (size_t)e->n);
    score(e->gating, scores, e->n);
    if (!e->weighs_inputs) memcpy(mark, scores, sizeof *mark * (size_t)e->n);
    for (int i = 0; bias && i < e->n; i++)
        mark[i] += bias[i];
    if (has_nan(mark, e->n)) {
        for (int i = 0; i < e->used; i++)
            chosen[i] = (fr_choice){i, NAN};
        return;
    }
    if (e->groups > 1) keep_groups(e, mark);
    choose(mark, e->n, e->used, chosen);
    order_by_number(chosen, e->used);
    weigh(e, scores, chosen);
}
