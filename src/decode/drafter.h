// drafter.h — who proposes candidates: a table of verbs, one file a method in draft/.
//
// A step is: propose, attach, forward, verify, commit, observe, emit (step.h). A verb left NULL
// does nothing, so plain decoding is a table of NULLs. Drafters own what they learned and remember;
// they never touch the target's committed KV and may propose anything: what is wrong costs time,
// never bytes.
#ifndef FR_DECODE_DRAFTER_H
#define FR_DECODE_DRAFTER_H
#include "decode/budget.h"
#include "decode/sampler.h"
#include "model/forward.h"
#include "tree/hits.h"

typedef struct fr_drafter fr_drafter;

// When a candidate counts. EXACT: the target's own draw decides, the same bytes as plain decoding.
// REJECTION: the same distribution, other bytes. TYPICAL: neither.
typedef enum fr_rule { FR_RULE_EXACT, FR_RULE_REJECTION, FR_RULE_TYPICAL } fr_rule;

// What the target's passes must deliver for a drafter; fixed when it opens.
typedef struct fr_needs {
    int taps[8]; // layers whose residual it reads, ascending
    int n_taps;
    bool final;            // hidden states after the final norm, of candidate rows
    bool prompt_rows;      // ... and of every prompt row: `observe` is called for each chunk of the
                           // prompt
    int max_attached;      // rows that `attach` may add to a pass
    int attached_logits;   // ... and how many of them may want logits
    const fr_matrix *maps; // of the LINEAR rows it attaches
    int n_maps;
    int own_taps; // tapped layers of passes that it runs itself
    int resumes;  // the layer from which its rows go on (`resume`); 0: none do
} fr_needs;

// What a drafter may read. ids: every token known so far, prompt and output; the last one is the
// root, not yet evaluated, so n_ids - 1 of them are committed.
typedef struct fr_context {
    const fr_model *model;
    fr_forward *forward; // for passes of its own on the target (skip set, stop layer); scratch is
                         // dropped after
    fr_kv *kv;
    const int32_t *ids;
    int n_ids;
    const fr_sampling *sampling;
    fr_rule rule;
    const fr_budget *budget; // costs and worths of the target's passes
} fr_context;

// What became of a pass. For a chunk of the prompt, tree and path are NULL and every row was
// accepted.
typedef struct fr_verdict {
    const fr_tree *tree;
    const fr_row *rows; // candidate rows first (row i is node i), then the attached ones
    int n_rows;
    int path[FR_TREE_MAX_DEPTH + 1]; // nodes that were committed, the root first
    int n_path;                      // 0 is for the step alone: no drafter is told
    int broken;                      // where n_path is 0: the node whose logits are no numbers
    int32_t next;                    // the token after the path: the next root
} fr_verdict;

typedef struct fr_drafter_ops {
    const char *name;
    // For needs.prompt_rows: what follows agrees with the n first tokens of the present context,
    // the rest is to be forgotten. How many of their rows (0..n; the last of n may not have been
    // shown at all) `observe` need not be shown again; it may be shown some all the same. Asked
    // before `begin`, and where a context is taken over. NULL: none.
    int (*keep)(fr_drafter *d, int n);
    void (*begin)(fr_drafter *d,
                  const fr_context *c); // a new or changed context; before its prompt is evaluated
    // Adds candidates with honest scores; the tree knows its limits. It may hold those of other
    // parts of the SPEC already. The step keeps the best ones (budget.h), unless they were drawn at
    // random (fr_dist): then the drafter has chosen the tree's size itself.
    void (*propose)(fr_drafter *d, const fr_context *c, fr_tree *tree);
    // Rows of the tree (row i is node i) may go on where the drafter's own passes of `propose` left
    // them: in their scratch slots, from layer needs.resumes on, with the residual there. All
    // ancestors of such a row, up to the root, are such rows too. Asked where needs.resumes is set;
    // else scratch is dropped after `propose`.
    void (*resume)(fr_drafter *d, const fr_context *c, const fr_tree *tree, fr_row *rows);
    int (*attach)(fr_drafter *d, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                  int max); // new n
    void (*observe)(fr_drafter *d, const fr_context *c,
                    const fr_verdict *v); // after commit; results still readable
    void (*report)(const fr_drafter *d,
                   fr_draft_counts *to); // adds (counts.h) what it counted since `begin`
    void (*close)(fr_drafter *d);
} fr_drafter_ops;

struct fr_drafter { // embedded first in a method's own struct
    const fr_drafter_ops *ops;
    fr_needs needs;
    uint8_t part;      // its number in the SPEC, written into the nodes it adds
    int default_nodes; // most nodes that it proposes where the user gives no number, root included
    fr_hits hits;      // of its kinds of guesses: what it expects, then what the step learns
    double allowance;  // plain passes that a request may lose on it; 0: what budget.h gives
    fr_extra_rows extra_rows; // the rows, about, that `attach` will add to the next pass
    double prepaid; // seconds of the last proposal that served the steps to come: not this one's
    fr_drafter **parts; // of a composition, whose own hits are not used; else n_parts is 0
    int n_parts;
};

#endif
