// generation.c — one generation: reads the prompt, steps while text is delivered, and finishes
// the text and the statistics.
#include "base/clock.h"
#include "engine/session.h"
#include <assert.h>
#include <string.h>

// Calls the listener without text, so that it can end the generation.
static bool keep_going(const fr_generation *g) {
    const fr_request *r = &g->request;
    return !r->stream || r->stream(r->user, &(fr_piece){.text = "", .token = -1});
}

static bool deliver_text(fr_generation *g, size_t bytes) {
    if (!bytes) return true;
    if ((g->status = fr_buffer_add(&g->s->text, g->clean, bytes, &g->err))) return false;
    g->piece.text = g->clean;
    g->piece.bytes = bytes;
    return !g->request.stream || g->request.stream(g->request.user, &g->piece);
}

// Puts the token's bytes through the stop strings, into g->filtered, and returns how many came out.
// Ends are no text, nor are control tokens that are not to be shown.
static size_t filter(fr_generation *g, int32_t token, bool end, bool *stopped) {
    const fr_tokenizer *t = g->s->engine->tokenizer;
    const fr_request *q = &g->request;
    const bool shown =
        !end && (!fr_token_is_control(t, token) || fr_is_listed(q->shown, q->n_shown, token));
    size_t n, passed = 0;
    const char *bytes = fr_token_bytes(t, token, &n);
    *stopped = n && (shown ? fr_stop_push : fr_stop_pass)(g->stop, bytes, n, g->filtered, &passed);
    return passed;
}

// The next token's score, which one of a known answer has not.
static void take_score(const fr_generation *g) {
    fr_session *s = g->s;
    const int at = g->request.n_prompt + s->result.n_tokens;
    if (!g->request.logprobs) return;
    if (g->known)
        s->logprobs_at[at] = NULL;
    else
        s->logprobs[at] = s->scores[s->result.n_tokens - g->before];
}

static bool emit(void *user, int32_t token, const fr_node *node) {
    fr_generation *g = user;
    fr_result *r = &g->s->result;
    const bool end = fr_token_is_end(g->s->engine->tokenizer, token);
    const bool listed = fr_is_listed(g->request.stop_tokens, g->request.n_stop_tokens, token);
    bool stopped;
    take_score(g);
    g->s->tokens[r->n_tokens++] = token;
    g->piece = (fr_piece){
        .token = token, .depth = node ? node->depth : 0, .drafter = node ? node->drafter : 0};
    const size_t passed = filter(g, token, end, &stopped);
    const size_t clean = fr_stream_push(&g->utf8, g->filtered, passed, g->clean);
    const bool go_on = clean ? deliver_text(g, clean) : end || keep_going(g);
    if (stopped) r->stopped_by = fr_stop_found(g->stop);
    if (listed && !stopped) r->stop_token = token;
    if (stopped || end || listed)
        g->s->stats.finish = FR_FINISH_STOP;
    else if (!go_on)
        g->s->stats.finish = FR_FINISH_INTERRUPTED;
    return go_on && !stopped && !end && !listed;
}

static void finish_text(fr_generation *g) {
    size_t held = fr_stop_finish(g->stop, g->filtered);
    deliver_text(g, fr_stream_push(&g->utf8, g->filtered, held, g->clean));
    if (!g->status) deliver_text(g, fr_stream_finish(&g->utf8, g->clean));
}

static void explain(const fr_session *s, fr_stats *stats) {
    if (fr_drafter_is_none(s->drafter))
        snprintf(stats->why, sizeof stats->why, "%s", s->reason);
    else if (stats->passes)
        snprintf(stats->why, sizeof stats->why,
                 "%s; %lld of %lld passes drafted, %.1f rows each on average", s->reason,
                 (long long)(stats->passes - stats->plain_passes), (long long)stats->passes,
                 (double)stats->rows / (double)stats->passes);
}

void fr_generation_close(fr_generation *g) {
    fr_free(g->bias);
    fr_free(g->filtered);
    fr_free(g->clean);
    fr_stop_close(g->stop);
    *g = (fr_generation){0};
}

static fr_status open_run(fr_generation *g, fr_error *err) {
    const fr_status st = fr_stop_open(&g->stop, g->request.stop, g->s->engine->tokenizer, err);
    if (st) return st;
    const size_t filtered = fr_stop_room(g->stop, fr_token_longest(g->s->engine->tokenizer));
    g->filtered = fr_alloc_zero(filtered);
    g->clean = fr_alloc_zero(FR_STREAM_ROOM(filtered));
    if (g->filtered && g->clean) return FR_OK;
    return fr_fail(err, FR_ENOMEM, "generation: cannot get %zu bytes", filtered);
}

// Room for the scores of all tokens, the prompt's first, each at a place of its own. The first
// token has none.
static fr_status open_score_room(fr_session *s, fr_error *err) {
    const size_t n = (size_t)s->decoder.n_ctx + 1;
    if (!s->scores) s->scores = fr_alloc_array(FR_TREE_MAX_DEPTH + 1, sizeof *s->scores);
    if (!s->logprobs) s->logprobs = fr_alloc_array(n, sizeof *s->logprobs);
    if (!s->logprobs_at) s->logprobs_at = fr_alloc_array(n, sizeof *s->logprobs_at);
    if (!s->scores || !s->logprobs || !s->logprobs_at)
        return fr_fail(err, FR_ENOMEM, "logprobs: cannot get memory for %zu tokens", n);
    for (size_t i = 1; i < n; i++)
        s->logprobs_at[i] = &s->logprobs[i];
    return FR_OK;
}

// Has the decoder score tokens where the request wants that. Where n_answer tokens of the answer
// are known, the prompt was scored before.
static fr_status open_scores(fr_session *s, const fr_request *request, int n_answer,
                             fr_error *err) {
    fr_decoder *d = &s->decoder;
    d->scores = d->prompt_scores = NULL;
    if (!request->logprobs && !request->prompt_logprobs) return FR_OK;
    fr_status st = open_score_room(s, err);
    if (!st) st = fr_decoder_group_score(d->group, err);
    if (st) return st;
    d->n_top = request->top_logprobs;
    d->drawn_scores = request->drawn_logprobs;
    if (request->logprobs) {
        d->scores = s->scores;
        s->result.logprobs = s->logprobs_at + request->n_prompt;
    }
    if (request->prompt_logprobs && !n_answer) {
        for (int i = 1; i < request->n_prompt; i++)
            s->logprobs_at[i] = NULL; // until they are read
        d->prompt_scores = s->logprobs;
        s->result.prompt_logprobs = s->logprobs_at;
        fr_decoder_forget(d); // known tokens need not be read, but were not scored
    }
    return FR_OK;
}

_Static_assert(sizeof(((fr_session *)0)->used) == sizeof(((fr_stats *)0)->used), "copied whole");

// ---------------------------------------------------------------- calls that hand out text

// Ends a call. A session that `stream` closed is freed here; the call's error reports that.
static fr_status leave(fr_session *s, fr_status st, fr_error *err) {
    s->work.inside = false;
    if (!s->work.closed || s->work.holds) return st;
    fr_session_close(s);
    return fr_fail(err, FR_EARG, "session: it was closed within `stream`");
}

static bool step_alone(fr_session *s);

// Sets the context to the prompt and the known part of its answer, and streams that part again.
static fr_status begin_text(fr_generation *g, const int32_t *answer, int n, fr_error *err) {
    const fr_request *r = &g->request;
    fr_decoder *d = &g->s->decoder;
    if (!n) {
        fr_decoder_begin(d, r->prompt, r->n_prompt, &g->sampling);
        return FR_OK;
    }
    if (n > d->n_ctx - r->n_prompt)
        return fr_fail(err, FR_ECONTEXT, "answer: expected at most %d tokens, found %d",
                       d->n_ctx - r->n_prompt, n);
    int32_t *ids = fr_alloc_array((size_t)(r->n_prompt + n), sizeof *ids);
    if (!ids) return fr_fail(err, FR_ENOMEM, "answer: no memory for %d tokens", n);
    memcpy(ids, r->prompt, sizeof *ids * (size_t)r->n_prompt);
    memcpy(ids + r->n_prompt, answer, sizeof *ids * (size_t)n);
    fr_decoder_begin(d, ids, r->n_prompt + n, &g->sampling);
    fr_free(ids);
    d->n_prompt = d->stats.prompt_tokens = r->n_prompt;
    g->known = true;
    for (int i = 0; i < n && !g->over; i++)
        g->over = !emit(g, answer[i], NULL);
    g->known = false;
    if (g->over && !g->status) finish_text(g);
    return g->status;
}

static fr_status begin(fr_session *s, const fr_request *request, const int32_t *answer, int n,
                       fr_error *err) {
    fr_generation *g = &s->run;
    if (g->begun) return fr_fail(err, FR_EARG, "session: a generation is at work; end it first");
    assert(fr_session_is_sound(s));
    atomic_store(&s->cancelled, false);
    s->text.n = 0;
    s->stats = (fr_stats){.finish = FR_FINISH_LENGTH};
    memcpy(s->stats.used, s->used, sizeof s->stats.used);
    s->result = (fr_result){
        .tokens = s->tokens, .text = "", .stats = &s->stats, .stopped_by = -1, .stop_token = -1};
    *g = (fr_generation){.s = s};
    fr_status st = fr_generation_read(g, request, err);
    if (!st) st = fr_generation_check_ids(g, "answer", answer, n, err);
    if (!st) st = open_run(g, err);
    if (!st) st = open_scores(s, &g->request, n, err);
    const double start = fr_seconds();
    if (!st) st = begin_text(g, answer, n, err);
    if (st) {
        fr_generation_close(g);
        return st;
    }
    g->begun = true;
    s->paused = false;
    s->decoder.stats.seconds_prompt = fr_seconds() - start;
    while (!s->group && !g->over && fr_decoder_reads(&s->decoder))
        step_alone(s);
    return FR_OK;
}

fr_status fr_session_begin_again(fr_session *s, const fr_request *request, const int32_t *answer,
                                 int n, fr_error *err) {
    const fr_status st = fr_session_check_free(s, err);
    if (st) return st;
    s->work.inside = true;
    return leave(s, begin(s, request, answer, n, err), err);
}

fr_status fr_session_begin(fr_session *s, const fr_request *request, fr_error *err) {
    return fr_session_begin_again(s, request, NULL, 0, err);
}

// ---------------------------------------------------------------- a step

static void stop_run(fr_generation *g) {
    g->s->stats.finish = FR_FINISH_INTERRUPTED;
    g->over = true;
}

bool fr_generation_prepare(fr_generation *g) {
    if (!g->begun || g->over) return false;
    fr_decoder *d = &g->s->decoder;
    const int wanted = g->request.n_predict;
    int left = d->n_ctx - d->n_ids;
    if (wanted >= 0 && wanted - g->s->result.n_tokens < left) left = wanted - g->s->result.n_tokens;
    fr_decoder_stretch(d);
    g->read = fr_decoder_reads(d);
    g->started = fr_seconds();
    g->before = g->s->result.n_tokens;
    if (!g->read && left < 1) {
        g->over = true;
    } else if (atomic_load(&g->s->cancelled) || (g->read && !keep_going(g))) {
        fr_decoder_shorten(d);
        stop_run(g);
    }
    if (g->over) {
        finish_text(g);
        return false;
    }
    d->turn = (fr_decoder_turn){.max_tokens = g->read ? 1 : left, .emit = emit, .user = g};
    return true;
}

// What counts along before the end.
static void tell_counts(fr_stats *to, const fr_stats *now) {
    to->passes = now->passes;
    to->rows = now->rows;
    to->plain_passes = now->plain_passes;
    to->predicted = now->predicted;
    to->predicted_plain = now->predicted_plain;
    memcpy(to->accepted, now->accepted, sizeof to->accepted);
    memcpy(to->seconds_by_rows, now->seconds_by_rows, sizeof to->seconds_by_rows);
    memcpy(to->predicted_by_rows, now->predicted_by_rows, sizeof to->predicted_by_rows);
}

// Shows the scores of the prompt's tokens that have been read: in a pass that broke, of those
// before the broken one.
static void show_scored(fr_generation *g) {
    fr_session *s = g->s;
    const fr_decoder *d = &s->decoder;
    const int read = d->broken ? d->broken_at - 1 : d->kv.n_committed;
    while (g->n_scored < g->request.n_prompt - 1 && g->n_scored < read) {
        g->n_scored++;
        s->logprobs_at[g->n_scored] = &s->logprobs[g->n_scored];
    }
}

void fr_generation_settle(fr_generation *g) {
    fr_decoder *d = &g->s->decoder;
    const double took = fr_seconds() - g->started;
    if (g->read && g->request.prompt_logprobs) show_scored(g);
    g->over = !d->go_on;
    if (g->over && !g->status) finish_text(g);
    if (!g->status) g->status = fr_decoder_fault(d, &g->err); // earlier text is delivered
    if (g->read && !g->before)
        d->stats.seconds_prompt += took;
    else
        g->seconds += took;
    tell_counts(&g->s->stats, &d->stats);
    assert(fr_session_is_sound(g->s));
}

static bool step_alone(fr_session *s) {
    if (fr_generation_prepare(&s->run)) {
        fr_decoder_group_step(s->decoder.group);
        fr_generation_settle(&s->run);
    }
    return fr_session_runs(s);
}

// `stream` may close the session and the group, so the group is kept open during the call.
static bool step_group(fr_session *s) {
    fr_group *g = s->group;
    g->n_keepers++;
    fr_group_step(g);
    const bool runs = fr_group_has(g, s) && fr_session_runs(s);
    fr_group_close(g);
    return runs;
}

bool fr_session_step(fr_session *s) {
    if (fr_session_check_free(s, NULL)) return false;
    if (s->group) return step_group(s);
    s->work.inside = true;
    const bool runs = step_alone(s);
    return !leave(s, FR_OK, NULL) && runs;
}

bool fr_session_runs(const fr_session *s) {
    return s->run.begun && !s->run.over;
}

static fr_status end(fr_session *s, fr_error *err) {
    fr_generation *g = &s->run;
    if (!g->begun) return fr_fail(err, FR_EARG, "session: no generation has begun");
    const fr_finish finish = g->over ? s->stats.finish : FR_FINISH_INTERRUPTED;
    if (!g->over && !g->status) finish_text(g);
    fr_decoder_shorten(&s->decoder); // where it is broken off while the prompt is read
    const fr_status st = g->status;
    if (st && err) *err = g->err;
    s->stats = s->decoder.stats;
    s->stats.finish = finish;
    s->stats.seconds_decode = g->seconds;
    const fr_drafter *d = s->decoder.drafter;
    d->ops->report(d, &s->stats.draft);
    explain(s, &s->stats);
    memcpy(s->stats.used, s->used, sizeof s->stats.used);
    s->result.text = s->text.n ? s->text.data : "";
    s->result.text_bytes = s->text.n;
    fr_generation_close(g);
    assert(fr_session_is_sound(s));
    return st;
}

fr_status fr_session_end(fr_session *s, fr_error *err) {
    const fr_status st = fr_session_check_free(s, err);
    if (st) return st;
    s->work.inside = true;
    return leave(s, end(s, err), err);
}

fr_status fr_session_generate(fr_session *s, const fr_request *request, const fr_result **out,
                              fr_error *err) {
    if (out) *out = &s->result;
    fr_status st = fr_session_check_free(s, err);
    if (st) return st;
    s->work.holds++;
    st = fr_session_begin(s, request, err);
    if (!st) {
        while (fr_session_step(s)) {
        }
        st = fr_session_end(s, err);
    }
    s->work.holds--;
    if (out && s->work.closed) *out = NULL;
    return leave(s, st, err);
}

void fr_session_cancel(fr_session *s) {
    atomic_store(&s->cancelled, true);
}

const fr_result *fr_session_result(const fr_session *s) {
    return &s->result;
}
