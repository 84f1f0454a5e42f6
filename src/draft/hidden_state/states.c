// states.c — the block reads the text's pairs, goes on from its own states with the null token, and
// one product of the draft head gives the logits of all depths.
#include "draft/hidden_state/states.h"
#include "base/clock.h"
#include <string.h>

fr_status fr_states_open(fr_states *s, fr_pack_weights *w, int n_ctx, bool inject,
                         fr_draft_batches *batches, fr_error *err) {
    const fr_pack *pack = &w->pack;
    *s = (fr_states){.pack = pack, .injects = inject && pack->rank, .draft = fr_states_draft};
    fr_status st = fr_draft_block_open(&s->chain, w, n_ctx, 0, batches, err);
    if (!st && s->injects) st = fr_token_bias_open(&s->injection, w, err);
    if (!st) st = fr_chain_cache_open(&s->kept, pack->d, pack->rank, pack->n_draft, err);
    if (st) fr_states_close(s);
    return st;
}

void fr_states_close(fr_states *s) {
    fr_chain_cache_close(&s->kept);
    fr_token_bias_close(&s->injection);
    fr_draft_block_close(&s->chain);
    *s = (fr_states){0};
}

void fr_states_begin(fr_states *s) {
    fr_chain_cache_forget(&s->kept);
    s->catch_up_seconds = s->chain_seconds = s->head_seconds = 0;
}

static float *state_of(const fr_states *s, const fr_cached_chain *c, int k) {
    return c->states + (size_t)k * (size_t)s->pack->d;
}

static void keep(fr_states *s, fr_cached_chain *c, int k) {
    memcpy(state_of(s, c, k), fr_draft_block_state(&s->chain, 0),
           sizeof(float) * (size_t)s->pack->d);
}

static void go_on(fr_states *s, fr_cached_chain *c) {
    int slot = -1;
    for (int k = 1; k < c->length; k++) {
        const fr_draft_block_guess from = {
            .state = state_of(s, c, k - 1), .token = FR_DRAFT_BLOCK_NULL, .parent = slot};
        fr_draft_block_guess_pass(&s->chain, &from, 1, FR_WANT_FINAL, &slot);
        keep(s, c, k);
    }
    fr_draft_block_drop(&s->chain);
}

static void read_head(fr_states *s, fr_cached_chain *c) {
    fr_draft_block_head(&s->chain, c->states, c->length, c->logits);
    for (int k = 0; k < c->length && s->injects; k++)
        fr_token_bias_gate(&s->injection, state_of(s, c, k), fr_states_gate(s, c, k));
}

double fr_states_draft(fr_states *s, int32_t root, int length) {
    const double start = fr_seconds();
    (void)root; // a state depends on no token
    fr_draft_block_read(&s->chain, FR_WANT_FINAL);
    fr_cached_chain *c = fr_chain_cache_start(&s->kept, length);
    keep(s, c, 0);
    const double read = fr_seconds();
    go_on(s, c);
    const double drafted = fr_seconds();
    read_head(s, c);
    const double end = fr_seconds();
    s->catch_up_seconds += read - start;
    s->chain_seconds += drafted - read;
    s->head_seconds += end - drafted;
    return end - start;
}

void fr_states_fuse(fr_states *s, int j, float lambda, float *to) {
    const fr_cached_chain *newest = fr_chain_cache_newest(&s->kept),
                          *before = fr_chain_cache_before(&s->kept);
    const float *a = fr_states_logits(s, newest, newest->shift + j);
    const float *b = fr_states_logits(s, before, before->shift + j);
    for (int i = 0; i < s->pack->n_draft; i++)
        to[i] = a[i] + lambda * b[i];
}
