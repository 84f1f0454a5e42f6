// member.c — one member's part of a step: its drafter proposes, its rows are made, and after the
// pass its path is verified, emitted, committed and shown to the drafter.
#include "decode/member.h"
#include "base/clock.h"
#include "model/finite.h"
#include <assert.h>

// What every candidate row (or, of a prompt, every row) delivers besides logits.
static uint8_t hidden_wants(const fr_decoder *d) {
    return (d->drafter->needs.n_taps ? FR_WANT_TAPS : 0) |
           (d->drafter->needs.final ? FR_WANT_FINAL : 0);
}

// ---------------------------------------------------------------- before the pass

// How deep candidates are of use: what is left of the answer, and no deeper than a shape that is
// wanted.
static int deepest(const fr_decoder *d, int most) {
    const int shape = d->size.shape.n ? fr_shape_depth(&d->size.shape) : most - 1;
    return shape < most - 1 ? shape : most - 1;
}

void fr_member_propose(fr_decoder *d, int most_nodes) {
    fr_proposal *p = &d->proposal;
    const int reach = fr_decoder_reach(d); // beyond it rows need the other LongRoPE table
    const int most = d->turn.max_tokens < reach ? d->turn.max_tokens : reach;
    d->draft_clock = (fr_draft_clock){0};
    d->drafts = most > 1;
    fr_tree_begin(&p->tree, d->ids[d->n_ids - 1], most_nodes, deepest(d, most));
    p->extra_rows = (fr_extra_rows){0};
    p->prepaid = 0;
    if (!d->drafts) return;
    fr_draft_clock_start(&d->draft_clock);
    const fr_context c = fr_decoder_context(d);
    d->drafter->ops->propose(d->drafter, &c, p);
    fr_draft_clock_stop(&d->draft_clock);
}

bool fr_member_wants(fr_decoder *d) {
    if (!d->drafts) return false;
    fr_draft_clock_start(&d->draft_clock);
    const fr_context c = fr_decoder_context(d);
    d->want = d->drafter->ops->want(d->drafter, &c, &d->proposal);
    d->drafts = d->want.pass != NULL;
    // A proposal that is complete leaves nothing in scratch, but for rows that go on in the pass.
    if (!d->drafts && !d->drafter->needs.resumes) fr_kv_drop_scratch(&d->kv);
    fr_draft_clock_stop(&d->draft_clock);
    assert(d->drafts || fr_tree_is_sound(&d->proposal.tree));
    return d->drafts;
}

void fr_member_got(fr_decoder *d, double seconds) {
    if (!d->want.rows) return;
    d->draft_clock.lap += seconds;
    fr_draft_clock_start(&d->draft_clock);
    const fr_context c = fr_decoder_context(d);
    d->drafter->ops->got(d->drafter, &c, &d->proposal);
    fr_draft_clock_stop(&d->draft_clock);
}

void fr_member_rows(fr_decoder *d, int room) {
    const int n = d->tree.n, free_slots = FR_MAX_SCRATCH - d->kv.n_scratch;
    fr_draft_clock_start(&d->draft_clock);
    if (d->watch) d->watch(d->watch_user, &d->proposal.tree, d->n_ids);
    for (int i = 0; i < n; i++) {
        const fr_node *node = &d->tree.node[i];
        d->rows[i] = fr_row_token(node->id, node->parent, FR_WANT_LOGITS | hidden_wants(d));
    }
    const int attached =
        d->drafter->needs.max_attached < room ? d->drafter->needs.max_attached : room;
    const fr_context c = fr_decoder_context(d);
    d->n_rows = d->drafter->ops->extend(d->drafter, &c, &d->tree, d->rows, n,
                                        n + attached < free_slots ? n + attached : free_slots);
    fr_draft_clock_stop(&d->draft_clock);
    if (d->hook) d->hook->choose(d->hook, d, false);
}

// Whether it reads its prompt for the first time, and the tokens' scores are wanted.
static bool scores_prompt(const fr_decoder *d) {
    return d->prompt_scores && d->n_ids == d->n_prompt;
}

void fr_member_read(fr_decoder *d, int n) {
    const bool shown = d->drafter->needs.prompt_rows && d->kv.n_committed >= d->n_shown;
    const uint8_t wants = (shown ? hidden_wants(d) : 0) | (scores_prompt(d) ? FR_WANT_LOGITS : 0);
    for (int i = 0; i < n; i++)
        d->rows[i] = fr_row_token(d->ids[d->kv.n_committed + i], i - 1, wants);
    d->n_rows = n;
    if (d->hook) d->hook->choose(d->hook, d, true);
}

fr_extra_rows fr_member_extra_rows(const fr_decoder *d) {
    const int layers = d->model->config.n_layer;
    fr_extra_rows extra = {.rows = d->n_rows - d->tree.n};
    for (int r = d->tree.n; r < d->n_rows; r++) {
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

// ---------------------------------------------------------------- after the pass

// Rows of the step (in order, each under the one before) become the next committed slots.
static void commit(fr_decoder *d, const int *rows, int n) {
    int slots[FR_PREFILL_ROWS];
    if (fr_decoder_is_served(d)) {
        d->hook->commit(d->hook, d, n);
        return;
    }
    for (int i = 0; i < n; i++)
        slots[i] = fr_forward_slot(d->group->forward, fr_decoder_place(d, rows[i]));
    fr_kv_commit(&d->kv, slots, n);
}

// Nothing of the pass is kept, and the text ends.
static void break_off(fr_decoder *d, int row, int n_known) {
    fr_kv_drop_scratch(&d->kv);
    d->verdict.broken = row;
    d->broken_at = n_known;
    d->broken = true;
    d->go_on = false;
}

// False: a row's logits are no numbers.
static bool score_read(fr_decoder *d, fr_verify_room *room) {
    room->scorer.n_top = d->n_top;
    for (int i = 0; i < d->n_rows; i++) {
        const int next = d->kv.n_committed + i + 1;
        const float *logits = fr_decoder_logits(d, i);
        if (!fr_are_logits(logits, d->model->config.n_vocab)) {
            break_off(d, i, next);
            return false;
        }
        fr_logprob_scorer_keep(&room->scorer, logits);
        fr_logprob_scorer_score(&room->scorer, d->ids[next], &d->prompt_scores[next]);
    }
    return true;
}

void fr_member_keep_read(fr_decoder *d, fr_verify_room *room) {
    int path[FR_PREFILL_ROWS];
    const bool shown = d->kv.n_committed >= d->n_shown;
    for (int i = 0; i < d->n_rows; i++)
        path[i] = i;
    if (scores_prompt(d) && !score_read(d, room)) return;
    commit(d, path, d->n_rows);
    if (!shown) return;
    d->n_shown = d->kv.n_committed;
    if (!d->drafter->needs.prompt_rows) return;
    const fr_verdict v = {.rows = d->rows, .n_rows = d->n_rows};
    const fr_context c = fr_decoder_context(d);
    fr_draft_clock_start(&d->draft_clock);
    d->drafter->ops->observe(d->drafter, &c, &v);
    fr_draft_clock_stop(&d->draft_clock);
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

static void count_pass(fr_decoder *d, double seconds) {
    const int counted = d->n_rows <= FR_COUNTED_ROWS ? d->n_rows : 0;
    d->stats.passes++;
    d->stats.plain_passes += d->tree.n == 1;
    d->stats.rows += d->n_rows;
    d->stats.passes_by_rows[counted]++;
    d->stats.seconds_by_rows[counted] += seconds;
    d->stats.expected++;
    for (int i = 1; i < d->tree.n; i++)
        d->stats.expected += d->tree.node[i].score;
}

void fr_member_verify(fr_decoder *d, fr_verify_room *room, double seconds) {
    const double start = fr_seconds();
    const fr_rule rule = fr_drafter_is_none(d->drafter) ? FR_RULE_EXACT : d->accept.rule;
    const fr_verification a = {.tree = &d->tree,
                               .forward = d->group->forward,
                               .first_row = d->first_row,
                               .place = d->hook ? d->hook->place : NULL,
                               .room = room,
                               .typical = &d->accept.typical,
                               .ids = d->ids,
                               .n_ids = d->n_ids,
                               .scores = d->scores,
                               .drawn = d->drawn_scores};
    fr_sampler_begin(&room->sampler, &d->sampling, d->n_prompt);
    room->scorer.n_top = d->n_top;
    d->verdict.tree = &d->tree;
    d->verdict.rows = d->rows;
    d->verdict.n_rows = d->n_rows;
    if (fr_decoder_is_served(d))
        d->hook->follow(d->hook, d);
    else
        fr_rules[rule].verify(&d->verdict, &a);
    count_depths(d);
    count_pass(d, seconds);
    d->stats.seconds_verify += seconds + fr_seconds() - start;
}

// Hands out the drawn tokens in order until one of them is the last; how many were taken.
static int emit_path(fr_decoder *d) {
    const fr_verdict *v = &d->verdict;
    for (int i = 0; i < v->n_path; i++) {
        const fr_node *node = i + 1 < v->n_path ? &d->tree.node[v->path[i + 1]] : NULL;
        d->go_on =
            d->turn.emit(d->turn.user, d->ids[d->n_ids + i], node) && i + 1 < d->turn.max_tokens;
        if (!d->go_on) return i + 1;
    }
    return v->n_path;
}

// Every part of the SPEC sees which of its guesses were right, those too that were not evaluated.
static void learn_hits(fr_drafter *d, const fr_tree *proposed, const int32_t *followed, int n) {
    for (int i = 0; i < d->n_parts; i++)
        learn_hits(d->parts[i], proposed, followed, n);
    if (d->n_parts) return;
    fr_hits_learn(&d->hits, proposed, d->part, followed, n);
}

int fr_member_take(fr_decoder *d) {
    fr_verdict *v = &d->verdict;
    if (!v->n_path) {
        break_off(d, v->broken, d->n_ids + d->tree.node[v->broken].depth);
        return 0;
    }
    const int taken = emit_path(d);
    v->n_path = taken; // the root's row and those of all tokens taken but the last
    v->next = d->ids[d->n_ids + taken - 1];
    commit(d, v->path, taken);
    d->n_ids += taken;
    d->n_shown = d->kv.n_committed;
    fr_draft_clock_start(&d->draft_clock);
    learn_hits(d->drafter, &d->proposal.tree, d->ids + d->n_ids - taken, taken);
    const fr_context c = fr_decoder_context(d);
    d->drafter->ops->observe(d->drafter, &c, v);
    fr_draft_clock_stop(&d->draft_clock);
    d->stats.completion_tokens += taken;
    d->stats.seconds_draft += fr_draft_clock_seconds(&d->draft_clock);
    return taken;
}
