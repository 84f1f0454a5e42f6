// unigram.c — a trained drafter: one distribution, whatever the text, and the form of its packs.
#include "base/alloc.h"
#include "draft/kit/trained.h"
#include "draft/shared/config.h"

// ---------------------------------------------------------------- packs

static void tensors(const fr_pack *p, fr_pack_tensors *list) {
    fr_pack_expect(list, "unigram.scores", p->n_draft, 0);
}

static double share(const fr_pack *p, int depth, const fr_pack_target *t) {
    (void)depth;
    return fr_pack_own_share(p, t);
}

static void words(const fr_pack *p, FILE *to) {
    fprintf(to, ", one distribution of %d tokens", p->n_draft);
}

extern const fr_pack_form fr_unigram_form;
const fr_pack_form fr_unigram_form = {
    .name = "unigram", .tensors = tensors, .share = share, .words = words};

// ---------------------------------------------------------------- verbs

typedef struct unigram {
    fr_trained base;
    const float *scores; // [n_draft]
} unigram;

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    (void)c, (void)from;
    fr_trained_begin((fr_trained *)base);
    return agree;
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    unigram *u = (unigram *)base;
    if (!fr_trained_start_free(&u->base, c, &p->tree)) return;
    fr_trained_grow_dists(&u->base, c, &p->tree, u->scores, 0, u->base.pack->depth);
    fr_trained_fill(&u->base, &p->tree);
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    fr_trained_saw((fr_trained *)base, c, v);
}

static void close_unigram(fr_drafter *base) {
    fr_trained_close((fr_trained *)base);
    fr_free(base);
}

static const fr_drafter_ops OPS = {.name = "unigram",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = fr_no_extend,
                                   .observe = observe,
                                   .report = fr_no_report,
                                   .close = close_unigram};

static const fr_drafter_option OPTIONS[] = {FR_TRAINED_WIDTH("8"), {0}};

static fr_status open_unigram(fr_drafter **out, const char *file, const fr_drafter_config *config,
                              fr_error *err) {
    *out = NULL;
    unigram *u = fr_alloc_zero(sizeof *u);
    if (!u) return fr_fail(err, FR_ENOMEM, "unigram: cannot get memory");
    fr_status st = fr_trained_open(&u->base, &fr_unigram_form, &OPS, file, config, OPTIONS, err);
    if (!st) st = fr_pack_weights_values(u->base.weights, "unigram.scores", &u->scores, err);
    if (st) {
        close_unigram(&u->base.base);
        return st;
    }
    fr_trained_weigh(&u->base, config->model, u->base.pack->bytes);
    *out = &u->base.base;
    return FR_OK;
}

extern const fr_drafter_method fr_unigram_method;
const fr_drafter_method fr_unigram_method = {.name = "unigram",
                                             .what = "the tokens that are frequent anyway",
                                             .file = "a pack; else one that is found",
                                             .options = OPTIONS,
                                             .pack = &fr_unigram_form,
                                             .in_auto = "unigram",
                                             .cost = 1,
                                             .open = open_unigram};
