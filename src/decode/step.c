// step.c — first the prompt: what agrees with the last text is kept, the rest is read in chunks.
// Then the step: propose, extend, forward, verify, emit, commit, observe, learn.
#include "decode/step.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "model/finite.h"
#include <assert.h>
#include <limits.h>
#include <string.h>

fr_status fr_decoder_open(fr_decoder *d, const fr_model *m, int n_ctx, fr_kv_type kv_type,
                          const fr_needs *needs, fr_error *err) {
    *d = (fr_decoder){
        .model = m, .n_ctx = n_ctx, .typical = fr_typical_default, .drafter = fr_drafter_none()};
    fr_forward_limits limits = {.max_logits = FR_TREE_MAX + needs->attached_logits,
                                .max_taps = needs->n_taps > needs->own_taps ? needs->n_taps
                                                                            : needs->own_taps,
                                .n_ctx = n_ctx};
    fr_status st;
    fr_budget_open(&d->budget, NULL, false);
    if ((st = fr_kv_open(&d->kv, &m->config, n_ctx, kv_type, err))) goto fail;
    if ((st = fr_forward_open(&d->forward, m, &limits, err))) goto fail;
    if ((st = fr_sampler_open(&d->sampler, m->kern, m->config.n_vocab, err))) goto fail;
    if ((st = fr_rejection_open(&d->rejection, m->config.n_vocab, err))) goto fail;
    if (!(d->ids = fr_alloc_array((size_t)n_ctx + FR_TREE_MAX_DEPTH + 2, sizeof *d->ids))) {
        st = fr_fail(err, FR_ENOMEM, "context: cannot get memory for %d tokens", n_ctx);
        goto fail;
    }
    return FR_OK;
fail:
    fr_decoder_close(d);
    return st;
}

void fr_decoder_close(fr_decoder *d) {
    fr_free(d->ids);
    fr_rejection_close(&d->rejection);
    fr_sampler_close(&d->sampler);
    fr_forward_close(d->forward);
    fr_kv_close(&d->kv);
    *d = (fr_decoder){0};
}

bool fr_decoder_is_sound(const fr_decoder *d) {
    if (!d->model || !d->ids || d->n_ids < 0 || d->n_ids > d->n_ctx) return false;
    if (d->kv.n_committed > d->n_ids || d->kv.n_scratch || d->kv.n_ctx != d->n_ctx) return false;
    for (int i = 0; i < d->n_ids; i++)
        if (d->ids[i] < 0 || d->ids[i] >= d->model->config.n_vocab) return false;
    return fr_kv_is_sound(&d->kv) && fr_budget_is_sound(&d->budget) &&
           fr_drafter_is_sound(d->drafter);
}

static fr_context context_of(fr_decoder *d) {
    return (fr_context){.model = d->model,
                        .forward = d->forward,
                        .kv = &d->kv,
                        .ids = d->ids,
                        .n_ids = d->n_ids,
                        .sampling = &d->sampler.sampling,
                        .rule = d->rule,
                        .budget = &d->budget};
}

// Without a drafter there is nothing to accept: the bytes of EXACT.
static fr_rule rule_of(const fr_decoder *d) {
    return fr_drafter_is_none(d->drafter) ? FR_RULE_EXACT : d->rule;
}

static void run_pass(fr_decoder *d, int n_rows) {
    fr_pass pass = {.rows = d->rows, .n_rows = n_rows, .kv = (fr_kv *[]){&d->kv}, .n_seq = 1};
    const fr_needs *needs = &d->drafter->needs;
    pass.taps = needs->taps;
    pass.n_taps = needs->n_taps;
    pass.maps = needs->maps;
    pass.n_maps = needs->n_maps;
    fr_forward_run(d->forward, &pass);
}

// What every candidate row (or, of a prompt, every row) delivers besides logits.
static uint8_t hidden_wants(const fr_decoder *d) {
    return (d->drafter->needs.n_taps ? FR_WANT_TAPS : 0) |
           (d->drafter->needs.final ? FR_WANT_FINAL : 0);
}

// ---------------------------------------------------------------- the prompt

static void read_rows(fr_decoder *d, int n, uint8_t wants) {
    for (int i = 0; i < n; i++)
        d->rows[i] = fr_row_token(d->ids[d->kv.n_committed + i], i - 1, wants);
    run_pass(d, n);
    int path[FR_PREFILL_ROWS];
    for (int i = 0; i < n; i++)
        path[i] = i;
    fr_kv_commit(&d->kv, path, n);
}

static void evaluate_chunk(fr_decoder *d, int n) {
    const bool shown = d->drafter->needs.prompt_rows;
    read_rows(d, n, shown ? hidden_wants(d) : 0);
    if (!shown) return;
    const fr_verdict v = {.rows = d->rows, .n_rows = n};
    const fr_context c = context_of(d);
    d->drafter->ops->observe(d->drafter, &c, &v);
}

static int in_common(const fr_decoder *d, const int32_t *ids, int n) {
    int same = 0;
    while (same < n && same < d->n_ids && d->ids[same] == ids[same])
        same++;
    return same;
}

void fr_decoder_adopt(fr_decoder *d, const fr_decoder *from) {
    const int n = from->kv.n_committed < d->n_ctx ? from->kv.n_committed : d->n_ctx - 1;
    const int n_ids = n < from->n_ids ? n + 1 : n;
    const bool alike = fr_drafter_is_alike(d->drafter, from->drafter);
    const int agree = alike ? n_ids : in_common(d, from->ids, n_ids);
    fr_kv_copy(&d->kv, &from->kv, n);
    memcpy(d->ids, from->ids, sizeof *d->ids * (size_t)n_ids);
    d->n_ids = n_ids;
    const fr_context c = context_of(d);
    d->drafter->ops->begin(d->drafter, &c, agree, alike ? from->drafter : NULL);
    assert(fr_decoder_is_sound(d));
}

static int lesser(int a, int b) {
    return a < b ? a : b;
}

fr_status fr_decoder_prompt(fr_decoder *d, const int32_t *prompt, int n,
                            const fr_sampling *sampling, bool (*keep_going)(void *user), void *user,
                            fr_error *err) {
    assert(n >= 1 && n <= d->n_ctx);
    double start = fr_seconds();
    const bool stretched = fr_model_stretches(d->model, n - 1);
    // The last token is the first root. It is not counted as known: no drafter can use what is
    // known of it.
    const int same = d->kv.stretched == stretched ? lesser(in_common(d, prompt, n), n - 1) : 0;
    int kept = lesser(same, d->kv.n_committed);
    memcpy(d->ids, prompt, sizeof *prompt * (size_t)n);
    d->n_ids = n;
    d->broken = false;
    fr_sampler_begin(&d->sampler, sampling);
    fr_budget_begin(&d->budget);
    if (d->drafter->allowance > 0) d->budget.allowance = d->drafter->allowance;
    const fr_context c = context_of(d);
    const int seen = d->drafter->ops->begin(d->drafter, &c, same, NULL);
    // A drafter that reads the hidden states of the prompt has to see those that it did not keep.
    if (d->drafter->needs.prompt_rows) kept = lesser(kept, seen);
    fr_kv_truncate(&d->kv, kept);
    fr_kv_stretch(&d->kv, stretched);
    const fr_rule rule = rule_of(d);
    d->stats = (fr_stats){.lossless = rule == FR_RULE_EXACT,
                          .exact_law = rule != FR_RULE_TYPICAL,
                          .prompt_tokens = n,
                          .prompt_reused = kept};
    while (d->kv.n_committed < n - 1) {
        if (keep_going && !keep_going(user)) {
            d->n_ids = d->kv.n_committed + 1;
            return fr_fail(err, FR_EINTR, "interrupted while reading the prompt");
        }
        int left = n - 1 - d->kv.n_committed;
        evaluate_chunk(d, left < FR_PREFILL_ROWS ? left : FR_PREFILL_ROWS);
    }
    d->stats.seconds_prompt = fr_seconds() - start;
    assert(fr_decoder_is_sound(d));
    return FR_OK;
}

// ---------------------------------------------------------------- one step

// Most nodes that may be proposed. Candidates drawn at random must not be picked over afterwards,
// so under rejection the size wanted is the limit. Otherwise more are asked for, and the best are
// taken.
static int most_nodes(const fr_decoder *d) {
    const int wanted = d->size.shape.n ? d->size.shape.n : d->size.nodes;
    if (fr_drafter_is_none(d->drafter)) return 1;
    if (wanted && d->rule == FR_RULE_REJECTION) return wanted;
    if (d->size.shape.n) return FR_TREE_MAX;
    return wanted > d->drafter->default_nodes ? wanted : d->drafter->default_nodes;
}

static void choose_rows(fr_decoder *d) {
    d->tree = d->proposal.tree;
    if (d->tree.n == 1 || fr_tree_is_drawn(&d->tree)) return;
    if (d->size.shape.n)
        fr_shape_pick(&d->size.shape, &d->tree);
    else if (d->size.nodes)
        fr_tree_keep(&d->tree, d->size.nodes);
    else if (d->budget.adapt)
        fr_tree_keep(&d->tree, fr_budget_choose(&d->budget, &d->tree, &d->proposal.extra_rows,
                                                d->kv.n_committed));
}

static void propose(fr_decoder *d, int max_depth) {
    fr_proposal *p = &d->proposal;
    fr_tree_begin(&p->tree, d->ids[d->n_ids - 1], most_nodes(d), max_depth);
    p->extra_rows = (fr_extra_rows){0};
    p->prepaid = 0;
    if (max_depth > 0) {
        const fr_context c = context_of(d);
        d->drafter->ops->propose(d->drafter, &c, p);
        // The scratch rows of passes that the drafter ran on the target.
        if (!d->drafter->needs.resumes) fr_kv_drop_scratch(&d->kv);
    }
    assert(fr_tree_is_sound(&p->tree));
    choose_rows(d);
    if (d->watch) d->watch(d->watch_user, &p->tree, d->n_ids);
}

static int rows_of_tree(fr_decoder *d) {
    const int n = d->tree.n;
    for (int i = 0; i < n; i++) {
        const fr_node *node = &d->tree.node[i];
        d->rows[i] = fr_row_token(node->id, node->parent, FR_WANT_LOGITS | hidden_wants(d));
    }
    const fr_context c = context_of(d);
    const int most = n + d->drafter->needs.max_attached, room = FR_MAX_SCRATCH - d->kv.n_scratch;
    return d->drafter->ops->extend(d->drafter, &c, &d->tree, d->rows, n, most < room ? most : room);
}

// What the pass has besides whole rows with logits: attached rows that join late or want no logits,
// and candidate rows that go on from a middle layer.
static fr_extra_rows attached_rows(const fr_decoder *d, int n_rows) {
    const int layers = d->model->config.n_layer;
    fr_extra_rows extra = {.rows = n_rows - d->tree.n};
    for (int r = d->tree.n; r < n_rows; r++) {
        extra.trunk += (double)(layers - d->rows[r].join) / layers;
        extra.logits += (d->rows[r].wants & FR_WANT_LOGITS) != 0;
    }
    for (int r = 0; r < d->tree.n; r++) {
        if (!d->rows[r].resume) continue;
        extra.resumed++;
        extra.below = (double)d->rows[r].join / layers;
    }
    return extra;
}

// Rejection uses noise of its own at every node: whether a place has candidates may depend on the
// noise of the target's draws there.
static void verify(fr_decoder *d, fr_verdict *v) {
    const fr_rule rule = rule_of(d);
    if (rule == FR_RULE_EXACT)
        fr_verify_exact(v, &d->tree, d->forward, &d->sampler, d->ids, d->n_ids);
    else if (rule == FR_RULE_REJECTION)
        fr_verify_rejection(v, &d->tree, d->forward, &d->sampler, &d->rejection, d->ids, d->n_ids);
    else
        fr_verify_typical(v, &d->tree, d->forward, &d->sampler, &d->typical, d->ids, d->n_ids);
}

static void count_depths(fr_decoder *d) {
    int deepest = 0;
    for (int i = 0; i < d->tree.n; i++)
        if (d->tree.node[i].depth > deepest) deepest = d->tree.node[i].depth;
    for (int k = 1; k <= deepest; k++)
        d->stats.offered[k - 1]++;
    for (int k = 1; k < d->verdict.n_path; k++)
        d->stats.accepted[k - 1]++;
}

static void count_pass(fr_decoder *d, int n_rows, double seconds) {
    const int counted = n_rows <= FR_COUNTED_ROWS ? n_rows : 0;
    d->stats.passes++;
    d->stats.rows += n_rows;
    d->stats.passes_by_rows[counted]++;
    d->stats.seconds_by_rows[counted] += seconds;
    d->stats.expected++;
    for (int i = 1; i < d->tree.n; i++)
        d->stats.expected += d->tree.node[i].score;
}

// Hands out the drawn tokens in order until one of them is the last; how many were taken.
static int emit_path(fr_decoder *d, int max_tokens, fr_emit_fn *emit, void *user, bool *go_on) {
    fr_verdict *v = &d->verdict;
    *go_on = true;
    for (int i = 0; i < v->n_path; i++) {
        const fr_node *node = i + 1 < v->n_path ? &d->tree.node[v->path[i + 1]] : NULL;
        *go_on = emit(user, d->ids[d->n_ids + i], node) && i + 1 < max_tokens;
        if (!*go_on) return i + 1;
    }
    return v->n_path;
}

// Adds up what the measured cost predicts for this pass, and for as many tokens decoded plainly.
static void count_predictions(fr_decoder *d, const fr_extra_rows *attached, int taken) {
    const fr_cost *c = &d->budget.cost;
    const int before = d->kv.n_committed - taken;
    if (d->tree.n == 1) d->stats.plain_passes++;
    if (!d->budget.measured) return;
    d->stats.predicted += fr_cost_with(c, d->tree.n, attached, before);
    for (int i = 0; i < taken; i++)
        d->stats.predicted_plain += fr_cost_pass(c, 1, 1, before + i);
}

// Every part of the SPEC sees which of its guesses were right, those too that were not evaluated.
static void learn_hits(fr_drafter *d, const fr_tree *proposed, const int32_t *followed, int n) {
    for (int i = 0; i < d->n_parts; i++)
        learn_hits(d->parts[i], proposed, followed, n);
    if (d->n_parts) return;
    fr_hits_learn(&d->hits, proposed, d->part, followed, n);
}

int fr_decoder_reach(const fr_decoder *d) {
    return d->kv.stretched ? INT_MAX : fr_model_stretch_at(d->model) - (d->n_ids - 1);
}

// Where the text has outgrown the LongRoPE table that its keys were rotated by, reads the next part
// of it again with the other table. Drafters saw these rows when they were new and are not shown
// them.
static bool reads_again(fr_decoder *d) {
    fr_kv_stretch(&d->kv, fr_model_stretches(d->model, d->n_ids - 1));
    const int left = d->n_ids - 1 - d->kv.n_committed;
    if (!left) return false;
    read_rows(d, left < FR_PREFILL_ROWS ? left : FR_PREFILL_ROWS, 0);
    return true;
}

bool fr_decoder_step(fr_decoder *d, int max_tokens, fr_emit_fn *emit, void *user) {
    assert(max_tokens >= 1 && d->n_ids + max_tokens <= d->n_ctx);
    assert(fr_decoder_is_sound(d));
    if (reads_again(d)) return true;
    double t0 = fr_seconds();
    const int reach = fr_decoder_reach(d); // beyond it rows need the other LongRoPE table
    propose(d, (max_tokens < reach ? max_tokens : reach) - 1);
    int n_rows = rows_of_tree(d);
    double t1 = fr_seconds();
    run_pass(d, n_rows);
    double t2 = fr_seconds();
    fr_verdict *v = &d->verdict;
    v->tree = &d->tree;
    v->rows = d->rows;
    v->n_rows = n_rows;
    verify(d, v);
    d->stats.seconds_verify += fr_seconds() - t1; // the pass and the walk
    count_depths(d);
    count_pass(d, n_rows, t2 - t1);
    if (!v->n_path) {
        fr_kv_drop_scratch(&d->kv);
        d->broken = true;
        return false;
    }
    bool go_on;
    int taken = emit_path(d, max_tokens, emit, user, &go_on);
    v->n_path = taken; // the root's row and those of all tokens taken but the last
    v->next = d->ids[d->n_ids + taken - 1];
    int slots[FR_TREE_MAX_DEPTH + 1];
    for (int i = 0; i < taken; i++)
        slots[i] = fr_forward_slot(d->forward, v->path[i]);
    fr_kv_commit(&d->kv, slots, taken);
    d->n_ids += taken;
    double t4 = fr_seconds();
    learn_hits(d->drafter, &d->proposal.tree, d->ids + d->n_ids - taken, taken);
    const fr_context c = context_of(d);
    d->drafter->ops->observe(d->drafter, &c, v);
    d->stats.completion_tokens += taken;
    d->stats.seconds_draft += (t1 - t0) + (fr_seconds() - t4);
    const fr_extra_rows attached = attached_rows(d, n_rows);
    count_predictions(d, &attached, taken);
    fr_budget_learn(&d->budget, d->tree.n, &attached, d->kv.n_committed - taken, taken, t2 - t1,
                    (t1 - t0) + (fr_seconds() - t4) - d->proposal.prepaid);
    assert(fr_decoder_is_sound(d));
    return go_on;
}

fr_status fr_decoder_fault(fr_decoder *d, fr_error *err) {
    if (!d->broken) return FR_OK;
    const int node = d->verdict.broken;
    return fr_logits_refuse(fr_forward_logits(d->forward, node), d->model->config.n_vocab,
                            d->n_ids + d->tree.node[node].depth, err);
}
