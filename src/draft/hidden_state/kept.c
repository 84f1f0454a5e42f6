#include "draft/hidden_state/kept.h"
#include <assert.h>
#include <string.h>

fr_status fr_kept_open(fr_kept *k, int d, int rank, int n_logits, fr_error *err) {
    *k = (fr_kept){.d = d, .rank = rank, .n_logits = n_logits};
    const int width[3] = {d, rank, n_logits};
    size_t bytes = 0;
    for (int i = 0; i < 3; i++)
        bytes += 2 * FR_ARENA_ROUND(FR_KEPT_DEPTH * (size_t)width[i] * sizeof(float));
    const fr_status st = fr_arena_open(&k->arena, bytes, "kept states", err);
    if (st) return st;
    for (int c = 0; c < 2; c++) {
        float **array[3] = {&k->chain[c].states, &k->chain[c].gates, &k->chain[c].logits};
        for (int i = 0; i < 3; i++)
            *array[i] = fr_arena_take(&k->arena, FR_KEPT_DEPTH * (size_t)width[i] * sizeof(float));
    }
    return FR_OK;
}

void fr_kept_close(fr_kept *k) {
    fr_arena_close(&k->arena);
    *k = (fr_kept){0};
}

void fr_kept_forget(fr_kept *k) {
    k->chain[0].length = k->chain[1].length = 0;
    k->age = 0;
    k->drafted = k->reused = 0;
}

fr_kept_chain *fr_kept_start(fr_kept *k, int length) {
    assert(length >= 1 && length <= FR_KEPT_DEPTH);
    k->newest = !k->newest;
    k->age = 0;
    k->drafted += length;
    fr_kept_chain *c = fr_kept_newest(k);
    c->length = length;
    c->shift = 0;
    memset(c->reused, 0, sizeof c->reused);
    return c;
}

void fr_kept_advance(fr_kept *k, int n) {
    for (int i = 0; i < 2; i++) {
        fr_kept_chain *c = &k->chain[i];
        c->shift = fr_kept_left(c) > n ? c->shift + n : c->length;
    }
}

void fr_kept_reuse(fr_kept *k, fr_kept_chain *c, int depths) {
    assert(depths <= fr_kept_left(c));
    if (c == fr_kept_newest(k)) k->age++;
    for (int j = 0; j < depths; j++) {
        k->reused += !c->reused[c->shift + j];
        c->reused[c->shift + j] = true;
    }
}
