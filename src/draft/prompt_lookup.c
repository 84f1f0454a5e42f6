// Prompt lookup: what followed the last few tokens when they stood in the text before is proposed
// again.  [Saxena 2023]
//
// For each n-gram length an index finds the earlier places of the last n tokens, most recent first,
// in constant time a token. Every place is a chain of candidates; the chains are merged into one
// tree, best estimated next node first. The estimates are running averages, for each length, of how
// often a chain's first and further tokens were right.
#include "base/alloc.h"
#include "draft/registry.h"
#include <stdlib.h>
#include <string.h>

enum { SHORTEST = 2, LONGEST = 4, LENGTHS = LONGEST - SHORTEST + 1, MAX_MATCHES = 8 };

typedef struct fr_chain {        // ids[at], ids[at + 1], ... are proposed
    int length_index, begin, at; // found at `begin`, come to `at`
    int node;                    // where it has come to in the tree
    float score;                 // of its next node
} fr_chain;

typedef struct fr_prompt_lookup {
    fr_drafter base;
    int n_ctx, matches;
    float min_score;
    uint32_t mask; // hash buckets - 1
    int32_t *head[LENGTHS],
        *older[LENGTHS]; // newest place of a bucket; next older place of a place; 0: none
    int n_indexed;       // n-grams that end before this place are indexed
    float first[LENGTHS], further[LENGTHS]; // estimated hit rates
    int offered_at[LENGTHS],
        n_before; // the newest chain of each length in the last proposal; 0: none
} fr_prompt_lookup;

static uint32_t hash_of(const int32_t *ids, int n) {
    uint32_t h = 2166136261u;
    for (int i = 0; i < n; i++)
        h = (h ^ (uint32_t)ids[i]) * 16777619u ^ h >> 15;
    return h;
}

// Place p is the token after an n-gram: ids[p - n .. p) with ids[p] known.
static void index_up_to(fr_prompt_lookup *d, const int32_t *ids, int n_ids) {
    for (int p = d->n_indexed; p < n_ids; p++)
        for (int l = 0; l < LENGTHS; l++) {
            int n = SHORTEST + l;
            if (p < n) continue;
            uint32_t bucket = hash_of(ids + p - n, n) & d->mask;
            d->older[l][p] = d->head[l][bucket];
            d->head[l][bucket] = p;
        }
    d->n_indexed = n_ids;
}

static void begin(fr_drafter *base, const fr_context *c) {
    fr_prompt_lookup *d = (fr_prompt_lookup *)base;
    for (int l = 0; l < LENGTHS; l++) {
        memset(d->head[l], 0, ((size_t)d->mask + 1) * sizeof *d->head[l]);
        d->first[l] = (float[]){0.35f, 0.55f, 0.75f}[l];
        d->further[l] = 0.8f;
        d->offered_at[l] = 0;
    }
    d->n_indexed = 0;
    index_up_to(d, c->ids, c->n_ids);
}

static int find_chains(fr_prompt_lookup *d, const int32_t *ids, int n_ids, fr_chain *chain) {
    int n_chains = 0;
    for (int l = LENGTHS - 1; l >= 0; l--) {
        int n = SHORTEST + l, found = 0;
        float score = d->first[l];
        d->offered_at[l] = 0;
        if (n_ids < n) continue;
        // Far more places than wanted may share the bucket; a bounded look keeps a step's time
        // constant.
        int p = d->head[l][hash_of(ids + n_ids - n, n) & d->mask];
        for (int looked = 0; p && found < d->matches && looked < 64; looked++, p = d->older[l][p]) {
            if (memcmp(ids + p - n, ids + n_ids - n, sizeof *ids * (size_t)n)) continue;
            if (!found) d->offered_at[l] = p;
            chain[n_chains++] = (fr_chain){.length_index = l, .begin = p, .at = p, .score = score};
            score *= 0.5f;
            found++;
        }
    }
    return n_chains;
}

static void propose(fr_drafter *base, const fr_context *c, fr_tree *tree) {
    fr_prompt_lookup *d = (fr_prompt_lookup *)base;
    fr_chain chain[LENGTHS * MAX_MATCHES];
    int n = find_chains(d, c->ids, c->n_ids, chain);
    d->n_before = c->n_ids;
    for (;;) {
        fr_chain *best = NULL;
        for (int i = 0; i < n; i++)
            if (chain[i].score > 0 && (!best || chain[i].score > best->score)) best = &chain[i];
        if (!best || best->score < d->min_score) return;
        best->node = fr_tree_add(tree, best->node, c->ids[best->at], best->score, d->base.part);
        best->score *= d->further[best->length_index];
        if (best->node < 0) best->score = 0;
        // Past the text's end, a text that repeats itself goes on with the guesses just made.
        if (++best->at == c->n_ids) best->at = best->begin;
    }
}

static void learn(float *rate, bool hit) {
    *rate += 0.1f * ((hit ? 1.0f : 0.0f) - *rate);
    if (*rate < 0.02f) *rate = 0.02f;
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    fr_prompt_lookup *d = (fr_prompt_lookup *)base;
    if (!v->tree) return;
    for (int l = 0; l < LENGTHS; l++) {
        int at = d->offered_at[l];
        for (int i = 0; at && d->n_before + i < c->n_ids && at + i < d->n_before; i++) {
            bool hit = c->ids[at + i] == c->ids[d->n_before + i];
            learn(i ? &d->further[l] : &d->first[l], hit);
            if (!hit) break;
        }
    }
    index_up_to(d, c->ids, c->n_ids);
}

static void close_lookup(fr_drafter *base) {
    fr_prompt_lookup *d = (fr_prompt_lookup *)base;
    for (int l = 0; l < LENGTHS; l++) {
        fr_free(d->head[l]);
        fr_free(d->older[l]);
    }
    fr_free(d);
}

static const fr_drafter_ops OPS = {.name = "prompt-lookup",
                                   .begin = begin,
                                   .propose = propose,
                                   .observe = observe,
                                   .close = close_lookup};

static fr_status read_option(fr_prompt_lookup *d, const char *option, fr_error *err) {
    char *end;
    const char *value = strchr(option, '=');
    if (value && !strncmp(option, "min-score=", 10)) {
        float v = strtof(value + 1, &end);
        if (*end || end == value + 1 || !(v >= 0 && v <= 1))
            return fr_fail(err, FR_EARG, "draft option min-score: expected 0 to 1, found '%.40s'",
                           value + 1);
        d->min_score = v;
        return FR_OK;
    }
    if (value && !strncmp(option, "matches=", 8)) {
        long v = strtol(value + 1, &end, 10);
        if (*end || v < 1 || v > MAX_MATCHES)
            return fr_fail(err, FR_EARG, "draft option matches: expected 1 to %d, found '%.40s'",
                           MAX_MATCHES, value + 1);
        d->matches = (int)v;
        return FR_OK;
    }
    return fr_fail(err, FR_EARG,
                   "draft option '%.60s': prompt-lookup has min-score=P and matches=N", option);
}

fr_status fr_prompt_lookup_open(fr_drafter **out, const fr_drafter_config *config, fr_error *err) {
    *out = NULL;
    fr_prompt_lookup *d = fr_alloc_zero(sizeof *d);
    fr_status st = FR_OK;
    if (!d) return fr_fail(err, FR_ENOMEM, "prompt-lookup: cannot get memory");
    d->base = (fr_drafter){.ops = &OPS, .default_nodes = 12};
    d->n_ctx = config->n_ctx;
    d->matches = 3;
    d->min_score = config->no_adapt ? 0 : 0.5f;
    for (d->mask = 1023; d->mask < (uint32_t)config->n_ctx; d->mask = 2 * d->mask + 1) {
    }
    for (int l = 0; l < LENGTHS; l++) {
        d->head[l] = fr_alloc_array((size_t)d->mask + 1, sizeof *d->head[l]);
        d->older[l] = fr_alloc_array((size_t)config->n_ctx + 1, sizeof *d->older[l]);
        if (!d->head[l] || !d->older[l]) {
            st = fr_fail(err, FR_ENOMEM, "prompt-lookup: cannot get memory for %d tokens",
                         config->n_ctx);
            goto fail;
        }
    }
    for (int i = 0; config->options && config->options[i]; i++)
        if ((st = read_option(d, config->options[i], err))) goto fail;
    *out = &d->base;
    return FR_OK;
fail:
    close_lookup(&d->base);
    return st;
}
