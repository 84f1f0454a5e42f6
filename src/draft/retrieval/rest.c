// Retrieval: proposes the continuations of the last tokens in a datastore of texts. [He et al.
// 2023, "REST: Retrieval-Based Speculative Decoding"]
//
// The longest span of last tokens, including the root, that occurs in the store is searched for.
// Its continuations form a trie (continuations.h), which is added to the tree from its best node
// on. The paper keeps the most frequent prefixes. Here a node is scored, so that a tree of few rows
// holds the best ones and guesses of several drafters compare. The kind of a guess (tree/hits.h) is
// the length of the span, with the path after it, and the share of the continuations; its hit rate
// is learned from the text.
#include "base/alloc.h"
#include "decode/counts.h"
#include "draft/kit/candidates.h"
#include "draft/retrieval/continuations.h"
#include "draft/shared/config.h"
#include "draft/shared/shared.h"
#include <string.h>

enum { MAX_GROUPS = 1 << 12 };

typedef struct fr_rest {
    fr_drafter base;
    fr_shared_part *shared;
    const fr_datastore *store; // of the shared part
    fr_continuations found;
    int least, most;      // tokens of a span
    int retrieved, depth; // continuations counted, tokens of one
    float min_score;
    int n_groups;
    fr_continuation_group group[MAX_GROUPS];
    fr_candidates line; // `from`: number of a group
    struct {            // since `begin`
        double lookups, hits, spans, continuations, seconds;
    } count;
} fr_rest;

// ---------------------------------------------------------------- kinds of guesses

static const int LAST_LENGTH[] = {1, 2, 3, 5, 8, 13, 20}; // of a class; the last is open
static const float SHARE[] = {0.03f, 0.08f, 0.17f, 0.3f, 0.51f, 0.7f, 0.88f}; // the same
enum {
    N_LENGTHS = sizeof LAST_LENGTH / sizeof *LAST_LENGTH + 1,
    N_SHARES = sizeof SHARE / sizeof *SHARE + 1,
};

// The kind of a guess that stands in `count` of `all` continuations of `length` tokens. The share
// is of all + 1, so a single continuation, which nothing contradicts, counts as half.
static uint8_t kind_of(int length, int count, int all) {
    const float share = (float)count / (float)(all + 1);
    int l = 0, s = 0;
    while (l < N_LENGTHS - 1 && length > LAST_LENGTH[l])
        l++;
    while (s < N_SHARES - 1 && share > SHARE[s])
        s++;
    return (uint8_t)(l * N_SHARES + s);
}

// Hit rates on answers of two chat models that were kept out of their stores, as a start.
static const float EXPECTED[N_LENGTHS][N_SHARES] = {
    {0.01f, 0.02f, 0.06f, 0.13f, 0.17f, 0.25f, 0.41f, 0.60f},
    {0.01f, 0.03f, 0.06f, 0.13f, 0.21f, 0.40f, 0.62f, 0.80f},
    {0.01f, 0.03f, 0.07f, 0.14f, 0.26f, 0.45f, 0.67f, 0.84f},
    {0.01f, 0.03f, 0.07f, 0.14f, 0.32f, 0.54f, 0.76f, 0.90f},
    {0.01f, 0.03f, 0.08f, 0.16f, 0.45f, 0.66f, 0.82f, 0.94f},
    {0.01f, 0.03f, 0.08f, 0.19f, 0.54f, 0.76f, 0.88f, 0.97f},
    {0.01f, 0.03f, 0.08f, 0.22f, 0.72f, 0.83f, 0.94f, 0.98f},
    {0.01f, 0.03f, 0.08f, 0.22f, 0.77f, 0.90f, 0.96f, 0.99f},
};
_Static_assert(N_LENGTHS *N_SHARES <= FR_HIT_KINDS, "every kind has its rate");

static void expect(fr_hits *hits) {
    hits->memory = 64;
    for (int l = 0; l < N_LENGTHS; l++)
        for (int s = 0; s < N_SHARES; s++)
            fr_hits_expect(hits, l * N_SHARES + s, EXPECTED[l][s], 8);
}

// ---------------------------------------------------------------- the tree

// The children of a group that stands at `node`, after a span of `span` tokens.
static void expand(fr_rest *d, const fr_continuation_group *g, int node, int span, float score) {
    fr_continuation_group child[FR_GROUP_CHILDREN];
    if (g->depth >= d->depth) return;
    const int n = fr_continuations_split(&d->found, g, child);
    for (int k = 0; k < n && d->line.n < FR_CANDIDATES && d->n_groups < MAX_GROUPS; k++) {
        fr_candidate *c = &d->line.waiting[d->line.n];
        *c = (fr_candidate){
            .id = child[k].id,
            .node = (int16_t)node,
            .kind = kind_of(span + g->depth, child[k].end - child[k].begin, g->end - g->begin),
            .rank = (uint8_t)k,
            .from = (uint64_t)d->n_groups};
        c->score = score * fr_hits_rate(&d->base.hits, c->kind, 1);
        if (c->score < d->min_score) continue;
        d->line.n++;
        d->group[d->n_groups++] = child[k];
    }
}

// What stands after a span of `span` tokens.
static void grow(fr_rest *d, const fr_datastore_match *match, int span, fr_tree *tree) {
    const fr_continuation_group all = fr_continuations_take(&d->found, match, d->retrieved);
    fr_candidate best;
    d->line.n = d->n_groups = 0;
    d->count.continuations += all.end;
    expand(d, &all, 0, span, 1);
    while (fr_candidates_next(&d->line, d->min_score, &best)) {
        const int node = fr_candidate_enter(&best, tree, d->base.part);
        if (node >= 0)
            expand(d, &d->group[best.from], node, span, best.score);
        else if (tree->n >= tree->max_nodes)
            return; // else it is too deep, and others are not
    }
}

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    fr_rest *d = (fr_rest *)base;
    (void)c, (void)from;
    memset(&d->count, 0, sizeof d->count);
    return agree;
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    fr_rest *d = (fr_rest *)base;
    fr_draft_lap(c);
    fr_datastore_match match[FR_DATASTORE_ORDER];
    const int span = fr_datastore_find(d->store, c->ids, c->n_ids, d->most, match);
    d->count.lookups++;
    if (span >= d->least) {
        d->count.hits++;
        d->count.spans += span;
        grow(d, &match[span - 1], span, tree);
    }
    d->count.seconds += fr_draft_lap(c);
}

static void report(const fr_drafter *base, fr_draft_counts *to) {
    const fr_rest *d = (const fr_rest *)base;
    const double lookups = d->count.lookups, hits = d->count.hits;
    const fr_draft_count counts[] = {
        {"rest", "lookups", false, lookups, 0},
        {"rest", "found", true, hits, lookups},
        {"rest", "span", true, d->count.spans, hits},
        {"rest", "continuations", true, d->count.continuations, hits},
        {"rest", "lookup_us", true, 1e6 * d->count.seconds, lookups},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        fr_counts_add(to, &counts[i]);
}

// ---------------------------------------------------------------- open and close

static void close_rest(fr_drafter *base) {
    fr_rest *d = (fr_rest *)base;
    fr_continuations_close(&d->found);
    fr_shared_give_back(d->shared);
    fr_free(d);
}

static const fr_drafter_ops OPS = {.name = "rest",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = fr_no_extend,
                                   .observe = fr_no_observe,
                                   .report = report,
                                   .close = close_rest};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_INT("span", "N", fr_rest, most, 1, FR_DATASTORE_ORDER,
                  "longest span of last tokens to look up, 1 to 16 (default 16)"),
    FR_OPTION_INT("least-span", "N", fr_rest, least, 1, FR_DATASTORE_ORDER,
                  "shortest span of last tokens to look up, 1 to 16 (default 1)"),
    FR_OPTION_INT("retrieved", "N", fr_rest, retrieved, 1, FR_CONTINUATIONS,
                  "maximum number of continuations counted, 1 to 5000 (default 256)"),
    FR_OPTION_INT("depth", "N", fr_rest, depth, 1, FR_TREE_MAX_DEPTH,
                  "maximum number of tokens of a continuation, 1 to 63 (default 10)"),
    FR_OPTION_REAL("min-score", "P", fr_rest, min_score, 0, 1,
                   "lowest estimated probability of a candidate, 0 to 1 (default 0.01)"),
    {0}};

static fr_status read_options(fr_rest *d, const char *const *options, fr_error *err) {
    fr_status st = FR_OK;
    for (int i = 0; options && options[i] && !st; i++)
        st = fr_drafter_read(d, OPS.name, OPTIONS, options[i], err);
    if (!st && d->least > d->most)
        st = fr_fail(err, FR_EARG, "draft option least-span: expected 1 to %d (span), found %d",
                     d->most, d->least);
    return st;
}

typedef struct store { // the half that belongs to the model
    fr_shared_part part;
    fr_datastore store;
} store;

static fr_status check_vocabulary(const fr_datastore *s, const char *file,
                                  const fr_drafter_config *config, fr_error *err) {
    char own[FR_VOCAB_NAME];
    fr_vocab_name(config->tokenizer, own);
    if (!strcmp(own, s->vocab)) return FR_OK;
    return fr_fail(err, FR_EUNSUP,
                   "%s: is of another vocabulary: expected %s, the model's, found %s", file, own,
                   s->vocab);
}

static fr_status open_store(fr_shared_part *p, const char *file, const fr_drafter_config *config,
                            const void *with, fr_error *err) {
    fr_datastore *s = &((store *)p)->store;
    (void)with;
    fr_status st = fr_datastore_open(s, file, err);
    if (st) return st;
    if ((st = check_vocabulary(s, file, config, err))) fr_datastore_close(s);
    if (s->n_vocab > config->model->config.n_vocab) s->n_vocab = config->model->config.n_vocab;
    return st;
}

static void close_store(fr_shared_part *p) {
    fr_datastore_close(&((store *)p)->store);
}

static const fr_shared_kind STORE = {
    .bytes = sizeof(store), .open = open_store, .close = close_store};

static fr_status take_store(fr_rest *d, const char *file, const fr_drafter_config *config,
                            fr_error *err) {
    const fr_status st = fr_shared_take(&d->shared, &STORE, file, config, NULL, err);
    if (!st) d->store = &((const store *)d->shared)->store;
    return st;
}

static fr_status open_rest(fr_drafter **out, const char *file, const fr_drafter_config *config,
                           fr_error *err) {
    *out = NULL;
    fr_rest *d = fr_alloc_zero(sizeof *d);
    if (!d) return fr_fail(err, FR_ENOMEM, "rest: no memory");
    d->base = (fr_drafter){.ops = &OPS, .default_nodes = config->no_adapt ? 64 : 32};
    d->least = 1;
    d->most = FR_DATASTORE_ORDER;
    d->retrieved = 256;
    d->depth = 10;
    d->min_score = 0.01f;
    expect(&d->base.hits);
    fr_status st = read_options(d, config->options, err);
    if (!st) st = take_store(d, file, config, err);
    if (!st) st = fr_continuations_open(&d->found, d->store, err);
    if (st)
        close_rest(&d->base);
    else
        *out = &d->base;
    return st;
}

const fr_drafter_method fr_rest_method = {.name = "rest",
                                          .what =
                                              "continuations retrieved from a datastore of texts",
                                          .file = "a datastore from 'forerun datastore'",
                                          .options = OPTIONS,
                                          .cost = 1,
                                          .open = open_rest};
