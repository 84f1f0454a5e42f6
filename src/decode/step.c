// step.c — gathers the rows of all members, runs one pass and lets every member verify before any of
// them goes on.
#include "base/clock.h"
#include "base/float_mode.h"
#include "decode/choose.h"
#include "decode/group.h"
#include "decode/member.h"
#include "decode/propose.h"
#include <assert.h>
#include <string.h>

static const double READ_ALIKE = 0.25; // of the rows of texts that are read, whatever their length
enum { OVERTAKEN = 3 };                // rows of others that count as one row less to read

static void end_phase(fr_decoder_group *g, fr_step_phase phase) {
    const double now = fr_seconds();
    g->seconds[phase] += now - g->since;
    g->since = now;
}

static int context_of(fr_decoder *const *members, int n) { // committed slots, on average
    double slots = 0;
    for (int i = 0; i < n; i++)
        slots += members[i]->kv.n_committed;
    return n ? (int)(slots / n) : 0;
}

// How many rows of texts that are read may be in the pass: those of a chunk where nobody decodes,
// else what the others hardly feel beside `nodes` candidates and the `extra` rows. At least one of
// each.
static void size_reading(fr_decoder_group *g, fr_decoder *const *readers, int n, int nodes,
                         const fr_extra_rows *extra) {
    const int own = context_of(readers, n);
    int rows = FR_PREFILL_ROWS;
    if (!n)
        rows = 0;
    else if (g->n_roots)
        rows = fr_budget_reads(&g->budget, g->read_times, 1 + nodes, extra, FR_PREFILL_ROWS, own,
                               g->context);
    g->read = fr_budget_reading(&g->budget, rows < n ? n : rows, own, g->context);
}

static int left_to_read(const fr_decoder *d) {
    return d->n_ids - 1 - d->kv.n_committed;
}

// What is left to read, less what it has waited: the least comes first, so that nobody waits much
// longer for others than reading his own text takes.
static int rank(const fr_decoder *d) {
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

// Shares the rows of this pass. A part is for all alike, so that no text stands still. The rest goes
// to the texts of the lowest order, the one that is read soonest first: texts read at the same pace
// would all be read late. Then what is read is as many rows as were left to read.
static void read_texts(fr_decoder_group *g, fr_decoder *const *readers, int n) {
    fr_decoder *text[FR_GROUP_MEMBERS];
    int room = g->read.rows;
    const int own = n ? (int)(room * READ_ALIKE / n) : 0;
    memcpy(text, readers, sizeof *text * (size_t)n);
    by_rank(text, n);
    for (int i = 0; i < n; i++) {
        const int others = (n - 1 - i) * (own > 0 ? own : 1), left = left_to_read(text[i]);
        const int most = room - others;
        fr_member_read(text[i], left < most ? left : most);
        room -= text[i]->n_rows;
    }
    const int dealt = g->read.rows - room;
    for (int i = 0; i < n; i++)
        text[i]->overtaken += dealt - text[i]->n_rows;
    g->read = fr_budget_reading(&g->budget, dealt, context_of(readers, n), g->context);
}

// How many rows the drafter of a member may attach, `left` of them being still to come.
static int room_of(const fr_decoder *d, int spare, int left) {
    return d->hook ? FR_MAX_ROWS - FR_PREFILL_ROWS - d->tree.n : spare / left;
}

// The rows of the trees that pay beside what is read, and what drafters attach to them; then as
// many of texts that are read as there is time for beside those.
static void choose(fr_decoder_group *g, fr_decoder *const *members, int n) {
    const int n_roots = g->n_roots;
    fr_extra_rows extra = {0};
    int nodes = 0, spare = FR_MAX_ROWS - FR_PREFILL_ROWS;
    if (n_roots) fr_choose_rows(g, members, n_roots, &g->read, g->context);
    for (int i = 0; i < n_roots; i++)
        spare -= members[i]->tree.n;
    for (int i = 0; i < n_roots; i++) {
        fr_member_rows(members[i], room_of(members[i], spare, n_roots - i));
        spare -= members[i]->n_rows - members[i]->tree.n;
        const fr_extra_rows own = fr_member_extra_rows(members[i]);
        fr_extra_rows_add(&extra, &own);
        nodes += members[i]->tree.n - 1;
    }
    if (n_roots && n > n_roots) size_reading(g, members + n_roots, n - n_roots, nodes, &extra);
    read_texts(g, members + n_roots, n - n_roots);
}

static uint8_t place_of_tap(fr_decoder_group *g, int layer) {
    int at = 0;
    while (at < g->n_taps && g->taps[at] < layer)
        at++;
    return (uint8_t)at;
}

// The layers that any member's drafter reads, ascending; then where each finds its own.
static void unite_taps(fr_decoder_group *g, fr_decoder *const *members, int n) {
    g->n_taps = 0;
    for (int i = 0; i < n; i++)
        for (int t = 0; t < members[i]->drafter->needs.n_taps; t++) {
            const int layer = members[i]->drafter->needs.taps[t], at = place_of_tap(g, layer);
            if (at < g->n_taps && g->taps[at] == layer) continue;
            assert(g->n_taps < g->max_taps);
            memmove(g->taps + at + 1, g->taps + at, sizeof *g->taps * (size_t)(g->n_taps - at));
            g->taps[at] = layer;
            g->n_taps++;
        }
    for (int i = 0; i < n; i++)
        for (int t = 0; t < members[i]->drafter->needs.n_taps; t++)
            members[i]->tap[t] = place_of_tap(g, members[i]->drafter->needs.taps[t]);
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
    d->first_row = g->n_rows;
    assert(g->n_rows + fr_decoder_in_pass(d) <= FR_MAX_ROWS);
    for (int i = 0; i < d->n_rows; i++) {
        if (d->hook && d->hook->place[i] < 0) continue;
        fr_row *row = &g->rows[g->n_rows++];
        *row = d->rows[i];
        row->seq = seq;
        if (row->parent >= 0) row->parent = fr_decoder_place(d, row->parent);
        if (row->kind == FR_ROW_LINEAR) row->source = fr_decoder_place(d, row->source);
        row->map += map;
    }
}

// The rows of a member whose results come from elsewhere lie after those of the pass.
static void serve_rows(fr_decoder_group *g, fr_decoder *d, bool reads) {
    if (!fr_decoder_is_served(d)) return;
    d->first_row = g->n_rows;
    assert(g->n_rows + fr_decoder_in_pass(d) <= FR_MAX_ROWS);
    for (int i = 0; i < d->n_rows; i++)
        if (d->hook->place[i] >= 0) d->hook->serve(d->hook, d, reads, i, g->n_rows++);
}

static void run_pass(fr_decoder_group *g, fr_decoder *const *members, int n) {
    const double start = fr_seconds();
    g->n_rows = g->n_maps = 0;
    unite_taps(g, members, n);
    for (int i = 0; i < n; i++)
        add_rows(g, members[i], i);
    if (g->n_rows)
        fr_forward_run(g->forward, &(fr_pass){.rows = g->rows,
                                              .n_rows = g->n_rows,
                                              .kv = g->kv,
                                              .n_seq = n,
                                              .taps = g->taps,
                                              .n_taps = g->n_taps,
                                              .maps = g->maps,
                                              .n_maps = g->n_maps});
    for (int i = 0; i < n; i++)
        serve_rows(g, members[i], i >= g->n_roots);
    g->seconds_pass = fr_seconds() - start;
}

// Adds up what the measured cost predicts for the member's part of the pass, and for as many tokens
// decoded plainly.
static void count_predictions(const fr_decoder_group *g, fr_decoder *d, const fr_extra_rows *extra,
                              int before, int taken) {
    const fr_cost *c = &g->budget.cost;
    if (!g->budget.measured) return;
    d->stats.predicted += fr_cost_with(c, d->tree.n, extra, before);
    for (int i = 0; i < taken; i++)
        d->stats.predicted_plain += fr_cost_pass(c, 1, 1, before + i);
}

typedef struct verification { // of all members that decode
    fr_decoder_group *group;
    fr_decoder *const *members;
} verification;

static void verify_some(void *arg, int thread, int n_threads) {
    const verification *v = arg;
    fr_decoder_group *g = v->group;
    fr_pool *pool = g->model->pool;
    int begin, end;
    (void)n_threads;
    fr_pool_deal(pool, thread, g->n_roots);
    fr_pool_barrier(pool);
    while (thread < g->n_rooms && fr_pool_take(pool, thread, 1, &begin, &end))
        for (int i = begin; i < end; i++)
            fr_member_verify(v->members[i], &g->room[thread], g->seconds_pass);
}

static void verify(fr_decoder_group *g, fr_decoder *const *members) {
    if (g->n_roots > 1 && g->n_rooms > 1)
        fr_pool_run(g->model->pool, verify_some, &(verification){g, members});
    else
        for (int i = 0; i < g->n_roots; i++)
            fr_member_verify(members[i], g->room, g->seconds_pass);
}

static void settle(fr_decoder_group *g, fr_decoder *const *members) {
    fr_extra_rows all = {0};
    double draft = 0;
    int rows = 1, tokens = 0;
    for (int i = 0; i < g->n_roots; i++) {
        fr_decoder *d = members[i];
        const fr_extra_rows extra = fr_member_extra_rows(d);
        const int before = d->kv.n_committed, taken = fr_member_take(d);
        count_predictions(g, d, &extra, before, taken);
        fr_extra_rows_add(&all, &extra);
        rows += d->tree.n - 1;
        tokens += taken;
        draft += fr_draft_clock_seconds(&d->draft_clock) - d->proposal.prepaid;
    }
    fr_extra_rows besides = all;
    fr_extra_rows_add(&besides, &g->read);
    g->seconds_predicted =
        fr_budget_predict(&g->budget, g->n_roots ? rows : 0, &besides, g->context);
    if (tokens && !members[0]->hook) // else rows were left out
        fr_budget_learn(&g->budget, rows, &all, &g->read, g->context, tokens, g->seconds_pass,
                        draft);
}

// Members with a turn: those that decode, then those that read. How many.
static int take_turns(fr_decoder_group *g, fr_decoder **members) {
    int n = 0;
    for (int reads = 0; reads < 2; reads++) {
        for (int i = 0; i < g->n_members; i++) {
            fr_decoder *d = g->member[i];
            if (!d->turn.max_tokens || fr_decoder_reads(d) != reads) continue;
            assert(reads || d->n_ids + d->turn.max_tokens <= d->n_ctx);
            d->go_on = true;
            d->broken = false;
            members[n++] = d;
        }
        if (!reads) g->n_roots = n;
    }
    return n;
}

// The pass of n members, of whom n_roots decode, and what came of it. All numbers but for those of
// listeners are made in the same mode, whether threads of the pool make them or this one.
static void finish(fr_decoder_group *g, fr_decoder *const *members, int n, int n_roots) {
    const unsigned mode = fr_float_mode_set();
    g->n_roots = n_roots;
    run_pass(g, members, n);
    end_phase(g, FR_STEP_PASS);
    for (int i = n_roots; i < n; i++)
        fr_member_keep_read(members[i], g->room);
    verify(g, members);
    fr_float_mode_restore(mode);
    end_phase(g, FR_STEP_VERIFY);
    settle(g, members);
    end_phase(g, FR_STEP_TAKE);
}

// How many of the n members have room in one pass: all, but for texts with hooks.
static int that_fit(fr_decoder *const *members, int n) {
    int rows = 0, i = 0;
    while (i < n && rows + fr_decoder_in_pass(members[i]) <= FR_MAX_ROWS)
        rows += fr_decoder_in_pass(members[i++]);
    assert(i == n || members[0]->hook);
    return i;
}

bool fr_decoder_group_step(fr_decoder_group *g) {
    fr_decoder *members[FR_GROUP_MEMBERS];
    const int n = take_turns(g, members), n_roots = g->n_roots;
    if (!n) return false;
    assert(fr_decoder_group_is_sound(g));
    g->context = context_of(members, n_roots);
    g->budget.members = n_roots ? n_roots : 1;
    g->since = fr_seconds();
    size_reading(g, members + n_roots, n - n_roots, 0, NULL);
    g->budget.read = g->read;
    fr_propose_trees(members, n_roots);
    end_phase(g, FR_STEP_PROPOSE);
    choose(g, members, n);
    end_phase(g, FR_STEP_CHOOSE);
    for (int done = 0, now, roots; done < n; done += now) {
        now = that_fit(members + done, n - done);
        roots = done < n_roots ? n_roots - done : 0;
        finish(g, members + done, now, now < roots ? now : roots);
    }
    for (int i = 0; i < n; i++)
        members[i]->turn.max_tokens = 0;
    assert(fr_decoder_group_is_sound(g));
    return true;
}
