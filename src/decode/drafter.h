// drafter.h — what proposes candidates: a table of verbs; every method has its folder in draft/.
//
// The step (step.c) calls the verbs and keeps the drafter's clock. Plain decoding is
// the drafter whose verbs do nothing (fr_drafter_none). Drafters own the data that they learn. They
// never change the target's committed KV, and may propose anything: a wrong proposal costs time,
// never bytes.
#ifndef FR_DECODE_DRAFTER_H
#define FR_DECODE_DRAFTER_H
#include "decode/budget.h"
#include "decode/draw/sampler.h"
#include "decode/step_hook.h"
#include "gguf/gguf.h"
#include "model/forward.h"
#include "tree/hits.h"
#include <assert.h>

typedef struct fr_drafter fr_drafter;

// When a candidate counts. EXACT: the target's own draw decides, the same bytes as plain decoding.
// REJECTION: the same distribution, other bytes. TYPICAL: neither.
typedef enum fr_rule { FR_RULE_EXACT, FR_RULE_REJECTION, FR_RULE_TYPICAL, FR_RULES } fr_rule;

enum { FR_NEEDS_TAPS = 8 };

// What the target's passes must deliver for a drafter; fixed when it opens.
typedef struct fr_needs {
    int taps[FR_NEEDS_TAPS]; // layers whose residual it reads, ascending
    int n_taps;
    bool final;            // hidden states after the final norm, of candidate rows
    bool prompt_rows;      // ... and of every prompt row: `observe` is called for each chunk of the
                           // prompt
    int max_attached;      // rows that `extend` may add to a pass
    int attached_logits;   // ... and how many of them may want logits
    const fr_matrix *maps; // of the LINEAR rows it attaches
    int n_maps;
    int own_taps;  // tapped layers of passes that it runs itself
    int resumes;   // the layer from which its rows continue (`extend`); 0: none do
    bool all_rows; // `observe` reads what hangs off the accepted path, too
} fr_needs;

// The seconds that a drafter takes in a step: those of its own verbs, and its share, by rows, of
// the passes that drafters run together. The batch starts and stops it; a drafter reads laps.
typedef struct fr_draft_clock {
    bool runs;
    double since; // ... from when
    double lap;   // since the last lap, up to `since`
    double laps;  // of this step, before that
} fr_draft_clock;

void fr_draft_clock_start(fr_draft_clock *k);
void fr_draft_clock_stop(fr_draft_clock *k);
double fr_draft_clock_seconds(const fr_draft_clock *k); // of this step; it is stopped

// Where a text's rows lie in the step's pass.
typedef struct fr_row_places {
    int first;         // row 0
    const int16_t *at; // [rows] row i, counted from `first`; -1: left out (step_hook.h). NULL: at i
} fr_row_places;

static inline int fr_row_place(fr_row_places p, int row) {
    assert(!p.at || p.at[row] >= 0);
    return p.first + (p.at ? p.at[row] : row);
}

// The data that a drafter may read. ids: every token known so far, prompt and output; the last one
// is the root, which is not evaluated yet, so n_ids - 1 of them are committed.
typedef struct fr_context {
    const fr_model *model;
    fr_forward *forward;  // for passes of its own on the target (skip set, stop layer); scratch is
                          // dropped after
    fr_row_places places; // of its rows in the step's pass
    const uint8_t *tap;   // [n_taps] index of needs.taps[t] among the pass' taps; NULL: t
    fr_kv *kv;
    const int32_t *ids;
    int n_ids;
    const fr_sampling *sampling;
    fr_rule rule;
    const fr_budget *budget; // what passes of the target cost and tokens are worth
    fr_draft_clock *clock;   // of this drafter; NULL: nothing is timed
} fr_context;

// Seconds since the last lap, or since this step began for the drafter; the next lap begins.
double fr_draft_lap(const fr_context *c);

// Results of the step's pass (forward.h) for a row of the drafter's own text.
static inline int fr_context_row(const fr_context *c, int row) {
    return fr_row_place(c->places, row);
}
static inline float *fr_context_logits(const fr_context *c, int row) {
    return fr_forward_logits(c->forward, fr_context_row(c, row));
}
static inline const float *fr_context_final(const fr_context *c, int row) {
    return fr_forward_final(c->forward, fr_context_row(c, row));
}
static inline const float *fr_context_tap(const fr_context *c, int tap, int row) {
    return fr_forward_tap(c->forward, c->tap ? c->tap[tap] : tap, fr_context_row(c, row));
}

// What became of a pass. For a chunk of the prompt, tree and path are NULL and every row was
// accepted.
typedef struct fr_verdict {
    const fr_tree *tree;
    const fr_row *rows; // candidate rows first (row i is node i), then the attached ones
    int n_rows;
    int path[FR_TREE_MAX_DEPTH + 1]; // nodes that were committed, the root first
    int n_path;                      // 0 only within the step, never in a drafter's call
    int broken;                      // where n_path is 0: the node whose logits are no numbers
    int32_t next;                    // the token after the path: the next root
} fr_verdict;

// A pass over a drafter's own network. Drafters of several texts share it.
typedef struct fr_draft_pass fr_draft_pass;
struct fr_draft_pass {
    void (*run)(fr_draft_pass *pass); // with the rows that were put into it
};

typedef struct fr_draft_want {
    fr_draft_pass *pass; // that the drafter needs next; NULL: the proposal is complete
    int rows; // that it has put into it; 0: the batch is full, request them after the pass
} fr_draft_want;

// What a drafter, or several one after the other, propose in a step.
typedef struct fr_proposal {
    fr_tree tree;             // candidates; scores are honest probabilities
    fr_extra_rows extra_rows; // the rows, about, that `extend` will add
    double prepaid;           // seconds of this proposal that serve later steps, not this one
} fr_proposal;

// A callback for the distributions that guesses are taken from. `next` gets the drafter's
// distribution of the token `distance` (1 or more) places after the root: the n likeliest tokens
// that it considers, by descending probability. It returns the token from which drafting continues,
// or -1 to end it. A drafter that is watched drafts along this one path only, and its proposal is
// not meant to be used.
typedef struct fr_dist_watch {
    int32_t (*next)(void *user, int distance, const fr_chance *likely, int n); // NULL: none
    void *user;
} fr_dist_watch;

// Every verb is there; fr_no_... are those that do nothing.
typedef struct fr_drafter_ops {
    const char *name;
    // Begins a text, before its prompt is evaluated. Its first `agree` tokens (with the root if
    // that is the same) are those of the drafter's previous text or, if `from` is not NULL, of the
    // text of `from`: a drafter of the same SPEC on the same model, whose text is taken over.
    // Everything else is forgotten. If needs.prompt_rows is set, returns how many rows of these
    // tokens (0..agree) `observe` need not see again. It may still see some of them again, and the
    // last of them may never have been shown.
    int (*begin)(fr_drafter *d, const fr_context *c, int agree, const fr_drafter *from);
    // Adds candidates and their data. The tree may hold those of other parts of the SPEC already.
    // The step keeps the best ones (budget.h), unless they were drawn at random (fr_dist): then the
    // drafter has chosen the tree's size itself. A drafter with passes of its own only begins here.
    // Then the batch polls which rows it wants, runs their pass, and passes it the results, until
    // no rows are wanted.
    void (*propose)(fr_drafter *d, const fr_context *c, fr_proposal *p);
    // Puts the rows of its next pass into the network's batch. Called again with the same state if
    // the batch was full.
    fr_draft_want (*want)(fr_drafter *d, const fr_context *c, fr_proposal *p);
    // Takes the results of the rows that it wanted.
    void (*got)(fr_drafter *d, const fr_context *c, fr_proposal *p);
    // Called before the pass. Changes rows[0..n) (row i < tree->n is node i) to what the drafter
    // needs of it and may attach rows; returns the new n, at most max. Rows of nodes may continue
    // where the drafter's own passes of `propose` left them: in their scratch slots, from layer
    // needs.resumes on, with the residual there. All ancestors of such a row, up to the root, are
    // such rows too. (Where needs.resumes is 0, scratch is dropped after `propose`.) Attached rows
    // are appended, under nodes or under one another.
    int (*extend)(fr_drafter *d, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                  int max);
    // After commit; results are still readable.
    void (*observe)(fr_drafter *d, const fr_context *c, const fr_verdict *v);
    // Adds its counts since `begin` (counts.h).
    void (*report)(const fr_drafter *d, fr_draft_counts *to);
    void (*close)(fr_drafter *d);
} fr_drafter_ops;

int fr_no_begin(fr_drafter *d, const fr_context *c, int agree, const fr_drafter *from);
fr_draft_want fr_no_want(fr_drafter *d, const fr_context *c, fr_proposal *p); // no passes
void fr_no_got(fr_drafter *d, const fr_context *c, fr_proposal *p);
int fr_no_extend(fr_drafter *d, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                 int max);
void fr_no_observe(fr_drafter *d, const fr_context *c, const fr_verdict *v);
void fr_no_report(const fr_drafter *d, fr_draft_counts *to);
void fr_no_close(fr_drafter *d);

struct fr_drafter { // embedded first in a method's own struct
    const fr_drafter_ops *ops;
    fr_needs needs;
    uint8_t part;      // its number in the SPEC, written into the nodes it adds
    int default_nodes; // most nodes that it proposes where the user gives no number, root included
    fr_hits hits;      // of its kinds of guesses: expected rates, which the step corrects
    bool has_dists;    // it guesses from distributions, which `watch` gets; else there is only
                       // the tree
    fr_dist_watch watch;
    double allowance; // plain passes that a request may lose on it; 0: what budget.h gives
    char file[FR_GGUF_FINGERPRINT]; // of the pack that it was opened from; "": none
    fr_drafter **parts; // of a composition, whose own hits are not used; else n_parts is 0
    int n_parts;
};

// Plain decoding: one shared object that is never written. Under every rule its bytes are those of
// EXACT.
fr_drafter *fr_drafter_none(void);
static inline bool fr_drafter_is_none(const fr_drafter *d) {
    return d == fr_drafter_none();
}
// Whether a watch reads its distributions, so that it drafts only along the watch's path.
static inline bool fr_drafter_is_watched(const fr_drafter *d) {
    return d->watch.next != NULL;
}
// Whether `from` is a drafter of the same methods and packs, of which `begin` can take a text over.
bool fr_drafter_is_alike(const fr_drafter *d, const fr_drafter *from);
void fr_drafter_close(fr_drafter *d); // NULL is fine
// Every verb is there, needs are within their bounds, its hits or all its parts are sound.
bool fr_drafter_is_sound(const fr_drafter *d);

#endif
