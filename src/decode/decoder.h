// decoder.h — one sequence: its context on a model, and the loop that plain decoding and every
// method run through.
//
// The tokens of a decoder are ids[0..n_ids); all but the last are committed, the last is the root
// of the next step. Opening may fail. A step cannot, but it ends the text where the model's logits
// are not finite. Decoders share passes as members of a group (group.h); one that is opened by
// itself is a group of one, so there is one loop for both.
#ifndef FR_DECODE_DECODER_H
#define FR_DECODE_DECODER_H
#include "decode/accept_option.h"
#include "decode/step_hook.h"
#include "decode/tree_option.h"
#include "decode/verify.h"

typedef struct fr_decoder_group fr_decoder_group;

// Called for every proposal, before its pass; the n_ids tokens known then end with the root.
typedef void fr_watch_fn(void *user, const fr_tree *proposed, int n_ids);

// Called for every new token in order; false: this is the last one.
typedef bool fr_emit_fn(void *user, int32_t token,
                        const fr_node *node); // node NULL: the target's own token

typedef struct fr_decoder_turn { // what a decoder may do in the next step
    int max_tokens;              // new tokens; 0: it takes no part
    fr_emit_fn *emit;
    void *user;
} fr_decoder_turn;

typedef struct fr_decoder fr_decoder;
struct fr_decoder {
    const fr_model *model;
    fr_decoder_group *group;
    bool alone; // the group is its own
    fr_kv kv;
    fr_sampling sampling;
    int n_prompt;        // tokens of the text that were given, not generated
    fr_drafter *drafter; // borrowed; fr_drafter_none() when it opens
    bool adapt;          // trees as large as pays; false: of the size in `size`
    fr_tree_size size;   // of trees, if the user sets it
    int32_t *ids;        // [n_ctx + FR_TREE_MAX_DEPTH + 2]
    int n_ids, n_ctx;
    int order;            // prompts of a lower one are read first; 0 when it opens
    int overtaken;        // other members' prompt rows read while it waited to read its own
    int n_shown;          // first rows that the drafter has seen, or need not see
    fr_acceptance accept; // without a drafter the rule makes no difference
    fr_logprobs *scores;  // borrowed: [FR_TREE_MAX_DEPTH + 1] of the step's new tokens; NULL: none
    fr_logprobs *prompt_scores; // borrowed: [n_prompt] of the prompt's tokens; NULL: none
    int n_top;                  // of each, the likeliest tokens that are listed
    bool drawn_scores;  // scores of new tokens are of the distribution that they are drawn from
    fr_step_hook *hook; // borrowed; NULL: all rows are in the pass
    fr_watch_fn *watch; // sees each proposal; NULL: none
    void *watch_user;
    fr_stats stats; // passes, rows, times, acceptance by depth
    // The present step, or the last one.
    fr_decoder_turn turn;
    bool go_on; // whether it has more to do
    fr_proposal proposal;
    fr_tree tree; // of its candidates, those of the pass
    fr_row rows[FR_MAX_ROWS];
    int n_rows;
    fr_row_places places;       // of its rows, in the pass
    bool shows;                 // its rows of a prompt are new to its drafter
    int n_accepted;             // nodes; as many tokens may be more than were wanted
    uint8_t tap[FR_NEEDS_TAPS]; // places of its drafter's taps among those of the pass
    fr_verdict verdict;
    bool broken;   // row verdict.broken had logits that are not finite (fr_decoder_fault);
    int broken_at; // ... tokens before the one that this row was to predict
    fr_draft_clock draft_clock; // of its drafter
    bool drafts;                // its proposal is not complete:
    fr_draft_want want;         // ... what its drafter needs next
};

// A decoder by itself.
fr_status fr_decoder_open(fr_decoder *d, const fr_model *m, int n_ctx, fr_kv_type kv_type,
                          const fr_needs *needs, fr_error *err);
void fr_decoder_close(fr_decoder *d); // leaves its group

// Between steps: every token is one of the vocabulary, all but the last may be committed, nothing
// lies in scratch; KV, budget and drafter are sound.
bool fr_decoder_is_sound(const fr_decoder *d);

// Sets the context to the n tokens of `prompt` (1..n_ctx), keeping the prefix that agrees with the
// present one. The following steps read the rest.
void fr_decoder_begin(fr_decoder *d, const int32_t *prompt, int n, const fr_sampling *sampling);
// A text of a model with LongRoPE that has outgrown the original context is read again, from its
// beginning (docs/numerics.md): drops what was committed. Between steps.
void fr_decoder_stretch(fr_decoder *d);
// Whether tokens before the root are still to be evaluated.
bool fr_decoder_reads(const fr_decoder *d);

// Begins and evaluates all but the last token, of a decoder by itself.
void fr_decoder_prompt(fr_decoder *d, const int32_t *prompt, int n, const fr_sampling *sampling);
void fr_decoder_shorten(fr_decoder *d); // drops the tokens that are not read yet

// Copies the context of `from`, a decoder on the same model with keys and values of the same type,
// as far as it fits.
void fr_decoder_adopt(fr_decoder *d, const fr_decoder *from);

void fr_decoder_forget(fr_decoder *d); // the next text is read from its beginning

// How many new tokens the present keys serve, until a text has to be read again.
int fr_decoder_reach(const fr_decoder *d);

// One pass of a decoder by itself: at most max_tokens (1 or more; n_ids + max_tokens <= n_ctx) new
// tokens, at least one unless the model is broken; or none, where the pass read a part of the text.
// Returns whether to continue.
bool fr_decoder_step(fr_decoder *d, int max_tokens, fr_emit_fn *emit, void *user);

// FR_OK, or FR_EDATA if the last step ended because the model's logits were not finite: the text is
// as before that step. Valid until the next pass.
fr_status fr_decoder_fault(fr_decoder *d, fr_error *err);

fr_context fr_decoder_context(const fr_decoder *d);      // what its drafter may read
float *fr_decoder_logits(const fr_decoder *d, int node); // of the last step's tree
int fr_decoder_in_pass(const fr_decoder *d);             // how many of its rows are there
// Whether its step's results come from elsewhere.
static inline bool fr_decoder_is_served(const fr_decoder *d) {
    return d->hook && d->hook->served;
}

#endif
