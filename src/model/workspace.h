// workspace.h — what an fr_forward is made of: the buffers of one pass. Private to forward.c,
// layer.c and workspace.c.
#ifndef FR_MODEL_WORKSPACE_H
#define FR_MODEL_WORKSPACE_H
#include "model/forward.h"
#include "model/route.h"

// The rows of a layer that read one expert.
typedef struct fr_expert_run {
    int expert;   // fr_experts.n: the shared one
    int first, n; // pairs [first, first + n)
    fr_act in[FR_ACT_KINDS], inner;
} fr_expert_run;

// Memory of layers with experts. A *pair* is a row and an expert that it reads; pairs are ordered by
// expert, then by row.
typedef struct fr_expert_rows {
    float *scores, *mark; // [max_rows][n + 1]: products of the router, then of the shared gate
    fr_choice *choice;    // [max_rows][used]
    int *row;             // by pair: place in `active`
    float *weight;        // by pair
    fr_expert_run *run;   // [n + 1], ascending by expert
    int n_runs;
    void *in[FR_ACT_KINDS], *inner[FR_ACT_KINDS];
    float *x;         // by pair: [d] inputs of experts in floats
    float *gate, *up; // by pair: [d_ff]
    float *part;      // a thread's: [max_rows][FR_EXPERT_COLUMNS]
} fr_expert_rows;
enum { FR_EXPERT_COLUMNS = 4 * FR_PANEL }; // outputs that a thread adds up at once

struct fr_forward {
    const fr_model *m;
    fr_forward_limits limits;
    fr_arena arena;

    // [max_rows][...], x by row of the pass, the others by place in `active`
    float *x;             // [d] residual stream
    float *xn;            // [d] normed input of a sub-layer
    float *q, *att;       // [n_head * head_dim]
    float *k, *v;         // [n_kv * head_dim]
    float *gate, *up;     // [d_ff]
    float *y;             // [d] output of a sub-layer
    float *cs, *cs_local; // [n_rot] cosines and sines, by row of the pass
    float *temper;        // by row of the pass: what queries are multiplied by
    float *final;         // [d] by row of the pass
    float *taps;          // [max_taps][max_rows][d]
    const fr_matrix *head;
    int n_outputs; // of the head and one of a sequence's own
    float *logits; // [max_logits][n_outputs]
    void *act[FR_ACT_KINDS];

    float *work; // attention, one piece a thread
    size_t work_floats;

    // the pass in flight
    const fr_pass *pass; // the caller's; NULL between passes
    int *slot, *pos;     // by row: scratch slot and logical position
    int *logit_row;      // by row: place in logits
    int n_logits;

    // the rows that the current layer computes, grouped by sequence
    int *active, *seq_begin; // seq_begin: [n_seq + 1] places in active
    int n_active;
    fr_expert_rows experts;
    int experts_read;      // by this pass, summed over layers
    double *phase_seconds; // NULL: phases are not timed
    double marked;         // when the phase that runs began
    fr_view *view[2];      // by place in active: of layers without and with a window
};

// Invariant, between passes: no pass is in flight; the limits are within their bounds and the last
// pass kept to them; outputs are those of the head and of a sequence's own.

enum { VIEW_FULL, VIEW_WINDOW };

#endif
