// trained.h — what the drafters with a pack have in common: the pack, a beam of guesses, and
// whether drafting pays.
//
// Guesses are the likeliest tokens of distributions over the draft vocabulary. A node's score is
// its parent's times its probability, times how much more or less often guesses of its depth are
// right than their probabilities say, which is learned (tree/hits.h). Guesses grow level by level
// in a beam [EAGLE-2, Li et al. 2024, §4.1]; a level that takes a pass of its own is drafted only
// for the nodes that pay for their rows (draft_benefit.h).
#ifndef FR_DRAFT_KIT_TRAINED_H
#define FR_DRAFT_KIT_TRAINED_H
#include "draft/kit/draft_benefit.h"
#include "draft/kit/likeliest.h"
#include "draft/shared/config.h"
#include "draft/shared/weights.h"
#include "tree/beam.h"

enum {
    FR_TRAINED_RANKS = FR_ACCURACY_RANKS, // guesses of one distribution
    FR_TRAINED_NODES = 33,                // most that are proposed, root included
};

// The option of a trained drafter's beam, a row of fr_drafter_option; `usual` is its default in
// digits.
#define FR_TRAINED_WIDTH(usual)                                                                    \
    FR_OPTION_INT("width", "N", fr_trained, width, 1, FR_BEAM_WIDTH,                               \
                  "nodes expanded per level, 1 to 16 (default " usual ")")

typedef struct fr_trained { // embedded first in a method's own struct
    fr_drafter base;
    fr_pack_weights *weights; // the half that belongs to the model
    const fr_pack *pack;      // of the weights
    fr_draft_benefit benefit;
    fr_beam beam;
    int depth; // tokens drafted ahead; 0: as many as pay
    int width; // of the beam; set before opening where it is not half the widest
    bool adapt,
        timed;          // timed: a pass of the target was measured, so that the budget has its cost
    const int32_t *ids; // of the distributions' places: the pack's, and
    int n_ids;          // ... as many as a distribution has, which a method may change
    int32_t best;       // the first guess after the root in this step; -1: none
} fr_trained;

// Finds (file "") or opens the pack and reads the options by the method's table, whose offsets are
// from `t`. What a pack fails with has the method's name in front.
fr_status fr_trained_open(fr_trained *t, const fr_pack_form *form, const fr_drafter_ops *ops,
                          const char *file, const fr_drafter_config *config,
                          const fr_drafter_option *options, fr_error *err);
// The same with a pack that no file holds, which is closed with the drafter (fr_trained_close).
fr_status fr_trained_open_own(fr_trained *t, const fr_pack *pack, const fr_drafter_ops *ops,
                              const fr_drafter_config *config, const fr_drafter_option *options,
                              fr_error *err);
// Sets the time of a proposal before any was measured, by the bytes of weights that one row reads.
void fr_trained_weigh(fr_trained *t, const fr_model *target, uint64_t bytes);
void fr_trained_close(fr_trained *t); // a zeroed one is fine

void fr_trained_begin(fr_trained *t); // a new request

// Whether to draft in this step; if so the beam is the root alone. `unread`: rows that the drafter
// has not read.
bool fr_trained_start(fr_trained *t, const fr_context *c, const fr_tree *tree, int unread);
// The same for drafting without passes, which is always done.
bool fr_trained_start_free(fr_trained *t, const fr_context *c, const fr_tree *tree);
// Offers a distribution's likeliest guesses after node `at` of the beam's frontier, except later
// ones whose score is too low.
void fr_trained_offer(fr_trained *t, int at, const float *logits);
void fr_trained_offer_likely(fr_trained *t, int at, const fr_likely *likely, int n);
// What those two do if the drafter is watched (fr_drafter_is_watched): passes the distribution to
// the watch and offers only the token that it returns. Returns the new node, or -1.
int fr_trained_follow(fr_trained *t, int at, const fr_likely *likely, int n);
// Offers the guess of one rank, whatever its score: the new node, or -1.
int fr_trained_offer_one(fr_trained *t, int at, const fr_likely *likely, int rank);
// Begins the next level: returns how many nodes of the frontier to expand; 0: none. A level that
// takes a pass (FR_LEVEL_PASS) has only the nodes that pay for it.
typedef enum fr_level { FR_LEVEL_FREE, FR_LEVEL_PASS } fr_level;
int fr_trained_next(fr_trained *t, const fr_context *c, const fr_tree *tree, fr_level level);
// Grows all levels where every node of a level has the same distribution: row k - 1 of n (row
// stride `stride`) is that of depth k.
void fr_trained_grow_dists(fr_trained *t, const fr_context *c, const fr_tree *tree,
                           const float *logits, int stride, int n);
// Learns that a pass of `rows` rows took so long.
void fr_trained_took(fr_trained *t, const fr_context *c, int rows, double seconds);
// Adds the best of the beam to the tree.
void fr_trained_fill(fr_trained *t, fr_tree *tree);
// Records the expected tokens of the proposal, which decide whether later steps draft.
void fr_trained_proposed(fr_trained *t, const fr_context *c, const fr_tree *tree);

void fr_trained_saw(fr_trained *t, const fr_context *c, const fr_verdict *v); // when observing

#endif
