// EAGLE: one trained block drafts on the target's hidden states; a row reads the state of a token
// and the token after it, so that it includes the drawn token. [EAGLE, Li et al. 2024, §3.1]
//
// A step: read the pairs of newly accepted tokens with their true states. Then pass the frontier's
// nodes through the block level by level, each with the state that its parent's row gave. The nodes
// to expand are those with the greatest product of probabilities on their path, and the best of all
// guesses form the tree.  [EAGLE-2, Li et al. 2024, §4.1, §4.2]  With tree=static the nodes are
// those of one shape, the best by the pack's accuracies.  [EAGLE, §4.3]
#include "base/alloc.h"
#include "draft/eagle/eagle_pack.h"
#include "draft/kit/draft_block.h"
#include "draft/kit/fixed_tree.h"
#include <string.h>

enum {
    DEEPEST = FR_PACK_HEADS,
    EXPANDED = 1 + (DEEPEST - 1) * FR_BEAM_WIDTH, // nodes expanded in one step
    STATIC_NODES = 26,
    ROOM = 512,
    MOST_ROOM = 8192,
};
_Static_assert((int)FR_BEAM_WIDTH <= (int)FR_DRAFT_BLOCK_GUESSES, "a level is one pass");
_Static_assert((int)EXPANDED - 1 <= (int)FR_ROWS, "all guesses lie in scratch slots at once");

typedef struct fr_eagle {
    fr_trained base;
    fr_draft_block chain;
    int room;     // for ids of the text;
    int n_seen;   // of its ids, those that the head has seen
    int is_fixed; // tree=static:
    fr_fixed_tree fixed;
    // State of the current step, by node of the beam.
    int16_t place[FR_BEAM_NODES]; // of a node that was expanded, in states and slots
    int slot[EXPANDED];           // in the block's KV; -1: committed
    float *states;                // [EXPANDED][d]: what its row gave
    int n_expanded;
    int level;  // of the next pass; 0: it reads the text
    int n_rows; // of that pass; 0: none is wanted
} fr_eagle;

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    fr_eagle *e = (fr_eagle *)base;
    (void)c;
    if (from) fr_draft_block_copy(&e->chain, &((const fr_eagle *)from)->chain, agree);
    fr_trained_begin(&e->base);
    fr_text_head_begin(&e->chain.block.head);
    e->n_seen = 0;
    return fr_draft_block_keep_tokens(&e->chain, agree);
}

// ---------------------------------------------------------------- guesses after a node

static float *state_at(const fr_eagle *e, int place) {
    return e->states + (size_t)place * (size_t)e->base.pack->d;
}

// Expands a node with the distribution of the token after it, from row `row` of the block's last
// pass.
static void expand(fr_eagle *e, int node, int slot, int row) {
    const int place = e->n_expanded++;
    e->place[node] = (int16_t)place;
    e->slot[place] = slot;
    memcpy(state_at(e, place), fr_draft_block_state(&e->chain, row),
           sizeof(float) * (size_t)e->base.pack->d);
    fr_likely likely[FR_TRAINED_RANKS];
    const int n = fr_likeliest(fr_draft_block_logits(&e->chain, row), e->base.n_ids,
                               FR_TRAINED_RANKS, likely);
    if (e->is_fixed)
        fr_fixed_tree_offer(&e->fixed, &e->base, node, likely, n);
    else
        fr_trained_offer_likely(&e->base, node, likely, n);
}

// ---------------------------------------------------------------- levels

// Gives the head the ids of the text that came since the last step.
static void see_ids(fr_eagle *e, const fr_context *c) {
    fr_text_head_take(&e->chain.block.head, c->ids + e->n_seen, c->n_ids - e->n_seen);
    e->n_seen = c->n_ids;
    e->base.n_ids = e->chain.block.head.n;
}

// How many nodes the next pass has; 0: drafting ends.
static int next_level(fr_eagle *e, const fr_context *c, const fr_tree *tree) {
    return e->is_fixed ? fr_fixed_tree_next(&e->fixed, &e->base, c, tree)
                       : fr_trained_next(&e->base, c, tree, FR_LEVEL_PASS);
}

static bool put_guesses(fr_eagle *e, uint8_t wants) {
    const fr_beam *b = &e->base.beam;
    fr_draft_block_guess guess[FR_DRAFT_BLOCK_GUESSES];
    for (int i = 0; i < e->n_rows; i++) {
        const fr_beam_node *node = &b->node[b->frontier[i]];
        const int above = e->place[node->parent];
        guess[i] = (fr_draft_block_guess){state_at(e, above), node->id, e->slot[above]};
    }
    return fr_draft_block_put_guesses(&e->chain, guess, e->n_rows, wants);
}

// Expands the root, or the nodes of this level.
static void take_pass(fr_eagle *e) {
    const fr_beam *b = &e->base.beam;
    if (e->level == 0) {
        fr_draft_block_took_text(&e->chain);
        expand(e, 0, -1, 0);
    }
    for (int i = 0; i < e->n_rows && e->level; i++)
        expand(e, b->frontier[i], fr_draft_block_slot(&e->chain, i), i);
}

// Learns what the level took; returns the seconds of it that serve later steps.
static double learn_time(fr_eagle *e, const fr_context *c) {
    const double seconds = fr_draft_lap(c);
    fr_trained_took(&e->base, c, e->n_rows, seconds);
    if (e->level) return 0;
    const double step = fr_draft_benefit_pass(&e->base.benefit, c->budget, 2, c->n_ids);
    return e->n_rows > 2 && seconds > step ? seconds - step : 0;
}

// ---------------------------------------------------------------- verbs

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_eagle *e = (fr_eagle *)base;
    e->n_rows = 0;
    // After a prompt of one token nothing waits: a pair needs a token before the root.
    if (!e->chain.n_waiting || !fr_trained_start(&e->base, c, &p->tree, e->chain.n_waiting)) return;
    fr_draft_lap(c);
    see_ids(e, c);
    fr_fixed_tree_begin(&e->fixed);
    e->n_expanded = e->level = 0;
    e->n_rows = e->chain.n_waiting;
}

static fr_draft_want want(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_eagle *e = (fr_eagle *)base;
    const uint8_t wants = FR_WANT_FINAL | FR_WANT_LOGITS;
    (void)c, (void)p;
    if (!e->n_rows) return (fr_draft_want){NULL, 0};
    const bool fits = e->level ? put_guesses(e, wants) : fr_draft_block_put_text(&e->chain, wants);
    return (fr_draft_want){fr_draft_block_pass(&e->chain), fits ? e->n_rows : 0};
}

static void got(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_eagle *e = (fr_eagle *)base;
    take_pass(e);
    p->prepaid += learn_time(e, c);
    e->n_rows = ++e->level < DEEPEST ? next_level(e, c, &p->tree) : 0;
    if (e->n_rows) return;
    fr_draft_block_drop(&e->chain);
    fr_trained_fill(&e->base, &p->tree);
    fr_trained_proposed(&e->base, c, &p->tree);
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    fr_eagle *e = (fr_eagle *)base;
    fr_draft_block_add_path(&e->chain, c, v->tree ? v->path : NULL,
                            v->tree ? v->n_path : v->n_rows);
    if (v->tree) fr_trained_saw(&e->base, c, v);
}

static void close_eagle(fr_drafter *base) {
    fr_eagle *e = (fr_eagle *)base;
    fr_free(e->states);
    fr_draft_block_close(&e->chain);
    fr_trained_close(&e->base);
    fr_free(e);
}

static const fr_drafter_ops OPS = {.name = "eagle",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = want,
                                   .got = got,
                                   .extend = fr_no_extend,
                                   .observe = observe,
                                   .report = fr_no_report,
                                   .close = close_eagle};

static const char *const TREES[] = {"dynamic", "static", NULL};
static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_WORD("tree", "SHAPE", fr_eagle, is_fixed, TREES,
                   "dynamic (default); static: one fixed tree, the best by the pack's accuracies"),
    FR_OPTION_INT("context", "N", fr_eagle, room, 0, MOST_ROOM,
                  "maximum number of ids outside the draft vocabulary taken from the text,\n0 to "
                  "8192 (default 512)"),
    FR_OPTION_INT("depth", "N", fr_trained, depth, 1, FR_PACK_HEADS,
                  "tokens drafted ahead, 1 to 16 (default: as many as pay; with --no-adapt 6)"),
    FR_TRAINED_WIDTH("8"),
    {0}};

// ---------------------------------------------------------------- open

static fr_status open_parts(fr_eagle *e, const fr_drafter_config *config, fr_error *err) {
    const fr_status st = fr_draft_block_open(&e->chain, e->base.weights, config->n_ctx, e->room,
                                             config->batches, err);
    if (st) return st;
    e->base.ids = e->chain.block.head.ids;
    e->states = fr_alloc_array(EXPANDED, sizeof(float) * (size_t)e->base.pack->d);
    return e->states ? FR_OK : fr_fail(err, FR_ENOMEM, "cannot get memory for %d states", EXPANDED);
}

static fr_status open_eagle(fr_drafter **out, const char *file, const fr_drafter_config *config,
                            fr_error *err) {
    *out = NULL;
    fr_error why = {0};
    fr_eagle *e = fr_alloc_zero(sizeof *e);
    if (!e) return fr_fail(err, FR_ENOMEM, "eagle: cannot get memory");
    e->room = ROOM;
    fr_status st = fr_trained_open(&e->base, &fr_eagle_form, &OPS, file, config, OPTIONS, err);
    if (!st && (st = open_parts(e, config, &why))) fr_fail(err, st, "eagle: %s", why.text);
    if (st) {
        close_eagle(&e->base.base);
        return st;
    }
    fr_fixed_tree_plan(&e->fixed, &e->base, STATIC_NODES,
                       e->base.depth ? e->base.depth : e->base.pack->depth);
    fr_trained_weigh(&e->base, config->model, fr_draft_block_bytes(&e->chain));
    e->base.base.needs = fr_draft_block_needs(&e->chain);
    *out = &e->base.base;
    return FR_OK;
}

const fr_drafter_method fr_eagle_method = {
    .name = "eagle",
    .what = "a trained decoder block that continues the model's hidden states",
    .file = "a pack from 'forerun train' (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_eagle_form,
    .in_auto = "prompt-lookup+eagle",
    .cost = 3,
    .open = open_eagle};
