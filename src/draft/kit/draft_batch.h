// draft_batch.h — the rows of several texts that one pass of a drafter's own network takes.
//
// A drafter whose guesses come from passes of its own (over a pack's block, over a smaller model)
// puts its rows in (`want`, decode/drafter.h) and reads its results once the step has run the pass.
// Drafters of one group on the same network share a batch, and so its workspace: what many texts
// need at the same time is one reading of the weights. A drafter by itself has one for itself. The
// bits of a row do not depend on what else is in the pass (model/forward.h).
#ifndef FR_DRAFT_KIT_DRAFT_BATCH_H
#define FR_DRAFT_KIT_DRAFT_BATCH_H
#include "decode/drafter.h"
#include "draft/shared/config.h"

enum { FR_DRAFT_BATCH_TEXTS = 64 };

typedef struct fr_draft_batch fr_draft_batch;

struct fr_draft_batches { // those of a group: one thread at a time opens drafters, or steps
    fr_draft_batch *first;
    int n_ctx; // the largest context of a text
};

// Makes vectors of the rows of a pass, just before it. The caller that opens the batch opens it,
// and it is closed with the batch. NULL: the rows are used as they are.
typedef struct fr_draft_inputs fr_draft_inputs;
struct fr_draft_inputs {
    void (*prepare)(fr_draft_inputs *inputs, int n_rows);
    void (*close)(fr_draft_inputs *inputs);
};

typedef struct fr_draft_head_part { // states of one text that want logits
    const float *states;
    int n;
    float *logits;
} fr_draft_head_part;

struct fr_draft_batch {
    fr_draft_pass pass;      // first
    fr_draft_pass head_pass; // the head alone, on states that are given
    const fr_model *model;
    fr_forward *forward;
    fr_forward_limits limits;
    fr_matrix vocabulary; // head of the limits, where they name one
    fr_draft_inputs *inputs;
    // Of the next pass.
    fr_row rows[FR_MAX_ROWS];
    fr_kv *kv[FR_DRAFT_BATCH_TEXTS];
    const fr_matrix *own_head[FR_DRAFT_BATCH_TEXTS];
    int n_rows, n_logits, n_texts;
    // Of the next reading of the head alone.
    fr_draft_head_part part[FR_DRAFT_BATCH_TEXTS];
    int n_parts, n_states;
    float *states, *logits; // of several texts, end to end: open if heads are read alone at all
    // Its users.
    fr_draft_batches *owner; // NULL: one drafter's own
    fr_draft_batch *next;
    int users;
};

// The batch of this network: the one that others of config->batches use, or a new one. `limits` are
// those of one text; a batch of many has room for more. FR_ENOMEM.
fr_status fr_draft_batch_take(fr_draft_batch **out, const fr_model *model,
                              const fr_forward_limits *limits, fr_draft_batches *batches,
                              fr_error *err);
void fr_draft_batch_give_back(fr_draft_batch *b); // NULL is fine

// Puts the n rows of a text into the next pass. Parents are places among these rows, or as in a
// pass; seq is set here. own_head: NULL where the network has none (fr_forward_limits.own_outputs).
// Returns the place of the first row; -1: they do not fit this pass, but the next one.
int fr_draft_batch_put(fr_draft_batch *b, const fr_row *rows, int n, fr_kv *kv,
                       const fr_matrix *own_head);

// From now on the head may be read alone, up to max_logits states at once. FR_ENOMEM.
fr_status fr_draft_batch_open_head(fr_draft_batch *b, fr_error *err);
// Requests logits [n][outputs] of a text's n states (row stride d) from the next product of the
// head (the pass &b->head_pass). Both stay in place until then. False: they do not fit this
// product, but the next.
bool fr_draft_batch_put_states(fr_draft_batch *b, const float *states, int n, float *logits);
// Runs the pass at once, for one text: it has no other text's rows.
static inline void fr_draft_batch_run(fr_draft_batch *b) {
    b->pass.run(&b->pass);
}

#endif
