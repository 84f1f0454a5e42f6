// token_bias.h — the effect of the previous token on the next one, added to distributions that do
// not depend on tokens.
//
//     s_k(v|u) = Z_k[v] + b_v · (nrm(W_1 e_u) * σ(W_g G_k)),  nrm(x) = x / sqrt(mean(x²) + 1e-6)
//
// Z_k and G_k are the logits and the state of depth k, u is the token in front of v, e_u the
// target's embedding; without a gate σ(…) is 1.  [Make Every Draft Count, Chen et al. 2026: token
// information is integrated after the hidden states; the low-rank form is a reading of it]
//
// It is computed for the v of a shortlist alone, from rows of b in f32: a list touches so few rows
// that panels would read many times as much. nrm(W_1 e_u) depends on u alone and takes as much as
// the rows of a hundred such lists. So it is stored at its first use, for u of the draft
// vocabulary. Opening takes no time for it, and [n_draft][rank] floats of memory.
#ifndef FR_DRAFT_HIDDEN_STATE_TOKEN_BIAS_H
#define FR_DRAFT_HIDDEN_STATE_TOKEN_BIAS_H
#include "draft/kit/shortlist.h"
#include "draft/shared/weights.h"

typedef struct fr_token_bias {
    const fr_model *target;
    int rank, d, n_draft;
    const float *of_token, *of_state; // W_1 [rank][d], W_g [rank][d] or NULL
    const float *out;                 // b [n_draft][rank]
    int32_t *sorted,
        *sorted_index;        // [n_draft] ids ascending, and where they stand in the vocabulary
    float *kept;              // [n_draft][rank] nrm(W_1 e_u), of those that
    bool *is_kept;            // ... were needed
    float *embedding, *token; // [d], [rank]: of a token that is not in the draft vocabulary
    fr_arena arena;
} fr_token_bias;

// The pack has a token bias (rank > 0); the weights must outlive it. FR_ENOMEM.
fr_status fr_token_bias_open(fr_token_bias *j, fr_pack_weights *w, fr_error *err);
void fr_token_bias_close(fr_token_bias *j); // a zeroed one is fine

// gate[0..rank) = σ(W_g state), or ones.
void fr_token_bias_gate(const fr_token_bias *j, const float *state, float *gate);
// score[i] = s(list->index[i] | id) after a state of this gate.
void fr_token_bias_score(fr_token_bias *j, const fr_shortlist *list, const float *gate, int32_t id,
                         float *score);

#endif
