// states.h — chains of hidden states: the block that drafts them, and the stored states.
//
// A chain begins with the block's output for the text's last pair, after the root. It continues
// from each state with the null token, so no state depends on a guess. The draft head then
// multiplies all of them in one product, so it is read once and not at every depth. [Make Every
// Draft Count, Chen et al. 2026, figure 4: one-pass logits; the iterative ones:
// lab/draft/states_ways.c]
#ifndef FR_DRAFT_HIDDEN_STATE_STATES_H
#define FR_DRAFT_HIDDEN_STATE_STATES_H
#include "draft/hidden_state/chain_cache.h"
#include "draft/hidden_state/hidden_state_pack.h"
#include "draft/hidden_state/token_bias.h"
#include "draft/kit/draft_block.h"

typedef enum fr_states_stage { // what the next pass is for
    FR_STATES_TEXT,            // the text's new pairs, hence the first state
    FR_STATES_CHAIN,           // one more state
    FR_STATES_HEAD,            // the logits of all of them
} fr_states_stage;
enum { FR_STATES_STAGES = FR_STATES_HEAD + 1 };

typedef struct fr_states fr_states;
struct fr_states {
    const fr_pack *pack;
    fr_draft_block chain;
    fr_token_bias token_bias;
    bool has_token_bias; // the pack has one, and it is wanted
    fr_chain_cache kept;
    double seconds[FR_STATES_STAGES]; // since `begin`
    // NULL: states read no token. Or the token that state k reads, for comparison; the head is then
    // read at every depth.
    int32_t (*token)(fr_states *s, const fr_cached_chain *c, int k);
    // The current chain.
    fr_states_stage stage;
    fr_cached_chain *drafted;
    int32_t root, last;  // the text's last token, and the one that the last state read
    int length, n, slot; // states wanted, and there; scratch slot of the last one, -1: committed
    double taken;        // seconds of the chain so far
};

// The weights must outlive it. `batches` as in decoder_block.h. FR_ENOMEM and the errors of
// fr_draft_block_open.
fr_status fr_states_open(fr_states *s, fr_pack_weights *w, int n_ctx, bool inject,
                         fr_draft_batches *batches, fr_error *err);
void fr_states_close(fr_states *s); // a zeroed one is fine
void fr_states_begin(fr_states *s); // another text: no chain is left; what was read stays

// Begins a new chain of `length` states after the text that was added to `chain`, one pair or more,
// and the root.
void fr_states_start(fr_states *s, int32_t root, int length);
// Puts the rows of the next pass in: which pass, and how many there was room for (fr_draft_want).
fr_draft_want fr_states_want(fr_states *s);
// Takes that pass's results; c: whose clock counts. False: the chain is whole, and s->taken are its
// seconds.
bool fr_states_got(fr_states *s, const fr_context *c);

// to[0..n_draft) = the newest chain's logits of level j (from 0) of a tree after the present root,
// plus lambda times those that the chain before it has for this level: a product of experts.
void fr_states_fuse(fr_states *s, int j, float lambda, float *to);

// Row k (from 0) of a chain's arrays.
static inline float *fr_states_logits(const fr_states *s, const fr_cached_chain *c, int k) {
    return c->logits + (size_t)k * (size_t)s->pack->n_draft;
}
static inline float *fr_states_gate(const fr_states *s, const fr_cached_chain *c, int k) {
    return c->gates + (size_t)k * (size_t)fr_hidden_state_pack_of(s->pack)->rank;
}

#endif
