// self_draft.h — the common part of the drafters that draft with some of the target's own layers
// (self-speculation): a token at a time, in scratch slots after the committed context.
//
// Guesses grow as those of other trained drafters do (trained.h), in a chain unless the user sets a
// width. Rows of the frontier's nodes run through the layers of a method, and a draft head reads
// their output. This continues after the best guess until its probability is below the threshold
// (threshold.h), or another pass would not pay.
#ifndef FR_DRAFT_SELF_SELF_DRAFT_H
#define FR_DRAFT_SELF_SELF_DRAFT_H
#include "draft/kit/trained.h"
#include "draft/self/self_pack.h"
#include "draft/self/threshold.h"

enum {
    FR_SELF_LEVELS = 8, // tokens drafted ahead at most, where no depth is given  [Draft & Verify]
    FR_SELF_ROWS = 64,  // rows of a step's draft passes
};

typedef struct fr_self_draft fr_self_draft;
// Runs the rows through the method's layers and writes what the draft head reads of row i to
// s->in + i * s->stride.
typedef void fr_self_pass_fn(fr_self_draft *s, const fr_context *c, const fr_row *rows, int n);

struct fr_self_draft { // embedded first in a method's own struct
    fr_trained base;
    fr_self_pass_fn *pass;
    uint8_t wants; // FR_WANT_* of a draft pass's rows; set before opening
    fr_threshold threshold;
    float fixed;           // threshold=P; below 0: it adapts
    bool whole;            // the target's own head in place of a pruned one; set before opening
    const fr_matrix *head; // else the draft head
    fr_linear linear;
    float *in, *logits; // [FR_BEAM_WIDTH][stride], [FR_BEAM_WIDTH][logit_stride]
    int stride, logit_stride;
    fr_arena arena;
    // State of the current step.
    int16_t row[FR_BEAM_NODES]; // of a node that was expanded, among this step's; -1: none
    int16_t slot[FR_SELF_ROWS]; // its scratch slot
    int n_rows;
    int32_t best[FR_PACK_HEADS]; // the chain of best guesses, for comparison with the text
    int n_best, n_root;          // n_root: tokens before and with the root
};

extern const fr_drafter_option fr_self_options[]; // offsets from an fr_self_draft
// After the pack: head and buffers. `share`: of the model's bytes that a row of a draft pass reads,
// without the head. FR_ENOMEM.
fr_status fr_self_open(fr_self_draft *s, const fr_model *target, double share,
                       fr_self_pass_fn *pass, fr_error *err);
void fr_self_close(fr_self_draft *s); // with the pack; a zeroed one is fine

int fr_self_begin(fr_drafter *d, const fr_context *c, int agree, const fr_drafter *from);
void fr_self_propose(fr_drafter *d, const fr_context *c, fr_proposal *p);
void fr_self_observe(fr_drafter *d, const fr_context *c, const fr_verdict *v);

#endif
