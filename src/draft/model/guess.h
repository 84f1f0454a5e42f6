// guess.h — what a draft model's logits say about the target's next token.
//
// Greedy: the likeliest tokens. At a temperature the target's draw is a function of (seed,
// position). The first guess is then the token that the draft's own warped distribution gives for
// the very same random number, as similar distributions mostly give the same token for the same
// number [Daliri, Musco, Suresh 2024: drafter-invariant speculation]. The likeliest others follow.
//
// Under rejection at a temperature guesses are drawn from the draft's warped distribution with a
// noise of their own (drawn.h), which gives that distribution (`draws`).
//
// A guess is of a kind: whether it is the first, second or a later one, and how probable the draft
// model holds it. How often guesses of a kind are right is learned (tree/hits.h).
#ifndef FR_DRAFT_MODEL_GUESS_H
#define FR_DRAFT_MODEL_GUESS_H
#include "decode/drafter.h"

enum { FR_GUESSES = 4 };

typedef struct fr_guess {
    int32_t id;
    uint8_t kind;
} fr_guess;

typedef struct fr_guesser {
    fr_sampler sampler;
    bool alike; // the first guess is drawn by the target's random number
    bool draws; // guesses are to be drawn from fr_guesser_dist
} fr_guesser;

// Only ids below n_vocab are guessed.
fr_status fr_guesser_open(fr_guesser *g, const fr_kern *kern, int n_vocab, fr_error *err);
void fr_guesser_close(fr_guesser *g);
// Hit rates of Qwen2.5-Coder-0.5B for the 1.5B on code, sums and chat, until the current text gives
// better ones.
void fr_guesser_expect(fr_hits *hits);
// A new request: how the target will draw, and when a candidate counts.
void fr_guesser_begin(fr_guesser *g, const fr_sampling *sampling, fr_rule rule);
// Guesses at the token after ids[0..n_ids), the best first: how many. Changes logits.
int fr_guesser_next(fr_guesser *g, float *logits, const int32_t *ids, int n_ids,
                    fr_guess guess[FR_GUESSES]);

// The distribution to draw from after ids[0..n_ids), likeliest first, as far as
// fr_sampler_likeliest goes; and the kind of a guess of probability p drawn from it.
int fr_guesser_dist(fr_guesser *g, float *logits, const int32_t *ids, int n_ids,
                    const fr_chance **dist);
uint8_t fr_guesser_drawn_kind(float p);

#endif
