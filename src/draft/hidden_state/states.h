// states.h — chains of hidden states: the block that drafts them, and what is kept of them.
//
// A chain begins with the state that the block gives of the text's last pair, behind the root, and
// goes on from each state with the null token: no state depends on a guess. The draft head then
// takes all of them in one product, so it is read once and not at every depth.  [Make Every Draft
// Count, Chen et al. 2026, figure 4: one-pass logits; the iterative ones: lab/draft/states_ways.c]
#ifndef FR_DRAFT_HIDDEN_STATE_STATES_H
#define FR_DRAFT_HIDDEN_STATE_STATES_H
#include "draft/hidden_state/chain_cache.h"
#include "draft/hidden_state/token_bias.h"
#include "draft/kit/draft_block.h"

typedef struct fr_states fr_states;
struct fr_states {
    const fr_pack *pack;
    fr_draft_block chain;
    fr_token_bias injection;
    bool injects; // the pack has an injection, and it is wanted
    fr_chain_cache kept;
    double catch_up_seconds, chain_seconds, head_seconds; // since `begin`
    // How a step drafts: fr_states_draft, or another way for comparison.
    double (*draft)(fr_states *s, int32_t root, int length);
};

// The weights must outlive it. FR_ENOMEM and what fr_draft_block_open says.
fr_status fr_states_open(fr_states *s, fr_pack_weights *w, int n_ctx, bool inject,
                         fr_draft_batches *batches, fr_error *err);
void fr_states_close(fr_states *s); // a zeroed one is fine
void fr_states_begin(fr_states *s); // another text: no chain is left; what was read stays

// A new chain of `length` states behind the text that was added to `chain`, one pair or more, and
// the root. Its seconds.
double fr_states_draft(fr_states *s, int32_t root, int length);

// to[0..n_draft) = the newest chain's logits of level j (from 0) of a tree behind the present root,
// plus lambda times those that the chain before it has for this level: a product of experts.
void fr_states_fuse(fr_states *s, int j, float lambda, float *to);

// Row k (from 0) of a chain's arrays.
static inline float *fr_states_logits(const fr_states *s, const fr_cached_chain *c, int k) {
    return c->logits + (size_t)k * (size_t)s->pack->n_draft;
}
static inline float *fr_states_gate(const fr_states *s, const fr_cached_chain *c, int k) {
    return c->gates + (size_t)k * (size_t)s->pack->rank;
}

#endif
