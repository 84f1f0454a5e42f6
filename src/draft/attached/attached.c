// attached.c — opens head, buffers and options. A step reads the states of the last accepted node's
// chain through the head, grows the tree, attaches chains to its nodes, and after the pass takes
// the states of the chain of the new last node.
#include "draft/attached/attached.h"
#include "base/mean.h"
#include "tree/ppd.h"
#include <string.h>

_Static_assert((int)FR_PACK_ATTACHED <= (int)FR_PPD_PROMPTS, "planned trees serve every pack");
static const double OF_PROPOSAL = 0.1; // share of one proposal in the seconds that they take

// ---------------------------------------------------------------- open

static fr_status open_buffers(fr_attached *a, const fr_model *target, fr_error *err) {
    const fr_pack *p = a->base.pack;
    a->stride = fr_linear_stride(p->d);
    a->logit_stride = fr_linear_stride(p->n_draft);
    const size_t state = FR_ARENA_ROUND(sizeof(float) * (size_t)(a->steps * a->stride));
    const size_t logits = FR_ARENA_ROUND(sizeof(float) * (size_t)(a->steps * a->logit_stride));
    fr_status st = fr_arena_open(&a->arena, state + logits, "distributions", err);
    if (st) return st;
    a->state = fr_arena_take(&a->arena, state);
    a->logits = fr_arena_take(&a->arena, logits);
    st = fr_pack_weights_head(a->base.weights, &a->head, err);
    return st ? st
              : fr_linear_open(&a->linear, target->kern, target->pool, a->steps, a->stride, err);
}

fr_status fr_attached_open(fr_attached *a, const fr_pack_form *form, const fr_drafter_ops *ops,
                           const char *file, const fr_drafter_config *config,
                           const fr_drafter_option *options, fr_attached_row_fn *row,
                           fr_error *err) {
    fr_error why = {0};
    fr_status st = fr_trained_open(&a->base, form, ops, file, config, options, err);
    if (st) return st;
    const fr_pack *p = a->base.pack;
    const fr_attached_pack *own = fr_attached_pack_of(p);
    const int layers = config->model->config.n_layer;
    a->row = row;
    a->steps = a->attached.steps = p->depth;
    a->attached.ensemble = own->ensemble;
    for (int i = 0; i < a->steps; i++)
        a->attached.share[i] = (double)(layers - own->layer[i]) / layers;
    if ((st = open_buffers(a, config->model, &why)))
        return fr_fail(err, st, "%s: %s", ops->name, why.text);
    a->base.base.needs.max_attached = FR_ATTACHED_MOST;
    return FR_OK;
}

void fr_attached_close(fr_attached *a) {
    fr_linear_close(&a->linear);
    fr_arena_close(&a->arena);
    fr_trained_close(&a->base);
}

// ---------------------------------------------------------------- the tree

int fr_attached_begin(fr_drafter *d, const fr_context *c, int agree, const fr_drafter *from) {
    fr_attached *a = (fr_attached *)d;
    (void)c, (void)from;
    a->n_dists = 0;
    a->rows = (fr_extra_rows){0};
    fr_trained_begin(&a->base);
    fr_attached_benefit_begin(&a->attached);
    return agree;
}

// Tokens that this drafter's guesses of depth `most` and less would bring beyond the tree without
// them, less what their rows and the proposal take.
static double yield(const fr_attached *a, const fr_context *c, const fr_tree *tree, int most) {
    const int part = a->base.base.part, context = c->n_ids - 1;
    const fr_extra_rows *extra = &a->rows;
    bool keep[FR_TREE_MAX];
    fr_tree chosen = *tree;
    double tokens = 0;
    int own = 0;
    for (int i = 0; i < tree->n; i++)
        keep[i] = tree->node[i].drafter != part || tree->node[i].depth <= most;
    fr_tree_retain(&chosen, keep);
    fr_tree_keep(&chosen, fr_budget_choose(c->budget, &chosen, extra, context));
    for (int i = 1; i < chosen.n; i++)
        if (chosen.node[i].drafter == part) {
            tokens += (double)chosen.node[i].score;
            own++;
        }
    return tokens - fr_budget_rows_cost(c->budget, chosen.n, own, extra, context) -
           a->seconds / fr_budget_token_cost(c->budget, context);
}

static void learn_benefit(fr_attached *a, const fr_context *c, const fr_tree *tree) {
    double tokens[FR_ATTACHED_STEPS + 1];
    for (int k = 1; k <= a->n_dists; k++)
        tokens[k] = yield(a, c, tree, k);
    fr_attached_benefit_learn(&a->attached, a->n_dists, tokens);
}

static bool goes_its_way(const fr_attached *a) { // which has no place for a watch's path
    return a->way && !fr_drafter_is_watched(&a->base.base);
}

void fr_attached_propose(fr_drafter *d, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    fr_attached *a = (fr_attached *)d;
    fr_draft_lap(c);
    fr_extra_rows_add(&p->extra_rows, &a->rows);
    if (!a->n_dists || !fr_trained_start_free(&a->base, c, tree)) return;
    const fr_linear_product head = {a->head, a->state, a->stride, a->logits, a->logit_stride};
    fr_linear_run(&a->linear, &head, 1, a->n_dists);
    if (goes_its_way(a)) {
        a->way->fill(a, tree);
        return;
    }
    fr_trained_grow_dists(&a->base, c, tree, a->logits, a->logit_stride, a->n_dists);
    fr_trained_fill(&a->base, tree);
    fr_follow(&a->seconds, fr_draft_lap(c), a->seconds > 0 ? OF_PROPOSAL : 1);
    if (a->base.adapt) learn_benefit(a, c, tree);
}

// ---------------------------------------------------------------- attached rows

static void choose(fr_attached *a, const fr_context *c, const fr_tree *tree, int most) {
    if (a->base.adapt) {
        fr_attached_benefit_expect(&a->attached, &a->base.pack->accuracy, c->budget, c->n_ids - 1);
        fr_attached_benefit_choose(&a->attached, c->budget, tree, most, c->n_ids - 1,
                                   a->n_attached);
        return;
    }
    if (goes_its_way(a)) {
        a->way->choose(a, c, tree, most);
        return;
    }
    for (int i = 0; i < tree->n; i++) { // as many as there is room for
        a->n_attached[i] = (uint8_t)(most < a->steps ? most : a->steps);
        most -= a->n_attached[i];
    }
}

// With an ensemble there is a chain for each member; the members of a step stand side by side.
int fr_attached_chain(const fr_attached *a, int node, int length, fr_row *rows, int n) {
    for (int step = 0; step < length; step++)
        for (int member = 0; member < a->attached.ensemble; member++) {
            fr_row row = a->row(a, step, member, node);
            row.parent = step ? n - a->attached.ensemble : node;
            row.pos = FR_POS_AUTO;
            row.wants = FR_WANT_FINAL;
            rows[n++] = row;
        }
    return n;
}

int fr_attached_extend(fr_drafter *d, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                       int max) {
    fr_attached *a = (fr_attached *)d;
    choose(a, c, tree, (max - n) / a->attached.ensemble);
    for (int node = 0; node < tree->n; node++) {
        a->first[node] = n;
        n = fr_attached_chain(a, node, a->n_attached[node], rows, n);
    }
    a->rows = fr_attached_benefit_extra(&a->attached, tree, a->n_attached);
    return n;
}

// The mean of the states of a step's members.
static void take_state(fr_attached *a, const fr_context *c, int row, float *to) {
    const int d = c->model->config.d;
    memcpy(to, fr_context_final(c, row), sizeof *to * (size_t)d);
    for (int member = 1; member < a->attached.ensemble; member++)
        c->model->kern->add(to, fr_context_final(c, row + member), d);
    if (a->attached.ensemble > 1) c->model->kern->scale(to, 1.0f / (float)a->attached.ensemble, d);
}

void fr_attached_observe(fr_drafter *d, const fr_context *c, const fr_verdict *v) {
    fr_attached *a = (fr_attached *)d;
    fr_trained_saw(&a->base, c, v);
    if (!v->tree) return;
    const int last = v->path[v->n_path - 1];
    a->n_dists = a->n_attached[last];
    for (int step = 0; step < a->n_dists; step++)
        take_state(a, c, a->first[last] + step * a->attached.ensemble, a->state + step * a->stride);
}
