// Two-model speculation: a smaller model with the same vocabulary drafts, the target verifies.
// [Leviathan, Kalman, Matias 2023; Chen et al. 2023]
//
// A step: read the tokens accepted since the last one (one row, two after a full acceptance) and
// take guesses at the next token. Then continue after the most promising nodes, pass by pass, as
// long as another pass pays (draft_benefit.h). A chain continues after its best guess and keeps the
// others as leaves. A beam continues after all nodes that are worth their rows, wherever in the
// tree [EAGLE-2, Li et al. 2024, §4.1: by joint probability]. Sequoia's tree is planned before the
// first guess (positional.h) and continues level by level after the nodes that have children in its
// shape.
//
// Nodes from earlier parts of the SPEC are expanded like its own. Under rejection at a temperature
// (decode/accept_rules.h) the children of a node are drawn from the draft's distribution. The shape
// fixes their number before they are drawn, and all of them are in the pass.
//
// Accepted guesses are committed in the draft model's KV, so they are not read again.
#include "draft/model/draft_model.h"
#include "base/alloc.h"
#include "draft/kit/draft_benefit.h"
#include "draft/kit/likeliest.h"
#include "draft/model/drawn.h"
#include "draft/model/guess.h"
#include "draft/model/positional.h"
#include "draft/shared/config.h"

typedef enum shape { CHAIN, BEAM, SEQUOIA } shape;
static const char *const SHAPES[] = {"chain", "beam", "sequoia", NULL};

enum {
    DEEPEST = 16,
    PLAIN_DEPTH = 4, // without adapting
    DEFAULT_NODES = 24,
    TOLD = 10,      // likeliest tokens that a watch gets
    MAX_DRAWN = 48, // nodes whose children may be drawn in one step
    BEAM_DRAWS = 2, // children of a node that are drawn in a beam
    ALLOWANCE = 2,  // plain passes that a request may lose by drafting: some misses in a row
};
static const float LEAST_SCORE = 0.01f; // of a second guess that is worth a place in the tree

typedef struct fr_draft_model {
    fr_drafter base;
    fr_second_model second;
    fr_guesser guesser;
    fr_draft_benefit benefit;
    shape shape;
    fr_positional *positional; // SEQUOIA; else NULL
    int depth;                 // tokens drafted ahead; 0: as many as pay
    bool adapt,
        timed; // timed: a pass of the target was measured, so that the budget has its cost
    // State of the current step.
    fr_tree tree; // everything guessed, and what others had; the root alone between steps
    int16_t slot[FR_TREE_MAX];    // scratch slot of a node that was expanded; -1: none
    int32_t best[FR_TREE_MAX];    // its first guess then
    int16_t planned[FR_TREE_MAX]; // SEQUOIA: its node of the shape; -1: none
    int n_root;                   // tokens before and with the root
    uint64_t n_noise;             // random numbers used
    fr_drawn drawn[MAX_DRAWN];    // distributions of the nodes whose children were drawn
    int n_drawn;
    int node[FR_SECOND_MODEL_LOGITS],
        n;            // nodes that the next pass expands; n 0: it reads the text
    int n_read;       // rows of the text that this step has read
    bool is_drafting; // another pass is wanted
} fr_draft_model;

static void forget_step(fr_draft_model *d) {
    fr_tree_begin(&d->tree, 0, 1, 0);
    d->n_root = 0;
}

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    (void)from;
    fr_draft_model *d = (fr_draft_model *)base;
    fr_second_model_keep(&d->second, c->ids, c->n_ids);
    fr_guesser_begin(&d->guesser, c->sampling, c->rule);
    fr_draft_benefit_begin(&d->benefit);
    forget_step(d);
    return agree;
}

// ---------------------------------------------------------------- one node's guesses

// Writes the path to `node` after the text and returns the length of both.
static int write_path(fr_draft_model *d, int node) {
    const int n = d->n_root + d->tree.node[node].depth;
    for (int at = n; node > 0; node = d->tree.node[node].parent)
        d->second.ids[--at] = d->tree.node[node].id;
    return n;
}

static void set_node(fr_draft_model *d, int node, int rank, uint8_t kind) {
    d->tree.node[node].rank = (uint8_t)rank;
    d->tree.node[node].kind = kind;
    d->slot[node] = d->planned[node] = -1;
}

// SEQUOIA: how many children the shape has for a node, ranks 0 up.
static int children_planned(const fr_draft_model *d, int node) {
    int16_t child[FR_TREE_MAX];
    if (d->planned[node] < 0) return 0;
    return fr_shape_children(&d->positional->shape, d->planned[node], child);
}

static void plan_child(fr_draft_model *d, int node, int rank, int at) {
    if (d->shape == SEQUOIA && at >= 0 && d->planned[node] >= 0 && d->planned[at] < 0)
        d->planned[at] = (int16_t)fr_shape_child(&d->positional->shape, d->planned[node], rank);
}

static float score_of(const fr_draft_model *d, int parent, uint8_t kind) {
    return d->tree.node[parent].score * fr_hits_rate(&d->base.hits, kind, 1);
}

static float chance_in(const fr_dist *dist, int32_t id) {
    int i = 0;
    while (dist->id[i] != id)
        i++;
    return dist->p[i];
}

// Draws are made only where there is room for all of them, whatever they are.
static void add_draws(fr_draft_model *d, int node, float *logits) {
    const int wanted = d->shape == SEQUOIA ? children_planned(d, node)
                       : d->shape == BEAM  ? BEAM_DRAWS
                                           : 1;
    const fr_sampling *s = &d->guesser.sampler.sampling;
    const fr_chance *dist;
    int32_t ids[FR_DRAWN_MOST];
    d->best[node] = -1;
    if (!wanted || d->n_drawn == MAX_DRAWN || d->tree.n + wanted > d->tree.max_nodes ||
        d->tree.node[node].depth >= d->tree.max_depth)
        return;
    const int n_ids = write_path(d, node);
    const int n = fr_guesser_dist(&d->guesser, logits, d->second.ids, n_ids, &dist);
    fr_drawn *own = &d->drawn[d->n_drawn++];
    const int m = fr_drawn_take(own, dist, n, wanted, s->seed, FR_NOISE_DRAFT + d->base.part,
                                d->n_root, &d->n_noise, ids);
    d->best[node] = m ? ids[0] : -1; // none where its logits are no numbers
    for (int r = 0; r < m; r++) {
        const uint8_t kind = fr_guesser_drawn_kind(chance_in(&own->dist, ids[r]));
        const int before = d->tree.n;
        const int at = fr_tree_add(&d->tree, node, ids[r], score_of(d, node, kind), d->base.part);
        own->node[r] = (int16_t)at;
        if (at == before) set_node(d, at, r, kind);
        plan_child(d, node, r, at);
        if (r == 0) fr_draft_benefit_saw(&d->benefit, fr_hits_rate(&d->base.hits, kind, 1));
    }
    d->tree.dist[node] = &own->dist;
}

// Whether the tree's shape is known before the first guess.
static bool is_planned(const fr_draft_model *d) {
    return d->shape == SEQUOIA && !fr_drafter_is_watched(&d->base);
}

// Reports the model's own distribution to the watch, and continues after the token that it returns.
static void follow(fr_draft_model *d, int node, const float *logits) {
    fr_likely likely[TOLD];
    fr_chance chance[TOLD];
    const int n = fr_likeliest(logits, d->second.small.n_common, TOLD, likely);
    for (int r = 0; r < n; r++)
        chance[r] = (fr_chance){likely[r].index, likely[r].p};
    const fr_dist_watch *w = &d->base.watch;
    const int32_t id = w->next(w->user, d->tree.node[node].depth + 1, chance, n);
    const int before = d->tree.n;
    if (id >= 0 && fr_tree_add(&d->tree, node, id, 1, d->base.part) == before)
        set_node(d, before, 0, 0);
    d->best[node] = -1;
}

static void add_guesses(fr_draft_model *d, int node, float *logits) {
    fr_guess guess[FR_GUESSES];
    if (fr_drafter_is_watched(&d->base)) {
        follow(d, node, logits);
        return;
    }
    if (d->guesser.draws) {
        add_draws(d, node, logits);
        return;
    }
    const int n_ids = write_path(d, node);
    int n = fr_guesser_next(&d->guesser, logits, d->second.ids, n_ids, guess);
    fr_draft_benefit_saw(&d->benefit, fr_hits_rate(&d->base.hits, guess[0].kind, 1));
    if (d->shape == SEQUOIA) {
        const int planned = children_planned(d, node);
        n = planned < n ? planned : n;
    } else if (!d->adapt) {
        n = 1;
    }
    for (int r = 0; r < n; r++) {
        const float score = score_of(d, node, guess[r].kind);
        const int before = d->tree.n;
        if (r && score < LEAST_SCORE && d->shape != SEQUOIA) continue;
        const int at = fr_tree_add(&d->tree, node, guess[r].id, score, d->base.part);
        if (r == 0) d->best[node] = guess[0].id;
        if (at == before) set_node(d, at, r, guess[r].kind); // else no room, or there already
        plan_child(d, node, r, at);
    }
}

// ---------------------------------------------------------------- which nodes to expand

// What others guessed may be no token of the draft model.
static bool can_go_on(const fr_draft_model *d, int node) {
    const fr_node *n = &d->tree.node[node];
    return d->slot[node] < 0 && n->id < d->second.small.n_common && n->depth < d->tree.max_depth &&
           n->depth < DEEPEST && (n->parent == 0 || d->slot[n->parent] >= 0);
}

// The best nodes by score that can be expanded, descending; `parent` >= 0: of its children
// alone. Of Sequoia's tree those that have children in its shape.
static int best_nodes(const fr_draft_model *d, int parent, int most, int *node, float *score) {
    int n = 0;
    for (int i = 1; i < d->tree.n; i++) {
        if ((parent >= 0 && d->tree.node[i].parent != parent) || !can_go_on(d, i)) continue;
        if (is_planned(d) && !children_planned(d, i)) continue;
        const float s = d->tree.node[i].score;
        if (n == most && s <= score[n - 1]) continue;
        int k = n < most ? n++ : n - 1;
        for (; k > 0 && score[k - 1] < s; k--) {
            score[k] = score[k - 1];
            node[k] = node[k - 1];
        }
        score[k] = s;
        node[k] = i;
    }
    return n;
}

// How many nodes the next pass has; 0: drafting ends. `tip`: the node that was expanded last.
static int next_nodes(const fr_draft_model *d, const fr_context *c, int tip, int *node) {
    float score[FR_SECOND_MODEL_LOGITS];
    const bool chain =
        fr_drafter_is_watched(&d->base) || d->shape == CHAIN || (d->shape == BEAM && d->depth);
    const int n = best_nodes(d, chain ? tip : -1, chain ? 1 : FR_SECOND_MODEL_LOGITS, node, score);
    if (is_planned(d)) return n; // the plan has weighed all costs
    if (d->depth) return n && d->tree.node[node[0]].depth < d->depth ? 1 : 0;
    const int rows = fr_budget_choose(c->budget, &d->tree, NULL, c->n_ids - 1);
    return fr_draft_benefit_rows(&d->benefit, c->budget, score, n, rows, c->n_ids - 1);
}

static bool put_guesses(fr_draft_model *d) {
    int32_t ids[FR_SECOND_MODEL_LOGITS];
    int parent[FR_SECOND_MODEL_LOGITS];
    for (int i = 0; i < d->n; i++) {
        const fr_node *at = &d->tree.node[d->node[i]];
        ids[i] = at->id;
        parent[i] = at->parent ? d->slot[at->parent] : -1;
    }
    return fr_second_model_put_guesses(&d->second, ids, parent, d->n);
}

static void take_guesses(fr_draft_model *d) {
    for (int i = 0; i < d->n; i++) {
        d->slot[d->node[i]] = (int16_t)fr_second_model_slot(&d->second, i);
        add_guesses(d, d->node[i], fr_second_model_logits(&d->second, i));
    }
}

// ---------------------------------------------------------------- a step

static bool worth_a_start(fr_draft_model *d, const fr_context *c, const fr_tree *tree) {
    const int unread = c->n_ids - d->second.kv.n_committed;
    if (!fr_second_model_can_read(&d->second, c->ids, c->n_ids)) return false;
    if (d->guesser.draws && fr_tree_is_drawn(tree))
        return false; // by another draft model of the SPEC
    if (d->depth) return true;
    if (!d->timed && !c->budget->measured) return false;
    return fr_draft_benefit_start_on(&d->benefit, c->budget, unread, tree, c->n_ids);
}

// False: the tree that is planned is the root alone.
static bool plan(fr_draft_model *d, const fr_context *c, const fr_tree *tree) {
    if (!is_planned(d)) return true;
    fr_shape_limits limits = {
        .nodes = tree->max_nodes, .depth = tree->max_depth, .children = FR_GUESSES};
    if (!d->depth)
        return fr_positional_plan(d->positional, c->budget,
                                  fr_draft_benefit_pass(&d->benefit, c->budget, 1, c->n_ids),
                                  &limits, c->n_ids - 1);
    if (d->depth < limits.depth) limits.depth = d->depth;
    if (3 * limits.depth < limits.nodes) limits.nodes = 3 * limits.depth;
    fr_positional_plan_size(d->positional, &limits);
    return true;
}

// Takes the results of the rows of the text, and guesses after its end. False: more of it must be
// read.
static bool take_text(fr_draft_model *d, const fr_context *c) {
    const bool whole = fr_second_model_took_text(&d->second, c->ids, c->n_ids);
    d->n_read += d->second.n_rows;
    if (whole) add_guesses(d, 0, fr_second_model_last_logits(&d->second));
    return whole;
}

// Learns what the level took; returns the seconds of it that serve later steps.
static double learn_time(fr_draft_model *d, const fr_context *c) {
    const double seconds = fr_draft_lap(c);
    fr_draft_benefit_learn(&d->benefit, c->budget, d->n ? d->n : d->n_read, c->n_ids, seconds);
    if (d->n) return 0;
    const double step = fr_draft_benefit_pass(&d->benefit, c->budget, 2, c->n_ids);
    if (d->n_read <= 2 || seconds <= step) return 0;
    d->benefit.spent = step;
    return seconds - step;
}

// The caller's tree becomes the best nodes of all that were guessed, as many as it has room for.
static void hand_over(const fr_draft_model *d, fr_tree *tree) {
    const int room = tree->max_nodes;
    *tree = d->tree;
    tree->max_nodes = room;
    if (!d->guesser.draws) fr_tree_keep(tree, room);
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    fr_draft_model *d = (fr_draft_model *)base;
    d->is_drafting = false;
    fr_second_model_stretch(&d->second, c->n_ids);
    if (!worth_a_start(d, c, tree) || !plan(d, c, tree)) return;
    d->tree = *tree;
    d->n_root = c->n_ids;
    d->n_noise = 0;
    d->n_drawn = 0;
    if (!d->guesser.draws)
        d->tree.max_nodes = FR_TREE_MAX;
    else if (d->adapt) // drawn candidates must not be picked over later
        fr_tree_keep(&d->tree, fr_budget_choose(c->budget, &d->tree, NULL, c->n_ids - 1));
    for (int i = 0; i < d->tree.n; i++)
        d->slot[i] = d->planned[i] = -1;
    d->planned[0] = 0;
    d->n = d->n_read = d->node[0] = 0;
    d->is_drafting = true;
    fr_draft_lap(c);
}

static fr_draft_want want(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_draft_model *d = (fr_draft_model *)base;
    (void)p;
    if (!d->is_drafting) return (fr_draft_want){NULL, 0};
    const bool fits =
        d->n ? put_guesses(d) : fr_second_model_put_text(&d->second, c->ids, c->n_ids);
    return (fr_draft_want){&d->second.batch->pass, fits ? d->second.n_rows : 0};
}

static void got(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_draft_model *d = (fr_draft_model *)base;
    if (d->n)
        take_guesses(d);
    else if (!take_text(d, c))
        return; // there is more of it
    p->prepaid += learn_time(d, c);
    d->n = next_nodes(d, c, d->node[0], d->node);
    d->is_drafting = d->n > 0;
    if (!d->is_drafting) hand_over(d, &p->tree);
}

// Commits expanded nodes that were accepted; the new root is read later, for its logits.
static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    fr_draft_model *d = (fr_draft_model *)base;
    int path[FR_TREE_MAX_DEPTH + 1], n = 0, node = 0;
    d->timed = true;
    if (!v->tree || !d->n_root) return;
    for (int at = d->n_root; at < c->n_ids; at++) {
        if (d->best[node] >= 0)
            fr_draft_benefit_saw(&d->benefit, d->best[node] == c->ids[at] ? 1 : 0);
        node = fr_tree_child(&d->tree, node, c->ids[at]);
        if (d->positional)
            fr_positional_learn(d->positional, node < 0 ? -1 : d->tree.node[node].rank);
        if (node < 0 || d->slot[node] < 0 || at + 1 == c->n_ids || at >= d->second.small.n_ctx)
            break;
        path[n++] = d->slot[node];
    }
    fr_second_model_commit(&d->second, c->ids + d->n_root, path, n);
    forget_step(d);
}

static void close_draft_model(fr_drafter *base) {
    fr_draft_model *d = (fr_draft_model *)base;
    fr_free(d->positional);
    fr_guesser_close(&d->guesser);
    fr_second_model_close(&d->second);
    fr_free(d);
}

static const fr_drafter_ops OPS = {.name = "draft-model",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = want,
                                   .got = got,
                                   .extend = fr_no_extend,
                                   .observe = observe,
                                   .report = fr_no_report,
                                   .close = close_draft_model};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_WORD("tree", "SHAPE", fr_draft_model, shape, SHAPES,
                   "chain, beam or sequoia (default: chain)"),
    FR_OPTION_INT("depth", "N", fr_draft_model, depth, 1, DEEPEST,
                  "tokens drafted ahead, 1 to 16 (default: as many as pay; with --no-adapt 4)"),
    {0}};

const fr_second_model *fr_draft_model_second(const fr_drafter *d) {
    return &((const fr_draft_model *)d)->second;
}

// ---------------------------------------------------------------- open

// The options, and what Sequoia's trees count.
static fr_status read_options(fr_draft_model *d, const fr_drafter_config *config, fr_error *err) {
    fr_status st = FR_OK;
    for (int i = 0; config->options && config->options[i] && !st; i++)
        st = fr_drafter_read(d, OPS.name, OPTIONS, config->options[i], err);
    if (st || d->shape != SEQUOIA) return st;
    if (!(d->positional = fr_alloc_zero(sizeof *d->positional)))
        return fr_fail(err, FR_ENOMEM, "cannot get %zu bytes", sizeof *d->positional);
    fr_positional_open(d->positional);
    return FR_OK;
}

static fr_status open_draft_model(fr_drafter **out, const char *file,
                                  const fr_drafter_config *config, fr_error *err) {
    fr_error why = {0};
    *out = NULL;
    fr_draft_model *d = fr_alloc_zero(sizeof *d);
    if (!d) return fr_fail(err, FR_ENOMEM, "draft-model: cannot get memory");
    d->base = (fr_drafter){
        .ops = &OPS, .has_dists = true, .default_nodes = DEFAULT_NODES, .allowance = ALLOWANCE};
    fr_guesser_expect(&d->base.hits);
    d->adapt = !config->no_adapt;
    d->depth = config->no_adapt ? PLAIN_DEPTH : 0;
    fr_status st = read_options(d, config, &why);
    if (!st) st = fr_second_model_open(&d->second, file, config, &why);
    if (!st) st = fr_guesser_open(&d->guesser, config->model->kern, d->second.small.n_common, &why);
    if (st) {
        close_draft_model(&d->base);
        return st == FR_EARG ? fr_fail(err, st, "%s", why.text)
                             : fr_fail(err, st, "draft-model: %s", why.text);
    }
    fr_draft_benefit_open(&d->benefit, (double)d->second.small.model->row_bytes /
                                           (double)config->model->row_bytes);
    forget_step(d);
    *out = &d->base;
    return FR_OK;
}

const fr_drafter_method fr_draft_model_method = {
    .name = "draft-model",
    .what = "a second, smaller model with the same vocabulary",
    .file = "a GGUF model with the target's vocabulary",
    .options = OPTIONS,
    .cost = 4,
    .open = open_draft_model};
