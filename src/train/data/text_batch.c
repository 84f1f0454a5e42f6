#include "train/data/text_batch.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "kern/half.h"
#include "model/finite.h"
#include "train/data/top_logprobs.h"
#include <assert.h>
#include <string.h>

typedef struct member {
    fr_kv kv;
    bool busy;
    uint64_t key;
    fr_sampling sampling;
    int n_prompt, n_ids, n_end; // tokens given; known; at most
    int n_kept;                 // rows of which a sample has what it keeps
    int32_t *ids;               // [n_ctx + 1]
    uint8_t *flags;             // [n_ctx], of rows
    uint16_t *final, *tap;      // [n_ctx][d], [n_taps][n_ctx][d]
    int32_t *dist_id;           // [n_ctx][top]
    uint16_t *dist_lp;
    int first, n_rows; // of the current pass: its rows there
    int32_t next;      // ... and the token that came of it, where it writes
} member;

struct fr_text_batch {
    const fr_model *m;
    const fr_tokenizer *tokenizer;
    fr_shard_format keep;
    int n_members, n_ctx, max_rows;
    member *members;
    fr_arena arena;
    fr_forward *forward;
    fr_sampler *samplers; // one a thread
    int n_samplers;
    fr_kv **kv;                         // [n_members]
    fr_row *rows;                       // [max_rows]
    int *row_member;                    // [max_rows]
    int n_rows;                         // of the current pass
    bool broken[2 * FR_TEXT_BATCH_MAX]; // of these: its results are not finite
    uint16_t *tap_scratch;              // [n_taps][n_ctx][d]: a sample's taps without gaps
    fr_text_batch_stats stats;
};

// ---------------------------------------------------------------- memory

static size_t member_bytes(const fr_shard_format *f, int n_ctx) {
    const size_t rows = (size_t)n_ctx, d = (size_t)f->d;
    return FR_ARENA_ROUND((rows + 1) * sizeof(int32_t)) + FR_ARENA_ROUND(rows) +
           FR_ARENA_ROUND(rows * d * 2) + FR_ARENA_ROUND((size_t)f->n_taps * rows * d * 2) +
           FR_ARENA_ROUND(rows * (size_t)f->top * 4) + FR_ARENA_ROUND(rows * (size_t)f->top * 2);
}

static int rows_of(int n_members) {
    return 2 * n_members < 64 ? 64 : 2 * n_members; // room for prompts beside the waiting members
}

static size_t arena_bytes(const fr_shard_format *f, int n_members, int n_ctx) {
    const size_t rows = (size_t)rows_of(n_members);
    return (size_t)n_members * member_bytes(f, n_ctx) +
           FR_ARENA_ROUND((size_t)n_members * sizeof(member)) +
           FR_ARENA_ROUND((size_t)n_members * sizeof(fr_kv *)) +
           FR_ARENA_ROUND(rows * sizeof(fr_row)) + FR_ARENA_ROUND(rows * sizeof(int)) +
           FR_ARENA_ROUND((size_t)f->n_taps * (size_t)n_ctx * (size_t)f->d * 2);
}

static fr_forward_limits limits_of(const fr_shard_format *f, int n_members, int n_ctx) {
    const int rows = rows_of(n_members);
    return (fr_forward_limits){
        .max_rows = rows, .max_logits = rows, .max_taps = f->n_taps, .n_ctx = n_ctx};
}

size_t fr_text_batch_bytes(const fr_model *m, const fr_shard_format *keep,
                           const fr_text_batch_size *size) {
    const fr_forward_limits limits = limits_of(keep, size->n_members, size->n_ctx);
    return arena_bytes(keep, size->n_members, size->n_ctx) + fr_forward_bytes(m, &limits) +
           (size_t)size->n_members * fr_kv_bytes(&m->config, size->n_ctx, size->kv_type);
}

static fr_status place_member(fr_text_batch *l, member *at, fr_kv_type kv_type, fr_error *err) {
    const fr_shard_format *f = &l->keep;
    const size_t rows = (size_t)l->n_ctx, d = (size_t)f->d;
    at->ids = fr_arena_take(&l->arena, (rows + 1) * sizeof *at->ids);
    at->flags = fr_arena_take(&l->arena, rows);
    at->final = fr_arena_take(&l->arena, rows * d * 2);
    at->tap = fr_arena_take(&l->arena, (size_t)f->n_taps * rows * d * 2);
    at->dist_id = fr_arena_take(&l->arena, rows * (size_t)f->top * 4);
    at->dist_lp = fr_arena_take(&l->arena, rows * (size_t)f->top * 2);
    return fr_kv_open(&at->kv, &l->m->config, l->n_ctx, kv_type, err);
}

static fr_status open_samplers(fr_text_batch *l, fr_error *err) {
    const int n = fr_pool_threads(l->m->pool);
    fr_status st = FR_OK;
    if (!(l->samplers = fr_alloc_array((size_t)n, sizeof *l->samplers)))
        return fr_fail(err, FR_ENOMEM, "text batch: no memory");
    for (; l->n_samplers < n && !st; l->n_samplers++)
        st = fr_sampler_open(&l->samplers[l->n_samplers], l->m->kern, l->m->config.n_vocab, err);
    return st;
}

fr_status fr_text_batch_open(fr_text_batch **out, const fr_model *m, const fr_tokenizer *tokenizer,
                             const fr_shard_format *keep, const fr_text_batch_size *size,
                             fr_error *err) {
    const int n_members = size->n_members, n_ctx = size->n_ctx;
    assert(n_members > 0 && n_members <= FR_TEXT_BATCH_MAX && keep->top <= FR_SHARD_TOP);
    *out = NULL;
    fr_text_batch *l = fr_alloc_zero(sizeof *l);
    if (!l) return fr_fail(err, FR_ENOMEM, "text batch: no memory");
    *l = (fr_text_batch){.m = m, .tokenizer = tokenizer, .keep = *keep, .n_ctx = n_ctx};
    const fr_forward_limits limits = limits_of(keep, n_members, n_ctx);
    l->max_rows = limits.max_rows;
    fr_status st = fr_arena_open(&l->arena, arena_bytes(keep, n_members, n_ctx), "text batch", err);
    if (st) goto fail;
    l->members = fr_arena_take(&l->arena, (size_t)n_members * sizeof *l->members);
    l->kv = fr_arena_take(&l->arena, (size_t)n_members * sizeof *l->kv);
    l->rows = fr_arena_take(&l->arena, (size_t)l->max_rows * sizeof *l->rows);
    l->row_member = fr_arena_take(&l->arena, (size_t)l->max_rows * sizeof *l->row_member);
    l->tap_scratch =
        fr_arena_take(&l->arena, (size_t)keep->n_taps * (size_t)n_ctx * (size_t)keep->d * 2);
    for (; l->n_members < n_members; l->n_members++) {
        if ((st = place_member(l, &l->members[l->n_members], size->kv_type, err))) goto fail;
        l->kv[l->n_members] = &l->members[l->n_members].kv;
    }
    if ((st = fr_forward_open(&l->forward, m, &limits, err))) goto fail;
    if ((st = open_samplers(l, err))) goto fail;
    *out = l;
    return FR_OK;
fail:
    fr_text_batch_close(l);
    return st;
}

void fr_text_batch_close(fr_text_batch *l) {
    if (!l) return;
    for (int i = 0; i < l->n_samplers; i++)
        fr_sampler_close(&l->samplers[i]);
    fr_free(l->samplers);
    fr_forward_close(l->forward);
    for (int i = 0; i < l->n_members; i++)
        fr_kv_close(&l->members[i].kv);
    fr_arena_close(&l->arena);
    fr_free(l);
}

static bool member_is_sound(const fr_text_batch *l, const member *at) {
    if (!fr_kv_is_sound(&at->kv) || at->kv.n_scratch) return false;
    if (at->n_kept < 0 || at->n_kept > l->n_ctx || at->kv.n_committed > at->n_ids) return false;
    if (!at->busy) return true;
    return at->n_prompt >= 1 && at->n_prompt <= at->n_ids && at->n_ids <= at->n_end &&
           at->n_end <= l->n_ctx;
}

bool fr_text_batch_is_sound(const fr_text_batch *l) {
    if (l->n_members < 1 || l->n_members > FR_TEXT_BATCH_MAX) return false;
    if (l->n_rows < 0 || l->n_rows > l->max_rows) return false;
    for (int i = 0; i < l->n_members; i++)
        if (l->kv[i] != &l->members[i].kv || !member_is_sound(l, &l->members[i])) return false;
    return true;
}

fr_text_batch_stats fr_text_batch_report(const fr_text_batch *l) {
    return l->stats;
}

// ---------------------------------------------------------------- texts

static bool counts(const fr_batch_text *t, int row) { // the token after the row is the target's
    return t->answer && row + 1 < t->n && t->answer[row + 1];
}

// A row that was kept of the text before stays if all tokens up to it are the same and it has the
// distribution that is wanted now.
static int rows_kept(const member *at, const fr_batch_text *t) {
    int same = 0; // the last token's row gives the first new token, or is not needed
    while (same < at->n_kept && same < t->n - 1 && at->ids[same] == t->ids[same] &&
           (!counts(t, same) || at->flags[same] & FR_ROW_DISTRIBUTION))
        same++;
    return same;
}

// The first row whose distribution counts: the table of LongRoPE that it wants is the one to begin
// with.
static int first_dist(const fr_batch_text *t) {
    int row = 0;
    while (row < t->n - 1 && !counts(t, row))
        row++;
    return t->n_predict ? t->n - 1 : row;
}

// goes_on: the text is the one before and more. Another one may take from it only what does not
// depend on how long that was.
static void take_text(const fr_text_batch *l, member *at, const fr_batch_text *t, bool goes_on) {
    const bool stretched = fr_model_stretches(l->m, first_dist(t));
    if (!goes_on && (stretched || at->kv.stretched)) at->n_kept = 0;
    const int same = rows_kept(at, t);
    if (same < at->kv.n_committed) fr_kv_truncate(&at->kv, same);
    fr_kv_stretch(&at->kv, stretched);
    at->n_kept = same;
    memcpy(at->ids, t->ids, sizeof *t->ids * (size_t)t->n);
    // Rows that stay keep what they are: in a conversation's next turn the answers before it.
    for (int i = 0; i < t->n; i++) {
        if (i >= same) at->flags[i] = 0;
        if (counts(t, i)) at->flags[i] = FR_ROW_ANSWER | FR_ROW_DISTRIBUTION;
    }
    at->key = t->key;
    at->sampling = t->sampling;
    at->n_prompt = at->n_ids = t->n;
    at->n_end = t->n + t->n_predict;
    at->busy = true;
}

static bool writes(const member *at) {
    return at->n_end > at->n_prompt;
}

static bool is_at_end(const fr_text_batch *l, const member *at) {
    if (!writes(at)) return at->kv.n_committed + 1 >= at->n_ids; // the last token is only predicted
    if (at->n_ids == at->n_prompt) return false;
    return at->n_ids == at->n_end || fr_token_is_end(l->tokenizer, at->ids[at->n_ids - 1]);
}

// The member's text as a sample: all rows but that of the last token, which nothing follows.
static fr_sample sample_of(fr_text_batch *l, const member *at) {
    const int n = at->n_ids - 1, d = l->keep.d;
    fr_sample s = {.key = at->key, .n = n, .ids = at->ids, .flags = at->flags, .final = at->final};
    while (s.dist_first < n && !(at->flags[s.dist_first] & FR_ROW_DISTRIBUTION))
        s.dist_first++;
    s.dist_id = at->dist_id + (size_t)s.dist_first * (size_t)l->keep.top;
    s.dist_lp = at->dist_lp + (size_t)s.dist_first * (size_t)l->keep.top;
    for (int t = 0; t < l->keep.n_taps; t++)
        memcpy(l->tap_scratch + (size_t)t * (size_t)n * (size_t)d,
               at->tap + (size_t)t * (size_t)l->n_ctx * (size_t)d, (size_t)n * (size_t)d * 2);
    if (l->keep.n_taps) s.tap = l->tap_scratch;
    return s;
}

// A member at its text's end delivers it, and may get another turn; a free member takes the next
// text, if there is one. A text of one token ends where it begins.
static void refill(fr_text_batch *l, int i, const fr_text_batch_user *user) {
    member *at = &l->members[i];
    fr_batch_text text = {0};
    while (!at->busy || is_at_end(l, at)) {
        const bool goes_on = at->busy;
        if (goes_on) {
            const fr_sample s = sample_of(l, at);
            l->stats.texts++;
            at->busy = user->done(user->user, i, &s, at->n_prompt, &text);
        } else if (!(at->busy = user->next(user->user, i, &text))) {
            return;
        }
        if (at->busy) take_text(l, at, &text, goes_on);
    }
}

// ---------------------------------------------------------------- a pass

// A text that outgrows the table that its keys are rotated by is read again with the other one, as
// a session does it. What was kept of its rows stays.
static void stretch_member(const fr_text_batch *l, member *at) {
    if (fr_model_stretches(l->m, at->kv.n_committed)) fr_kv_stretch(&at->kv, true);
}

static void add_rows(fr_text_batch *l, int i, int most) {
    member *at = &l->members[i];
    int last = writes(at) ? at->n_ids : at->n_ids - 1; // rows to evaluate end here
    if (!at->kv.stretched && fr_model_stretches(l->m, last)) last = fr_model_stretch_at(l->m);
    int n = last - at->kv.n_committed;
    n = n < most ? n : most;
    at->first = l->n_rows;
    at->n_rows = n;
    for (int k = 0; k < n; k++) {
        const int row = at->kv.n_committed + k;
        uint8_t wants = FR_WANT_FINAL | (l->keep.n_taps ? FR_WANT_TAPS : 0);
        if (writes(at) && row == at->n_ids - 1)
            at->flags[row] = FR_ROW_ANSWER | FR_ROW_DISTRIBUTION;
        if (row >= at->n_kept && at->flags[row] & FR_ROW_DISTRIBUTION) wants |= FR_WANT_LOGITS;
        const int32_t parent = k ? l->n_rows - 1 : FR_PARENT_COMMITTED;
        l->rows[l->n_rows] = fr_row_token(at->ids[row], parent, wants);
        l->rows[l->n_rows].seq = i;
        l->row_member[l->n_rows++] = i;
    }
}

// Every member that waits for one token gets its row; the remaining rows go to members that read.
static void collect_rows(fr_text_batch *l) {
    l->n_rows = 0;
    for (int i = 0; i < l->n_members; i++) {
        member *at = &l->members[i];
        at->n_rows = 0;
        if (at->busy) stretch_member(l, at);
        if (at->busy && writes(at) && at->n_ids - at->kv.n_committed == 1) add_rows(l, i, 1);
    }
    for (int i = 0; i < l->n_members && l->n_rows < l->max_rows; i++)
        if (l->members[i].busy && !l->members[i].n_rows) add_rows(l, i, l->max_rows - l->n_rows);
}

static void to_half(uint16_t *to, const float *from, int n) {
    for (int i = 0; i < n; i++)
        to[i] = fr_f16_from_f32_sat(from[i]);
}

// Whether the row is the last one known of a member that writes: the next token comes of it.
static bool is_last(const member *at, int row) {
    return writes(at) && row == at->n_ids - 1;
}

static int32_t draw(fr_sampler *s, const member *at, float *logits) {
    fr_sampler_begin(s, &at->sampling, at->n_prompt);
    return fr_sampler_token(s, logits, at->ids, at->n_ids, at->n_ids);
}

// What a sample keeps of the pass' rows, and next tokens; rows shared among the threads.
static void keep_rows(void *arg, int thread, int n_threads) {
    fr_text_batch *l = arg;
    const int d = l->keep.d, top = l->keep.top;
    for (int r = thread; r < l->n_rows; r += n_threads) {
        member *at = &l->members[l->row_member[r]];
        const size_t row = (size_t)(at->kv.n_committed + r - at->first);
        const float *final = fr_forward_final(l->forward, r);
        l->broken[r] = !fr_are_finite(final, d);
        if (row < (size_t)at->n_kept) continue;
        to_half(at->final + row * (size_t)d, final, d);
        for (int t = 0; t < l->keep.n_taps; t++)
            to_half(at->tap + ((size_t)t * (size_t)l->n_ctx + row) * (size_t)d,
                    fr_forward_tap(l->forward, t, r), d);
        if (!(l->rows[r].wants & FR_WANT_LOGITS)) continue;
        float *logits = fr_forward_logits(l->forward, r);
        l->broken[r] |= !fr_are_logits(logits, l->keep.n_vocab);
        if (l->broken[r]) continue;
        fr_top_logprobs(logits, l->keep.n_vocab, top, at->dist_id + row * (size_t)top,
                        at->dist_lp + row * (size_t)top);
        if (is_last(at, (int)row)) at->next = draw(&l->samplers[thread], at, logits);
    }
}

static void finish_member(fr_text_batch *l, member *at) {
    int path[2 * FR_TEXT_BATCH_MAX];
    for (int k = 0; k < at->n_rows; k++)
        path[k] = fr_forward_slot(l->forward, at->first + k);
    if (!writes(at))
        for (int k = 0; k < at->n_rows; k++)
            l->stats.given += at->kv.n_committed + k >= at->n_kept &&
                              (at->flags[at->kv.n_committed + k] & FR_ROW_ANSWER) != 0;
    fr_kv_commit(&at->kv, path, at->n_rows);
    if (at->kv.n_committed > at->n_kept) at->n_kept = at->kv.n_committed;
    if (!writes(at) || at->kv.n_committed < at->n_ids) return;
    at->ids[at->n_ids++] = at->next;
    l->stats.written++;
}

// Nothing of a pass that gave no numbers is kept.
static fr_status check_rows(fr_text_batch *l, fr_error *err) {
    for (int r = 0; r < l->n_rows; r++) {
        if (!l->broken[r]) continue;
        const member *at = &l->members[l->row_member[r]];
        const int known = at->kv.n_committed + r - at->first + 1;
        const float *logits =
            l->rows[r].wants & FR_WANT_LOGITS ? fr_forward_logits(l->forward, r) : NULL;
        for (int i = 0; i < l->n_members; i++)
            fr_kv_drop_scratch(l->kv[i]);
        return fr_logits_refuse(logits, l->keep.n_vocab, known, err);
    }
    return FR_OK;
}

static fr_status run_pass(fr_text_batch *l, fr_error *err) {
    const double start = fr_seconds();
    const fr_pass pass = {.rows = l->rows,
                          .n_rows = l->n_rows,
                          .kv = l->kv,
                          .n_seq = l->n_members,
                          .taps = l->keep.taps,
                          .n_taps = l->keep.n_taps};
    fr_forward_run(l->forward, &pass);
    l->stats.pass_seconds += fr_seconds() - start;
    l->stats.passes++;
    l->stats.rows += (uint64_t)l->n_rows;
    fr_pool_run(l->m->pool, keep_rows, l);
    const fr_status st = check_rows(l, err);
    for (int i = 0; i < l->n_members && !st; i++)
        if (l->members[i].n_rows) finish_member(l, &l->members[i]);
    return st;
}

fr_status fr_text_batch_run(fr_text_batch *l, const fr_text_batch_user *user, fr_error *err) {
    const double start = fr_seconds(), before = l->stats.seconds;
    for (;;) {
        for (int i = 0; i < l->n_members; i++)
            refill(l, i, user);
        collect_rows(l);
        assert(fr_text_batch_is_sound(l));
        l->stats.seconds = before + fr_seconds() - start;
        if (!l->n_rows) return FR_OK;
        if (user->keep_going && !user->keep_going(user->user))
            return fr_fail(err, FR_EINTR, "interrupted");
        const fr_status st = run_pass(l, err);
        if (st) return st;
    }
}

double fr_text_batch_pass_seconds(fr_text_batch *l, int rows) {
    enum { TRIES = 5 };
    double best = 0;
    const fr_pass pass = {.rows = l->rows, .n_rows = rows, .kv = l->kv, .n_seq = l->n_members};
    for (int i = 0; i < rows; i++) {
        fr_kv_truncate(l->kv[i], l->kv[i]->n_committed < l->n_ctx ? l->kv[i]->n_committed : 0);
        l->rows[i] = fr_row_token(0, FR_PARENT_COMMITTED, FR_WANT_LOGITS | FR_WANT_FINAL);
        l->rows[i].seq = i;
    }
    for (int k = 0; k < TRIES; k++) {
        const double start = fr_seconds();
        fr_forward_run(l->forward, &pass);
        const double seconds = fr_seconds() - start;
        if (!k || seconds < best) best = seconds;
        for (int i = 0; i < rows; i++)
            fr_kv_drop_scratch(l->kv[i]);
    }
    return best;
}
