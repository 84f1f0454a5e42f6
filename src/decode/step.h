// step.h — the loop that plain decoding and every method run through.
//
// A decoder is one sequence's context on one model. Its tokens are ids[0..n_ids); all but the last
// are committed, the last is the root of the next step. Opening may fail. A step cannot, but it
// ends the text where the model's logits are not finite.
#ifndef FR_DECODE_STEP_H
#define FR_DECODE_STEP_H
#include "decode/accept.h"
#include "decode/size.h"
#include "decode/verify.h"

enum { FR_PREFILL_ROWS = 64 }; // rows of one prompt chunk; any split gives the same bits

// Told of every proposal, before its pass; the n_ids tokens known then end with the root.
typedef void fr_watch_fn(void *user, const fr_tree *proposed, int n_ids);

typedef struct fr_decoder {
    const fr_model *model;
    fr_forward *forward;
    fr_kv kv;
    fr_sampler sampler;
    fr_drafter *drafter; // borrowed; fr_drafter_none() when it opens
    fr_tree_size size;   // of trees, where the user says it
    int32_t *ids;        // [n_ctx + FR_TREE_MAX_DEPTH + 2]
    int n_ids, n_ctx;
    fr_rule rule;           // without a drafter it makes no difference
    fr_typical typical;     // numbers of the rule of that name
    fr_rejection rejection; // workspace of the rule of that name
    fr_budget budget;
    fr_proposal proposal;
    fr_tree tree; // of its candidates, those of the pass
    fr_row rows[FR_MAX_ROWS];
    fr_verdict verdict;
    bool broken;        // the last step found no numbers (fr_decoder_fault)
    fr_watch_fn *watch; // NULL: nobody looks
    void *watch_user;
    fr_stats stats; // passes, rows, times, acceptance by depth
} fr_decoder;

// Told of every new token in order; false: this is the last one.
typedef bool fr_emit_fn(void *user, int32_t token,
                        const fr_node *node); // node NULL: the target's own token

fr_status fr_decoder_open(fr_decoder *d, const fr_model *m, int n_ctx, fr_kv_type kv_type,
                          const fr_needs *needs, fr_error *err);
void fr_decoder_close(fr_decoder *d);

// Between steps: every token is one of the vocabulary, all but the last may be committed, nothing
// lies in scratch; KV, budget and drafter are sound.
bool fr_decoder_is_sound(const fr_decoder *d);

// Makes the context the n tokens of `prompt` (1..n_ctx), keeping what agrees with the present one,
// and evaluates all but the last. `keep_going` (or NULL) is asked between chunks; false leaves a
// shorter context and returns FR_EINTR.
fr_status fr_decoder_prompt(fr_decoder *d, const int32_t *prompt, int n,
                            const fr_sampling *sampling, bool (*keep_going)(void *user), void *user,
                            fr_error *err);

// Makes the context that of `from`, a decoder on the same model with keys and values of the same
// type, as far as it has room.
void fr_decoder_adopt(fr_decoder *d, const fr_decoder *from);

// How many new tokens the present keys serve. Beyond that, where a text of a model with LongRoPE
// outgrows the original context, all of it has to be read again (docs/numerics.md).
int fr_decoder_reach(const fr_decoder *d);

// One pass: at most max_tokens (1 or more; n_ids + max_tokens <= n_ctx) new tokens, at least one
// unless the model is broken; or none, where the pass read a part of the text again. Returns
// whether to go on.
bool fr_decoder_step(fr_decoder *d, int max_tokens, fr_emit_fn *emit, void *user);

// FR_OK, or FR_EDATA where the last step ended because the model's logits were not finite: the text
// stands as it was before that step. Until the next pass.
fr_status fr_decoder_fault(fr_decoder *d, fr_error *err);

#endif
