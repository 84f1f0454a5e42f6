// positional.h — the shape of Sequoia's tree for a draft model, from how often its first, second,
// ... guess at a token is right.
//
// These shares (Sequoia's positional acceptance) are followed through the text; before every
// proposal the table of best trees is filled and the size chosen that costs least time a token,
// draft levels and the target's rows together.  [Sequoia, Chen et al. 2024, tree construction and
// hardware-aware tree optimizer]  Large: heap memory. Nothing fails.
#ifndef FR_DRAFT_MODEL_POSITIONAL_H
#define FR_DRAFT_MODEL_POSITIONAL_H
#include "draft/model/guess.h"
#include "tree/sequoia.h"

typedef struct fr_positional {
    double right[FR_GUESSES]; // share of tokens that the guess of this rank was right about
    fr_sequoia table;
    fr_shape shape; // planned for this step
} fr_positional;

void fr_positional_open(fr_positional *p);
bool fr_positional_is_sound(const fr_positional *p); // shares of right guesses; the shape is sound
// The guess of `rank` was right; -1: none was.
void fr_positional_learn(fr_positional *p, int rank);
// Plans a tree within the limits (children: at most FR_GUESSES) where a level of drafting takes
// level_seconds. False: plain decoding is faster.
bool fr_positional_plan(fr_positional *p, const fr_budget *budget, double level_seconds,
                        const fr_shape_limits *limits, int context);
// Plans the best tree of as many nodes as the limits allow, whatever it costs.
void fr_positional_plan_size(fr_positional *p, const fr_shape_limits *limits);

#endif
