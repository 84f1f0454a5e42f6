// session.c — opens a session with its drafter. A generation checks the request, reads the prompt,
// steps while text is delivered, and finishes the text and the statistics.
#include "base/clock.h"
#include "draft/registry.h"
#include "engine/auto.h"
#include "engine/engine.h"
#include "text/stop.h"
#include "text/stream.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One generation: tokens become bytes, bytes pass the stop strings, and what is left becomes whole
// UTF-8 for the stream and the result. `request` is NULL where no generation is at work.
typedef struct generation {
    fr_session *s;
    const fr_request *request;
    fr_stop *stop;
    fr_stream utf8;
    fr_piece piece;
    fr_result *result;
    fr_status status;       // of handing text out, or what is wrong with the model's numbers,
    fr_error err;           // ... and its sentence
    bool over;              // no step is left
    double seconds;         // of the steps so far
    char *filtered, *clean; // room for one piece at either stage
} generation;

struct fr_session {
    fr_engine *engine;
    fr_decoder decoder;
    fr_drafter *drafter;
    char used[64];
    const char *reason; // why the drafter is what it is
    int32_t *tokens;    // [n_ctx + 1] of the last generation
    fr_buffer text;     // of the last generation
    generation run;
};

// ---------------------------------------------------------------- open and close

static fr_status open_drafter(fr_session *s, const fr_session_options *o, int n_ctx,
                              fr_error *err) {
    const bool any = !o->drafter || !strcmp(o->drafter, "auto");
    s->reason = "asked for";
    fr_drafter_config config = {.model = &s->engine->model,
                                .tokenizer = s->engine->tokenizer,
                                .n_ctx = n_ctx,
                                .no_adapt = o->no_adapt,
                                .options = o->draft_opts};
    if (!any) return fr_drafter_open(&s->drafter, s->used, o->drafter, &config, err);
    const char *spec = fr_auto_spec(s->engine, &s->reason);
    fr_status st = fr_drafter_open(&s->drafter, s->used, spec, &config, err);
    // A choice of `auto` that cannot be opened is not the caller's fault (a pack, draft model or
    // datastore may be gone since, or be damaged), so the next best is tried. With options there is
    // no such fallback: they ask for the drafter that they belong to.
    while (st && st != FR_ENOMEM && !o->draft_opts && strcmp(spec, FR_DRAFTER_AUTO)) {
        const bool known = fr_auto_forget(s->engine, spec);
        spec = known ? fr_auto_spec(s->engine, &s->reason) : FR_DRAFTER_AUTO;
        s->reason = "what is predicted to be fastest cannot be opened";
        st = fr_drafter_open(&s->drafter, s->used, spec, &config, err);
    }
    return st;
}

fr_status fr_session_open(fr_session **out, fr_engine *e, const fr_session_options *options,
                          fr_error *err) {
    static const fr_session_options defaults = {0};
    const fr_session_options *o = options ? options : &defaults;
    const int n_ctx = o->n_ctx ? o->n_ctx : e->model.config.n_ctx_train;
    fr_tree_size size;
    fr_status st;
    *out = NULL;
    if ((st = fr_config_check_context(&e->model.config, n_ctx, err))) return st;
    if ((st = fr_tree_size_read(&size, o->tree, err))) return st;
    fr_acceptance accept;
    if ((st = fr_acceptance_read(&accept, o->accept, err))) return st;
    fr_kv_type kv_type;
    if ((st = fr_kv_type_of(&kv_type, o->kv_type, err))) return st;
    fr_session *s = fr_alloc_zero(sizeof *s);
    if (!s) return fr_fail(err, FR_ENOMEM, "session: cannot get %zu bytes", sizeof *s);
    s->engine = e;
    if ((st = open_drafter(s, o, n_ctx, err))) goto fail;
    if ((st = fr_decoder_open(&s->decoder, &e->model, n_ctx, kv_type, &s->drafter->needs, err)))
        goto fail;
    s->decoder.drafter = s->drafter;
    s->decoder.size = size;
    s->decoder.rule = accept.rule;
    s->decoder.typical = accept.typical;
    fr_budget_open(&s->decoder.budget, e->profile ? &e->profile->cost : NULL, !o->no_adapt);
    if (!(s->tokens = fr_alloc_array((size_t)n_ctx + 1, sizeof *s->tokens))) {
        st = fr_fail(err, FR_ENOMEM, "session: cannot get memory for %d tokens", n_ctx);
        goto fail;
    }
    *out = s;
    return FR_OK;
fail:
    fr_session_close(s);
    return st;
}

static bool generation_is_sound(const generation *g, const fr_session *s) {
    if (!g->request) return !g->stop && !g->filtered && !g->clean;
    return g->s == s && g->stop && g->filtered && g->clean && g->result &&
           g->result->n_tokens >= 0 && g->result->n_tokens <= s->decoder.n_ctx &&
           fr_stop_is_sound(g->stop) && fr_stream_is_sound(&g->utf8);
}

bool fr_session_is_sound(const fr_session *s) {
    return s->engine && s->tokens && s->decoder.drafter == s->drafter &&
           s->decoder.model == &s->engine->model && fr_buffer_is_sound(&s->text) &&
           generation_is_sound(&s->run, s) && fr_decoder_is_sound(&s->decoder);
}

void fr_session_watch(fr_session *s, fr_watch_fn *watch, void *user) {
    s->decoder.watch = watch;
    s->decoder.watch_user = user;
}

// Drops the measured cost if this session's passes contradict it, so that it is measured anew when
// it is next asked for.
static void forget_cost(fr_session *s) {
    fr_error unkept;
    fr_profile *p = s->engine->profile;
    if (!p || !p->cost.n || !fr_budget_disagrees(&s->decoder.budget)) return;
    p->cost.n = 0;
    fr_engine_keep_profile(s->engine, &unkept); // else the next process finds out again
}

static void close_run(generation *g) {
    fr_free(g->filtered);
    fr_free(g->clean);
    fr_stop_close(g->stop);
    *g = (generation){0};
}

void fr_session_close(fr_session *s) {
    if (!s) return;
    forget_cost(s);
    close_run(&s->run);
    fr_free(s->tokens);
    fr_buffer_free(&s->text);
    fr_decoder_close(&s->decoder);
    fr_drafter_close(s->drafter);
    fr_free(s);
}

// ---------------------------------------------------------------- one generation

// Asks the listener whether to go on where there is no text to deliver.
static bool keep_going(void *user) {
    const fr_request *r = user;
    return !r->stream || r->stream(r->user, &(fr_piece){.text = "", .token = -1});
}

static bool deliver_text(generation *g, size_t bytes) {
    if (!bytes) return true;
    if ((g->status = fr_buffer_add(&g->s->text, g->clean, bytes, &g->err))) return false;
    g->piece.text = g->clean;
    g->piece.bytes = bytes;
    return !g->request->stream || g->request->stream(g->request->user, &g->piece);
}

static bool emit(void *user, int32_t token, const fr_node *node) {
    generation *g = user;
    fr_result *r = g->result;
    const fr_tokenizer *t = g->s->engine->tokenizer;
    g->s->tokens[r->n_tokens++] = token;
    g->piece = (fr_piece){
        .token = token, .depth = node ? node->depth : 0, .drafter = node ? node->drafter : 0};
    if (fr_token_is_end(t, token) && !g->request->ignore_eos) {
        r->stats.finish = FR_FINISH_STOP;
        return false;
    }
    size_t n, passed = 0;
    const char *bytes = fr_token_shown(t, token, &n);
    bool stopped = n && fr_stop_push(g->stop, bytes, n, g->filtered, &passed);
    size_t clean = fr_stream_push(&g->utf8, g->filtered, passed, g->clean);
    bool go_on = clean ? deliver_text(g, clean) : keep_going((void *)(uintptr_t)g->request);
    if (stopped)
        r->stats.finish = FR_FINISH_STOP;
    else if (!go_on)
        r->stats.finish = FR_FINISH_INTERRUPTED;
    return go_on && !stopped;
}

static void finish_text(generation *g) {
    size_t held = fr_stop_finish(g->stop, g->filtered);
    deliver_text(g, fr_stream_push(&g->utf8, g->filtered, held, g->clean));
    if (!g->status) deliver_text(g, fr_stream_finish(&g->utf8, g->clean));
}

static fr_status check_request(const fr_session *s, const fr_request *r, fr_error *err) {
    int n_ctx = s->decoder.n_ctx, n_vocab = s->engine->model.config.n_vocab;
    if (r->n_prompt < 1)
        return fr_fail(err, FR_EARG, "prompt: expected at least one token, found none");
    if (r->n_prompt >= n_ctx)
        return fr_fail(err, FR_ECONTEXT,
                       "prompt: expected less than the context of %d tokens, found %d", n_ctx,
                       r->n_prompt);
    if (r->n_predict < -1)
        return fr_fail(err, FR_EARG, "n-predict: expected -1 or more, found %d", r->n_predict);
    for (int i = 0; i < r->n_prompt; i++)
        if (r->prompt[i] < 0 || r->prompt[i] >= n_vocab)
            return fr_fail(err, FR_EARG, "prompt: expected token ids below %d, found %d at %d",
                           n_vocab, r->prompt[i], i);
    return fr_sampler_check(&r->sampling, err);
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

static fr_status open_run(fr_session *s, const fr_request *request, fr_result *out, fr_error *err) {
    generation *g = &s->run;
    *g = (generation){.s = s, .request = request, .result = out};
    const fr_status st = fr_stop_open(&g->stop, request->stop, err);
    if (st) return st;
    const size_t filtered = fr_stop_room(g->stop, fr_token_longest(s->engine->tokenizer));
    g->filtered = fr_alloc_zero(filtered);
    g->clean = fr_alloc_zero(FR_STREAM_ROOM(filtered));
    if (g->filtered && g->clean) return FR_OK;
    return fr_fail(err, FR_ENOMEM, "generation: cannot get %zu bytes", filtered);
}

fr_status fr_session_begin(fr_session *s, const fr_request *request, fr_result *out,
                           fr_error *err) {
    if (s->run.request)
        return fr_fail(err, FR_EARG, "session: a generation is at work; end it first");
    assert(fr_session_is_sound(s));
    *out = (fr_result){.tokens = s->tokens, .text = ""};
    fr_status st = check_request(s, request, err);
    if (st) return st;
    s->text.n = 0;
    st = open_run(s, request, out, err);
    if (!st)
        st = fr_decoder_prompt(&s->decoder, request->prompt, request->n_prompt, &request->sampling,
                               keep_going, (void *)(uintptr_t)request, err);
    if (st && st != FR_EINTR) {
        close_run(&s->run);
        return st;
    }
    s->run.over = st == FR_EINTR;
    out->stats.finish = st ? FR_FINISH_INTERRUPTED : FR_FINISH_LENGTH;
    return FR_OK;
}

bool fr_session_step(fr_session *s) {
    generation *g = &s->run;
    fr_decoder *d = &s->decoder;
    if (!g->request || g->over) return false;
    const int wanted = g->request->n_predict;
    int left = d->n_ctx - d->n_ids;
    if (wanted >= 0 && wanted - g->result->n_tokens < left) left = wanted - g->result->n_tokens;
    const double start = fr_seconds();
    const int before = g->result->n_tokens;
    g->over = left < 1 || !fr_decoder_step(d, left, emit, g);
    if (!g->over && g->result->n_tokens == before &&
        !keep_going((void *)(uintptr_t)g->request)) { // a part of the text was read again
        g->result->stats.finish = FR_FINISH_INTERRUPTED;
        g->over = true;
    }
    if (g->over && !g->status) finish_text(g);
    if (!g->status) g->status = fr_decoder_fault(d, &g->err); // what came before it is handed out
    g->seconds += fr_seconds() - start;
    assert(fr_session_is_sound(s));
    return !g->over;
}

fr_status fr_session_end(fr_session *s, fr_error *err) {
    generation *g = &s->run;
    assert(g->request);
    fr_result *out = g->result;
    const fr_finish finish = g->over ? out->stats.finish : FR_FINISH_INTERRUPTED;
    if (!g->over && !g->status) finish_text(g);
    const fr_status st = g->status;
    if (st && err) *err = g->err;
    out->stats = s->decoder.stats;
    out->stats.finish = finish;
    out->stats.seconds_decode = g->seconds;
    const fr_drafter *d = s->decoder.drafter;
    d->ops->report(d, &out->stats.draft);
    explain(s, &out->stats);
    memcpy(out->stats.used, s->used, sizeof out->stats.used);
    out->text = s->text.n ? s->text.data : "";
    out->text_bytes = s->text.n;
    close_run(g);
    assert(fr_session_is_sound(s));
    return st;
}

fr_status fr_session_adopt(fr_session *s, const fr_session *from, fr_error *err) {
    if (s->run.request)
        return fr_fail(err, FR_EARG, "session: a generation is at work; end it first");
    if (s->engine != from->engine)
        return fr_fail(err, FR_EARG, "session: expected one of the same engine, found another's");
    if (s->decoder.kv.type != from->decoder.kv.type)
        return fr_fail(err, FR_EARG, "session: expected one with the same kv-type, found another");
    if (s != from) fr_decoder_adopt(&s->decoder, &from->decoder);
    assert(fr_session_is_sound(s));
    return FR_OK;
}

fr_status fr_session_generate(fr_session *s, const fr_request *request, fr_result *out,
                              fr_error *err) {
    const fr_status st = fr_session_begin(s, request, out, err);
    if (st) return st;
    while (fr_session_step(s)) {
    }
    return fr_session_end(s, err);
}
