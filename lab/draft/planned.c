// planned.c — ppd-planned and hidden-transfer-planned: forerun's drafters with trees and attached
// rows that are settled before a text is seen (planned_trees.h), in place of those that a step's
// scores choose.  [PPD §4.2, §5.4]
#include "base/alloc.h"
#include "draft/attached/attached.h"
#include "draft/registry.h"
#include "lab/draft/methods.h"
#include "lab/draft/options.h"
#include "lab/draft/planned_trees.h"

typedef struct planned {
    fr_attached_way way; // first
    fr_planned trees;
    fr_drafter_ops ops; // forerun's, but for `close`
    void (*close)(fr_drafter *d);
} planned;

// The plan exists: guesses come from attached rows, which are chosen by it.
static void fill(fr_attached *a, fr_tree *tree) {
    planned *p = (planned *)a->way;
    int32_t id[FR_ATTACHED_STEPS * FR_TRAINED_RANKS];
    fr_likely likely[FR_TRAINED_RANKS];
    const fr_pack *pack = a->base.pack;
    for (int k = 0; k < a->n_dists; k++) {
        const int n = fr_likeliest(a->logits + (size_t)(k * a->logit_stride), pack->n_draft,
                                   FR_TRAINED_RANKS, likely);
        for (int r = 0; r < FR_TRAINED_RANKS; r++)
            id[k * FR_TRAINED_RANKS + r] = r < n ? pack->ids[likely[r].index] : -1;
    }
    fr_planned_fill(&p->trees, &(fr_guesses){id, a->n_dists, FR_TRAINED_RANKS}, a->base.base.part,
                    tree);
}

static void choose(fr_attached *a, const fr_context *c, const fr_tree *tree, int most) {
    planned *p = (planned *)a->way;
    fr_planned_make(&p->trees, &a->attached, &a->base.pack->accuracy, &c->budget->cost,
                    c->n_ids - 1);
    fr_planned_attach(&p->trees, a->n_dists, a->base.base.part, tree, most, a->n_attached);
}

static void close_planned(fr_drafter *base) {
    planned *p = (planned *)((fr_attached *)(void *)base)->way;
    p->close(base);
    fr_free(p);
}

// ---------------------------------------------------------------- options

static const char *const TREES[] = {"dynamic", "static", "random", NULL};

#define OWN                                                                                        \
    FR_OPTION_WORD("tree", "SHAPE", planned, trees.kind, TREES,                                    \
                   "dynamic (default), static or random, as in the paper"),                        \
        FR_OPTION_INT(                                                                             \
            "rows", "N", planned, trees.rows, 2, FR_ATTACHED_MOST,                                 \
            "rows of a pass, 2 to 128 (default: up to 32, the fastest number by measured cost)")

static const fr_drafter_option OWN_OPTIONS[] = {OWN, {0}};
static const fr_drafter_option OPTIONS[] = {
    OWN,
    FR_OPTION_INT("depth", "N", fr_trained, depth, 1, FR_PACK_HEADS,
                  "tokens drafted ahead, 1 to 16 (default: the length of the pack's chains)"),
    {0}};

// ---------------------------------------------------------------- open

static fr_status open_as(fr_drafter **out, const fr_drafter_method *of, const char *file,
                         const fr_drafter_config *config, fr_error *err) {
    const char *rest[LAB_OPTIONS];
    fr_drafter_config inner = *config;
    *out = NULL;
    if (!config->no_adapt)
        return fr_fail(err, FR_EARG,
                       "drafter %s-planned: expected --no-adapt, as its trees are settled before",
                       of->name);
    planned *p = fr_alloc_zero(sizeof *p);
    if (!p) return fr_fail(err, FR_ENOMEM, "%s-planned: cannot get memory", of->name);
    inner.options = rest;
    fr_status st = lab_read_options(p, of->name, OWN_OPTIONS, config->options, rest, err);
    if (!st) st = of->open(out, file, &inner, err);
    if (st) {
        fr_free(p);
        return st;
    }
    fr_drafter *d = *out;
    p->way = (fr_attached_way){fill, choose};
    p->ops = *d->ops;
    p->close = p->ops.close;
    p->ops.close = close_planned;
    d->ops = &p->ops;
    d->default_nodes = FR_TREE_MAX;
    ((fr_attached *)(void *)d)->way = &p->way;
    return FR_OK;
}

static fr_status open_ppd(fr_drafter **out, const char *file, const fr_drafter_config *config,
                          fr_error *err) {
    return open_as(out, &fr_ppd_method, file, config, err);
}

static fr_status open_transfer(fr_drafter **out, const char *file, const fr_drafter_config *config,
                               fr_error *err) {
    return open_as(out, &fr_hidden_transfer_method, file, config, err);
}

const fr_drafter_method lab_ppd_planned_method = {
    .name = "ppd-planned",
    .what = "ppd with the paper's trees, fixed before a text is read; needs --no-adapt",
    .file = "a pack of ppd (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_ppd_form,
    .cost = 2,
    .open = open_ppd};

const fr_drafter_method lab_hidden_transfer_planned_method = {
    .name = "hidden-transfer-planned",
    .what = "hidden-transfer with PPD's trees, fixed before a text is read; needs --no-adapt",
    .file = "a pack of hidden-transfer (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_hidden_transfer_form,
    .cost = 2,
    .open = open_transfer};
