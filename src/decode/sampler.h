// sampler.h — from logits to the one token that a position holds.
//
// The random number of a draw is a function of (seed, position) and nothing else, so the token that
// the target gives at a place is determined by the text before it: verification draws it, and plain
// decoding would draw the same. Order as users of other engines know it: repeat penalty, top-k,
// top-p, min-p, temperature. Ties go to the lower id.
#ifndef FR_DECODE_SAMPLER_H
#define FR_DECODE_SAMPLER_H
#include "kern/kern.h"

enum { FR_TEMPERATURE_MAX = 100, FR_REPEAT_PENALTY_MAX = 100 };

typedef struct fr_chance {
    int32_t id;
    float p;
} fr_chance;

typedef struct fr_sampler {
    fr_sampling sampling;
    const fr_kern *kern;
    int n_vocab;
    struct fr_candidate *candidate, *sorted; // [n_vocab] each
    fr_chance *law;                          // [n_vocab]
    int32_t *stamp;                          // [n_vocab] marks tokens that were penalised already
    int32_t stamp_now;
} fr_sampler;

fr_status fr_sampler_check(const fr_sampling *s,
                           fr_error *err); // ranges; FR_EARG with the option's name
fr_status fr_sampler_open(fr_sampler *s, const fr_kern *kern, int n_vocab, fr_error *err);
void fr_sampler_close(fr_sampler *s);
void fr_sampler_begin(fr_sampler *s, const fr_sampling *sampling);

// The token at `position`, given the logits there and the n_ids tokens before it. Changes logits.
int32_t fr_sampler_token(fr_sampler *s, float *logits, const int32_t *ids, int n_ids, int position);

// The law that fr_sampler_token draws from: the tokens that can be drawn, likeliest first, their
// probabilities summing to 1 (greedy: one token). Returns how many; *law stays until the next call.
// Changes logits.
int fr_sampler_law(fr_sampler *s, float *logits, const int32_t *ids, int n_ids,
                   const fr_chance **law);

// The token at u of the cumulative law, 0 <= u < 1; p need not sum to 1, and tokens of p 0 never
// come.
int32_t fr_chance_draw(const fr_chance *law, int n, double u);

// Uniform in [0, 1): the counter-based generator, 53 bits. This is the noise of the target's own
// draws and of nothing else.
double fr_uniform(uint64_t seed, uint64_t position);

// Fisher and Yates, drawn from the same generator: `stream` names the shuffle, none of a text.
void fr_shuffle(int *items, int n, uint64_t stream);

// Noise of other streams, which share nothing with the target's own draws nor with one another: a
// rule is exact only if its tests know nothing of how the candidates were drawn.
enum {
    FR_NOISE_ACCEPT = 1, // tests of a rule (rules.h); position: the token's
    FR_NOISE_DRAFT = 2,  // the last: a drafter's draws, its part of the SPEC added; position: n_ids
                         // of the step, k: number of the draw within the step, so that no number is
                         // used twice
};
double fr_uniform_at(uint64_t seed, int stream, uint64_t position, uint64_t k);

#endif
