// drawn.h — guesses drawn at random from a distribution, for the rule that needs their
// probabilities (decode/accept_rules.h).
//
// Without replacement, all at once: of independent clocks, one a token with rate p, the first ones
// to ring, in their order (exponential race). The first is a draw from p; given it, the second is
// one from the rest of p, and so on.  [Sequoia, Chen et al. 2024, §3.2: sampling without
// replacement]
#ifndef FR_DRAFT_MODEL_DRAWN_H
#define FR_DRAFT_MODEL_DRAWN_H
#include "decode/draw/sampler.h"
#include "tree/tree.h"

enum { FR_DRAWN_MOST = 4, FR_DRAWN_TOKENS = 1024 };

typedef struct fr_drawn { // of one node's children; must stay where it is as long as `dist` is used
    fr_dist dist;
    int16_t node[FR_DRAWN_MOST]; // dist.draw: the caller's to fill
    int32_t id[FR_DRAWN_TOKENS];
    float p[FR_DRAWN_TOKENS];
} fr_drawn;

// Draws up to n_draws different tokens into ids, the noise being that of `stream` at `position`
// from number *k on, which moves after the numbers used. If the distribution is longer, only its
// likeliest FR_DRAWN_TOKENS tokens are drawn from and written to d->dist. Returns the number of
// draws: n_draws, or the number of the distribution's tokens.
int fr_drawn_take(fr_drawn *d, const fr_chance *dist, int n, int n_draws, uint64_t seed, int stream,
                  int position, uint64_t *k, int32_t ids[FR_DRAWN_MOST]);

#endif
