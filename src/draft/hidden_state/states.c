// states.c — the block reads the text's pairs, continues from its own states with the null token,
// and one product of the draft head gives the logits of all depths: a pass each.
#include "draft/hidden_state/states.h"
#include <string.h>

fr_status fr_states_open(fr_states *s, fr_pack_weights *w, int n_ctx, bool inject,
                         fr_draft_batches *batches, fr_error *err) {
    const fr_pack *pack = &w->pack;
    const int rank = fr_hidden_state_pack_of(pack)->rank;
    *s = (fr_states){.pack = pack, .has_token_bias = inject && rank};
    fr_status st = fr_draft_block_open(&s->chain, w, n_ctx, 0, batches, err);
    if (!st && s->has_token_bias) st = fr_token_bias_open(&s->token_bias, w, err);
    if (!st) st = fr_draft_batch_open_head(s->chain.block.batch, err);
    if (!st) st = fr_chain_cache_open(&s->kept, pack->d, rank, pack->n_draft, err);
    if (st) fr_states_close(s);
    return st;
}

void fr_states_close(fr_states *s) {
    fr_chain_cache_close(&s->kept);
    fr_token_bias_close(&s->token_bias);
    fr_draft_block_close(&s->chain);
    *s = (fr_states){0};
}

void fr_states_begin(fr_states *s) {
    fr_chain_cache_forget(&s->kept);
    memset(s->seconds, 0, sizeof s->seconds);
}

static float *state_of(const fr_states *s, const fr_cached_chain *c, int k) {
    return c->states + (size_t)k * (size_t)s->pack->d;
}

// ---------------------------------------------------------------- the next pass

static bool put_text(fr_states *s) {
    return fr_draft_block_put_text(&s->chain, FR_WANT_FINAL | (s->token ? FR_WANT_LOGITS : 0));
}

static bool put_state(fr_states *s) {
    const fr_draft_block_guess from = {
        .state = state_of(s, s->drafted, s->n - 1), .token = s->last, .parent = s->slot};
    return fr_draft_block_put_guesses(&s->chain, &from, 1,
                                      FR_WANT_FINAL | (s->token ? FR_WANT_LOGITS : 0));
}

static bool put_head(fr_states *s) {
    return fr_draft_batch_put_states(s->chain.block.batch, s->drafted->states, s->length,
                                     s->drafted->logits);
}

void fr_states_start(fr_states *s, int32_t root, int length) {
    s->root = root;
    s->last = FR_DRAFT_BLOCK_NULL;
    s->length = length;
    s->n = 0;
    s->slot = -1;
    s->taken = 0;
    s->stage = FR_STATES_TEXT;
}

fr_draft_want fr_states_want(fr_states *s) {
    fr_draft_batch *batch = s->chain.block.batch;
    int rows = 1;
    bool fits = false;
    switch (s->stage) {
    case FR_STATES_TEXT:
        rows = s->chain.n_waiting;
        fits = put_text(s);
        break;
    case FR_STATES_CHAIN:
        fits = put_state(s);
        break;
    case FR_STATES_HEAD:
        rows = s->length;
        fits = put_head(s);
        break;
    }
    return (fr_draft_want){s->stage == FR_STATES_HEAD ? &batch->head_pass : &batch->pass,
                           fits ? rows : 0};
}

// ---------------------------------------------------------------- results

// The state that the last pass gave.
static void keep(fr_states *s) {
    fr_cached_chain *c = s->drafted;
    memcpy(state_of(s, c, s->n), fr_draft_block_state(&s->chain, 0),
           sizeof(float) * (size_t)s->pack->d);
    if (s->token) {
        memcpy(fr_states_logits(s, c, s->n), fr_draft_block_logits(&s->chain, 0),
               sizeof(float) * (size_t)s->pack->n_draft);
        if (s->has_token_bias)
            fr_token_bias_gate(&s->token_bias, state_of(s, c, s->n), fr_states_gate(s, c, s->n));
    }
    s->n++;
}

// True: there is a pass more for it, of the stage that it sets.
static bool take(fr_states *s) {
    if (s->stage == FR_STATES_HEAD) {
        for (int k = 0; k < s->length && s->has_token_bias; k++)
            fr_token_bias_gate(&s->token_bias, state_of(s, s->drafted, k),
                               fr_states_gate(s, s->drafted, k));
        return false;
    }
    if (s->stage == FR_STATES_TEXT) {
        fr_draft_block_took_text(&s->chain);
        s->drafted = fr_chain_cache_start(&s->kept, s->length);
    } else {
        s->slot = fr_draft_block_slot(&s->chain, 0);
    }
    keep(s);
    s->stage = s->n < s->length ? FR_STATES_CHAIN : FR_STATES_HEAD;
    if (s->stage == FR_STATES_HEAD) {
        fr_draft_block_drop(&s->chain);
        return !s->token;
    }
    if (s->token) s->last = s->token(s, s->drafted, s->n);
    return true;
}

bool fr_states_got(fr_states *s, const fr_context *c) {
    const fr_states_stage stage = s->stage;
    const bool more = take(s);
    const double seconds = fr_draft_lap(c);
    s->seconds[stage] += seconds;
    s->taken += seconds;
    return more;
}

void fr_states_fuse(fr_states *s, int j, float lambda, float *to) {
    const fr_cached_chain *newest = fr_chain_cache_newest(&s->kept),
                          *before = fr_chain_cache_before(&s->kept);
    const float *a = fr_states_logits(s, newest, newest->shift + j);
    const float *b = fr_states_logits(s, before, before->shift + j);
    for (int i = 0; i < s->pack->n_draft; i++)
        to[i] = a[i] + lambda * b[i];
}
