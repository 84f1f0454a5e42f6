// Medusa: heads on the target's last hidden state guess the tokens ahead, each at its own distance,
// all at once; the tree has the paths that are likeliest by their distributions. [Medusa, Cai et
// al. 2024, §2.1] Hydra's heads read the path, so they run level by level. [Hydra, Ankner et al.
// 2024, §3]
//
// The state read is that of the last accepted row. After a prompt there is none until the first
// pass of the target has run.
#include "base/alloc.h"
#include "draft/kit/trained.h"
#include "draft/medusa/medusa_heads.h"

typedef struct fr_medusa {
    fr_trained base;
    fr_medusa_heads heads;
    bool has_state; // of the token before the root
} fr_medusa;

static fr_medusa_variant variant_of(const fr_medusa *m) {
    return fr_medusa_pack_of(m->base.pack)->variant;
}

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    fr_medusa *m = (fr_medusa *)base;
    (void)c, (void)from;
    m->has_state = false;
    fr_trained_begin(&m->base);
    return agree;
}

// ---------------------------------------------------------------- distributions into the beam

// One distribution a depth: every node of a level has the same children.
static void grow_by_depth(fr_medusa *m, const fr_context *c, const fr_tree *tree) {
    fr_trained *t = &m->base;
    fr_draft_lap(c);
    fr_medusa_heads_run(&m->heads);
    fr_trained_grow_dists(t, c, tree, fr_medusa_heads_logits(&m->heads, 0), m->heads.logit_stride,
                          t->pack->depth);
    fr_trained_took(t, c, 1, fr_draft_lap(c));
}

static void path_to(const fr_beam *b, int node, int32_t path[FR_PACK_HEADS]) {
    for (int at = node; at >= 0; at = b->node[at].parent)
        path[b->node[at].depth] = b->node[at].id;
}

static void grow_along_paths(fr_medusa *m, const fr_context *c, const fr_tree *tree) {
    fr_trained *t = &m->base;
    int32_t path[FR_MEDUSA_PATHS][FR_PACK_HEADS];
    int n = 1;
    for (int k = 1; k <= t->pack->depth && n; k++) {
        fr_draft_lap(c);
        for (int i = 0; i < n; i++)
            path_to(&t->beam, t->beam.frontier[i], path[i]);
        fr_medusa_heads_run_paths(&m->heads, k, path, n);
        for (int i = 0; i < n; i++)
            fr_trained_offer(t, t->beam.frontier[i], fr_medusa_heads_logits(&m->heads, i));
        fr_trained_took(t, c, n, fr_draft_lap(c));
        n = k < t->pack->depth ? fr_trained_next(t, c, tree, FR_LEVEL_PASS) : 0;
    }
}

// ---------------------------------------------------------------- verbs

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    fr_medusa *m = (fr_medusa *)base;
    if (!m->has_state || !fr_trained_start(&m->base, c, tree, 1)) return;
    if (variant_of(m) == FR_MEDUSA_HYDRA)
        grow_along_paths(m, c, tree);
    else
        grow_by_depth(m, c, tree);
    fr_trained_fill(&m->base, tree);
    fr_trained_proposed(&m->base, c, tree);
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    fr_medusa *m = (fr_medusa *)base;
    fr_trained_saw(&m->base, c, v);
    const int row = v->tree ? v->path[v->n_path - 1] : v->n_rows - 1;
    fr_medusa_heads_state(&m->heads, variant_of(m) == FR_MEDUSA_EXIT ? fr_context_tap(c, 0, row)
                                                                     : fr_context_final(c, row));
    m->has_state = true;
}

static void close_medusa(fr_drafter *base) {
    fr_medusa *m = (fr_medusa *)base;
    fr_medusa_heads_close(&m->heads);
    fr_trained_close(&m->base);
    fr_free(m);
}

static const fr_drafter_ops OPS = {.name = "medusa",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = fr_no_extend,
                                   .observe = observe,
                                   .report = fr_no_report,
                                   .close = close_medusa};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_INT("depth", "N", fr_trained, depth, 1, FR_PACK_HEADS,
                  "tokens drafted ahead, 1 to 16 (default: the number of heads)"),
    FR_TRAINED_WIDTH("8"),
    {0}};

static fr_status open_medusa(fr_drafter **out, const char *file, const fr_drafter_config *config,
                             fr_error *err) {
    *out = NULL;
    fr_error why = {0};
    fr_medusa *m = fr_alloc_zero(sizeof *m);
    if (!m) return fr_fail(err, FR_ENOMEM, "medusa: cannot get memory");
    fr_status st = fr_trained_open(&m->base, &fr_medusa_form, &OPS, file, config, OPTIONS, err);
    if (!st && (st = fr_medusa_heads_open(&m->heads, m->base.weights, &why)))
        fr_fail(err, st, "medusa: %s", why.text);
    if (st) {
        close_medusa(&m->base.base);
        return st;
    }
    fr_trained_weigh(&m->base, config->model, m->heads.bytes);
    fr_needs *needs = &m->base.base.needs;
    if (variant_of(m) == FR_MEDUSA_EXIT) {
        needs->taps[0] = fr_medusa_pack_of(m->base.pack)->tap;
        needs->n_taps = 1;
    } else {
        needs->final = true;
    }
    *out = &m->base.base;
    return FR_OK;
}

const fr_drafter_method fr_medusa_method = {
    .name = "medusa",
    .what = "trained heads on the model's last hidden state (Medusa, Hydra)",
    .file = "a pack from 'forerun train' (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_medusa_form,
    .in_auto = "prompt-lookup+medusa",
    .cost = 2,
    .open = open_medusa};
