// Early exit: the target's first layers draft, through a trained exit and the draft head, token by
// token; its pass continues after them.  [compare Draft & Verify, Zhang et al. 2023; LayerSkip,
// Elhoushi et al. 2024, §4.3: verification with what the draft has computed]
//
// The exit after layer E makes of a residual h
//     x = nrm(h),   y = x ⊙ g + silu(A x + c),   logits = H' y
// A drafted row has K and V of the layers below E in its scratch slot and its residual here, the
// same bits as if the target's pass had computed them. So in that pass it begins at layer E.
// Guesses that were not expanded begin at the first layer. They are left out if their tokens are
// not worth the cost of those layers.
#include "draft/self/self_draft.h"
#include "draft/self/skip_set.h"
#include <string.h>

static const float EPS = (float)FR_PACK_EPS;

typedef struct fr_early_exit {
    fr_self_draft base;
    const fr_matrix *map; // A
    fr_linear linear;     // for it
    const float *gain, *bias;
    float *ones;
    float *x, *u;  // [FR_BEAM_WIDTH][stride]
    float *states; // [FR_SELF_ROWS][d]: residuals after layer E of the step's rows
    fr_arena arena;
    double below; // share of a plain pass that the layers below E take
} fr_early_exit;

static float *state_at(const fr_early_exit *e, int row) {
    return e->states + (size_t)row * (size_t)e->base.base.pack->d;
}

// ---------------------------------------------------------------- drafting

static void exit_rows(fr_early_exit *e, const fr_kern *kern, int n) {
    fr_self_draft *s = &e->base;
    const int d = s->base.pack->d;
    for (int i = 0; i < n; i++) {
        const size_t at = (size_t)i * (size_t)s->stride;
        kern->rmsnorm(e->x + at, state_at(e, s->n_rows + i), NULL, d, EPS);
        kern->rmsnorm(s->in + at, state_at(e, s->n_rows + i), e->gain, d, EPS);
    }
    fr_linear_run(&e->linear, &(fr_linear_product){e->map, e->x, s->stride, e->u, s->stride}, 1, n);
    for (int i = 0; i < n; i++) {
        float *u = e->u + (size_t)i * (size_t)s->stride;
        kern->add(u, e->bias, d);
        kern->silu_mul(u, u, e->ones, d);
        kern->add(s->in + (size_t)i * (size_t)s->stride, u, d);
    }
}

static void pass(fr_self_draft *s, const fr_context *c, const fr_row *rows, int n) {
    fr_early_exit *e = (fr_early_exit *)s;
    fr_forward_run(c->forward, &(fr_pass){.rows = rows,
                                          .n_rows = n,
                                          .kv = (fr_kv *[]){c->kv},
                                          .n_seq = 1,
                                          .stop = fr_early_exit_pack_of(s->base.pack)->exit,
                                          .taps = &fr_early_exit_pack_of(s->base.pack)->exit,
                                          .n_taps = 1});
    for (int i = 0; i < n; i++)
        memcpy(state_at(e, s->n_rows + i), fr_forward_tap(c->forward, 0, i),
               sizeof(float) * (size_t)s->base.pack->d);
    exit_rows(e, c->model->kern, n);
}

// ---------------------------------------------------------------- the target's pass

// The node of the beam that follows node `above` with this id and was drafted after; or -1.
static int drafted_child(const fr_self_draft *s, int above, int32_t id) {
    const fr_beam *b = &s->base.beam;
    for (int i = above + 1; i < b->n; i++)
        if (b->node[i].parent == above && b->node[i].id == id) return s->row[i] < 0 ? -1 : i;
    return -1;
}

// Node i of the tree is node[i] of the beam; -1: nothing was drafted after it, so it begins at the
// first layer.
static void find_drafted(const fr_self_draft *s, const fr_tree *tree, int node[FR_TREE_MAX]) {
    node[0] = 0;
    for (int i = 1; i < tree->n; i++) {
        const int above = node[tree->node[i].parent];
        node[i] = above < 0 ? -1 : drafted_child(s, above, tree->node[i].id);
    }
}

static int extend(fr_drafter *base, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                  int max) {
    const fr_early_exit *e = (const fr_early_exit *)base;
    const fr_self_draft *s = &e->base;
    int node[FR_TREE_MAX];
    (void)c, (void)max;
    if (!s->n_rows || rows[0].resume) return n; // nothing drafted, or another part's rows continue
    find_drafted(s, tree, node);
    for (int i = 0; i < tree->n; i++) {
        if (node[i] < 0) continue;
        const int row = s->row[node[i]];
        rows[i].kind = FR_ROW_VECTOR;
        rows[i].vec = state_at(e, row);
        rows[i].join = (int16_t)fr_early_exit_pack_of(s->base.pack)->exit;
        rows[i].resume = s->slot[row] + 1;
    }
    return n;
}

// ---------------------------------------------------------------- proposals

// Whether the leaves that begin at the first layer bring tokens worth less than the layers that
// only they need.
static bool leaves_cost_more(const fr_early_exit *e, const fr_context *c, const fr_tree *tree) {
    int node[FR_TREE_MAX];
    double tokens = 0;
    find_drafted(&e->base, tree, node);
    for (int i = 1; i < tree->n; i++)
        if (node[i] < 0) tokens += (double)tree->node[i].score;
    const int context = c->n_ids - 1;
    return tokens * fr_budget_token_cost(c->budget, context) <
           e->below * fr_budget_pass(c->budget, 1, NULL, context);
}

static void leave_out_leaves(const fr_early_exit *e, fr_tree *tree) {
    fr_tree all = *tree;
    int node[FR_TREE_MAX], to[FR_TREE_MAX] = {0};
    find_drafted(&e->base, &all, node);
    fr_tree_begin(tree, all.node[0].id, all.max_nodes, all.max_depth);
    for (int i = 1; i < all.n; i++) {
        const fr_node *n = &all.node[i];
        if (node[i] < 0) continue;
        to[i] = fr_tree_add(tree, to[n->parent], n->id, n->score, n->drafter);
        tree->node[to[i]].rank = n->rank;
        tree->node[to[i]].kind = n->kind;
        tree->node[to[i]].prob = n->prob;
    }
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    fr_early_exit *e = (fr_early_exit *)base;
    const bool alone = tree->n == 1;
    fr_self_propose(base, c, p);
    if (alone && e->base.base.adapt && !e->base.base.depth && e->base.n_rows &&
        leaves_cost_more(e, c, tree))
        leave_out_leaves(e, tree);
}

static void close_early_exit(fr_drafter *base) {
    fr_early_exit *e = (fr_early_exit *)base;
    fr_linear_close(&e->linear);
    fr_arena_close(&e->arena);
    fr_self_close(&e->base);
    fr_free(e);
}

static const fr_drafter_ops OPS = {.name = "early-exit",
                                   .begin = fr_self_begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = extend,
                                   .observe = fr_self_observe,
                                   .report = fr_no_report,
                                   .close = close_early_exit};

// ---------------------------------------------------------------- open

static fr_status take_weights(fr_early_exit *e, fr_error *err) {
    fr_pack_weights *w = e->base.base.weights;
    fr_status st = fr_pack_weights_values(w, "exit.norm", &e->gain, err);
    if (!st) st = fr_pack_weights_values(w, "exit.bias", &e->bias, err);
    return st ? st : fr_pack_weights_matrix(w, "exit.weight", &e->map, err);
}

static fr_status open_exit(fr_early_exit *e, const fr_model *target, fr_error *err) {
    const fr_pack *p = e->base.base.pack;
    const size_t stride = (size_t)fr_linear_stride(p->d), f = sizeof(float);
    const size_t one = FR_ARENA_ROUND(stride * f),
                 rows = FR_ARENA_ROUND(FR_BEAM_WIDTH * stride * f);
    const size_t states = FR_ARENA_ROUND(FR_SELF_ROWS * (size_t)p->d * f);
    fr_status st = fr_arena_open(&e->arena, one + 2 * rows + states, "exit", err);
    if (st) return st;
    e->ones = fr_arena_take(&e->arena, one);
    e->x = fr_arena_take(&e->arena, rows);
    e->u = fr_arena_take(&e->arena, rows);
    e->states = fr_arena_take(&e->arena, states);
    for (int i = 0; i < p->d; i++)
        e->ones[i] = 1;
    return fr_linear_open(&e->linear, target->kern, target->pool, FR_BEAM_WIDTH, (int)stride, err);
}

static double trunk_share(const fr_model *m, int layers) {
    uint8_t skip[2 * FR_MAX_LAYERS] = {0};
    memset(skip + 2 * layers, 1, 2 * (size_t)(m->config.n_layer - layers));
    return fr_skip_trunk_share(m, skip);
}

static fr_status open_early_exit(fr_drafter **out, const char *file,
                                 const fr_drafter_config *config, fr_error *err) {
    *out = NULL;
    fr_error why = {0};
    fr_early_exit *e = fr_alloc_zero(sizeof *e);
    if (!e) return fr_fail(err, FR_ENOMEM, "early-exit: cannot get memory");
    fr_self_draft *s = &e->base;
    s->base.width = 1;
    s->fixed = -1;
    s->wants = FR_WANT_TAPS;
    fr_status st =
        fr_trained_open(&s->base, &fr_early_exit_form, &OPS, file, config, fr_self_options, err);
    if (!st) {
        const fr_pack *p = s->base.pack;
        e->below = trunk_share(config->model, fr_early_exit_pack_of(p)->exit);
        const double adapter = (double)p->bytes / (double)config->model->row_bytes;
        st = fr_self_open(s, config->model, e->below + adapter, pass, &why);
        if (!st) st = take_weights(e, &why);
        if (!st) st = open_exit(e, config->model, &why);
        if (st) fr_fail(err, st, "early-exit: %s", why.text);
    }
    if (st) {
        close_early_exit(&s->base.base);
        return st;
    }
    s->base.base.needs =
        (fr_needs){.own_taps = 1, .resumes = fr_early_exit_pack_of(s->base.pack)->exit};
    *out = &s->base.base;
    return FR_OK;
}

const fr_drafter_method fr_early_exit_method = {
    .name = "early-exit",
    .what = "the model's first layers and a trained exit; the pass continues from there",
    .file = "a pack from 'forerun train' (default: the best pack found)",
    .options = fr_self_options,
    .pack = &fr_early_exit_form,
    .in_auto = "prompt-lookup+early-exit",
    .cost = 4,
    .open = open_early_exit};
