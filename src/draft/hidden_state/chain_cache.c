#include "draft/hidden_state/chain_cache.h"
#include <assert.h>
#include <string.h>

fr_status fr_chain_cache_open(fr_chain_cache *k, int d, int rank, int n_logits, fr_error *err) {
    *k = (fr_chain_cache){.d = d, .rank = rank, .n_logits = n_logits};
    const int width[3] = {d, rank, n_logits};
    size_t bytes = 0;
    for (int i = 0; i < 3; i++)
        bytes += 2 * FR_ARENA_ROUND(FR_CHAIN_CACHE_DEPTH * (size_t)width[i] * sizeof(float));
    const fr_status st = fr_arena_open(&k->arena, bytes, "kept states", err);
    if (st) return st;
    for (int c = 0; c < 2; c++) {
        float **array[3] = {&k->chain[c].states, &k->chain[c].gates, &k->chain[c].logits};
        for (int i = 0; i < 3; i++)
            *array[i] =
                fr_arena_take(&k->arena, FR_CHAIN_CACHE_DEPTH * (size_t)width[i] * sizeof(float));
    }
    return FR_OK;
}

void fr_chain_cache_close(fr_chain_cache *k) {
    fr_arena_close(&k->arena);
    *k = (fr_chain_cache){0};
}

void fr_chain_cache_forget(fr_chain_cache *k) {
    k->chain[0].length = k->chain[1].length = 0;
    k->age = 0;
    k->drafted = k->reused = 0;
    assert(fr_chain_cache_is_sound(k));
}

fr_cached_chain *fr_chain_cache_start(fr_chain_cache *k, int length) {
    assert(length >= 1 && length <= FR_CHAIN_CACHE_DEPTH);
    k->newest = !k->newest;
    k->age = 0;
    k->drafted += length;
    fr_cached_chain *c = fr_chain_cache_newest(k);
    c->length = length;
    c->shift = 0;
    memset(c->reused, 0, sizeof c->reused);
    assert(fr_chain_cache_is_sound(k));
    return c;
}

bool fr_chain_cache_is_sound(const fr_chain_cache *k) {
    if (k->newest < 0 || k->newest > 1 || k->age < 0) return false;
    if (k->reused < 0 || k->reused > k->drafted) return false;
    for (int i = 0; i < 2; i++) {
        const fr_cached_chain *c = &k->chain[i];
        if (c->length < 0 || c->length > FR_CHAIN_CACHE_DEPTH) return false;
        if (c->length && (c->shift < 0 || c->shift > c->length)) return false;
    }
    return true;
}

void fr_chain_cache_advance(fr_chain_cache *k, int n) {
    for (int i = 0; i < 2; i++) {
        fr_cached_chain *c = &k->chain[i];
        c->shift = fr_chain_cache_left(c) > n ? c->shift + n : c->length;
    }
    assert(fr_chain_cache_is_sound(k));
}

void fr_chain_cache_reuse(fr_chain_cache *k, fr_cached_chain *c, int depths) {
    assert(depths <= fr_chain_cache_left(c));
    if (c == fr_chain_cache_newest(k)) k->age++;
    for (int j = 0; j < depths; j++) {
        k->reused += !c->reused[c->shift + j];
        c->reused[c->shift + j] = true;
    }
    assert(fr_chain_cache_is_sound(k));
}
