// Jacobi decoding as a drafter: the chain of guesses (jacobi.h) is itself verified. Guesses of the
// chain that are no candidates are attached after those that are, so that every pass replaces the
// whole chain.  [Song et al. 2021; Santilli et al. 2023, Algorithm 2; Fu et al. 2024, §2]
#include "base/alloc.h"
#include "decode/counts.h"
#include "draft/lookahead/window_benefit.h"
#include "lab/draft/jacobi.h"
#include "lab/draft/methods.h"
#include <string.h>

typedef struct jacobi {
    fr_drafter base;
    fr_jacobi chain;
    int width;
    bool adapt;
    fr_window_benefit benefit;
    bool attaches;                    // in this step's pass
    int16_t row[FR_JACOBI_WIDTH + 1]; // of guess k; -1: none
    int n_attached;                   // guesses that were no candidates
    int64_t steps, attached, taken;
} jacobi;

// ---------------------------------------------------------------- kinds of guesses

static int kind_of(int k, int age) {
    const int place = k < 3 ? k - 1 : k < 5 ? 2 : 3;
    return place * FR_JACOBI_AGES + age;
}

static const float EXPECTED[FR_JACOBI_AGES] = {0.02f, 0.07f, 0.12f, 0.4f};
static const double EXPECTED_BENEFIT = 0.1;

static void expect(fr_drafter *d) {
    d->hits.memory = 64;
    for (int k = 1; k <= 5; k++)
        for (int age = 0; age < FR_JACOBI_AGES; age++)
            fr_hits_expect(&d->hits, kind_of(k, age), EXPECTED[age], 8);
}

// ---------------------------------------------------------------- a step

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    jacobi *d = (jacobi *)base;
    (void)from;
    d->attaches = false;
    d->steps = d->attached = d->taken = 0;
    fr_window_benefit_begin(&d->benefit);
    d->n_attached = d->width;
    fr_jacobi_begin(&d->chain, c->ids, c->n_ids);
    return agree;
}

static void propose_chain(jacobi *d, fr_tree *tree) {
    float score = 1;
    for (int k = 1, node = 0; k <= d->width; k++) {
        const int kind = kind_of(k, d->chain.age[k]), before = tree->n;
        score *= fr_hits_rate(&d->base.hits, kind, 1);
        node = fr_tree_add(tree, node, d->chain.id[k], score, d->base.part);
        if (node < 0) return;
        if (node == before) tree->node[node].kind = (uint8_t)kind;
    }
}

// About as many guesses are attached as the last time.
static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    jacobi *d = (jacobi *)base;
    const fr_extra_rows rows = {
        .rows = d->n_attached, .trunk = d->n_attached, .logits = d->n_attached};
    d->attaches = !d->adapt || fr_window_benefit_pays(&d->benefit, c->budget, &rows, c->n_ids - 1);
    if (d->attaches) fr_extra_rows_add(&p->extra_rows, &rows);
    propose_chain(d, &p->tree);
}

// Guesses that are candidates have rows already; those after them are attached.
static int extend(fr_drafter *base, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                  int max) {
    jacobi *d = (jacobi *)base;
    const int before = n;
    (void)c;
    memset(d->row, -1, sizeof d->row);
    for (int k = 1, row = 0; k <= d->width; k++) {
        const int child = n == before ? fr_tree_child(tree, row, d->chain.id[k]) : -1;
        if (child < 0 && (!d->attaches || n == max)) break;
        if (child < 0) rows[n] = fr_row_token(d->chain.id[k], row, FR_WANT_LOGITS);
        row = child < 0 ? n++ : child;
        d->row[k] = (int16_t)row;
    }
    if (d->attaches) d->n_attached = n - before;
    return n;
}

// ---------------------------------------------------------------- results

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    jacobi *d = (jacobi *)base;
    int32_t next[FR_JACOBI_WIDTH + 1];
    if (!v->tree) return;
    d->steps++;
    d->attached += d->attaches;
    for (int i = 1; i < v->n_path; i++)
        d->taken += v->tree->node[v->path[i]].drafter == d->base.part;
    if (d->attaches && d->adapt)
        fr_window_benefit_learn_tree(&d->benefit, c->budget, v->tree, d->base.part, NULL,
                                     c->n_ids - 1);
    for (int k = 1; k <= d->width; k++)
        next[k] = d->row[k] < 0 ? -1
                                : c->model->kern->argmax(fr_context_logits(c, d->row[k]),
                                                         c->model->config.n_vocab);
    fr_jacobi_move(&d->chain, v->n_path, next, c->ids, c->n_ids);
    d->attaches = false; // where no more than one token is wanted nothing is proposed
}

static void report(const fr_drafter *base, fr_draft_counts *to) {
    const jacobi *d = (const jacobi *)base;
    const double steps = (double)d->steps;
    const fr_draft_count counts[] = {
        {base->ops->name, "passes_with_chain", true, (double)d->attached, steps},
        {base->ops->name, "tokens_of_chain", true, (double)d->taken, steps}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        fr_counts_add(to, &counts[i]);
}

// ---------------------------------------------------------------- open and close

static void close_jacobi(fr_drafter *base) {
    fr_free(base);
}

static const fr_drafter_ops OPS = {.name = "jacobi",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = extend,
                                   .observe = observe,
                                   .report = report,
                                   .close = close_jacobi};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_INT("window", "W", jacobi, width, 1, FR_JACOBI_WIDTH,
                  "number of guesses in the chain, 1 to 63 (default 3)"),
    {0}};

static fr_status open_jacobi(fr_drafter **out, const char *file, const fr_drafter_config *config,
                             fr_error *err) {
    (void)file;
    *out = NULL;
    jacobi *d = fr_alloc_zero(sizeof *d);
    fr_status st = FR_OK;
    if (!d) return fr_fail(err, FR_ENOMEM, "jacobi: cannot get memory");
    d->base.ops = &OPS;
    d->width = 3;
    d->adapt = !config->no_adapt;
    d->benefit.tokens = EXPECTED_BENEFIT;
    expect(&d->base);
    for (int i = 0; config->options && config->options[i] && !st; i++)
        st = fr_drafter_read(d, OPS.name, OPTIONS, config->options[i], err);
    if (st) {
        close_jacobi(&d->base);
        return st;
    }
    d->chain.width = d->width;
    d->base.needs.max_attached = d->base.needs.attached_logits = d->width;
    d->base.needs.all_rows = true; // every guess is replaced by what its row says
    d->base.default_nodes = 1 + d->width;
    *out = &d->base;
    return FR_OK;
}

const fr_drafter_method lab_jacobi_method = {
    .name = "jacobi",
    .what = "a chain of guesses that every pass replaces by the model's own tokens",
    .file = "",
    .options = OPTIONS,
    .cost = 1,
    .open = open_jacobi};
