// candidates.h — a queue of guesses that may enter the tree, taken out by highest score.
//
// For drafters whose guesses cost no pass: the guess of highest score enters the tree next, and
// only then are its children looked for. So the tree is the best one of its size.
#ifndef FR_DRAFT_KIT_CANDIDATES_H
#define FR_DRAFT_KIT_CANDIDATES_H
#include "tree/tree.h"

enum { FR_CANDIDATES = 512 };

typedef struct fr_candidate {
    uint64_t from; // where the guess is from, in numbers of the drafter's own
    float score;
    int32_t id;
    int16_t node; // it hangs under
    uint8_t kind, rank;
} fr_candidate;

typedef struct fr_candidates {
    int n;
    fr_candidate waiting[FR_CANDIDATES];
} fr_candidates;

// Takes the best out, of score `least` or more. False: there is none.
bool fr_candidates_next(fr_candidates *c, float least, fr_candidate *best);
// Adds it to the tree for drafter `part`: its node, its kind and rank where it is new; -1: no room.
int fr_candidate_enter(const fr_candidate *c, fr_tree *tree, int part);

#endif
