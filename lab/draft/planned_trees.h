// planned_trees.h — trees for attached rows that are settled before a text is seen, as the paper
// has them.
//
// Where scores decide, every step has a tree and attached rows of its own (attached_benefit.h). Here
// the number of rows is given, or found by the cost of passes. Each state (how deep the guesses at
// hand are) has one tree and one assignment of attached rows to its nodes:
//     dynamic   the best ones by accuracies [PPD §4.2], tree/ppd.h
//     static    one tree, a full chain on every node [PPD §5.4, figure 8a]
//     random    candidates and attached rows drawn at random, as many as dynamic has
#ifndef LAB_DRAFT_PLANNED_TREES_H
#define LAB_DRAFT_PLANNED_TREES_H
#include "draft/attached/attached_benefit.h"
#include "lab/draft/shape_fill.h"
#include "tree/ppd.h"

typedef enum fr_plan_kind { FR_PLAN_DYNAMIC, FR_PLAN_STATIC, FR_PLAN_RANDOM } fr_plan_kind;

typedef struct fr_planned {
    fr_plan_kind kind;
    int rows; // of a pass; 0: as many as the cost of passes makes fastest
    bool made;
    fr_ppd trees;
    int16_t node[FR_TREE_MAX]; // of the shape, for every node of the tree that was filled; -1: none
} fr_planned;

// The trees for chains of these attached rows, once: a later call does nothing.
void fr_planned_make(fr_planned *p, const fr_attached_benefit *r, const fr_accuracy *a,
                     const fr_cost *cost, int context);
// Fills the tree of the state `guesses->depths` with these guesses.
void fr_planned_fill(fr_planned *p, const fr_guesses *guesses, int part, fr_tree *tree);
// How many attached rows each node gets in a tree that was filled like this, `state` guesses deep:
// at most `most` in all, as other drafters' rows may be in the pass too.
void fr_planned_attach(fr_planned *p, int state, int part, const fr_tree *tree, int most,
                       uint8_t n_attached[FR_TREE_MAX]);

#endif
