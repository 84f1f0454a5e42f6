// ppd.h — the dynamic sparse tree of parallel prompt decoding.  [PPD §4]
//
// Decoding chooses attached rows by the scores of each step instead
// (draft/attached/attached_benefit.h). These trees forecast a pack's speed (draft/pack/speed.c) and
// are drafted with in the lab (lab/draft/planned_trees.h).
//
// A candidate c may carry n_c <= m prompt rows, which guess the n_c tokens after it; the root
// always carries m. If c is the last node accepted, the next pass has guesses for n_c depths: it is
// in *state* n_c and uses the tree T_k of that state, k = n_c, of depth at most k. T_0 is the root
// alone. Where candidates and prompts share a limit of rows, this finds the trees T_0..T_m:
//     f(T_k) = the expected accepted candidates of T_k              [§4.2, proposition 4.1]
//     P(i|k) = sum of term(c) over the nodes c of T_k with n_c = i, the root included: term(c) is
//              the probability that c is the last node accepted (expect.h)
//     F(T_k) = f(T_k) + sum of P(i|k) f(T_i) over i                 [proposition 4.2]
//     R      = sum of share_k f(T_k), share = share P               [proposition 4.4]
// A pass brings 1 + R tokens. Two readings of the paper: p(c) in its proposition 4.3 is term(c),
// and a node may be left without prompts (n_c = 0), which is needed where rows are few. Pure data
// of fixed size; nothing here fails.
#ifndef FR_TREE_PPD_H
#define FR_TREE_PPD_H
#include "tree/accuracy.h"
#include "tree/cost.h"
#include "tree/markov.h"

enum { FR_PPD_PROMPTS = FR_MARKOV_STATES - 1 };

typedef struct fr_ppd_limits {
    int rows;     // of a pass, everything included: at least 1 + prompts * ensemble
    int prompts;  // m, 1..FR_PPD_PROMPTS
    int ensemble; // rows that one prompt takes, 1 or more
    int children; // most of a node
    double share; // of the layers that each of them runs through (they join late); 0: all
} fr_ppd_limits;

typedef struct fr_ppd_state {
    fr_shape shape;               // T_k's candidates after the root
    uint8_t prompts[FR_TREE_MAX]; // n_c of every node
    double accepted;              // f(T_k)
    int rows;                     // of its pass
} fr_ppd_state;

typedef struct fr_ppd {
    fr_ppd_limits limits;
    fr_ppd_state state[FR_MARKOV_STATES]; // T_0..T_m
    fr_markov chain;                      // P(i|k) = move[k][i]
    double share[FR_MARKOV_STATES];       // of the passes in each state
    double accepted;                      // R
} fr_ppd;

// Gives prompts to the nodes of a shape: m to the root and, to the others, at most `budget`
// together. All start with m. While there are more than the budget, one is taken where the loss is
// least,
//     dF = term(c) (f(T_n_c) - f(T_n_c - 1)),     accepted[i] = f(T_i)    [proposition 4.3]
// down to none (f(T_0) = 0). Prompts that bring nothing are taken in any case. This is the best
// assignment where f(T_i) - f(T_i-1) falls with i; else near it. Returns how many stay besides the
// root's.
int fr_ppd_assign(const fr_shape *s, const double accepted[], int m, int budget,
                  uint8_t prompts[FR_TREE_MAX]);

// The trees for the given numbers of candidates: candidates[k] of T_k, k in 1..m; fewer where the
// rows cannot hold them, or where no more guesses were ever right.
void fr_ppd_build(fr_ppd *p, const fr_accuracy *a, const fr_ppd_limits *limits,
                  const int candidates[]);
// F(T_k).
double fr_ppd_two_passes(const fr_ppd *p, int k);

// The trees of greatest R within the limits, searched over the numbers of candidates of the states:
// one number is changed at a time until no change helps, from several starts. Too slow for a step:
// it takes about 2 ms at 32 rows, 11 ms at 64, 55 ms at 128.
void fr_ppd_choose(fr_ppd *p, const fr_accuracy *a, const fr_ppd_limits *limits);
// Tokens a second at this cost of passes. Prompts are rows without logits, and a step takes
// step_seconds besides its pass.
double fr_ppd_speed(const fr_ppd *p, const fr_cost *cost, double step_seconds, int context);
// The trees of greatest speed, searched like this for every number of rows up to the limit; returns
// that speed.  [§4.2, hardware-awareness]  The cost must have a point at least.
double fr_ppd_fit(fr_ppd *p, const fr_accuracy *a, const fr_ppd_limits *limits, const fr_cost *cost,
                  double step_seconds, int context);

#endif
