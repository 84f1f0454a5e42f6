// kept.h — a chain of hidden states that outlives the step it was drafted in.
//
// Behind n tokens whose states were read (the *anchor*), a chain G_1..G_K stands for the states of
// tokens n+1..n+K, and none of it depends on a guessed token. So after a pass that committed m
// tokens, whatever they are, G_{m+1}.. are still what they were: the law of the first guess behind
// the new root is that of G_{shift+1}, where `shift` counts the tokens committed since the anchor.
// [Make Every Draft Count, Chen et al. 2026, abstract and figure 2]
//
// Two chains have room, so that a new one can be joined to what is left of the one before.
#ifndef FR_DRAFT_HIDDEN_STATE_KEPT_H
#define FR_DRAFT_HIDDEN_STATE_KEPT_H
#include "base/alloc.h"

enum { FR_KEPT_DEPTH = 16 };

typedef struct fr_kept_chain {
    int length;                 // K; 0: no chain
    int shift;                  // tokens committed since the anchor
    bool reused[FR_KEPT_DEPTH]; // states that have served a later step than the one that made them
    float *states;              // [FR_KEPT_DEPTH][d]
    float *gates;               // [FR_KEPT_DEPTH][rank]
    float *logits;              // [FR_KEPT_DEPTH][n_logits]
} fr_kept_chain;

typedef struct fr_kept {
    fr_kept_chain chain[2];
    int newest; // which of them
    int age;    // steps that drafted from the newest chain without making it
    int d, rank, n_logits;
    int64_t drafted, reused; // states; how many of them served a later step too
    fr_arena arena;
} fr_kept;

fr_status fr_kept_open(fr_kept *k, int d, int rank, int n_logits, fr_error *err);
void fr_kept_close(fr_kept *k); // a zeroed one is fine

void fr_kept_forget(fr_kept *k); // another text; counts begin anew

// The newest chain becomes the one before, and a new one of `length` states (1..FR_KEPT_DEPTH)
// takes its place: the caller fills it in.
fr_kept_chain *fr_kept_start(fr_kept *k, int length);
void fr_kept_advance(fr_kept *k, int n); // n tokens became sure

static inline fr_kept_chain *fr_kept_newest(fr_kept *k) {
    return &k->chain[k->newest];
}
static inline fr_kept_chain *fr_kept_before(fr_kept *k) {
    return &k->chain[!k->newest];
}

// Depths of a tree behind the present root that a chain speaks of: depth j = 1..left has its state
// at index shift + j - 1.
static inline int fr_kept_left(const fr_kept_chain *c) {
    return c->shift < c->length ? c->length - c->shift : 0;
}
// The first `depths` of what is left of a chain serve the step at hand, which did not make it.
void fr_kept_reuse(fr_kept *k, fr_kept_chain *c, int depths);

#endif
