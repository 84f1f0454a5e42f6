// forward.h — the pass: rows in; logits, final hidden states and taps out.
//
// An fr_forward is one caller's workspace on a model (everything is allocated when it opens); a
// pass then cannot fail. For any mix of rows, any number of threads and any instruction set a row's
// results are the same bits as if it were decoded alone after its ancestors (docs/numerics.md).
#ifndef FR_MODEL_FORWARD_H
#define FR_MODEL_FORWARD_H
#include "model/kv.h"
#include "model/model.h"
#include "model/phase.h"
#include "model/row.h"

typedef struct fr_forward fr_forward;

typedef struct fr_forward_limits { // {0} means the defaults
    int max_rows;                  // of one pass; 0: fr_most_rows
    int max_logits;                // rows of one pass that want logits; 0: 64
    int max_taps;                  // tapped layers
    int n_ctx;             // committed slots that a sequence may have; 0: the model's context
    const fr_matrix *head; // in place of the model's; NULL: the model's. It outlives the workspace
    int own_outputs; // rows of a head that each sequence has besides (fr_pass.own_head); where
                     // there are some, `head` ends with a whole panel
} fr_forward_limits;

typedef struct fr_pass {
    const fr_row *rows;
    int n_rows;
    fr_kv *const *kv; // by fr_row.seq
    int n_seq;
    const fr_matrix *const *own_head; // by fr_row.seq: its outputs stand after those of the head;
                                      // NULL where own_outputs is 0
    const uint8_t *skip; // NULL, or [2 * n_layer]: non-zero skips attention (2l) or feed-forward
                         // (2l+1) of layer l
    int stop;        // 0: all layers; else only the first `stop` (logits are then the head on that
                     // residual)
    const int *taps; // tapped layers, ascending: t means the residual after t layers, 0..n_layer
    int n_taps;
    const fr_matrix *maps; // of LINEAR rows: d x d, packed
    int n_maps;
} fr_pass;

fr_status fr_forward_open(fr_forward **out, const fr_model *m, const fr_forward_limits *limits,
                          fr_error *err);
void fr_forward_close(fr_forward *f);
bool fr_forward_is_sound(const fr_forward *f); // the invariant in workspace.h, for asserts
size_t fr_forward_bytes(const fr_model *m, const fr_forward_limits *limits); // memory it reserves

// Computes the pass. Every new row takes the next scratch slot of its sequence. The caller has
// checked that ids are in the vocabulary, that parents come before children, and that the limits
// hold (asserted).
void fr_forward_run(fr_forward *f, const fr_pass *pass);

// From now on every pass adds to seconds[phase] what its first thread spent in each phase; NULL: no
// more. Reading the clock costs some microseconds a pass.
void fr_forward_time_phases(fr_forward *f, double seconds[FR_PHASES]);

// Results of the last pass, valid until the next. Row numbers are those of pass->rows.
float *fr_forward_logits(fr_forward *f, int row); // [outputs of the heads]; may be changed
const float *fr_forward_final(const fr_forward *f, int row);        // [d]
const float *fr_forward_tap(const fr_forward *f, int tap, int row); // [d]
int fr_forward_slot(const fr_forward *f, int row);                  // its scratch slot
// Experts that the last pass read, summed over layers; 0: the model has none.
int fr_forward_experts(const fr_forward *f);

// Puts a result from elsewhere where fr_forward_final or fr_forward_tap reads it, until the next
// pass. `row` is below max_rows: a row of the last pass, whose own result is lost, or one that the
// pass did not have.
void fr_forward_put_final(fr_forward *f, int row, const float *final);           // [d]
void fr_forward_put_tap(fr_forward *f, int tap, int row, const float *residual); // [d]

// The head alone on n given final hidden states (row stride d): logits [n][rows of the head]; n <=
// max_rows. Not where sequences have heads of their own.
void fr_forward_head(fr_forward *f, const float *hidden, int n, float *logits);

#endif
