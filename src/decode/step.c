// step.c — one step of all texts that share a pass:
//
//     propose → plan → rows → forward → verify → commit → observe → learn
//
// A *batch* is the members that take part: first those that decode (each has a root and a tree),
// then those that read their prompts. Every stage below goes over the batch, in this order. All
// members have verified before any proposes again, as logits and hidden states lie in the workspace
// that they share. A step allocates nothing and cannot fail.
#include "base/clock.h"
#include "base/float_mode.h"
#include "decode/group.h"
#include "model/finite.h"
#include <assert.h>
#include <string.h>

typedef struct batch {
    fr_decoder_group *group;
    fr_decoder **member; // [n]: the first n_roots decode, the others read
    int n, n_roots;
} batch;

static int context_of(fr_decoder *const *members, int n) { // committed slots, on average
    double slots = 0;
    for (int i = 0; i < n; i++)
        slots += members[i]->kv.n_committed;
    return n ? (int)(slots / n) : 0;
}

// What every row of candidates (or, for a drafter that reads prompts, of a prompt) delivers besides
// logits.
static uint8_t hidden_wants(const fr_decoder *d) {
    return (d->drafter->needs.n_taps ? FR_WANT_TAPS : 0) |
           (d->drafter->needs.final ? FR_WANT_FINAL : 0);
}

// ---------------------------------------------------------------- propose

static int wanted_nodes(const fr_decoder *d) { // that the user gave; 0: none
    return d->size.shape.n ? d->size.shape.n : d->size.nodes;
}

// Candidates of a member whose tree the budget does not size; texts with hooks need not fit together.
static int share_of(const fr_decoder *d, int n_roots) {
    return d->hook ? FR_CANDIDATE_ROWS : FR_CANDIDATE_ROWS / n_roots;
}

// Whether the budget may say the size of its tree.
static bool is_sized(const fr_decoder *d) {
    return d->adapt && !wanted_nodes(d);
}

// Candidates drawn at random must not be selected afterwards, so under rejection the wanted size is
// the limit. Otherwise drafters may propose more, and the best are taken.
static int most_nodes(const fr_decoder *d, int n_roots) {
    const int wanted = wanted_nodes(d), usual = d->drafter->default_nodes;
    const bool rejects = d->accept.rule == FR_RULE_REJECTION;
    int most = wanted > usual ? wanted : usual;
    if (fr_drafter_is_none(d->drafter))
        most = 1;
    else if (wanted && rejects)
        most = wanted;
    else if (d->size.shape.n)
        most = FR_TREE_MAX;
    return (is_sized(d) && !rejects) || most < share_of(d, n_roots) ? most : share_of(d, n_roots);
}

// How deep candidates are of use: the rest of the answer, and no deeper than a given shape.
static int deepest(const fr_decoder *d, int tokens) {
    const int shape = d->size.shape.n ? fr_shape_depth(&d->size.shape) : tokens - 1;
    return shape < tokens - 1 ? shape : tokens - 1;
}

static void begin_proposal(fr_decoder *d, int most) {
    fr_proposal *p = &d->proposal;
    const int reach = fr_decoder_reach(d); // beyond it rows need the other LongRoPE table
    const int tokens = d->turn.max_tokens < reach ? d->turn.max_tokens : reach;
    d->draft_clock = (fr_draft_clock){0};
    d->drafts = tokens > 1;
    fr_tree_begin(&p->tree, d->ids[d->n_ids - 1], most, deepest(d, tokens));
    p->extra_rows = (fr_extra_rows){0};
    p->prepaid = 0;
    if (!d->drafts) return;
    fr_draft_clock_start(&d->draft_clock);
    const fr_context c = fr_decoder_context(d);
    d->drafter->ops->propose(d->drafter, &c, p);
    fr_draft_clock_stop(&d->draft_clock);
}

// Whether its drafter needs a pass of its own network (d->want); false: the proposal is complete.
static bool wants_pass(fr_decoder *d) {
    if (!d->drafts) return false;
    fr_draft_clock_start(&d->draft_clock);
    const fr_context c = fr_decoder_context(d);
    d->want = d->drafter->ops->want(d->drafter, &c, &d->proposal);
    d->drafts = d->want.pass != NULL;
    // A complete proposal leaves only rows that continue in the pass in scratch.
    if (!d->drafts && !d->drafter->needs.resumes) fr_kv_drop_scratch(&d->kv);
    fr_draft_clock_stop(&d->draft_clock);
    assert(d->drafts || fr_tree_is_sound(&d->proposal.tree));
    return d->drafts;
}

static void got_pass(fr_decoder *d, double seconds) {
    if (!d->want.rows) return; // the batch was full: it waits for the next pass
    d->draft_clock.lap += seconds;
    fr_draft_clock_start(&d->draft_clock);
    const fr_context c = fr_decoder_context(d);
    d->drafter->ops->got(d->drafter, &c, &d->proposal);
    fr_draft_clock_stop(&d->draft_clock);
}

typedef struct draft_pass { // that members want, with the rows of all of them
    fr_draft_pass *pass;
    int rows;
    double seconds;
} draft_pass;

static draft_pass *find_pass(draft_pass *all, int *n, fr_draft_pass *pass) {
    int at = 0;
    while (at < *n && all[at].pass != pass)
        at++;
    if (at == *n) all[(*n)++] = (draft_pass){.pass = pass};
    return &all[at];
}

// One round: each pass that members want runs once, with the rows of all of them. False: none is
// wanted.
static bool run_draft_passes(const batch *b) {
    draft_pass all[FR_GROUP_MEMBERS];
    int n = 0;
    for (int i = 0; i < b->n_roots; i++)
        if (wants_pass(b->member[i]))
            find_pass(all, &n, b->member[i]->want.pass)->rows += b->member[i]->want.rows;
    for (int k = 0; k < n; k++) {
        const double start = fr_seconds();
        all[k].pass->run(all[k].pass);
        all[k].seconds = fr_seconds() - start;
    }
    for (int i = 0; i < b->n_roots; i++) {
        if (!b->member[i]->drafts) continue;
        const draft_pass *ran = find_pass(all, &n, b->member[i]->want.pass);
        got_pass(b->member[i], ran->seconds * b->member[i]->want.rows / ran->rows);
    }
    return n > 0;
}

static void propose(const batch *b) {
    for (int i = 0; i < b->n_roots; i++)
        begin_proposal(b->member[i], most_nodes(b->member[i], b->n_roots));
    while (run_draft_passes(b)) {
    }
}

// ---------------------------------------------------------------- plan

static void take_wanted(fr_decoder *d, int share) {
    d->tree = d->proposal.tree;
    if (d->tree.n == 1 || fr_tree_is_drawn(&d->tree)) return;
    if (d->size.shape.n)
        fr_shape_pick(&d->size.shape, &d->tree);
    else if (d->size.nodes)
        fr_tree_keep(&d->tree, d->size.nodes);
    fr_tree_keep(&d->tree, share);
}

typedef struct ranked { // scores of a member's candidates, descending
    bool open;          // they compete; else the size of the tree is settled
    float score[FR_TREE_MAX];
    int n, taken;
} ranked;

// Collects the scores of the members whose trees are open; the others take the size that they
// want. Returns the number of these settled candidates.
static int gather(const batch *b, ranked *by, fr_extra_rows *extra) {
    int settled = 0;
    for (int i = 0; i < b->n_roots; i++) {
        fr_decoder *d = b->member[i];
        by[i].n = by[i].taken = 0;
        by[i].open = is_sized(d) && !fr_tree_is_drawn(&d->proposal.tree);
        fr_extra_rows_add(extra, &d->proposal.extra_rows);
        if (by[i].open) {
            by[i].n = fr_tree_scores(&d->proposal.tree, by[i].score);
        } else {
            take_wanted(d, share_of(d, b->n_roots));
            settled += d->tree.n - 1;
        }
    }
    return settled;
}

static int likeliest_of(const ranked *by, int n) {
    int best = -1;
    for (int i = 0; i < n; i++)
        if (by[i].taken < by[i].n &&
            (best < 0 || by[i].score[by[i].taken] > by[best].score[by[best].taken]))
            best = i;
    return best;
}

// All scores in one list, descending, and whose each is; at most `room`. How many.
static int merge(ranked *by, int n, int room, float *score, int *from) {
    int n_scores = 0, best;
    while (n_scores < room && (best = likeliest_of(by, n)) >= 0) {
        score[n_scores] = by[best].score[by[best].taken++];
        from[n_scores++] = best;
    }
    return n_scores;
}

// Chooses the candidates of the pass, and returns the number of rows of prompts. A size set by the
// user, or a tree drawn at random, is fixed. All other candidates compete: those of highest score
// among all members are taken, as many as the budget allows.
// [goodput: TurboSpec, Liu et al. 2024, §4; rows over requests: AdaServe, Li et al. 2025, §4]
static int plan(const batch *b) {
    const fr_decoder_group *g = b->group;
    ranked by[FR_GROUP_MEMBERS];
    float score[FR_CANDIDATE_ROWS];
    int from[FR_CANDIDATE_ROWS], nodes[FR_GROUP_MEMBERS];
    fr_budget_wish wish = {.score = score,
                           .n_roots = b->n_roots,
                           .n_readers = b->n - b->n_roots,
                           .read_context = context_of(b->member + b->n_roots, b->n - b->n_roots),
                           .most_read = fr_prefill_rows(&g->model->config),
                           .read_times = g->read_times,
                           .context = g->context};
    wish.settled = gather(b, by, &wish.extra);
    wish.n = merge(by, b->n_roots, FR_CANDIDATE_ROWS - b->n_roots - wish.settled, score, from);
    const fr_budget_answer answer = fr_budget_plan(&g->budget, &wish);
    for (int i = 0; i < b->n_roots; i++)
        nodes[i] = 1; // the root
    for (int k = 0; k < answer.candidates; k++)
        nodes[from[k]]++;
    for (int i = 0; i < b->n_roots; i++) {
        if (!by[i].open) continue;
        b->member[i]->tree = b->member[i]->proposal.tree;
        fr_tree_keep(&b->member[i]->tree, nodes[i]);
    }
    return answer.read;
}

// ---------------------------------------------------------------- rows

// Listeners run in their program's float mode.
static void show_proposal(const fr_decoder *d) {
    fr_float_mode_restore(d->group->float_mode);
    d->watch(d->watch_user, &d->proposal.tree, d->n_ids);
    d->group->float_mode = fr_float_mode_set();
}

// The candidates' rows, and what the drafter makes of them and attaches, at most `room` more.
static void make_candidates(fr_decoder *d, int room) {
    const int n = d->tree.n, free_slots = d->kv.max_scratch - d->kv.n_scratch;
    if (d->watch) show_proposal(d);
    fr_draft_clock_start(&d->draft_clock);
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

// The next n tokens of its prompt. Rows that are read again are not shown again.
static void make_prompt(fr_decoder *d, int n) {
    d->shows = d->kv.n_committed >= d->n_shown;
    const uint8_t wants = (d->shows && d->drafter->needs.prompt_rows ? hidden_wants(d) : 0) |
                          (scores_prompt(d) ? FR_WANT_LOGITS : 0);
    for (int i = 0; i < n; i++)
        d->rows[i] = fr_row_token(d->ids[d->kv.n_committed + i], i - 1, wants);
    d->n_rows = n;
    if (d->hook) d->hook->choose(d->hook, d, true);
}

static int left_to_read(const fr_decoder *d) {
    return d->n_ids - 1 - d->kv.n_committed;
}

// The tokens left to read, less the tokens it has waited for. The least comes first, so that no
// text waits much longer for others than reading it takes.
static int rank(const fr_decoder *d) {
    enum { OVERTAKEN = 3 }; // rows of others that count as one row less to read
    return left_to_read(d) - d->overtaken / OVERTAKEN;
}

static bool comes_before(const fr_decoder *a, const fr_decoder *b) {
    return a->order != b->order ? a->order < b->order : rank(a) < rank(b);
}

// Sorts texts by their order, then by rank, ascending. Equal ones stay in their sequence.
static void by_rank(fr_decoder **texts, int n) {
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && comes_before(texts[k], texts[k - 1]); k--) {
            fr_decoder *const later = texts[k - 1];
            texts[k - 1] = texts[k];
            texts[k] = later;
        }
}

// Shares the planned rows among the prompts. A part is for all alike, so that no text stands still.
// The rest goes to the texts of the lowest order, the one that is read soonest first: texts read at
// the same pace would all be read late.
static void make_prompts(const batch *b, int planned) {
    static const double ALIKE = 0.25;
    fr_decoder_group *g = b->group;
    fr_decoder *text[FR_GROUP_MEMBERS];
    const int n = b->n - b->n_roots;
    g->read = (fr_extra_rows){0};
    if (!n) return;
    const int own = (int)(planned * ALIKE / n);
    int room = planned;
    memcpy(text, b->member + b->n_roots, sizeof *text * (size_t)n);
    by_rank(text, n);
    for (int i = 0; i < n; i++) {
        const int others = (n - 1 - i) * (own > 0 ? own : 1), left = left_to_read(text[i]);
        const int most = room - others;
        make_prompt(text[i], left < most ? left : most);
        room -= text[i]->n_rows;
    }
    const int dealt = planned - room;
    for (int i = 0; i < n; i++)
        text[i]->overtaken += dealt - text[i]->n_rows;
    g->read = fr_budget_reading(&g->budget, dealt, context_of(text, n), g->context);
}

static void make_rows(const batch *b, int planned) { // of prompts
    int spare = FR_CANDIDATE_ROWS;
    for (int i = 0; i < b->n_roots; i++)
        spare -= b->member[i]->tree.n;
    for (int i = 0; i < b->n_roots; i++) {
        fr_decoder *d = b->member[i];
        make_candidates(d, d->hook ? FR_CANDIDATE_ROWS - d->tree.n : spare / (b->n_roots - i));
        spare -= d->n_rows - d->tree.n;
    }
    make_prompts(b, planned);
}

// ---------------------------------------------------------------- forward

static uint8_t place_of_tap(fr_decoder_group *g, int layer) {
    int at = 0;
    while (at < g->n_taps && g->taps[at] < layer)
        at++;
    return (uint8_t)at;
}

// The layers that any member's drafter reads, ascending; then where each finds its own.
static void unite_taps(const batch *b) {
    fr_decoder_group *g = b->group;
    g->n_taps = 0;
    for (int i = 0; i < b->n; i++)
        for (int t = 0; t < b->member[i]->drafter->needs.n_taps; t++) {
            const int layer = b->member[i]->drafter->needs.taps[t], at = place_of_tap(g, layer);
            if (at < g->n_taps && g->taps[at] == layer) continue;
            assert(g->n_taps < g->max_taps);
            memmove(g->taps + at + 1, g->taps + at, sizeof *g->taps * (size_t)(g->n_taps - at));
            g->taps[at] = layer;
            g->n_taps++;
        }
    for (int i = 0; i < b->n; i++)
        for (int t = 0; t < b->member[i]->drafter->needs.n_taps; t++)
            b->member[i]->tap[t] = place_of_tap(g, b->member[i]->drafter->needs.taps[t]);
}

// The place of the drafter's first map among those of the pass: sessions with one pack have one.
static int place_of_maps(fr_decoder_group *g, const fr_needs *needs) {
    for (int i = 0; i + needs->n_maps <= g->n_maps; i++)
        if (g->maps[i].panels == needs->maps[0].panels) return i;
    assert(g->n_maps + needs->n_maps <= FR_GROUP_MAPS);
    memcpy(g->maps + g->n_maps, needs->maps, sizeof *g->maps * (size_t)needs->n_maps);
    g->n_maps += needs->n_maps;
    return g->n_maps - needs->n_maps;
}

// Puts a member's rows, which count from its own first one, into the pass.
static void add_rows(fr_decoder_group *g, fr_decoder *d, int seq) {
    const fr_needs *needs = &d->drafter->needs;
    const int map = needs->n_maps ? place_of_maps(g, needs) : 0;
    g->kv[seq] = &d->kv;
    if (fr_decoder_is_served(d)) return;
    d->places = (fr_row_places){g->n_rows, d->hook ? d->hook->place : NULL};
    assert(g->n_rows + fr_decoder_in_pass(d) <= fr_most_rows(&g->model->config));
    for (int i = 0; i < d->n_rows; i++) {
        if (d->hook && d->hook->place[i] < 0) continue;
        fr_row *row = &g->rows[g->n_rows++];
        *row = d->rows[i];
        row->seq = seq;
        if (row->parent >= 0) row->parent = fr_row_place(d->places, row->parent);
        if (row->kind == FR_ROW_LINEAR) row->source = fr_row_place(d->places, row->source);
        row->map += map;
    }
}

// The rows of a member whose results come from elsewhere lie after those of the pass.
static void serve_rows(fr_decoder_group *g, fr_decoder *d, bool reads) {
    if (!fr_decoder_is_served(d)) return;
    d->places = (fr_row_places){g->n_rows, d->hook->place};
    assert(g->n_rows + fr_decoder_in_pass(d) <= fr_most_rows(&g->model->config));
    for (int i = 0; i < d->n_rows; i++)
        if (d->hook->place[i] >= 0) d->hook->serve(d->hook, d, reads, i, g->n_rows++);
}

static void forward(const batch *b) {
    fr_decoder_group *g = b->group;
    const double start = fr_seconds();
    g->n_rows = g->n_maps = 0;
    unite_taps(b);
    for (int i = 0; i < b->n; i++)
        add_rows(g, b->member[i], i);
    if (g->n_rows)
        fr_forward_run(g->forward, &(fr_pass){.rows = g->rows,
                                              .n_rows = g->n_rows,
                                              .kv = g->kv,
                                              .n_seq = b->n,
                                              .taps = g->taps,
                                              .n_taps = g->n_taps,
                                              .maps = g->maps,
                                              .n_maps = g->n_maps});
    for (int i = 0; i < b->n; i++)
        serve_rows(g, b->member[i], i >= b->n_roots);
    g->seconds_pass = fr_seconds() - start;
}

// ---------------------------------------------------------------- verify

// The path of the tree that counts, and the token after it.
static void verify_text(fr_decoder *d, fr_verify_room *room) {
    const double start = fr_seconds();
    const fr_rule rule = fr_drafter_is_none(d->drafter) ? FR_RULE_EXACT : d->accept.rule;
    const fr_verification a = {.tree = &d->tree,
                               .forward = d->group->forward,
                               .places = d->places,
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
    // The text waited for the whole pass, however many texts shared it.
    d->stats.seconds_verify += d->group->seconds_pass + fr_seconds() - start;
}

static void verify_some(void *arg, int thread, int n_threads) {
    const batch *b = arg;
    fr_pool *pool = b->group->model->pool;
    int begin, end;
    (void)n_threads;
    fr_pool_deal(pool, thread, b->n_roots);
    fr_pool_barrier(pool);
    while (thread < b->group->n_rooms && fr_pool_take(pool, thread, 1, &begin, &end))
        for (int i = begin; i < end; i++)
            verify_text(b->member[i], &b->group->room[thread]);
}

// The logits of a row are no numbers: nothing of the pass is kept, and the text ends.
static void break_off(fr_decoder *d, int row, int n_known) {
    fr_kv_drop_scratch(&d->kv);
    d->verdict.broken = row;
    d->broken_at = n_known;
    d->broken = true;
    d->go_on = false;
}

// Scores of a prompt's tokens, where they are wanted.
static void score_prompt(fr_decoder *d, fr_verify_room *room) {
    if (!scores_prompt(d)) return;
    room->scorer.n_top = d->n_top;
    for (int i = 0; i < d->n_rows && !d->broken; i++) {
        const int next = d->kv.n_committed + i + 1;
        const float *logits = fr_decoder_logits(d, i);
        if (!fr_are_logits(logits, d->model->config.n_vocab)) {
            break_off(d, i, next);
            return;
        }
        fr_logprob_scorer_keep(&room->scorer, logits);
        fr_logprob_scorer_score(&room->scorer, d->ids[next], &d->prompt_scores[next]);
    }
}

// Members verify at the same time, each thread in a workspace of its own.
static void verify(const batch *b) {
    if (b->n_roots > 1 && b->group->n_rooms > 1)
        fr_pool_run(b->group->model->pool, verify_some, (void *)(uintptr_t)b);
    else
        for (int i = 0; i < b->n_roots; i++)
            verify_text(b->member[i], b->group->room);
    for (int i = b->n_roots; i < b->n; i++)
        score_prompt(b->member[i], b->group->room);
}

// ---------------------------------------------------------------- commit

// Rows of the step (in order, each under the one before) become the next committed slots.
static void commit_rows(fr_decoder *d, const int *rows, int n) {
    int slots[FR_PREFILL_EXPERTS];
    if (fr_decoder_is_served(d)) {
        d->hook->commit(d->hook, d, n);
        return;
    }
    for (int i = 0; i < n; i++)
        slots[i] = fr_forward_slot(d->group->forward, fr_row_place(d->places, rows[i]));
    fr_kv_commit(&d->kv, slots, n);
}

// Gives out the drawn tokens in order until one of them is the last; how many were taken. Listeners
// run in their program's float mode.
static int emit_path(fr_decoder *d) {
    const fr_verdict *v = &d->verdict;
    int taken = 0;
    fr_float_mode_restore(d->group->float_mode);
    for (; taken < v->n_path && d->go_on; taken++) {
        const int next = taken + 1;
        const fr_node *node = next < v->n_path ? &d->tree.node[v->path[next]] : NULL;
        d->go_on =
            d->turn.emit(d->turn.user, d->ids[d->n_ids + taken], node) && next < d->turn.max_tokens;
    }
    d->group->float_mode = fr_float_mode_set();
    return taken;
}

// Emits and commits the path; n_path becomes the number of new tokens, 0 where logits are broken.
static void commit_path(fr_decoder *d) {
    fr_verdict *v = &d->verdict;
    if (!v->n_path) {
        break_off(d, v->broken, d->n_ids + d->tree.node[v->broken].depth);
        return;
    }
    v->n_path = emit_path(d); // the root's row and those of all tokens taken but the last
    v->next = d->ids[d->n_ids + v->n_path - 1];
    commit_rows(d, v->path, v->n_path);
    d->n_ids += v->n_path;
    d->n_shown = d->kv.n_committed;
}

static void commit_prompt(fr_decoder *d) {
    int rows[FR_PREFILL_EXPERTS];
    if (d->broken) return;
    for (int i = 0; i < d->n_rows; i++)
        rows[i] = i;
    commit_rows(d, rows, d->n_rows);
    if (d->shows) d->n_shown = d->kv.n_committed;
}

static void commit(const batch *b) {
    for (int i = 0; i < b->n; i++) {
        fr_decoder *d = b->member[i];
        if (i >= b->n_roots) {
            commit_prompt(d);
            continue;
        }
        d->n_accepted = d->verdict.n_path;
        commit_path(d);
    }
}

// ---------------------------------------------------------------- observe

// Every part of the SPEC sees which of its guesses were right, those too that were not evaluated.
static void learn_hits(fr_drafter *d, const fr_tree *proposed, const int32_t *followed, int n) {
    for (int i = 0; i < d->n_parts; i++)
        learn_hits(d->parts[i], proposed, followed, n);
    if (d->n_parts) return;
    fr_hits_learn(&d->hits, proposed, d->part, followed, n);
}

static void show(fr_decoder *d, const fr_verdict *v) {
    const fr_context c = fr_decoder_context(d);
    fr_draft_clock_start(&d->draft_clock);
    d->drafter->ops->observe(d->drafter, &c, v);
    fr_draft_clock_stop(&d->draft_clock);
}

// Drafters see what was accepted, and those that read prompts the rows that are new to them.
static void observe(const batch *b) {
    for (int i = 0; i < b->n_roots; i++) {
        fr_decoder *d = b->member[i];
        const fr_verdict *v = &d->verdict;
        if (d->broken) continue;
        fr_draft_clock_start(&d->draft_clock);
        learn_hits(d->drafter, &d->proposal.tree, d->ids + d->n_ids - v->n_path, v->n_path);
        fr_draft_clock_stop(&d->draft_clock);
        show(d, v);
    }
    for (int i = b->n_roots; i < b->n; i++) {
        fr_decoder *d = b->member[i];
        if (!d->broken && d->shows && d->drafter->needs.prompt_rows)
            show(d, &(fr_verdict){.rows = d->rows, .n_rows = d->n_rows});
    }
}

// ---------------------------------------------------------------- learn

// A member's rows in the pass that are not whole rows with logits: attached rows that join late or
// need no logits, and candidate rows that continue from a middle layer.
static fr_extra_rows extra_rows_of(const fr_decoder *d) {
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

static void count_depths(fr_decoder *d, int accepted) {
    int deepest_node = 0;
    for (int i = 0; i < d->tree.n; i++)
        if (d->tree.node[i].depth > deepest_node) deepest_node = d->tree.node[i].depth;
    for (int k = 1; k <= deepest_node; k++)
        d->stats.offered[k - 1]++;
    for (int k = 1; k < accepted; k++)
        d->stats.accepted[k - 1]++;
}

// The index of its part of the pass in statistics by rows.
static int counted_as(const fr_decoder *d) {
    return d->n_rows <= FR_COUNTED_ROWS ? d->n_rows : 0;
}

static void count_pass(fr_decoder *d) {
    const int counted = counted_as(d);
    count_depths(d, d->n_accepted);
    d->stats.passes++;
    d->stats.plain_passes += d->tree.n == 1;
    d->stats.rows += d->n_rows;
    d->stats.passes_by_rows[counted]++;
    d->stats.seconds_by_rows[counted] += d->group->seconds_pass;
    d->stats.expected++;
    for (int i = 1; i < d->tree.n; i++)
        d->stats.expected += d->tree.node[i].score;
}

// Adds what the measured cost predicts for the member's part of the pass, and for as many tokens
// decoded plainly.
static void count_predictions(fr_decoder *d, const fr_extra_rows *extra, int taken) {
    const fr_budget *p = &d->group->budget;
    const int before = d->kv.n_committed - taken;
    if (!p->measured) return;
    d->stats.predicted += fr_cost_with(&p->cost, d->tree.n, extra, before);
    for (int i = 0; i < taken; i++)
        d->stats.predicted_plain += fr_cost_pass(&p->cost, 1, 1, before + i);
}

// Statistics of every text, then the budget: what the pass took, and how many tokens it gave.
static void learn(const batch *b) {
    fr_decoder_group *g = b->group;
    fr_extra_rows all = {0};
    double draft = 0;
    int rows = 1, tokens = 0;
    for (int i = 0; i < b->n_roots; i++) {
        fr_decoder *d = b->member[i];
        const fr_extra_rows extra = extra_rows_of(d);
        const int taken = d->verdict.n_path;
        const double seconds = fr_draft_clock_seconds(&d->draft_clock);
        count_pass(d);
        count_predictions(d, &extra, taken);
        if (taken) {
            d->stats.completion_tokens += taken;
            d->stats.seconds_draft += seconds;
        }
        fr_extra_rows_add(&all, &extra);
        rows += d->tree.n - 1;
        tokens += taken;
        draft += seconds - d->proposal.prepaid;
    }
    fr_extra_rows besides = all;
    fr_extra_rows_add(&besides, &g->read);
    g->seconds_predicted =
        fr_budget_predict(&g->budget, b->n_roots ? rows : 0, &besides, g->context);
    for (int i = 0; i < b->n_roots; i++)
        b->member[i]->stats.predicted_by_rows[counted_as(b->member[i])] += g->seconds_predicted;
    if (tokens && !b->member[0]->hook) // else rows were left out
        fr_budget_learn(&g->budget, &(fr_budget_step){.rows = rows,
                                                      .extra = &all,
                                                      .read = &g->read,
                                                      .context = g->context,
                                                      .tokens = tokens,
                                                      .pass_seconds = g->seconds_pass,
                                                      .draft_seconds = draft,
                                                      .experts = fr_forward_experts(g->forward)});
}

// ---------------------------------------------------------------- the step

static void end_phase(fr_decoder_group *g, fr_step_phase phase) {
    const double now = fr_seconds();
    g->seconds[phase] += now - g->since;
    g->since = now;
}

// Members with a turn: those that decode, then those that read. A text that outgrew its RoPE table
// reads again.
static batch take_turns(fr_decoder_group *g, fr_decoder **members) {
    batch b = {.group = g, .member = members};
    for (int i = 0; i < g->n_members; i++)
        if (g->member[i]->turn.max_tokens) fr_decoder_stretch(g->member[i]);
    for (int reads = 0; reads < 2; reads++) {
        for (int i = 0; i < g->n_members; i++) {
            fr_decoder *d = g->member[i];
            if (!d->turn.max_tokens || fr_decoder_reads(d) != reads) continue;
            assert(reads || d->n_ids + d->turn.max_tokens <= d->n_ctx);
            d->go_on = true;
            d->broken = false;
            members[b.n++] = d;
        }
        if (!reads) b.n_roots = b.n;
    }
    return b;
}

// One pass and what follows it.
static void run(const batch *b) {
    fr_decoder_group *g = b->group;
    forward(b);
    end_phase(g, FR_STEP_PASS);
    verify(b);
    end_phase(g, FR_STEP_VERIFY);
    commit(b);
    observe(b);
    learn(b);
    end_phase(g, FR_STEP_TAKE);
}

// The part of the batch from member `first` on that has room in one pass.
static batch that_fits(const batch *b, int first) {
    batch part = {.group = b->group, .member = b->member + first};
    const int most = fr_most_rows(&b->group->model->config);
    int rows = 0;
    while (first + part.n < b->n && rows + fr_decoder_in_pass(part.member[part.n]) <= most)
        rows += fr_decoder_in_pass(part.member[part.n++]);
    part.n_roots = first < b->n_roots ? b->n_roots - first : 0;
    if (part.n_roots > part.n) part.n_roots = part.n;
    return part;
}

// Rows of texts with hooks are limited as if each were alone, so that they may need several passes.
static void run_in_parts(const batch *b) {
    for (int done = 0; done < b->n;) {
        const batch part = that_fits(b, done);
        run(&part);
        done += part.n;
    }
}

bool fr_decoder_group_step(fr_decoder_group *g) {
    fr_decoder *members[FR_GROUP_MEMBERS];
    const batch b = take_turns(g, members);
    if (!b.n) return false;
    assert(fr_decoder_group_is_sound(g));
    // All numbers but those of listeners are made in the same mode, as threads of the pool make theirs.
    g->float_mode = fr_float_mode_set();
    g->since = fr_seconds();
    g->context = context_of(members, b.n_roots);
    g->budget.members = b.n_roots ? b.n_roots : 1;
    g->budget.read = b.n > b.n_roots ? g->read : (fr_extra_rows){0}; // of the step before
    propose(&b);
    end_phase(g, FR_STEP_PROPOSE);
    make_rows(&b, plan(&b));
    end_phase(g, FR_STEP_ROWS);
    if (members[0]->hook)
        run_in_parts(&b);
    else
        run(&b);
    fr_float_mode_restore(g->float_mode);
    for (int i = 0; i < b.n; i++)
        members[i]->turn.max_tokens = 0;
    assert(fr_decoder_group_is_sound(g));
    return true;
}
