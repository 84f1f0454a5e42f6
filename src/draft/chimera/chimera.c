// Chimera: a trained block on states of the last few tokens, which sees the target's own states of
// all tokens before, and heads that read both.  [Chimera, arXiv 2402.15758, §3.2]
//
// A step: the target's states of newly accepted tokens ("mature" states) enter the block together
// with the root's n-gram state (ngram_encoder.h). The output gives the distribution of the token
// after the root. Then the n-gram states of the nodes that are expanded enter level by level, each
// after those of its path. Nodes are chosen as in eagle.c. With tree=chain only the path of best
// guesses is expanded, and its distribution of a level counts for all nodes there, as in the paper.
// tree=static does so with one shape, the best of 25 nodes by the pack's accuracies.
#include "base/alloc.h"
#include "decode/counts.h"
#include "draft/chimera/chimera_heads.h"
#include "draft/chimera/ngram_encoder.h"
#include "draft/kit/decoder_block.h"
#include "draft/kit/fixed_tree.h"
#include <string.h>

enum {
    DEEPEST = FR_PACK_HEADS,
    EXPANDED = 1 + (DEEPEST - 1) * FR_BEAM_WIDTH, // nodes expanded in one step
    STATIC_NODES = 26,                            // the root included; the paper names no tree
    ROOM = 512,
    MOST_ROOM = 8192,
    CACHED = 4096,
    MOST_CACHED = 1 << 20,
    WAITING = FR_DECODER_BLOCK_ROWS -
              1, // mature states that were not read yet; an n-gram state beside them
    FEW = 8,     // ... that are read in the pass of the root
};
_Static_assert((int)FR_BEAM_WIDTH <= (int)FR_DECODER_BLOCK_GUESSES, "a level is one pass");
_Static_assert((int)FR_BEAM_WIDTH <= (int)FR_NGRAM_ENCODER_ROWS, "a level is one product");
_Static_assert((int)FR_BEAM_WIDTH <= (int)FR_CHIMERA_ROWS, "a level is one product");
_Static_assert((int)EXPANDED + (int)FEW <= (int)FR_ROWS,
               "all of a step lies in scratch slots at once");

typedef enum tree_kind { DYNAMIC, CHAIN, STATIC } tree_kind;
static const char *const TREE_NAMES[] = {"dynamic", "chain", "static", NULL};

typedef struct fr_chimera {
    fr_trained base;
    fr_decoder_block block;
    fr_ngram_encoder encoder;
    fr_chimera_heads heads;
    int room;   // for ids of the text;
    int n_seen; // of its ids, those that the head has seen
    tree_kind tree;
    fr_fixed_tree fixed;          // of tree=static
    float *waiting;               // [WAITING][stride] mature states,
    int n_waiting, stride;        // ... of the newest tokens
    float *x;                     // [FR_NGRAM_ENCODER_ROWS][stride]
    int best;                     // node of the path that continues (tree=chain)
    int16_t place[FR_BEAM_NODES]; // of a node that was expanded, in `slot`
    int slot[EXPANDED];           // in the block's KV
    int n_expanded;
    int depth, n_nodes; // that the current pass guesses, and of how many nodes; 0: it reads alone
    int unread, n_rows; // states that were not read when the step began; rows of the pass
    bool is_drafting;   // another pass is wanted
    double seconds;     // of the current passes and what belongs to them
    double encoder_seconds;
    int cache;                    // states of n-grams in memory
    const char *store;            // folder of those that fall out; NULL: none
    fr_ngram_store_counts before; // of the store when the text began
} fr_chimera;

// ---------------------------------------------------------------- mature states
static float *waiting_at(const fr_chimera *m, int i) {
    return m->waiting + (size_t)i * (size_t)m->stride;
}

static int mature(const fr_chimera *m) { // tokens whose states are there, read or not
    return m->block.kv.n_committed + m->n_waiting;
}

static int put_waiting(const fr_chimera *m, fr_row *rows) {
    for (int i = 0; i < m->n_waiting; i++)
        rows[i] = fr_decoder_block_row(waiting_at(m, i), i - 1, 0);
    return m->n_waiting;
}

static void read_waiting(fr_chimera *m) {
    fr_row rows[FR_DECODER_BLOCK_ROWS];
    const int n = put_waiting(m, rows);
    if (!n) return;
    fr_decoder_block_run(&m->block, rows, n);
    fr_decoder_block_commit(&m->block, n);
    m->n_waiting = 0;
}

static void keep_first(fr_chimera *m, int tokens) {
    const int read = m->block.kv.n_committed;
    m->n_waiting = tokens > read ? tokens - read : 0;
    if (tokens < read) fr_kv_truncate(&m->block.kv, tokens);
}

// Takes over the mature states of the first tokens of another drafter's text.
static void copy_states(fr_chimera *m, const fr_chimera *from, int tokens) {
    const int of_kv = from->block.kv.n_committed, all = mature(from);
    const int n = tokens < all ? tokens : all, read = n < of_kv ? n : of_kv;
    fr_kv_copy(&m->block.kv, &from->block.kv, read);
    m->n_waiting = n - read;
    memcpy(m->waiting, from->waiting,
           sizeof *m->waiting * (size_t)m->n_waiting * (size_t)m->stride);
}

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    fr_chimera *m = (fr_chimera *)base;
    (void)c;
    if (from) copy_states(m, (const fr_chimera *)from, agree);
    keep_first(m, agree < mature(m) ? agree : mature(m));
    fr_trained_begin(&m->base);
    fr_text_head_begin(&m->block.head);
    m->n_seen = 0;
    m->encoder_seconds = 0;
    m->encoder.memory.counts = (fr_ngram_memory_counts){0};
    if (m->encoder.memory.store) m->before = fr_ngram_store_count(m->encoder.memory.store);
    return mature(m);
}

// ---------------------------------------------------------------- what follows a node
static bool by_levels(const fr_chimera *m) { // one distribution a level
    return m->tree != DYNAMIC;
}

static void offer(fr_chimera *m, int node, const float *logits) {
    fr_likely likely[FR_TRAINED_RANKS];
    const int n = fr_likeliest(logits, m->base.n_ids, FR_TRAINED_RANKS, likely);
    if (m->tree == STATIC)
        fr_fixed_tree_offer(&m->fixed, &m->base, node, likely, n);
    else
        fr_trained_offer_likely(&m->base, node, likely, n);
}

// The best guess after the path that continues; -1: none was offered.
static int best_child(const fr_chimera *m) {
    const fr_beam *b = &m->base.beam;
    for (int i = b->level; i < b->n; i++)
        if (b->node[i].parent == m->best && b->node[i].rank == 0) return i;
    return -1;
}

_Static_assert((int)FR_PACK_NGRAM <= (int)FR_NGRAM_MAX, "every pack's n-grams are keys");

// The tokens that end with a node of the beam.
static fr_ngram gram_of(const fr_chimera *m, const fr_context *c, int node) {
    const fr_chimera_pack *own = fr_chimera_pack_of(m->base.pack);
    const fr_beam *b = &m->base.beam;
    int32_t last[FR_NGRAM_MAX];
    int n = 0, before = c->n_ids - 2; // of the root
    for (; n < own->ngram && node >= 0; node = b->node[node].parent)
        last[FR_NGRAM_MAX - ++n] = b->node[node].id;
    for (; n < own->ngram && before >= 0; before--)
        last[FR_NGRAM_MAX - ++n] = c->ids[before];
    return fr_ngram_of(last + FR_NGRAM_MAX - n, n, n);
}

// ---------------------------------------------------------------- levels
// Gives the head the ids of the text that came since the last step.
static void see_ids(fr_chimera *m, const fr_context *c) {
    if (fr_chimera_pack_of(m->base.pack)->own_heads) return; // those know the pack's ids alone
    fr_text_head_take(&m->block.head, c->ids + m->n_seen, c->n_ids - m->n_seen);
    m->n_seen = c->n_ids;
    m->base.n_ids = m->block.head.n;
}

static void encoder_states(fr_chimera *m, const fr_context *c, const int *node, int n) {
    fr_ngram gram[FR_NGRAM_ENCODER_ROWS];
    m->seconds += fr_draft_lap(c);
    for (int i = 0; i < n; i++)
        gram[i] = gram_of(m, c, node[i]);
    fr_ngram_encoder_states(&m->encoder, gram, n, m->x, m->stride);
    const double seconds = fr_draft_lap(c);
    m->encoder_seconds += seconds;
    m->seconds += seconds;
}

// Distributions of depth k from the block's last pass, rows 0..n-1 being those of node[].
static void run_heads(fr_chimera *m, const int *node, int k, int n) {
    for (int i = 0; i < n; i++) {
        m->place[node[i]] = (int16_t)m->n_expanded;
        m->slot[m->n_expanded++] = fr_decoder_block_slot(&m->block, i);
        fr_chimera_heads_put(&m->heads, i, fr_decoder_block_state(&m->block, i));
    }
    fr_chimera_heads_run(&m->heads, k, n);
}

// How many nodes the next level has; 0: drafting ends.
static int next_level(fr_chimera *m, const fr_context *c, const fr_tree *tree) {
    m->best = best_child(m);
    if (by_levels(m) && m->best < 0) return 0;
    return m->tree == STATIC ? fr_fixed_tree_next(&m->fixed, &m->base, c, tree)
                             : fr_trained_next(&m->base, c, tree, FR_LEVEL_PASS);
}

// The nodes whose own states pass at this depth.
static int nodes_of_level(const fr_chimera *m, int node[FR_BEAM_WIDTH]) {
    const fr_beam *b = &m->base.beam;
    node[0] = m->best;
    if (m->depth == 1 || by_levels(m)) return 1;
    for (int i = 0; i < m->n_nodes; i++)
        node[i] = b->frontier[i];
    return m->n_nodes;
}

// ---------------------------------------------------------------- passes
// The root's row after the states that wait: those then lie in the first scratch slots.
static bool put_root(fr_chimera *m) {
    fr_row rows[FR_DECODER_BLOCK_ROWS] = {{0}};
    const int n = put_waiting(m, rows);
    rows[n] = fr_decoder_block_row(m->x, n ? n - 1 : FR_PARENT_COMMITTED, FR_WANT_FINAL);
    m->n_rows = n + 1;
    return fr_decoder_block_put(&m->block, rows, n + 1, n);
}

static bool put_level(fr_chimera *m) {
    const fr_beam *b = &m->base.beam;
    fr_row rows[FR_BEAM_WIDTH] = {{0}};
    int node[FR_BEAM_WIDTH];
    m->n_rows = nodes_of_level(m, node);
    for (int i = 0; i < m->n_rows; i++) {
        const int above = m->slot[m->place[b->node[node[i]].parent]];
        rows[i] = fr_decoder_block_row(m->x + (size_t)i * (size_t)m->stride, FR_PARENT_SLOT(above),
                                       FR_WANT_FINAL);
    }
    return fr_decoder_block_put(&m->block, rows, m->n_rows, 0);
}

// States of which more wait than may pass with the root.
static bool put_states(fr_chimera *m) {
    fr_row rows[FR_DECODER_BLOCK_ROWS] = {{0}};
    m->n_rows = put_waiting(m, rows);
    return fr_decoder_block_put(&m->block, rows, m->n_rows, 0);
}

static void begin_level(fr_chimera *m, const fr_context *c, int depth, int n_nodes) {
    int node[FR_BEAM_WIDTH];
    m->depth = depth;
    m->n_nodes = n_nodes;
    const int n = nodes_of_level(m, node);
    encoder_states(m, c, node, n);
}

static void take_level(fr_chimera *m) {
    const fr_beam *b = &m->base.beam;
    int node[FR_BEAM_WIDTH];
    run_heads(m, node, m->depth, nodes_of_level(m, node));
    if (m->depth == 1) {
        offer(m, node[0], fr_chimera_heads_logits(&m->heads, 0));
        return;
    }
    for (int i = 0; i < m->n_nodes; i++)
        offer(m, b->frontier[i], fr_chimera_heads_logits(&m->heads, by_levels(m) ? 0 : i));
}

// Learns what the level took; returns the seconds of it that serve later steps.
static double learn_time(fr_chimera *m, const fr_context *c) {
    const double seconds = m->seconds + fr_draft_lap(c);
    m->seconds = 0;
    fr_trained_took(&m->base, c, m->depth == 1 ? m->unread + 1 : m->n_rows, seconds);
    if (m->depth > 1) return 0;
    const double step = fr_draft_benefit_pass(&m->base.benefit, c->budget, 2, c->n_ids);
    return m->unread > 2 && seconds > step ? seconds - step : 0;
}

// ---------------------------------------------------------------- verbs
static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_chimera *m = (fr_chimera *)base;
    m->is_drafting = false;
    // Nothing waits after a prompt of one token: there is no state to continue from.
    if (!m->n_waiting || !fr_trained_start(&m->base, c, &p->tree, m->n_waiting + 1)) return;
    m->is_drafting = true;
    m->unread = m->n_waiting;
    m->seconds = 0;
    fr_draft_lap(c);
    m->n_expanded = m->best = m->depth = 0;
    see_ids(m, c);
    fr_chimera_heads_state(&m->heads, waiting_at(m, m->unread - 1));
    fr_fixed_tree_begin(&m->fixed);
    if (m->unread <= FEW) begin_level(m, c, 1, 1);
}

static fr_draft_want want(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_chimera *m = (fr_chimera *)base;
    (void)c, (void)p;
    if (!m->is_drafting) return (fr_draft_want){NULL, 0};
    const bool fits = m->depth == 0 ? put_states(m) : m->depth == 1 ? put_root(m) : put_level(m);
    return (fr_draft_want){&m->block.batch->pass, fits ? m->n_rows : 0};
}

// True: another pass is wanted.
static bool next_pass(fr_chimera *m, const fr_context *c, fr_proposal *p) {
    int n = 1;
    if (m->depth == 0) {
        fr_decoder_block_commit(&m->block, m->n_waiting);
        m->n_waiting = 0;
    } else {
        p->prepaid += learn_time(m, c);
        n = m->depth < m->base.pack->depth ? next_level(m, c, &p->tree) : 0;
    }
    if (n) begin_level(m, c, m->depth + 1, n);
    return n > 0;
}

static void got(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_chimera *m = (fr_chimera *)base;
    if (m->depth) take_level(m);
    m->is_drafting = next_pass(m, c, p);
    if (m->is_drafting) return;
    fr_decoder_block_commit(&m->block, m->n_waiting); // which drops the guesses
    m->n_waiting = 0;
    fr_trained_fill(&m->base, &p->tree);
    fr_trained_proposed(&m->base, c, &p->tree);
}

// Another part of the SPEC may have to see more of a prompt, so rows may be shown whose states are
// here already.
static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    fr_chimera *m = (fr_chimera *)base;
    const int n = v->tree ? v->n_path : v->n_rows;
    keep_first(m, c->kv->n_committed - n);
    for (int i = 0; i < n; i++) {
        if (m->n_waiting == WAITING) read_waiting(m);
        memcpy(waiting_at(m, m->n_waiting++), fr_context_final(c, v->tree ? v->path[i] : i),
               sizeof(float) * (size_t)m->base.pack->d);
    }
    if (v->tree) fr_trained_saw(&m->base, c, v);
}

// What the store could not keep or read, and whether it was begun anew because its file was damaged
// or of another kind.
static void report_store(const fr_chimera *m, fr_draft_counts *to) {
    if (!m->encoder.memory.store) return;
    const fr_ngram_store_counts n = fr_ngram_store_count(m->encoder.memory.store);
    const char *name = m->base.base.ops->name;
    const fr_draft_count count[] = {
        {name, "store_dropped", false, (double)(n.dropped - m->before.dropped), 0},
        {name, "store_damaged", false, (double)(n.damaged - m->before.damaged), 0},
        {name, "store_rebuilt", true, n.rebuilt, 1}}; // a mean: the same for every text
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        fr_counts_add(to, &count[i]);
}

static void report(const fr_drafter *base, fr_draft_counts *to) {
    const fr_chimera *m = (const fr_chimera *)base;
    const fr_ngram_memory_counts *n = &m->encoder.memory.counts;
    const double asked = (double)(n->in_memory + n->in_store + n->missed);
    const struct {
        const char *name;
        double sum;
    } share[] = {{"ngrams_in_memory", (double)n->in_memory},
                 {"ngrams_in_store", (double)n->in_store},
                 {"ngrams_computed", (double)n->missed}};
    for (size_t i = 0; i < sizeof share / sizeof *share && m->encoder.remembers; i++)
        fr_counts_add(to,
                      &(fr_draft_count){base->ops->name, share[i].name, true, share[i].sum, asked});
    fr_counts_add(
        to, &(fr_draft_count){base->ops->name, "seconds_ngrams", false, m->encoder_seconds, 0});
    report_store(m, to);
}

static void close_chimera(fr_drafter *base) {
    fr_chimera *m = (fr_chimera *)base;
    fr_decoder_block_close(&m->block);
    fr_ngram_encoder_close(&m->encoder);
    fr_chimera_heads_close(&m->heads);
    fr_free(m->waiting);
    fr_free(m->x);
    fr_trained_close(&m->base);
    fr_free(m);
}

static const fr_drafter_ops OPS = {.name = "chimera",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = want,
                                   .got = got,
                                   .extend = fr_no_extend,
                                   .observe = observe,
                                   .report = report,
                                   .close = close_chimera};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_WORD("tree", "SHAPE", fr_chimera, tree, TREE_NAMES,
                   "dynamic (default); chain: all nodes of a level use the guesses after the best "
                   "path;\nstatic: chain with one fixed tree of 25 nodes"),
    FR_OPTION_INT("context", "N", fr_chimera, room, 0, MOST_ROOM,
                  "maximum number of ids outside the draft vocabulary taken from the text,\n0 to "
                  "8192 (default 512)"),
    FR_OPTION_INT("depth", "N", fr_trained, depth, 1, FR_PACK_HEADS,
                  "tokens drafted ahead, 1 to 16 (default: as many as pay; with --no-adapt 6)"),
    FR_TRAINED_WIDTH("8"),
    FR_OPTION_INT("cache", "N", fr_chimera, cache, 0, MOST_CACHED,
                  "number of n-gram states kept in memory, 0 to 1048576 (default 4096)"),
    FR_OPTION_TEXT(
        "store", "FOLDER", fr_chimera, store,
        "folder for states evicted from the cache (up to 1 GB), also used by later runs"),
    {0}};

// ---------------------------------------------------------------- open
static fr_status open_parts(fr_chimera *m, const fr_drafter_config *config, fr_error *err) {
    fr_pack_weights *w = m->base.weights;
    const bool own = fr_chimera_pack_of(&w->pack)->own_heads;
    const fr_ngram_encoder_options encoder = {.cache = m->cache, .store = m->store};
    if (m->store && !m->cache)
        return fr_fail(err, FR_EARG, "store=%.200s needs cache=N of 1 or more", m->store);
    fr_status st =
        fr_decoder_block_open(&m->block, w, config->n_ctx, own ? 0 : m->room, config->batches, err);
    if (!st) st = fr_ngram_encoder_open(&m->encoder, w, &encoder, err);
    if (!st) st = fr_chimera_heads_open(&m->heads, w, &m->block.head, err);
    if (st) return st;
    m->stride = fr_linear_stride(w->pack.d);
    m->waiting = fr_alloc_array((size_t)WAITING * (size_t)m->stride, sizeof(float));
    m->x = fr_alloc_array((size_t)FR_NGRAM_ENCODER_ROWS * (size_t)m->stride, sizeof(float));
    if (!m->waiting || !m->x) return fr_fail(err, FR_ENOMEM, "cannot get memory for states");
    if (!own) m->base.ids = m->block.head.ids;
    return FR_OK;
}

static fr_status open_chimera(fr_drafter **out, const char *file, const fr_drafter_config *config,
                              fr_error *err) {
    *out = NULL;
    fr_error why = {0};
    fr_chimera *m = fr_alloc_zero(sizeof *m);
    if (!m) return fr_fail(err, FR_ENOMEM, "chimera: cannot get memory");
    m->room = ROOM;
    m->cache = CACHED;
    fr_status st = fr_trained_open(&m->base, &fr_chimera_form, &OPS, file, config, OPTIONS, err);
    if (!st && (st = open_parts(m, config, &why))) fr_fail(err, st, "chimera: %s", why.text);
    if (st) {
        close_chimera(&m->base.base);
        return st;
    }
    const int most = m->base.pack->depth, asked = m->base.depth;
    fr_fixed_tree_plan(&m->fixed, &m->base, STATIC_NODES, asked && asked < most ? asked : most);
    fr_trained_weigh(&m->base, config->model,
                     fr_decoder_block_bytes(&m->block) + m->encoder.bytes + m->heads.bytes);
    m->base.base.needs = (fr_needs){.final = true, .prompt_rows = true};
    *out = &m->base.base;
    return FR_OK;
}

const fr_drafter_method fr_chimera_method = {
    .name = "chimera",
    .what = "a trained decoder block on states of the last few tokens, with heads that also read "
            "the model's state",
    .file = "a pack from 'forerun train' (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_chimera_form,
    .in_auto = "prompt-lookup+chimera",
    .cost = 3,
    .open = open_chimera};
