// Drafts of hidden states: a block continues from the target's states without any token of the
// future, one product gives the distributions of all depths, and tokens are put in as the tree
// grows. [Make Every Draft Count, Chen et al. 2026]
//
// A step: read the pairs of newly accepted tokens (draft_block.h); the last output is the state
// after the root. Continue from it with the null token, as many times as pays. Read the draft head
// on all states at once, then grow a tree from the distributions (state_tree.h), which takes no
// pass. The drafted states depend on no guess, so the rest of a chain after a pass may serve the
// next step (chain_cache.h), alone or with a new chain (state_reuse.h).
#include "draft/hidden_state/hidden_state.h"
#include "base/mean.h"
#include "decode/counts.h"
#include "draft/hidden_state/state_reuse.h"
#include "draft/kit/trained.h"
#include <string.h>

enum {
    DEEPER = 2, // states that a chain may have beyond the depth trained for
    CANDIDATES = 64,
};
static const float LEAST_SCORE = 0.004f, LAMBDA = 0.3f;
static const float USUAL = 0.6f; // how often a depth is right where nothing was counted
// Shares of one step: in the seconds of a chain and the rows of a pass; in the hit rate of a depth;
// in the return to the expected rate of a depth that was not drafted.
static const double OF_STEP = 0.1;
static const float OF_DEPTH = 0.05f, OF_UNSEEN = 0.01f;

static const char *const MODES[] = {"fresh", "reuse", "fused", "auto", NULL};

typedef struct fr_hidden_state {
    fr_trained base;
    fr_states states;
    fr_state_grower grower;
    fr_state_reuse reuse;
    // Options.
    fr_state_reuse_mode mode;
    int candidates;
    float lambda;
    int inject;
    // Learned.
    float expected
        [FR_CHAIN_CACHE_DEPTH]; // how often depth k + 1 is in the tree, if the path to it is:
    float right[FR_CHAIN_CACHE_DEPTH]; // by the pack, then by recent steps
    double draft_seconds, pass_rows;   // recent means: of a new chain; rows of a pass
    // State of the current step.
    fr_state_reuse_mode taken; // FR_REUSE_AUTO: nothing was drafted
    int left, age, depth;      // of the last chain before this step; levels of the tree
    fr_state_dist dist[FR_CHAIN_CACHE_DEPTH];
    float *fused; // [n_draft]
    // Counts since `begin`.
    double prompt_seconds, tree_seconds;
    int64_t steps[FR_REUSE_MODES], tokens[FR_REUSE_MODES], chains;
    bool is_drafting; // another pass of the chain is wanted
} fr_hidden_state;

static int smaller(int a, int b) {
    return a < b ? a : b;
}

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    fr_hidden_state *d = (fr_hidden_state *)base;
    (void)c;
    if (from)
        fr_draft_block_copy(&d->states.chain, &((const fr_hidden_state *)from)->states.chain,
                            agree);
    fr_trained_begin(&d->base);
    fr_states_begin(&d->states);
    d->taken = FR_REUSE_AUTO;
    d->prompt_seconds = d->tree_seconds = 0;
    memset(d->steps, 0, sizeof d->steps);
    memset(d->tokens, 0, sizeof d->tokens);
    d->chains = 0;
    return fr_draft_block_keep_tokens(&d->states.chain, agree);
}

// ---------------------------------------------------------------- what pays

// Length of a chain: one more state is worth its pass and a row of the target's while its depth is
// right often enough.
static int length_that_pays(const fr_hidden_state *d, const fr_context *c, int most) {
    const int context = c->n_ids - 1;
    const double price = fr_budget_token_cost(c->budget, context);
    double reached = d->right[0];
    int k = 1;
    for (; k < most; k++) {
        reached *= d->right[k];
        const double cost = fr_draft_benefit_pass(&d->base.benefit, c->budget, 1, context) +
                            fr_budget_pass(c->budget, k + 2, NULL, context) -
                            fr_budget_pass(c->budget, k + 1, NULL, context);
        if (reached * price <= cost) break;
    }
    return k;
}

static int chain_length(const fr_hidden_state *d, const fr_context *c, const fr_tree *tree) {
    if (d->base.depth) return d->base.depth;
    int most = smaller(d->base.pack->depth + DEEPER, FR_CHAIN_CACHE_DEPTH);
    most = smaller(most, tree->max_depth);
    const bool for_itself = d->mode == FR_REUSE_AUTO || d->mode == FR_REUSE_FRESH;
    return for_itself ? length_that_pays(d, c, most) : most;
}

// Tokens that n depths from `first` on are expected to bring by the rates of new chains, with the
// one that every pass gives.
static double tokens_of(const fr_hidden_state *d, int first, int n) {
    double reached = 1, sum = 1;
    for (int k = first; k < first + n && k < FR_CHAIN_CACHE_DEPTH; k++)
        sum += reached *= d->right[k];
    return sum;
}

static fr_state_reuse_mode choose_mode(fr_hidden_state *d, const fr_context *c, bool chain_pays) {
    fr_cached_chain *last = fr_chain_cache_newest(&d->states.kept);
    d->left = fr_chain_cache_left(last);
    d->age = d->states.kept.age;
    const bool kept = fr_state_reuse_possible(d->left, d->age);
    if (!chain_pays) // a kept chain costs no pass
        return kept && (d->mode == FR_REUSE_AUTO || d->mode == FR_REUSE_KEPT) ? FR_REUSE_KEPT
                                                                              : FR_REUSE_AUTO;
    if (d->mode == FR_REUSE_KEPT) return kept ? FR_REUSE_KEPT : FR_REUSE_FRESH;
    if (d->mode != FR_REUSE_AUTO) return d->left ? d->mode : FR_REUSE_FRESH;
    if (!d->left || !d->base.adapt) return FR_REUSE_FRESH;
    const int rows = d->pass_rows < 1 ? 1 : (int)(d->pass_rows + 0.5);
    const fr_state_reuse_case at = {.left = d->left,
                                    .age = d->age,
                                    .fresh = tokens_of(d, 0, last->length),
                                    .kept = tokens_of(d, last->shift, d->left),
                                    .pass = fr_budget_pass(c->budget, rows, NULL, c->n_ids - 1),
                                    .draft = d->draft_seconds};
    return fr_state_reuse_choose(&d->reuse, &at, c->budget, c->n_ids - 1);
}

static void learn_chain(fr_hidden_state *d, const fr_context *c) {
    const double seconds = d->states.taken;
    d->chains++;
    fr_trained_took(&d->base, c, 1, seconds / d->states.length);
    if (d->draft_seconds <= 0) d->draft_seconds = seconds;
    fr_follow(&d->draft_seconds, seconds, OF_STEP);
}

// ---------------------------------------------------------------- its tree

// Takes the distributions of the rest of a chain. Those of the first `with_before` levels are
// fused with those of the chain before.
static int take_dists(fr_hidden_state *d, const fr_cached_chain *chain, bool reused,
                      int with_before) {
    const int n = fr_chain_cache_left(chain), n_draft = d->base.pack->n_draft;
    for (int j = 0; j < n; j++) {
        const float *logits = fr_states_logits(&d->states, chain, chain->shift + j);
        if (j < with_before) {
            fr_states_fuse(&d->states, j, d->lambda, d->fused);
            logits = d->fused;
        }
        fr_shortlist_take(&d->dist[j].list, logits, n_draft, d->candidates);
        d->dist[j].gate = fr_states_gate(&d->states, chain, chain->shift + j);
        d->dist[j].reused = reused;
    }
    return n;
}

static void add_tree_of(fr_hidden_state *d, const fr_cached_chain *chain, bool reused,
                        int with_before, fr_tree *tree) {
    const int n = take_dists(d, chain, reused, with_before);
    fr_state_tree_grow(&d->grower, tree->node[0].id, d->dist, smaller(n, tree->max_depth),
                       &d->base.beam);
    fr_trained_fill(&d->base, tree);
}

static void add_tree(fr_hidden_state *d, fr_tree *tree) {
    fr_chain_cache *kept = &d->states.kept;
    fr_cached_chain *newest = fr_chain_cache_newest(kept), *before = fr_chain_cache_before(kept);
    int with_before = 0;
    if (d->taken == FR_REUSE_KEPT) fr_chain_cache_reuse(kept, newest, fr_chain_cache_left(newest));
    if (d->taken == FR_REUSE_FUSED) {
        with_before = smaller(fr_chain_cache_left(before), newest->length);
        fr_chain_cache_reuse(kept, before, with_before);
    }
    add_tree_of(d, newest, d->taken == FR_REUSE_KEPT, with_before, tree);
}

static void end_proposal(fr_hidden_state *d, const fr_context *c, fr_tree *tree) {
    fr_draft_lap(c);
    add_tree(d, tree);
    d->depth =
        smaller(fr_chain_cache_left(fr_chain_cache_newest(&d->states.kept)), tree->max_depth);
    d->tree_seconds += fr_draft_lap(c);
    if (d->taken == FR_REUSE_KEPT || d->base.beam.n < 2) return;
    d->base.best = d->base.beam.node[1].id;
    fr_trained_proposed(&d->base, c, tree);
    fr_draft_benefit_saw(&d->base.benefit, d->base.beam.node[1].score);
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_hidden_state *d = (fr_hidden_state *)base;
    d->taken = FR_REUSE_AUTO;
    d->is_drafting = false;
    if (!d->states.chain.n_waiting) return; // a prompt of one token has no state yet
    d->taken = choose_mode(d, c, fr_trained_start(&d->base, c, &p->tree, 1));
    if (d->taken == FR_REUSE_AUTO) return;
    if (d->taken == FR_REUSE_KEPT) {
        end_proposal(d, c, &p->tree);
        return;
    }
    fr_draft_lap(c);
    fr_states_start(&d->states, p->tree.node[0].id, chain_length(d, c, &p->tree));
    d->is_drafting = true;
}

static fr_draft_want want(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_hidden_state *d = (fr_hidden_state *)base;
    (void)c, (void)p;
    return d->is_drafting ? fr_states_want(&d->states) : (fr_draft_want){NULL, 0};
}

static void got(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_hidden_state *d = (fr_hidden_state *)base;
    d->is_drafting = fr_states_got(&d->states, c);
    if (d->is_drafting) return;
    learn_chain(d, c);
    end_proposal(d, c, &p->tree);
}

// ---------------------------------------------------------------- results

static int child_in_beam(const fr_beam *b, int node, int32_t id) {
    for (int i = node + 1; i < b->n; i++)
        if (b->node[i].parent == node && b->node[i].id == id) return i;
    return -1;
}

static void learn_depths(fr_hidden_state *d, const int32_t *followed, int n) {
    for (int k = 0, node = 0; k < n && k < d->depth && node >= 0; k++) {
        node = child_in_beam(&d->base.beam, node, followed[k]);
        fr_follow_f32(&d->right[k], (float)(node >= 0), OF_DEPTH);
    }
    for (int k = d->depth; k < FR_CHAIN_CACHE_DEPTH;
         k++) // not drafted, so not seen: worth a try in time
        fr_follow_f32(&d->right[k], d->expected[k], OF_UNSEEN);
}

static void learn(fr_hidden_state *d, const fr_context *c, const fr_verdict *v) {
    const int n = v->n_path;
    d->steps[d->taken]++;
    d->tokens[d->taken] += n;
    if (v->tree->max_depth >= d->depth) // not cut short by the answer's end
        fr_state_reuse_learn(&d->reuse, d->taken, d->left, d->age, n);
    if (d->taken != FR_REUSE_KEPT) learn_depths(d, c->ids + c->n_ids - n, n);
    d->taken = FR_REUSE_AUTO; // the next step may have no room for a proposal
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    fr_hidden_state *d = (fr_hidden_state *)base;
    fr_draft_lap(c);
    fr_trained_saw(&d->base, c, v);
    if (!v->tree) {
        fr_draft_block_add_path(&d->states.chain, c, NULL, v->n_rows);
        d->prompt_seconds += fr_draft_lap(c);
        return;
    }
    fr_draft_block_add_path(&d->states.chain, c, v->path, v->n_path);
    d->states.seconds[FR_STATES_TEXT] += fr_draft_lap(c);
    fr_chain_cache_advance(&d->states.kept, v->n_path);
    fr_follow(&d->pass_rows, v->tree->n, OF_STEP);
    if (d->taken != FR_REUSE_AUTO) learn(d, c, v);
}

static void report(const fr_drafter *base, fr_draft_counts *to) {
    const fr_hidden_state *d = (const fr_hidden_state *)base;
    static const char *const STEPS[FR_REUSE_MODES] = {"steps_fresh", "steps_reuse", "steps_fused"};
    static const char *const TOKENS[FR_REUSE_MODES] = {
        "tokens_per_step_fresh", "tokens_per_step_reuse", "tokens_per_step_fused"};
    const struct {
        const char *name;
        double seconds;
    } part[] = {{"seconds_prompt", d->prompt_seconds},
                {"seconds_catch_up", d->states.seconds[FR_STATES_TEXT]},
                {"seconds_chain", d->states.seconds[FR_STATES_CHAIN]},
                {"seconds_head", d->states.seconds[FR_STATES_HEAD]},
                {"seconds_tree", d->tree_seconds}};
    const fr_chain_cache *kept = &d->states.kept;
    const char *name = base->ops->name;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        fr_counts_add(to, &(fr_draft_count){name, part[i].name, false, part[i].seconds, 0});
    for (int i = 0; i < FR_REUSE_MODES; i++) {
        const double steps = (double)d->steps[i], tokens = (double)d->tokens[i];
        fr_counts_add(to, &(fr_draft_count){name, STEPS[i], false, steps, 0});
        fr_counts_add(to, &(fr_draft_count){name, TOKENS[i], true, tokens, steps});
    }
    const double drafted = (double)kept->drafted, reused = (double)kept->reused;
    fr_counts_add(to,
                  &(fr_draft_count){name, "states_per_chain", true, drafted, (double)d->chains});
    fr_counts_add(to, &(fr_draft_count){name, "states_reused", true, reused, drafted});
}

static void close_hidden_state(fr_drafter *base) {
    fr_hidden_state *d = (fr_hidden_state *)base;
    fr_free(d->fused);
    fr_states_close(&d->states);
    fr_trained_close(&d->base);
    fr_free(d);
}

static const fr_drafter_ops OPS = {.name = "hidden-state",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = want,
                                   .got = got,
                                   .extend = fr_no_extend,
                                   .observe = observe,
                                   .report = report,
                                   .close = close_hidden_state};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_WORD(
        "mode", "NAME", fr_hidden_state, mode, MODES,
        "use of the states left from the last step: fresh, reuse, fused or auto (default)"),
    FR_OPTION_INT(
        "depth", "N", fr_trained, depth, 1, FR_PACK_HEADS,
        "number of states in a chain, 1 to 16 (default: as many as pay; with --no-adapt 6)"),
    FR_TRAINED_WIDTH("8"),
    FR_OPTION_REAL("lambda", "X", fr_hidden_state, lambda, 0, 4,
                   "weight of the leftover logits in mode fused, 0 to 4 (default 0.3)"),
    FR_OPTION_INT(
        "candidates", "N", fr_hidden_state, candidates, 1, FR_SHORTLIST_MOST,
        "number of likeliest tokens of each level that may enter the tree, 1 to 256 (default 64)"),
    FR_OPTION_INT("inject", "N", fr_hidden_state, inject, 0, 1,
                  "1: use the token bias, 0: do not (default 1)"),
    {0}};

fr_states *fr_hidden_state_states(fr_drafter *d) {
    return &((fr_hidden_state *)d)->states;
}

const fr_state_grower *fr_hidden_state_grower(const fr_drafter *d) {
    return &((const fr_hidden_state *)d)->grower;
}

// ---------------------------------------------------------------- open

static fr_status open_parts(fr_hidden_state *d, const fr_drafter_config *config, fr_error *err) {
    const fr_pack *p = d->base.pack;
    fr_error why = {0};
    fr_status st = fr_states_open(&d->states, d->base.weights, config->n_ctx, d->inject,
                                  config->batches, &why);
    if (st) return fr_fail(err, st, "hidden-state: %s", why.text);
    if (!(d->fused = fr_alloc_array((size_t)p->n_draft, sizeof *d->fused)))
        return fr_fail(err, FR_ENOMEM, "hidden-state: no memory for %d logits", p->n_draft);
    d->grower =
        (fr_state_grower){.ids = p->ids,
                          .token_bias = d->states.has_token_bias ? &d->states.token_bias : NULL,
                          .hits = &d->base.base.hits,
                          .width = d->base.width,
                          .least = LEAST_SCORE,
                          .watch = &d->base.base.watch};
    return FR_OK;
}

static void expect_depths(fr_hidden_state *d) {
    const fr_pack *p = d->base.pack;
    for (int k = 0; k < FR_CHAIN_CACHE_DEPTH; k++) {
        float sum = 0;
        for (int rank = 0; rank < 3; rank++)
            sum += (float)fr_accuracy_rate(&p->accuracy, smaller(k + 1, p->depth), rank);
        d->right[k] = d->expected[k] = sum > 0 ? sum : USUAL;
    }
}

static fr_status open_hidden_state(fr_drafter **out, const char *file,
                                   const fr_drafter_config *config, fr_error *err) {
    *out = NULL;
    fr_hidden_state *d = fr_alloc_zero(sizeof *d);
    if (!d) return fr_fail(err, FR_ENOMEM, "hidden-state: cannot get %zu bytes", sizeof *d);
    d->mode = d->taken = FR_REUSE_AUTO;
    d->lambda = LAMBDA;
    d->candidates = CANDIDATES;
    d->inject = true;
    fr_status st =
        fr_trained_open(&d->base, &fr_hidden_state_form, &OPS, file, config, OPTIONS, err);
    if (!st) st = open_parts(d, config, err);
    if (st) {
        close_hidden_state(&d->base.base);
        return st;
    }
    d->base.base.needs = fr_draft_block_needs(&d->states.chain);
    expect_depths(d);
    fr_trained_weigh(&d->base, config->model, fr_draft_block_bytes(&d->states.chain));
    *out = &d->base.base;
    return FR_OK;
}

const fr_drafter_method fr_hidden_state_method = {
    .name = "hidden-state",
    .what = "a trained decoder block that drafts hidden states first and tokens from them",
    .file = "a pack from 'forerun train' (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_hidden_state_form,
    .in_auto = "prompt-lookup+hidden-state",
    .cost = 3,
    .open = open_hidden_state};
