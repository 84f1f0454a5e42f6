// A draft model that is itself driven: its own decoder runs with a drafter of its own, so that one
// of its passes brings several tokens of the draft.  [PPD, Chen et al. 2024, §5.3: PPD inside the
// draft model]
//
// A step: set the small model's text to that of the target, keeping the common prefix, and let it
// decode on as long as another pass pays. The decoded tokens are a chain, and the second and later
// guesses of every row are leaves. Its random numbers are the target's (seed, position), so equal
// distributions give equal tokens at a temperature too.
#include "base/alloc.h"
#include "decode/decoder.h"
#include "draft/kit/draft_benefit.h"
#include "draft/model/guess.h"
#include "draft/model/small_model.h"
#include "draft/shared/config.h"
#include <string.h>

enum { DEEPEST = 16, PLAIN_DEPTH = 4, DEFAULT_NODES = 24, ALLOWANCE = 2 };
static const float LEAST_SCORE = 0.01f; // of a second guess that is worth a place in the tree

typedef struct fr_driven {
    fr_drafter base;
    fr_small_model small;
    fr_drafter *driver;
    fr_decoder decoder;
    fr_guesser guesser;
    fr_draft_benefit benefit;
    int depth; // tokens drafted ahead; 0: as many as pay
    bool adapt, timed;
    int n_checked; // tokens of the text that were checked against the small model's vocabulary
    // State of the current step.
    int32_t token[DEEPEST]; // that one pass of the small model gave
    int n_tokens;
    int32_t best; // the first guess at the next token; -1: none
} fr_driven;

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    (void)from;
    fr_driven *d = (fr_driven *)base;
    fr_sampling rest = *c->sampling; // the decoder's logits are biased and penalised already
    rest.n_bias = 0;
    rest.repeat_penalty = 1;
    fr_guesser_begin(&d->guesser, &rest, c->rule);
    fr_draft_benefit_begin(&d->benefit);
    d->n_checked = 0;
    d->best = -1;
    return agree;
}

// ---------------------------------------------------------------- what a pass gave

static bool take_token(void *user, int32_t token, const fr_node *node) {
    fr_driven *d = user;
    (void)node;
    d->token[d->n_tokens++] = token;
    return true;
}

// The child of `node` that holds id, new if need be; -1: no room.
static int add(fr_driven *d, fr_tree *tree, int node, int32_t id, int rank, uint8_t kind) {
    const float score = tree->node[node].score * fr_hits_rate(&d->base.hits, kind, 1);
    const int before = tree->n;
    if (rank && score < LEAST_SCORE) return -1;
    const int at = fr_tree_add(tree, node, id, score, d->base.part);
    if (at == before) {
        tree->node[at].rank = (uint8_t)rank;
        tree->node[at].kind = kind;
    }
    return at;
}

// The token that was decoded after `node` and, as leaves, the other likely tokens of its logits.
static int add_guesses(fr_driven *d, fr_tree *tree, int node, float *logits, int n_ids,
                       int32_t token) {
    fr_guess guess[FR_GUESSES];
    const int n = fr_guesser_next(&d->guesser, logits, d->decoder.ids, n_ids, guess);
    fr_draft_benefit_saw(&d->benefit, fr_hits_rate(&d->base.hits, guess[0].kind, 1));
    const int at = add(d, tree, node, token, 0, guess[0].kind);
    for (int r = 0; r < n && d->adapt; r++)
        if (guess[r].id != token) add(d, tree, node, guess[r].id, r ? r : 1, guess[r].kind);
    return at;
}

// One pass of the small model; the last node of the chain, or -1: there is no room for more.
static int decode_on(fr_driven *d, const fr_context *c, fr_tree *tree, int node, int most) {
    fr_decoder *inner = &d->decoder;
    const int before = inner->n_ids;
    d->n_tokens = 0;
    fr_draft_lap(c);
    fr_decoder_step(inner, most, take_token, d);
    if (!d->n_tokens) return -1; // its logits are no numbers
    for (int i = 0; i < d->n_tokens && node >= 0; i++) {
        float *logits = fr_decoder_logits(inner, inner->verdict.path[i]);
        if (d->token[i] >= d->small.n_common) return -1;
        node = add_guesses(d, tree, node, logits, before + i, d->token[i]);
    }
    fr_draft_benefit_learn(&d->benefit, c->budget, 1, c->n_ids, fr_draft_lap(c));
    return node;
}

// ---------------------------------------------------------------- a step

// Under rejection guesses would have to be drawn from a distribution (draft_model.c).
static bool worth_a_start(fr_driven *d, const fr_context *c, const fr_tree *tree) {
    const int unread = c->n_ids - d->decoder.kv.n_committed;
    if (d->guesser.draws || c->n_ids >= d->small.n_ctx ||
        !fr_small_model_can_read(&d->small, c->ids, d->n_checked, c->n_ids))
        return false;
    d->n_checked = c->n_ids;
    if (d->depth) return true;
    if (!d->timed && !c->budget->measured) return false;
    return fr_draft_benefit_start_on(&d->benefit, c->budget, unread > 1 ? unread : 1, tree,
                                     c->n_ids);
}

static bool pays(const fr_driven *d, const fr_context *c, const fr_tree *tree, int node) {
    const int deep = tree->node[node].depth;
    if (d->depth) return deep < d->depth;
    const float score = tree->node[node].score;
    const int rows = fr_budget_choose(c->budget, tree, NULL, c->n_ids - 1);
    return fr_draft_benefit_rows(&d->benefit, c->budget, &score, 1, rows, c->n_ids - 1) > 0;
}

static int most_tokens(const fr_driven *d, const fr_tree *tree, int node) {
    int most = d->depth ? d->depth : DEEPEST;
    const int reach = fr_decoder_reach(&d->decoder);
    int room = d->decoder.n_ctx - d->decoder.n_ids;
    if (reach < room) room = reach;
    if (tree->max_depth < most) most = tree->max_depth;
    most -= tree->node[node].depth;
    return room < most ? room : most;
}

static double read_text(fr_driven *d, const fr_context *c) {
    const int before = d->decoder.kv.n_committed;
    fr_draft_lap(c);
    fr_decoder_prompt(&d->decoder, c->ids, c->n_ids, c->sampling);
    const double seconds = fr_draft_lap(c);
    return d->decoder.kv.n_committed > before + 2 ? seconds : 0;
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    fr_driven *d = (fr_driven *)base;
    int node = 0;
    d->best = -1;
    if (tree->max_depth < 1 || !worth_a_start(d, c, tree)) return;
    p->prepaid += read_text(d, c);
    do
        node = decode_on(d, c, tree, node, most_tokens(d, tree, node));
    while (node > 0 && most_tokens(d, tree, node) > 0 && pays(d, c, tree, node));
    if (d->n_tokens) d->best = d->decoder.ids[c->n_ids];
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    fr_driven *d = (fr_driven *)base;
    d->timed = true;
    if (!v->tree || d->best < 0) return;
    fr_draft_benefit_saw(&d->benefit, d->best == c->ids[c->n_ids - v->n_path] ? 1 : 0);
    d->best = -1;
}

static void close_driven(fr_drafter *base) {
    fr_driven *d = (fr_driven *)base;
    fr_guesser_close(&d->guesser);
    fr_decoder_close(&d->decoder);
    fr_drafter_close(d->driver);
    fr_small_model_close(&d->small);
    fr_free(d);
}

static const fr_drafter_ops OPS = {.name = "draft-model",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = fr_no_extend,
                                   .observe = observe,
                                   .report = fr_no_report,
                                   .close = close_driven};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_INT("depth", "N", fr_driven, depth, 1, DEEPEST,
                  "tokens drafted ahead, 1 to 16 (default: as many as pay; with --no-adapt 4)"),
    {0}};

// ---------------------------------------------------------------- open

static fr_status open_decoder(fr_driven *d, const fr_drafter_config *config, fr_error *err) {
    char used[FR_DRAFTER_NAME];
    const fr_model *m = d->small.model;
    const fr_drafter_config own = {.model = m,
                                   .tokenizer = config->tokenizer,
                                   .n_ctx = d->small.n_ctx,
                                   .shared = config->shared,
                                   .no_adapt = config->no_adapt};
    fr_status st = config->open_spec(&d->driver, used, config->driver, &own, err);
    if (st) return st;
    memcpy(d->base.file, d->driver->file, sizeof d->base.file); // its pack decides what is drafted
    st = fr_decoder_open(&d->decoder, m, d->small.n_ctx, FR_KV_F16, &d->driver->needs, err);
    if (st) return st;
    d->decoder.drafter = d->driver;
    d->decoder.adapt = !config->no_adapt;
    return FR_OK;
}

fr_status fr_driven_model_open(fr_drafter **out, const char *file, const fr_drafter_config *config,
                               fr_error *err) {
    fr_error why = {0};
    *out = NULL;
    fr_driven *d = fr_alloc_zero(sizeof *d);
    if (!d) return fr_fail(err, FR_ENOMEM, "draft-model: cannot get memory");
    d->base = (fr_drafter){.ops = &OPS, .default_nodes = DEFAULT_NODES, .allowance = ALLOWANCE};
    fr_guesser_expect(&d->base.hits);
    d->adapt = !config->no_adapt;
    d->depth = config->no_adapt ? PLAIN_DEPTH : 0;
    fr_status st = FR_OK;
    for (int i = 0; config->options && config->options[i] && !st; i++)
        st = fr_drafter_read(d, "a driven draft-model", OPTIONS, config->options[i], &why);
    if (!st) st = fr_small_model_open(&d->small, file, config, &why);
    if (!st) st = open_decoder(d, config, &why);
    if (!st) st = fr_guesser_open(&d->guesser, config->model->kern, d->small.n_common, &why);
    if (st) {
        close_driven(&d->base);
        return st == FR_EARG ? fr_fail(err, st, "%s", why.text)
                             : fr_fail(err, st, "draft-model: %s", why.text);
    }
    fr_draft_benefit_open(&d->benefit,
                          (double)d->small.model->row_bytes / (double)config->model->row_bytes);
    *out = &d->base;
    return FR_OK;
}
