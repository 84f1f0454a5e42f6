// self_draft.c — opens the draft head and its buffers, then drafts one step at a time. Each pass
// reads the frontier's nodes through the method's layers and the head, until the best guess is too
// unsure; afterwards the threshold learns how much of the chain was accepted.
#include "draft/self/self_draft.h"
#include <string.h>

_Static_assert((int)FR_SELF_ROWS + (int)FR_TREE_MAX <= (int)FR_ROWS &&
                   2 * (int)FR_SELF_ROWS <= (int)FR_ROWS,
               "behind the rows that go on there is room for a tree, and for another part's rows");

// ---------------------------------------------------------------- open

const fr_drafter_option fr_self_options[] = {
    FR_OPTION_REAL("threshold", "P", fr_self_draft, fixed, 0, 1,
                   "stop after a token less probable than this, 0 to 1 (default: adapted to "
                   "the\nshare of accepted tokens)"),
    FR_OPTION_INT(
        "depth", "N", fr_trained, depth, 1, FR_PACK_HEADS,
        "tokens drafted ahead, 1 to 16 (default: as many as pay, up to 8; with --no-adapt 6)"),
    FR_TRAINED_WIDTH("1"),
    {0}};

static fr_status open_buffers(fr_self_draft *s, const fr_model *target, fr_error *err) {
    const fr_pack *p = s->base.pack;
    s->stride = s->whole ? p->d : fr_linear_stride(p->d); // as fr_forward_head has it
    s->logit_stride = s->whole ? p->n_draft : fr_linear_stride(p->n_draft);
    const size_t rows = FR_BEAM_WIDTH * sizeof(float);
    const size_t in = FR_ARENA_ROUND(rows * (size_t)s->stride);
    const size_t logits = FR_ARENA_ROUND(rows * (size_t)s->logit_stride);
    const fr_status st = fr_arena_open(&s->arena, in + logits, "drafts", err);
    if (st) return st;
    s->in = fr_arena_take(&s->arena, in);
    s->logits = fr_arena_take(&s->arena, logits);
    if (s->whole) return FR_OK;
    return fr_linear_open(&s->linear, target->kern, target->pool, FR_BEAM_WIDTH, s->stride, err);
}

fr_status fr_self_open(fr_self_draft *s, const fr_model *target, double share,
                       fr_self_pass_fn *pass, fr_error *err) {
    s->pass = pass;
    fr_status st = FR_OK;
    if (!s->whole) st = fr_pack_weights_head(s->base.weights, &s->head, err);
    if (!st) st = open_buffers(s, target, err);
    if (st) return st;
    const fr_matrix *w = s->whole ? &target->head : s->head;
    const double head = (double)fr_matrix_bytes(w);
    fr_trained_weigh(&s->base, target, (uint64_t)(share * (double)target->row_bytes + head));
    return FR_OK;
}

void fr_self_close(fr_self_draft *s) {
    fr_linear_close(&s->linear);
    fr_arena_close(&s->arena);
    fr_trained_close(&s->base);
}

// ---------------------------------------------------------------- a step

int fr_self_begin(fr_drafter *d, const fr_context *c, int agree, const fr_drafter *from) {
    (void)from;
    fr_self_draft *s = (fr_self_draft *)d;
    fr_trained_begin(&s->base);
    fr_threshold_begin(&s->threshold, c->sampling->temperature <= 0 || c->sampling->top_k == 1);
    s->n_best = s->n_rows = 0;
    return agree;
}

static void read_head(fr_self_draft *s, const fr_context *c, int n) {
    if (s->whole) {
        fr_forward_head(c->forward, s->in, n, s->logits);
        return;
    }
    const fr_linear_product head = {s->head, s->in, s->stride, s->logits, s->logit_stride};
    fr_linear_run(&s->linear, &head, 1, n);
}

// Offers the guesses of row i of the pass after a node; returns the probability of the best one.
static float expand(fr_self_draft *s, int node, int i, int slot) {
    fr_likely likely[FR_TRAINED_RANKS];
    // Without adapting nothing weighs extra leaves against the chain, so no more guesses than
    // `width` are offered.
    const bool all =
        s->base.adapt || s->base.width > FR_TRAINED_RANKS || fr_drafter_is_watched(&s->base.base);
    const int most = all ? FR_TRAINED_RANKS : s->base.width;
    const int m =
        fr_likeliest(s->logits + (size_t)i * (size_t)s->logit_stride, s->base.n_ids, most, likely);
    s->row[node] = (int16_t)s->n_rows;
    s->slot[s->n_rows++] = (int16_t)slot;
    fr_trained_offer_likely(&s->base, node, likely, m);
    return m ? likely[0].p : 0;
}

// One pass over the frontier's nodes; returns the probability of the best guess after the first of
// them.
static float guess_next(fr_self_draft *s, const fr_context *c, int n) {
    const fr_beam *b = &s->base.beam;
    fr_row rows[FR_BEAM_WIDTH];
    float sure = 0;
    fr_draft_lap(c);
    for (int i = 0; i < n; i++) {
        const fr_beam_node *node = &b->node[b->frontier[i]];
        const int parent =
            node->parent < 0 ? FR_PARENT_COMMITTED : FR_PARENT_SLOT(s->slot[s->row[node->parent]]);
        rows[i] = fr_row_token(node->id, parent, s->wants);
    }
    s->pass(s, c, rows, n);
    read_head(s, c, n);
    for (int i = 0; i < n; i++) {
        const float p = expand(s, b->frontier[i], i, fr_forward_slot(c->forward, i));
        if (i == 0) sure = p;
    }
    fr_trained_took(&s->base, c, n, fr_draft_lap(c));
    return sure;
}

static bool goes_on(const fr_self_draft *s, int levels, float sure) {
    if (levels == FR_PACK_HEADS || s->n_rows + FR_BEAM_WIDTH > FR_SELF_ROWS) return false;
    if (s->base.depth) return true; // whatever it takes
    return levels < FR_SELF_LEVELS && sure >= (s->fixed < 0 ? s->threshold.value : s->fixed);
}

static void keep_best(fr_self_draft *s) {
    const fr_beam *b = &s->base.beam;
    s->n_best = 0;
    for (int i = 1, last = 0; i < b->n; i++)
        if (b->node[i].parent == last && b->node[i].rank == 0) {
            s->best[s->n_best++] = b->node[i].id;
            last = i;
        }
}

void fr_self_propose(fr_drafter *d, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    fr_self_draft *s = (fr_self_draft *)d;
    s->n_best = s->n_rows = 0;
    s->n_root = c->n_ids;
    if (!fr_trained_start(&s->base, c, tree, 1)) return;
    memset(s->row, -1, sizeof s->row);
    for (int levels = 1, n = 1; n > 0; levels++) {
        const float sure = guess_next(s, c, n);
        n = goes_on(s, levels, sure) ? fr_trained_next(&s->base, c, tree, FR_LEVEL_PASS) : 0;
    }
    keep_best(s);
    fr_trained_fill(&s->base, tree);
    fr_trained_proposed(&s->base, c, tree);
}

// Learns how many tokens of the chain came, of those that can be compared with the text.
void fr_self_observe(fr_drafter *d, const fr_context *c, const fr_verdict *v) {
    fr_self_draft *s = (fr_self_draft *)d;
    fr_trained_saw(&s->base, c, v);
    const int came = c->n_ids - s->n_root;
    s->n_rows = 0;
    int same = 0;
    if (!v->tree || !s->n_best) return;
    while (same < s->n_best && same < came && s->best[same] == c->ids[s->n_root + same])
        same++;
    fr_threshold_learn(&s->threshold, same == came ? same : s->n_best, same,
                       s->n_best >= FR_SELF_LEVELS);
    s->n_best = 0;
}
