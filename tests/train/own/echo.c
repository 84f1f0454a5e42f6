// echo.c — a drafter without training: the last token comes again and again.
#include "base/alloc.h"
#include "draft/shared/config.h"

typedef struct echo {
    fr_drafter base;
    int depth;
} echo;

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    const echo *e = (const echo *)base;
    const int32_t last = c->ids[c->n_ids - 1];
    float score = 1;
    for (int k = 1, at = 0; k <= e->depth && at >= 0; k++) {
        const int kind = fr_hits_kind_of_depth(k);
        score *= fr_hits_rate(&base->hits, kind, 0.5f);
        at = fr_tree_add(&p->tree, at, last, score, base->part);
        if (at >= 0) p->tree.node[at].kind = (uint8_t)kind;
    }
}

static void close_echo(fr_drafter *base) {
    fr_free(base);
}

static const fr_drafter_ops OPS = {.name = "echo",
                                   .begin = fr_no_begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = fr_no_extend,
                                   .observe = fr_no_observe,
                                   .report = fr_no_report,
                                   .close = close_echo};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_INT("depth", "N", echo, depth, 1, 8, "tokens drafted, 1 to 8 (default 2)"), {0}};

static fr_status open_echo(fr_drafter **out, const char *file, const fr_drafter_config *config,
                           fr_error *err) {
    (void)file;
    *out = NULL;
    echo *e = fr_alloc_zero(sizeof *e);
    if (!e) return fr_fail(err, FR_ENOMEM, "echo: cannot get memory");
    e->base = (fr_drafter){.ops = &OPS, .default_nodes = 9};
    fr_hits_expect_probabilities(&e->base.hits);
    e->depth = 2;
    for (int i = 0; config->options && config->options[i]; i++) {
        const fr_status st = fr_drafter_read(e, OPS.name, OPTIONS, config->options[i], err);
        if (!st) continue;
        close_echo(&e->base);
        return st;
    }
    *out = &e->base;
    return FR_OK;
}

extern const fr_drafter_method fr_echo_method;
const fr_drafter_method fr_echo_method = {.name = "echo",
                                          .what = "the last token again",
                                          .file = "",
                                          .options = OPTIONS,
                                          .cost = 1,
                                          .open = open_echo};
