// ranks.h — counts of the rank at which the true token stood, by distance.
//
// Accuracy at k is the share of places where the true token is among the k best guesses: "top-k
// accuracy" of PPD figure 6 (§5.2) and of Hidden Transfer figure 3 (§4.4), Table 5 of Chimera
// (§4.3.2). A place is the end of a prefix x_1..x_n of a text; x_{n+1}, the root, is known as the
// target's own next token, and the guess of distance i is that of x_{n+1+i}.
#ifndef FR_CMD_ACCURACY_RANKS_H
#define FR_CMD_ACCURACY_RANKS_H
#include "cmd/lib/bootstrap.h"
#include "tree/accuracy.h"
#include "tree/tree.h"

enum { FR_DISTANCES = 8 };

typedef struct fr_prompt_ranks {                    // of one answer
    int64_t places[FR_DISTANCES];                   // where the true token of a distance is known,
    int64_t guessed[FR_DISTANCES];                  // ... was guessed at,
    int64_t right[FR_DISTANCES][FR_ACCURACY_RANKS]; // ... and stood at this rank
} fr_prompt_ranks;

typedef struct fr_ranks {
    fr_prompt_ranks *prompt; // [n]
    int n;
} fr_ranks;

fr_status fr_ranks_open(fr_ranks *r, int prompts, fr_error *err); // FR_ENOMEM
void fr_ranks_close(fr_ranks *r);                                 // a zeroed one is fine

// Counts the guesses of a distance (1..FR_DISTANCES) at a place, best first, of which the first
// FR_ACCURACY_RANKS count; the place itself is counted apart.
void fr_ranks_count(fr_prompt_ranks *r, int distance, const int32_t *guess, int n, int32_t truth);

// The distinct tokens of a tree's depth, whatever path they are on, by score: how many, at most
// FR_ACCURACY_RANKS. Of equal scores those that were proposed first.
int fr_ranks_of_tree(const fr_tree *t, int depth, int32_t guess[FR_ACCURACY_RANKS]);

int64_t fr_ranks_places(const fr_ranks *r, int distance);
int64_t fr_ranks_guessed(const fr_ranks *r, int distance);
// Places of one prompt where the true token is among the first k (1..FR_ACCURACY_RANKS) guesses.
int64_t fr_ranks_right(const fr_prompt_ranks *r, int distance, int k);
// Share of the places where the true token is among the first k (1..FR_ACCURACY_RANKS) guesses; NaN
// where there was no place.
double fr_ranks_top(const fr_ranks *r, int distance, int k);
// How far it may lie from that, prompts being drawn again (bootstrap.h). FR_ENOMEM.
fr_status fr_ranks_interval(const fr_ranks *r, int distance, int k, fr_interval *to, fr_error *err);

#endif
