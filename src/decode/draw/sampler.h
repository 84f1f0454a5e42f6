// sampler.h — from logits to the one token of a position.
//
// The random number of a draw is a function of (seed, position) and nothing else, so the token that
// the target gives at a place is determined by the text before it: verification draws it, and plain
// decoding would draw the same. The order is that of other engines: bias, penalties, top-k, top-p,
// min-p, temperature. Ties go to the lower id.
//
// The token drawn is the one at which the sum of weights, likeliest token first, passes u times
// their total. Weights are added as integers (docs/numerics.md), so no sorting is needed to find it
// (pick.h), and the order of work makes no difference.
#ifndef FR_DECODE_DRAW_SAMPLER_H
#define FR_DECODE_DRAW_SAMPLER_H
#include "decode/draw/penalty.h"
#include "decode/draw/pick.h"

enum { FR_TEMPERATURE_MAX = 100 };
// Default settings of commands and requests.
#define FR_USUAL_TEMPERATURE   0.8 // of a server and of its requests
#define FR_USUAL_TOP_K         40
#define FR_USUAL_TOP_P         0.95
#define FR_USUAL_MIN_P         0.05
#define FR_USUAL_REPEAT_LAST_N 64
enum { FR_FEW_MOST = 4096, FR_LIKELIEST_MOST = 1024 };

typedef struct fr_chance {
    int32_t id;
    float p;
} fr_chance;

typedef struct fr_sampler {
    fr_sampling sampling;
    const fr_kern *kern;
    int n_vocab;
    fr_pick pick;
    float *run;      // [n_vocab / FR_RUN, up] largest of each run of logits
    float *w;        // [n_vocab] weights of the row's values
    fr_chance *dist; // [n_vocab]
    fr_penalty penalty;
    int n_prompt; // tokens of a text that were given, not generated
    float few_x[FR_FEW_MOST], head_x[FR_FEW_MOST], head_w[FR_FEW_MOST];
    int32_t few_id[FR_FEW_MOST], head_id[FR_FEW_MOST];
    // The current row: the rest of the logits, in order of id. Values below `low`, and equal
    // ones after place `last`, are no part of it.
    const float *x;
    const int32_t *id; // NULL: the place is the id
    int n, last;
    float low, best, rate; // w = exp((x - best) * rate)
    uint64_t total;        // of w
} fr_sampler;

fr_status fr_sampler_check(const fr_sampling *s, int n_vocab,
                           fr_error *err); // ranges; FR_EARG with the option's name
fr_status fr_sampler_open(fr_sampler *s, const fr_kern *kern, int n_vocab, fr_error *err);
void fr_sampler_close(fr_sampler *s);
void fr_sampler_begin(fr_sampler *s, const fr_sampling *sampling, int n_prompt);

// The token at `position`, given the logits there and the n_ids tokens before it: read and draw.
// Changes logits.
int32_t fr_sampler_token(fr_sampler *s, float *logits, const int32_t *ids, int n_ids, int position);

// The parts. fr_sampler_read applies the settings to logits, which it changes and which must stay
// valid as long as the row is used. Then the others may be called in any order, any number of
// times.
void fr_sampler_read(fr_sampler *s, float *logits, const int32_t *ids, int n_ids);

// The token at `position`, and its probability.
fr_chance fr_sampler_draw(fr_sampler *s, int position);

// The distribution that is drawn from: the tokens that can be drawn, in order of id, their
// probabilities summing to 1 (greedy: one token). Returns how many; *dist stays until the
// next call.
int fr_sampler_dist(fr_sampler *s, const fr_chance **dist);

// The `most` likeliest tokens of that distribution, the best first, 1 <= most <= FR_LIKELIEST_MOST.
// Returns their number; *dist is valid until the next call. After it no other function may be
// called for the row.
int fr_sampler_likeliest(fr_sampler *s, int most, const fr_chance **dist);

// The token at u of the cumulative distribution, 0 <= u < 1; p need not sum to 1, and tokens of p 0
// never come.
int32_t fr_chance_draw(const fr_chance *dist, int n, double u);

// Uniform in [0, 1): the counter-based generator, 53 bits. This is the noise of the target's own
// draws and of nothing else.
double fr_uniform(uint64_t seed, uint64_t position);

// Fisher and Yates, drawn from the same generator: `stream` names the shuffle, none of a text.
void fr_shuffle(int *items, int n, uint64_t stream);

// Random numbers of other streams, independent of the target's own draws and of one another: a rule
// is exact only if its tests are independent of how the candidates were drawn.
enum {
    FR_NOISE_ACCEPT = 1, // tests of a rule (accept_rules.h); position: the token's
    FR_NOISE_DRAFT = 2,  // draws of a drafter: the stream is FR_NOISE_DRAFT + its part of the SPEC,
                         // the position n_ids of the step, and k counts the draws within the step,
                         // so that no number is used twice
};
double fr_uniform_at(uint64_t seed, int stream, uint64_t position, uint64_t k);

#endif
