// compose.c — unites what the parts need of the target's passes when it is opened. Then it passes
// every verb on to each part in turn, the cheapest first.
#include "draft/compose.h"
#include "base/alloc.h"
#include <assert.h>
#include <string.h>

typedef struct fr_compose {
    fr_drafter base;
    fr_drafter *part[FR_COMPOSE_PARTS];
    int at;      // the part that proposes,
    int scratch; // ... and the scratch slots before it
} fr_compose;

// How many rows no part needs to see again. A part that kept more is shown some of them twice.
static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    int kept = agree;
    for (int i = 0; i < base->n_parts; i++) {
        fr_drafter *d = base->parts[i];
        const int n = d->ops->begin(d, c, agree, from ? from->parts[i] : NULL);
        if (d->needs.prompt_rows && n < kept) kept = n;
    }
    return kept;
}

// Only one part's rows can continue in the target's pass (`extend`): those of the first part that
// drafted some. The scratch slots of all others are freed for the next part and the tree's own
// rows.
static void end_part(fr_compose *d, const fr_context *c) {
    if (d->scratch || !d->part[d->at]->needs.resumes) fr_kv_keep_scratch(c->kv, d->scratch);
    d->at++;
}

static void propose_part(fr_compose *d, const fr_context *c, fr_proposal *p) {
    fr_drafter *part = d->part[d->at];
    d->scratch = c->kv->n_scratch;
    part->ops->propose(part, c, p);
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_compose *d = (fr_compose *)base;
    d->at = 0;
    propose_part(d, c, p);
}

// A part whose proposal is complete is followed by the next one.
static fr_draft_want want(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_compose *d = (fr_compose *)base;
    for (;;) {
        fr_drafter *part = d->part[d->at];
        const fr_draft_want wanted = part->ops->want(part, c, p);
        if (wanted.pass) return wanted;
        end_part(d, c);
        if (d->at == base->n_parts) return wanted;
        propose_part(d, c, p);
    }
}

static void got(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_compose *d = (fr_compose *)base;
    d->part[d->at]->ops->got(d->part[d->at], c, p);
}

static int extend(fr_drafter *base, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                  int max) {
    for (int i = 0; i < base->n_parts; i++) {
        fr_drafter *d = base->parts[i];
        const int most = n + d->needs.max_attached;
        n = d->ops->extend(d, c, tree, rows, n, most < max ? most : max);
    }
    return n;
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    for (int i = 0; i < base->n_parts; i++)
        if (v->tree || base->parts[i]->needs.prompt_rows)
            base->parts[i]->ops->observe(base->parts[i], c, v);
}

static void report(const fr_drafter *base, fr_draft_counts *to) {
    for (int i = 0; i < base->n_parts; i++)
        base->parts[i]->ops->report(base->parts[i], to);
}

static void close_compose(fr_drafter *base) {
    for (int i = 0; i < base->n_parts; i++)
        base->parts[i]->ops->close(base->parts[i]);
    fr_free(base);
}

static const fr_drafter_ops OPS = {.name = "compose",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = want,
                                   .got = got,
                                   .extend = extend,
                                   .observe = observe,
                                   .report = report,
                                   .close = close_compose};

// Rows that continue at a middle layer have no residuals below it for others to read.
static bool reads_below(const fr_needs *n, int layer) {
    return layer && (n->n_maps || (n->n_taps && n->taps[0] < layer));
}

static bool unite(fr_needs *all, const fr_needs *n) {
    const bool same_taps = all->n_taps == n->n_taps &&
                           !memcmp(all->taps, n->taps, sizeof *n->taps * (size_t)n->n_taps);
    if ((all->n_taps && n->n_taps && !same_taps) || (all->n_maps && n->n_maps)) return false;
    if (reads_below(n, all->resumes) || reads_below(all, n->resumes)) return false;
    if (n->n_taps) {
        memcpy(all->taps, n->taps, sizeof all->taps);
        all->n_taps = n->n_taps;
    }
    if (n->n_maps) {
        all->maps = n->maps;
        all->n_maps = n->n_maps;
    }
    all->final |= n->final;
    all->prompt_rows |= n->prompt_rows;
    all->all_rows |= n->all_rows;
    all->max_attached += n->max_attached;
    all->attached_logits += n->attached_logits;
    all->own_taps = n->own_taps > all->own_taps ? n->own_taps : all->own_taps;
    all->resumes = n->resumes > all->resumes ? n->resumes : all->resumes;
    return true;
}

fr_status fr_compose_open(fr_drafter **out, fr_drafter *const *parts, int n, fr_error *err) {
    assert(n >= 1 && n <= FR_COMPOSE_PARTS);
    *out = NULL;
    fr_compose *d = fr_alloc_zero(sizeof *d);
    if (!d) return fr_fail(err, FR_ENOMEM, "drafter: no memory");
    d->base = (fr_drafter){.ops = &OPS, .parts = d->part, .n_parts = n, .default_nodes = 1};
    for (int i = 0; i < n; i++) {
        d->part[i] = parts[i];
        if (parts[i]->allowance > d->base.allowance) d->base.allowance = parts[i]->allowance;
        d->base.default_nodes += parts[i]->default_nodes - 1; // every part has a root of its own
        if (unite(&d->base.needs, &parts[i]->needs)) continue;
        fr_free(d);
        return fr_fail(
            err, FR_EUNSUP,
            "drafter %s: cannot be joined to one that reads other layers of the target or "
            "begins rows within its pass in another way",
            parts[i]->ops->name);
    }
    *out = &d->base;
    return FR_OK;
}
