// states_ways.c — hidden-state-union and hidden-state-iterative: forerun's drafter with another use
// of the rest of a chain, and with another way to draft one.
//
// Union: the tree of the newest chain and that of the rest of the one before, united, the best
// nodes first. Iterative: the head is read at every depth, and every state reads the likeliest
// token before it; such a chain knows of guesses, so nothing of it is used again. [Make Every Draft
// Count, Chen et al. 2026: reuse; figure 4, iterative and one-pass logits]
#include "base/alloc.h"
#include "draft/hidden_state/hidden_state.h"
#include "draft/kit/trained.h"
#include "draft/registry.h"
#include "lab/draft/merge.h"
#include "lab/draft/methods.h"
#include "lab/draft/options.h"

enum { CANDIDATES = 64 }; // tokens of a level that are looked at

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_INT(
        "depth", "N", fr_trained, depth, 1, FR_PACK_HEADS,
        "number of states in a chain, 1 to 16 (default: as many as pay; with --no-adapt 6)"),
    FR_TRAINED_WIDTH("8"),
    {0}};

// Opens hidden-state with one or two options more.
static fr_status open_with(fr_drafter **out, const char *first, const char *second,
                           const char *file, const fr_drafter_config *config, fr_error *err) {
    static const fr_drafter_option none[] = {{0}};
    const char *rest[LAB_OPTIONS];
    fr_drafter_config inner = *config;
    int n = 0;
    *out = NULL;
    const fr_status st = lab_read_options(NULL, "hidden-state", none, config->options, rest, err);
    if (st) return st;
    while (rest[n])
        n++;
    rest[n++] = first;
    rest[n++] = second;
    rest[n] = NULL;
    inner.options = rest;
    return fr_hidden_state_method.open(out, file, &inner, err);
}

// ---------------------------------------------------------------- union

typedef struct states_union {
    fr_drafter_ops ops; // first: forerun's, but for `want`, `got` and `close`
    const fr_drafter_ops *own;
    bool drafted; // a chain, in this step
    fr_tree both, rest;
    fr_state_dist dist[FR_CHAIN_CACHE_DEPTH];
    fr_beam beam;
} states_union;

// Grows the tree of what was left of the chain before the newest.
static void grow_rest(states_union *u, fr_drafter *d, int left, const fr_tree *tree) {
    fr_states *s = fr_hidden_state_states(d);
    const fr_cached_chain *before = fr_chain_cache_before(&s->kept);
    for (int j = 0; j < left; j++) {
        fr_shortlist_take(&u->dist[j].list, fr_states_logits(s, before, before->shift + j),
                          s->pack->n_draft, CANDIDATES);
        u->dist[j].gate = fr_states_gate(s, before, before->shift + j);
        u->dist[j].reused = true;
    }
    const int n = left < tree->max_depth ? left : tree->max_depth;
    fr_state_tree_grow(fr_hidden_state_grower(d), tree->node[0].id, u->dist, n, &u->beam);
    fr_tree_begin(&u->rest, tree->node[0].id, tree->max_nodes, tree->max_depth);
    fr_beam_fill(&u->beam, d->part, &u->rest);
}

// The chain drafted for this step is fused with what was left by weight 0: so it counts as reused.
static void unite(states_union *u, fr_drafter *d, fr_proposal *p) {
    fr_states *s = fr_hidden_state_states(d);
    const int left = fr_chain_cache_left(fr_chain_cache_before(&s->kept));
    if (!left || fr_tree_is_drawn(&p->tree)) return;
    u->both = p->tree;
    grow_rest(u, d, left, &u->both);
    fr_tree_begin(&p->tree, u->both.node[0].id, u->both.max_nodes, u->both.max_depth);
    fr_tree_merge(&p->tree, (const fr_tree *const[]){&u->both, &u->rest}, 2);
}

static void got(fr_drafter *d, const fr_context *c, fr_proposal *p) {
    states_union *u = (states_union *)(void *)d->ops; // open_union made it
    u->own->got(d, c, p);
    u->drafted = true;
}

// When the proposal is complete. One that took no pass has drafted no chain.
static fr_draft_want want(fr_drafter *d, const fr_context *c, fr_proposal *p) {
    states_union *u = (states_union *)(void *)d->ops;
    const fr_draft_want wanted = u->own->want(d, c, p);
    if (!wanted.pass && u->drafted) {
        u->drafted = false;
        unite(u, d, p);
    }
    return wanted;
}

static void close_union(fr_drafter *d) {
    states_union *u = (states_union *)(void *)d->ops;
    u->own->close(d);
    fr_free(u);
}

static fr_status open_union(fr_drafter **out, const char *file, const fr_drafter_config *config,
                            fr_error *err) {
    *out = NULL;
    states_union *u = fr_alloc_zero(sizeof *u);
    if (!u) return fr_fail(err, FR_ENOMEM, "hidden-state-union: cannot get memory");
    const fr_status st = open_with(out, "mode=fused", "lambda=0", file, config, err);
    if (st) {
        fr_free(u);
        return st;
    }
    u->own = (*out)->ops;
    u->ops = *u->own;
    u->ops.want = want;
    u->ops.got = got;
    u->ops.close = close_union;
    (*out)->ops = &u->ops;
    (*out)->has_dists = false; // a distance has two
    return FR_OK;
}

// ---------------------------------------------------------------- iterative

// The likeliest token of depth k + 1 after `before`. The null token where no logit is a number; no
// bias is added after a null token.
static int32_t best_token(fr_states *s, const fr_cached_chain *c, int k, int32_t before) {
    fr_shortlist list;
    float biased[FR_SHORTLIST_MOST];
    const float *score = list.z;
    fr_shortlist_take(&list, fr_states_logits(s, c, k), s->pack->n_draft, FR_SHORTLIST_MOST);
    if (!list.n) return FR_DRAFT_BLOCK_NULL;
    if (s->has_token_bias && before != FR_DRAFT_BLOCK_NULL) {
        fr_token_bias_score(&s->token_bias, &list, fr_states_gate(s, c, k), before, biased);
        score = biased;
    }
    int best = 0;
    for (int i = 1; i < list.n; i++)
        if (score[i] > score[best]) best = i;
    return s->pack->ids[list.index[best]];
}

// The token that state k reads: the likeliest after the state before it.
static int32_t fed_token(fr_states *s, const fr_cached_chain *c, int k) {
    return fr_draft_block_pack_of(s->pack)->pure
               ? FR_DRAFT_BLOCK_NULL
               : best_token(s, c, k - 1, k > 1 ? s->last : s->root);
}

static fr_status open_iterative(fr_drafter **out, const char *file, const fr_drafter_config *config,
                                fr_error *err) {
    const fr_status st = open_with(out, "mode=fresh", NULL, file, config, err);
    if (st) return st;
    fr_hidden_state_states(*out)->token = fed_token;
    (*out)->has_dists = false; // its states read its own guesses before a watch could be asked
    return FR_OK;
}

const fr_drafter_method lab_hidden_state_union_method = {
    .name = "hidden-state-union",
    .what = "hidden-state with a tree of the new chain and a tree of the rest of the last one",
    .file = "a pack of hidden-state (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_hidden_state_form,
    .cost = 3,
    .open = open_union};

const fr_drafter_method lab_hidden_state_iterative_method = {
    .name = "hidden-state-iterative",
    .what = "hidden-state with states that read guesses, and the head at every depth",
    .file = "a pack of hidden-state (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_hidden_state_form,
    .cost = 3,
    .open = open_iterative};
