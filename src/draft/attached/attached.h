// attached.h — the common part of the drafters whose guesses run in the target's own pass.
//
// Chosen nodes of the tree have chains of rows (attached_benefit.h). These rows pass the target's
// layers with the candidates and are never committed. After the pass the chain of the last accepted
// node is read: its states after the final norm, averaged over an ensemble, go through the draft
// head. Each row of the chain gives the distribution at one distance ahead, and the next tree grows
// from these. A method defines how a row of a chain enters.
#ifndef FR_DRAFT_ATTACHED_ATTACHED_H
#define FR_DRAFT_ATTACHED_ATTACHED_H
#include "draft/attached/attached_benefit.h"
#include "draft/attached/attached_pack.h"
#include "draft/kit/trained.h"
#include "draft/shared/draft_head.h"

enum { FR_ATTACHED_MOST = 128 }; // rows of a pass
_Static_assert((int)FR_PACK_ATTACHED <= (int)FR_ATTACHED_STEPS,
               "every pack's chains can be carried");

typedef struct fr_attached fr_attached;
// Row of step `step` (from 0), member `member`, under node `node` of the pass; parent and wants are
// set by the caller.
typedef fr_row fr_attached_row_fn(const fr_attached *a, int step, int member, int node);

// Another way than a step's scores to make the tree and to choose its attached rows, for comparison
// (lab/draft/planned.c).
typedef struct fr_attached_way {
    void (*fill)(fr_attached *a, fr_tree *tree); // the tree, of the logits of n_dists distances
    // n_attached of every node of the tree, at most `most` rows of chains in all.
    void (*choose)(fr_attached *a, const fr_context *c, const fr_tree *tree, int most);
} fr_attached_way;

struct fr_attached { // embedded first in a method's own struct
    fr_trained base;
    fr_attached_row_fn *row;
    int steps;
    fr_attached_benefit attached;
    fr_attached_way *way;  // NULL: by scores
    const fr_matrix *head; // the draft head
    fr_linear linear;
    float *state;  // [steps][stride]: of the last accepted node's chain
    float *logits; // [steps][logit_stride]
    int stride, logit_stride;
    int n_dists;                     // distances that the states guess; 0: none
    double seconds;                  // recent seconds of a proposal
    fr_extra_rows rows;              // of the last pass: about those of the next
    uint8_t n_attached[FR_TREE_MAX]; // attached rows of each node of the pass
    int first[FR_TREE_MAX];          // ... and the row of the first one
    fr_arena arena;
};

// Opens pack, head and buffers; `ops` is the method's table, of the verbs below.
fr_status fr_attached_open(fr_attached *a, const fr_pack_form *form, const fr_drafter_ops *ops,
                           const char *file, const fr_drafter_config *config,
                           const fr_drafter_option *options, fr_attached_row_fn *row,
                           fr_error *err);
void fr_attached_close(fr_attached *a);

// The rows of a chain of `length` under row `node` of a pass, from row n on; returns the new n.
int fr_attached_chain(const fr_attached *a, int node, int length, fr_row *rows, int n);

int fr_attached_begin(fr_drafter *d, const fr_context *c, int agree, const fr_drafter *from);
void fr_attached_propose(fr_drafter *d, const fr_context *c, fr_proposal *p);
int fr_attached_extend(fr_drafter *d, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                       int max);
void fr_attached_observe(fr_drafter *d, const fr_context *c, const fr_verdict *v);

#endif
