// chain_cache.h — a chain of hidden states that outlives the step it was drafted in.
//
// After n tokens whose states were read (the *anchor*), a chain G_1..G_K stands for the states of
// tokens n+1..n+K, and none of it depends on a guessed token. So after a pass that committed m
// tokens, whatever they are, G_{m+1}.. are still what they were: the distribution of the first
// guess after the new root is that of G_{shift+1}, where `shift` counts the tokens committed since
// the anchor. [Make Every Draft Count, Chen et al. 2026, abstract and figure 2]
//
// It stores two chains, so that a new one can be joined to the rest of the one before.
#ifndef FR_DRAFT_HIDDEN_STATE_CHAIN_CACHE_H
#define FR_DRAFT_HIDDEN_STATE_CHAIN_CACHE_H
#include "base/alloc.h"

enum { FR_CHAIN_CACHE_DEPTH = 16 };

typedef struct fr_cached_chain {
    int length; // K; 0: no chain
    int shift;  // tokens committed since the anchor
    bool reused
        [FR_CHAIN_CACHE_DEPTH]; // states that have served a later step than the one that made them
    float *states;              // [FR_CHAIN_CACHE_DEPTH][d]
    float *gates;               // [FR_CHAIN_CACHE_DEPTH][rank]
    float *logits;              // [FR_CHAIN_CACHE_DEPTH][n_logits]
} fr_cached_chain;

typedef struct fr_chain_cache {
    fr_cached_chain chain[2];
    int newest; // which of them
    int age;    // steps that drafted from the newest chain without making it
    int d, rank, n_logits;
    int64_t drafted, reused; // states; how many of them served a later step too
    fr_arena arena;
} fr_chain_cache;

fr_status fr_chain_cache_open(fr_chain_cache *k, int d, int rank, int n_logits, fr_error *err);
void fr_chain_cache_close(fr_chain_cache *k); // a zeroed one is fine

void fr_chain_cache_forget(fr_chain_cache *k); // another text; counts begin anew

// The newest chain becomes the one before, and a new one of `length` states
// (1..FR_CHAIN_CACHE_DEPTH) takes its place: the caller fills it in.
fr_cached_chain *fr_chain_cache_start(fr_chain_cache *k, int length);
void fr_chain_cache_advance(fr_chain_cache *k, int n); // n tokens became sure

static inline fr_cached_chain *fr_chain_cache_newest(fr_chain_cache *k) {
    return &k->chain[k->newest];
}
static inline fr_cached_chain *fr_chain_cache_before(fr_chain_cache *k) {
    return &k->chain[!k->newest];
}

// Depths of a tree after the present root for which a chain has states: depth j = 1..left has its
// state at index shift + j - 1.
static inline int fr_chain_cache_left(const fr_cached_chain *c) {
    return c->shift < c->length ? c->length - c->shift : 0;
}
// Lengths and shifts are within the chains; no more states served again than were drafted.
bool fr_chain_cache_is_sound(const fr_chain_cache *k);
// The first `depths` of the rest of a chain serve the current step, which did not make it.
void fr_chain_cache_reuse(fr_chain_cache *k, fr_cached_chain *c, int depths);

#endif
