// trained.c — opens a pack and reads the options, then serves the steps of all drafters with a
// pack. A step checks whether drafting pays, grows the beam level by level, adds its best nodes to
// the tree and learns from the accepted ones.
#include "draft/kit/trained.h"
#include "draft/pack/find.h"
#include <string.h>

enum {
    PLAIN_NODES = 17, // proposed without adapting
    PLAIN_DEPTH = 6,
    ALLOWANCE = 2, // plain passes that a request may lose by drafting
};
static const float LEAST_SCORE = 0.004f; // of a later guess that is worth a place in the beam

// ---------------------------------------------------------------- open

static fr_status take_weights(fr_trained *t, const fr_pack_form *form, const char *file,
                              const fr_drafter_config *config, fr_error *err) {
    char found[FR_PACK_PATH];
    if (!*file) {
        const fr_status st = fr_pack_find(found, form, config->model->gguf, err);
        if (st) return st;
        file = found;
    }
    return fr_pack_weights_take(&t->weights, file, form, config, err);
}

static fr_status open_options(fr_trained *t, const fr_drafter_ops *ops,
                              const fr_drafter_config *config, const fr_drafter_option *options,
                              fr_error *err) {
    t->base = (fr_drafter){
        .ops = ops, .has_dists = true, .allowance = ALLOWANCE, .default_nodes = FR_TRAINED_NODES};
    t->adapt = !config->no_adapt;
    if (!t->width) t->width = FR_BEAM_WIDTH / 2;
    t->best = -1;
    if (!t->adapt) {
        t->base.default_nodes = PLAIN_NODES;
        t->depth = PLAIN_DEPTH;
    }
    fr_status st = FR_OK;
    for (int i = 0; !st && config->options && config->options[i]; i++)
        st = fr_drafter_read(t, ops->name, options, config->options[i], err);
    return st;
}

static void take_pack(fr_trained *t) {
    t->pack = &t->weights->pack;
    t->ids = t->pack->ids;
    t->n_ids = t->pack->n_draft;
    memcpy(t->base.file, t->weights->file, sizeof t->base.file);
    fr_hits_expect_probabilities(&t->base.hits); // distributions are trained to be calibrated
}

fr_status fr_trained_open(fr_trained *t, const fr_pack_form *form, const fr_drafter_ops *ops,
                          const char *file, const fr_drafter_config *config,
                          const fr_drafter_option *options, fr_error *err) {
    fr_error why = {0};
    fr_status st = open_options(t, ops, config, options, err);
    if (st) return st;
    if ((st = take_weights(t, form, file, config, &why)))
        return fr_fail(err, st, "%s: %s", ops->name, why.text);
    take_pack(t);
    return FR_OK;
}

fr_status fr_trained_open_own(fr_trained *t, const fr_pack *pack, const fr_drafter_ops *ops,
                              const fr_drafter_config *config, const fr_drafter_option *options,
                              fr_error *err) {
    fr_status st = fr_pack_weights_own(&t->weights, pack, config->model, err);
    if (!st) st = open_options(t, ops, config, options, err);
    if (!st) take_pack(t);
    return st;
}

void fr_trained_weigh(fr_trained *t, const fr_model *target, uint64_t bytes) {
    fr_draft_benefit_open(&t->benefit, (double)bytes / (double)target->row_bytes);
}

void fr_trained_close(fr_trained *t) {
    fr_pack_weights_give_back(t->weights);
}

// ---------------------------------------------------------------- a step

void fr_trained_begin(fr_trained *t) {
    fr_draft_benefit_begin(&t->benefit);
    t->best = -1;
}

static bool pays(fr_trained *t, const fr_context *c, const fr_tree *tree, int unread) {
    if (t->depth) return true;
    if (!t->timed && !c->budget->measured) return false;
    return fr_draft_benefit_start_on(&t->benefit, c->budget, unread, tree, c->n_ids);
}

bool fr_trained_start_free(fr_trained *t, const fr_context *c, const fr_tree *tree) {
    t->best = -1;
    if (tree->max_depth < 1) return false;
    fr_beam_begin(&t->beam, c->ids[c->n_ids - 1], t->width);
    return true;
}

bool fr_trained_start(fr_trained *t, const fr_context *c, const fr_tree *tree, int unread) {
    t->best = -1;
    return tree->max_depth >= 1 && pays(t, c, tree, unread) && fr_trained_start_free(t, c, tree);
}

int fr_trained_follow(fr_trained *t, int at, const fr_likely *likely, int n) {
    fr_chance chance[FR_TRAINED_RANKS];
    for (int r = 0; r < n; r++)
        chance[r] = (fr_chance){t->ids[likely[r].index], likely[r].p};
    const fr_dist_watch *w = &t->base.watch;
    const int32_t id = w->next(w->user, t->beam.node[at].depth + 1, chance, n);
    return id < 0 ? -1 : fr_beam_offer(&t->beam, at, id, 1, 0); // 1: a path, whatever its score
}

int fr_trained_offer_one(fr_trained *t, int at, const fr_likely *likely, int rank) {
    const int kind = fr_hits_kind_of_depth(t->beam.node[at].depth + 1);
    const int32_t id = t->ids[likely->index];
    const float rate = fr_hits_rate(&t->base.hits, kind, likely->p);
    if (rank == 0) fr_draft_benefit_saw(&t->benefit, rate);
    if (rank == 0 && at == 0) t->best = id;
    const int node = fr_beam_offer(&t->beam, at, id, rate, kind);
    if (node >= 0) t->beam.node[node].prob = likely->p;
    return node;
}

void fr_trained_offer_likely(fr_trained *t, int at, const fr_likely *likely, int n) {
    if (fr_drafter_is_watched(&t->base)) {
        fr_trained_follow(t, at, likely, n);
        return;
    }
    for (int r = 0; r < n; r++)
        if (r == 0 || t->beam.node[at].score * likely[r].p >= LEAST_SCORE)
            fr_trained_offer_one(t, at, &likely[r], r);
}

void fr_trained_offer(fr_trained *t, int at, const float *logits) {
    fr_likely likely[FR_TRAINED_RANKS];
    const int n = fr_likeliest(logits, t->n_ids, FR_TRAINED_RANKS, likely);
    fr_trained_offer_likely(t, at, likely, n);
}

// How many of the frontier's nodes pay for a pass of drafting.
static int paying(const fr_trained *t, const fr_context *c, const fr_tree *tree) {
    float score[FR_BEAM_WIDTH];
    fr_tree so_far = *tree;
    fr_beam_fill(&t->beam, t->base.part, &so_far);
    for (int i = 0; i < t->beam.n_frontier; i++)
        score[i] = t->beam.node[t->beam.frontier[i]].score;
    const int rows = fr_budget_choose(c->budget, &so_far, NULL, c->n_ids - 1);
    return fr_draft_benefit_rows(&t->benefit, c->budget, score, t->beam.n_frontier, rows,
                                 c->n_ids - 1);
}

int fr_trained_next(fr_trained *t, const fr_context *c, const fr_tree *tree, fr_level level) {
    fr_beam *b = &t->beam;
    if (!fr_beam_next(b)) return 0;
    const int depth = b->node[b->frontier[0]].depth;
    if (depth >= tree->max_depth || (t->depth && depth >= t->depth))
        b->n_frontier = 0;
    else if (level == FR_LEVEL_PASS && !t->depth)
        b->n_frontier = paying(t, c, tree);
    return b->n_frontier;
}

void fr_trained_grow_dists(fr_trained *t, const fr_context *c, const fr_tree *tree,
                           const float *logits, int stride, int n) {
    fr_likely likely[FR_TRAINED_RANKS];
    int n_frontier = 1;
    for (int k = 1; k <= n && n_frontier; k++) {
        const int m = fr_likeliest(logits + (size_t)(k - 1) * (size_t)stride, t->n_ids,
                                   FR_TRAINED_RANKS, likely);
        for (int i = 0; i < n_frontier; i++)
            fr_trained_offer_likely(t, t->beam.frontier[i], likely, m);
        n_frontier = k < n ? fr_trained_next(t, c, tree, FR_LEVEL_FREE) : 0;
    }
}

void fr_trained_took(fr_trained *t, const fr_context *c, int rows, double seconds) {
    fr_draft_benefit_learn(&t->benefit, c->budget, rows, c->n_ids, seconds);
}

void fr_trained_fill(fr_trained *t, fr_tree *tree) {
    fr_beam_fill(&t->beam, t->base.part, tree);
}

// Tokens that this drafter's rows in the chosen tree are expected to bring, less what those beyond
// the first take. The first row's time is counted in fr_draft_benefit_start.
static float yield_of(const fr_trained *t, const fr_context *c, const fr_tree *tree) {
    fr_tree chosen = *tree;
    int rows = 0;
    double tokens = 0;
    const int context = c->n_ids - 1;
    fr_tree_keep(&chosen, fr_budget_choose(c->budget, &chosen, NULL, context));
    for (int i = 1; i < chosen.n; i++)
        if (chosen.node[i].drafter == t->base.part) {
            tokens += (double)chosen.node[i].score;
            rows++;
        }
    if (rows < 2) return (float)tokens;
    return (float)(tokens - fr_budget_rows_cost(c->budget, chosen.n, rows - 1, NULL, context));
}

void fr_trained_proposed(fr_trained *t, const fr_context *c, const fr_tree *tree) {
    if (t->adapt && !fr_tree_is_drawn(tree))
        fr_draft_benefit_proposed(&t->benefit, yield_of(t, c, tree));
}

void fr_trained_saw(fr_trained *t, const fr_context *c, const fr_verdict *v) {
    t->timed = true;
    if (!v->tree || t->best < 0) return;
    const int32_t came = c->ids[c->n_ids - v->n_path];
    fr_draft_benefit_saw(&t->benefit, t->best == came ? 1 : 0);
    t->best = -1;
}
