// Lookahead decoding: the target's own pass carries a window of guessed tokens; what the target
// makes of them becomes n-grams, and those that begin with the last token of the text are the
// candidates of a step.  [Fu et al. 2024]
//
// Two branches in one pass [§3.2]: rows of the window (window.h) are attached beside the
// candidates and fill the pool (ngram_pool.h); the n-grams of the root's token, newest first, are
// united into one tree (ngram_votes.h). `prompt=1` puts the n-grams of the text into the pool too,
// `window=0` leaves those alone.
//
// Unlike the code that came with the paper, an n-gram that matches whole yields the token after it
// too, as any path of a tree does, and every n-gram that enters is one that stood there.
#include "base/alloc.h"
#include "decode/counts.h"
#include "draft/kit/ngram_votes.h"
#include "draft/lookahead/ngram_pool.h"
#include "draft/lookahead/window.h"
#include "draft/lookahead/window_benefit.h"
#include "draft/shared/config.h"

typedef struct fr_lookahead {
    fr_drafter base;
    fr_window window;
    fr_ngram_pool pool;
    fr_ngram_votes votes;
    int entry[FR_NGRAM_VOTES]; // of the pool, by continuation
    int width, guesses, of_text;
    bool adapt;
    int n_indexed; // n-grams of the text that end before this place are in the pool
    fr_window_benefit benefit;
    bool has_window; // in this step's pass
    int first_row;   // ... from this row on; -1: not
    int64_t steps, with_window, taken_of_text, taken_of_window;
} fr_lookahead;

// ---------------------------------------------------------------- kinds of guesses

enum { DEPTHS = 4, ORIGINS = 2 };

static int kind_of_guess(int depth, bool of_text, fr_vote vote) {
    return ((depth < DEPTHS ? depth : DEPTHS - 1) * ORIGINS + of_text) * FR_VOTES + vote;
}

// Whether only the window knew of a guess of this kind.
static bool is_of_window(int kind) {
    return kind / FR_VOTES % ORIGINS == 0;
}

// Hit rates to start from: those of SmolLM2-135M's greedy answers to 72 training prompts, 12 each
// of Alpaca, CodeAlpaca, GPTeacher, GSM8K, MBPP and ShareGPT, 96 tokens at most (forerun-lab hits
// --no-adapt). A kind that did not occur has the rate of the depth before.
static const float EXPECTED[DEPTHS][ORIGINS][FR_VOTES] = {
    {{0.40f, 0.60f, 0.23f, 0.06f}, {0.42f, 0.56f, 0.35f, 0.15f}},
    {{0.61f, 0.79f, 0.35f, 0.10f}, {0.71f, 0.85f, 0.48f, 0.19f}},
    {{0.75f, 0.79f, 0.36f, 0.06f}, {0.81f, 0.85f, 0.60f, 0.27f}},
    {{0.75f, 0.79f, 0.36f, 0.06f}, {0.81f, 0.85f, 0.60f, 0.27f}},
};
static const double EXPECTED_BENEFIT = 0.1;

static void expect(fr_drafter *d) {
    d->hits.memory = 64;
    for (int k = 0; k < DEPTHS; k++)
        for (int text = 0; text < ORIGINS; text++)
            for (int v = 0; v < FR_VOTES; v++)
                fr_hits_expect(&d->hits, kind_of_guess(k, text, (fr_vote)v), EXPECTED[k][text][v],
                               8);
}

// ---------------------------------------------------------------- the text

static void take_text(fr_lookahead *d, const fr_context *c) {
    const int n = d->window.n;
    for (int end = d->n_indexed < n - 1 ? n - 1 : d->n_indexed; end < c->n_ids; end++)
        fr_ngram_pool_add(&d->pool, c->ids[end - n + 1], c->ids + end - n + 2, true);
    d->n_indexed = c->n_ids;
}

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    (void)from;
    fr_lookahead *d = (fr_lookahead *)base;
    d->has_window = false;
    d->first_row = -1;
    d->n_indexed = 0;
    d->steps = d->with_window = d->taken_of_text = d->taken_of_window = 0;
    fr_window_benefit_begin(&d->benefit);
    fr_ngram_pool_begin(&d->pool);
    if (d->of_text) take_text(d, c);
    if (d->width) fr_window_begin(&d->window, c->ids, c->n_ids);
    return agree;
}

// ---------------------------------------------------------------- candidates

static int32_t word_of(const void *user, int voice, int depth) {
    const fr_lookahead *d = user;
    return depth < d->pool.n ? fr_ngram_pool_tail(&d->pool, d->entry[voice])[depth] : -1;
}

// The kind of a guess; it counts as one of the text if any of its n-grams is from the text.
static int kind_of(const void *user, uint64_t voices, int depth, fr_vote vote) {
    const fr_lookahead *d = user;
    bool of_text = false;
    for (int i = 0; i < d->votes.n; i++)
        of_text |= (voices >> i & 1) && d->pool.entry[d->entry[i]].of_text;
    return kind_of_guess(depth, of_text, vote);
}

static void propose_ngrams(fr_lookahead *d, fr_tree *tree) {
    d->votes.n = 0;
    for (int e = d->pool.newest[tree->node[0].id]; e >= 0; e = d->pool.entry[e].older)
        d->entry[d->votes.n++] = e;
    fr_ngram_votes_fill(&d->votes, &d->base.hits, d->base.part, tree);
}

static fr_extra_rows window_rows(const fr_lookahead *d) {
    const int rows = fr_window_rows(&d->window);
    return (fr_extra_rows){.rows = rows, .trunk = rows, .logits = fr_window_logits(&d->window)};
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    fr_lookahead *d = (fr_lookahead *)base;
    d->has_window = d->width > 0;
    if (d->has_window) {
        const fr_extra_rows rows = window_rows(d);
        if (d->adapt)
            d->has_window = fr_window_benefit_pays(&d->benefit, c->budget, &rows, c->n_ids - 1);
        if (d->has_window) fr_extra_rows_add(&p->extra_rows, &rows);
    }
    propose_ngrams(d, tree);
}

// ---------------------------------------------------------------- the window's rows

static int extend(fr_drafter *base, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                  int max) {
    fr_lookahead *d = (fr_lookahead *)base;
    (void)c, (void)tree;
    d->first_row = -1;
    if (n + fr_window_rows(&d->window) > max) d->has_window = false;
    if (!d->has_window) return n;
    d->first_row = n;
    return fr_window_attach(&d->window, rows, n);
}

// ---------------------------------------------------------------- results

static int32_t said_by(const fr_context *c, int row) {
    return c->model->kern->argmax(fr_context_logits(c, row), c->model->config.n_vocab);
}

static void take_window(fr_lookahead *d, const fr_context *c, const fr_verdict *v) {
    fr_window *w = &d->window;
    int32_t next[FR_WINDOW_WIDTH + FR_WINDOW_NGRAM] = {0}, ngram[FR_WINDOW_NGRAM];
    for (int i = fr_window_is_full(w) ? 0 : 1; i < w->columns; i++)
        next[i] = said_by(c, fr_window_last_row(w, d->first_row, i));
    for (int i = 0; i < w->columns && fr_window_is_full(w); i++) {
        fr_window_ngram(w, i, v->tree->node[0].id, next[i], ngram);
        fr_ngram_pool_add(&d->pool, ngram[0], ngram + 1, false);
    }
    fr_window_shift(w, next);
}

static bool is_own(const fr_lookahead *d, const fr_node *node, bool of_window) {
    return node->drafter == d->base.part && is_of_window(node->kind) == of_window;
}

static void count(fr_lookahead *d, const fr_verdict *v) {
    d->steps++;
    d->with_window += d->has_window;
    for (int i = 1; i < v->n_path; i++) {
        d->taken_of_text += is_own(d, &v->tree->node[v->path[i]], false);
        d->taken_of_window += is_own(d, &v->tree->node[v->path[i]], true);
    }
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    fr_lookahead *d = (fr_lookahead *)base;
    if (!v->tree) return;
    count(d, v);
    if (d->has_window && d->adapt)
        fr_window_benefit_learn_tree(&d->benefit, c->budget, v->tree, d->base.part, is_of_window,
                                     c->n_ids - 1);
    if (d->first_row >= 0) take_window(d, c, v);
    if (d->of_text) take_text(d, c);
    d->has_window = false; // where no more than one token is wanted nothing is proposed
}

static void report(const fr_drafter *base, fr_draft_counts *to) {
    const fr_lookahead *d = (const fr_lookahead *)base;
    const double steps = (double)d->steps;
    const fr_draft_count counts[] = {
        {base->ops->name, "passes_with_window", true, (double)d->with_window, steps},
        {base->ops->name, "tokens_of_window", true, (double)d->taken_of_window, steps},
        {base->ops->name, "tokens_of_text", true, (double)d->taken_of_text, steps}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        fr_counts_add(to, &counts[i]);
}

// ---------------------------------------------------------------- open and close

static void close_lookahead(fr_drafter *base) {
    fr_lookahead *d = (fr_lookahead *)base;
    fr_ngram_pool_close(&d->pool);
    fr_free(d);
}

static const fr_drafter_ops OPS = {.name = "lookahead",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = extend,
                                   .observe = observe,
                                   .report = report,
                                   .close = close_lookahead};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_INT("ngram", "N", fr_lookahead, window.n, 2, FR_WINDOW_NGRAM,
                  "number of tokens in an n-gram, 2 to 8 (default 4)"),
    FR_OPTION_INT("window", "W", fr_lookahead, width, 0, FR_WINDOW_WIDTH - 1,
                  "columns of guessed tokens in a pass, 0 to 63; 0: no window (default 3)"),
    FR_OPTION_INT("guesses", "G", fr_lookahead, guesses, 1, FR_NGRAM_VOTES,
                  "n-grams kept for each first token, 1 to 64 (default 3)"),
    FR_OPTION_INT("prompt", "N", fr_lookahead, of_text, 0, 1,
                  "1: also use n-grams of the text, 0: do not (default 1)"),
    {0}};

static fr_status check_options(const fr_lookahead *d, fr_error *err) {
    if (!d->width && !d->of_text)
        return fr_fail(err, FR_EARG,
                       "draft option window: 0 leaves the text's n-grams alone: needs prompt=1");
    const int rows = fr_window_most_rows(d->window.n, d->width);
    if (rows > FR_WINDOW_ROWS)
        return fr_fail(err, FR_EARG,
                       "draft option window: %d columns of %d-grams are %d rows of a pass; at most "
                       "%d can be",
                       d->width, d->window.n, rows, FR_WINDOW_ROWS);
    return FR_OK;
}

static void set_needs(fr_lookahead *d) {
    fr_needs *needs = &d->base.needs;
    if (d->width) {
        needs->max_attached = fr_window_most_rows(d->window.n, d->width);
        needs->attached_logits = fr_window_most_logits(d->window.n, d->width);
    }
    const int nodes = 1 + d->guesses * (d->window.n - 1);
    d->base.default_nodes = nodes < FR_TREE_MAX ? nodes : FR_TREE_MAX;
}

static fr_status open_pool(fr_lookahead *d, const fr_drafter_config *config, fr_error *err) {
    d->votes.word = word_of;
    d->votes.kind = kind_of;
    d->votes.user = d;
    return fr_ngram_pool_open(&d->pool, config->model->config.n_vocab, d->window.n - 1, d->guesses,
                              ((int64_t)config->n_ctx + 1) * (d->width + 1), err);
}

static fr_status open_lookahead(fr_drafter **out, const char *file, const fr_drafter_config *config,
                                fr_error *err) {
    (void)file;
    *out = NULL;
    fr_lookahead *d = fr_alloc_zero(sizeof *d);
    fr_status st = FR_OK;
    if (!d) return fr_fail(err, FR_ENOMEM, "lookahead: cannot get memory");
    d->base.ops = &OPS;
    d->window.n = 4;
    d->width = d->guesses = 3;
    d->of_text = 1;
    d->adapt = !config->no_adapt;
    d->benefit.tokens = EXPECTED_BENEFIT;
    expect(&d->base);
    for (int i = 0; config->options && config->options[i] && !st; i++)
        st = fr_drafter_read(d, OPS.name, OPTIONS, config->options[i], err);
    if (!st) st = check_options(d, err);
    if (!st) {
        fr_error why = {0};
        if ((st = open_pool(d, config, &why))) fr_fail(err, st, "lookahead: %s", why.text);
    }
    if (st) {
        close_lookahead(&d->base);
        return st;
    }
    d->window.width = d->width;
    set_needs(d);
    *out = &d->base;
    return FR_OK;
}

const fr_drafter_method fr_lookahead_method = {
    .name = "lookahead",
    .what = "n-grams that the model generates from guessed tokens in its own pass, and n-grams of "
            "the text",
    .file = "",
    .options = OPTIONS,
    .cost = 1,
    .open = open_lookahead};
