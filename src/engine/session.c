// session.c — opens a session with its drafter, and lets it take over what another one has read.
#define _GNU_SOURCE
#include "engine/session.h"
#include "base/plain_locale.h"
#include "base/sized.h"
#include "draft/registry.h"
#include "engine/auto.h"
#include <assert.h>
#include <string.h>

FR_SIZED_ENDS_WITH(fr_session_options, group);

static fr_status open_drafter(fr_session *s, const fr_session_options *o, int n_ctx,
                              fr_error *err) {
    const bool any = !o->drafter || !strcmp(o->drafter, "auto");
    s->reason = "asked for";
    fr_drafter_config config = {.model = &s->engine->model,
                                .tokenizer = s->engine->tokenizer,
                                .n_ctx = n_ctx,
                                .shared = &s->engine->shared,
                                .batches = o->group ? &o->group->batches : NULL,
                                .no_adapt = o->no_adapt,
                                .options = o->draft_opts};
    if (!any) return fr_drafter_open(&s->drafter, s->used, o->drafter, &config, err);
    const char *spec = fr_auto_spec(s->engine, &s->reason);
    fr_status st = fr_drafter_open(&s->drafter, s->used, spec, &config, err);
    // A choice of `auto` that cannot be opened is not the caller's fault (a pack, draft model or
    // datastore may be gone since, or be damaged), so the next best is tried. With options there is
    // no such fallback, because they belong to one drafter.
    while (st && st != FR_ENOMEM && !o->draft_opts && strcmp(spec, FR_DRAFTER_AUTO)) {
        const bool known = fr_auto_forget(s->engine, spec);
        spec = known ? fr_auto_spec(s->engine, &s->reason) : FR_DRAFTER_AUTO;
        s->reason = "what is predicted to be fastest cannot be opened";
        st = fr_drafter_open(&s->drafter, s->used, spec, &config, err);
    }
    return st;
}

static fr_status open_decoder(fr_session *s, fr_group *group, int n_ctx, fr_kv_type kv_type,
                              fr_error *err) {
    const fr_needs *needs = &s->drafter->needs;
    const fr_profile *profile = s->engine->profile;
    if (group) {
        const fr_status st = fr_group_add(group, s, n_ctx, err);
        return st ? st : fr_decoder_join(&s->decoder, group->decoders, n_ctx, kv_type, needs, err);
    }
    const fr_status st =
        fr_decoder_open(&s->decoder, &s->engine->model, n_ctx, kv_type, needs, err);
    if (!st) fr_decoder_group_cost(s->decoder.group, profile ? &profile->cost : NULL);
    return st;
}

typedef struct session_settings { // what a session's options mean
    fr_session_options as_given;
    fr_tree_size size;
    fr_acceptance accept;
    fr_kv_type kv_type;
    int n_ctx;
} session_settings;

static fr_status read_settings(session_settings *o, const fr_engine *e,
                               const fr_session_options *options, fr_error *err) {
    fr_session_options *given = &o->as_given;
    fr_status st = fr_sized_read(given, sizeof *given, options, "fr_session_options", err);
    if (st) return st;
    o->n_ctx = given->n_ctx ? given->n_ctx : e->model.config.n_ctx_train;
    st = fr_config_check_context(&e->model.config, o->n_ctx, err);
    if (!st) st = fr_tree_size_read(&o->size, given->tree, err);
    if (!st) st = fr_acceptance_read(&o->accept, given->accept, err);
    return st ? st : fr_kv_type_of(&o->kv_type, given->kv_type, err);
}

static fr_status open_session(fr_session **out, fr_engine *e, const fr_session_options *options,
                              fr_error *err) {
    session_settings o;
    fr_status st = read_settings(&o, e, options, err);
    if (st) return st;
    fr_session *s = fr_alloc_zero(sizeof *s);
    if (!s) return fr_fail(err, FR_ENOMEM, "session: cannot get %zu bytes", sizeof *s);
    fr_engine_keep(s->engine = e);
    s->result = (fr_result){.text = "", .stats = &s->stats, .stopped_by = -1, .stop_token = -1};
    if ((st = open_drafter(s, &o.as_given, o.n_ctx, err))) goto fail;
    if ((st = open_decoder(s, o.as_given.group, o.n_ctx, o.kv_type, err))) goto fail;
    s->decoder.drafter = s->drafter;
    s->decoder.size = o.size;
    s->decoder.accept = o.accept;
    s->decoder.adapt = !o.as_given.no_adapt;
    if (!(s->tokens = fr_alloc_array((size_t)o.n_ctx + 1, sizeof *s->tokens))) {
        st = fr_fail(err, FR_ENOMEM, "session: cannot get memory for %d tokens", o.n_ctx);
        goto fail;
    }
    s->result.tokens = s->tokens;
    *out = s;
    return FR_OK;
fail:
    fr_session_close(s);
    return st;
}

fr_status fr_session_open(fr_session **out, fr_engine *e, const fr_session_options *options,
                          fr_error *err) {
    const fr_plain_locale l = fr_plain_locale_set();
    *out = NULL;
    const fr_status st = open_session(out, e, options, err);
    fr_plain_locale_restore(l);
    return st;
}

static bool generation_is_sound(const fr_generation *g, const fr_session *s) {
    if (!g->begun) return !g->stop && !g->filtered && !g->clean;
    return g->s == s && g->stop && g->filtered && g->clean && s->result.n_tokens >= 0 &&
           s->result.n_tokens <= s->decoder.n_ctx && fr_stop_is_sound(g->stop) &&
           fr_stream_is_sound(&g->utf8);
}

bool fr_session_is_sound(const fr_session *s) {
    return s->engine && s->tokens && s->decoder.drafter == s->drafter &&
           s->decoder.model == &s->engine->model && s->result.tokens == s->tokens &&
           s->result.stats == &s->stats && fr_buffer_is_sound(&s->text) &&
           generation_is_sound(&s->run, s) && fr_decoder_is_sound(&s->decoder);
}

void fr_session_watch(fr_session *s, fr_watch_fn *watch, void *user) {
    s->decoder.watch = watch;
    s->decoder.watch_user = user;
}

void fr_session_hook(fr_session *s, fr_step_hook *hook) {
    assert(!hook || (!s->decoder.adapt && s->decoder.accept.rule == FR_RULE_EXACT));
    s->decoder.hook = hook;
}

bool fr_session_ask_everywhere(fr_session *s, fr_watch_fn *watch, const fr_dist_watch *dists,
                               void *user) {
    fr_session_watch(s, watch, user);
    s->decoder.size = (fr_tree_size){.nodes = 1};
    if (s->drafter->has_dists) s->drafter->watch = *dists;
    return s->drafter->has_dists;
}

// Drops the measured cost if this session's passes contradict it, so that it is measured anew at
// its next use.
static void forget_cost(fr_session *s) {
    fr_error unkept;
    fr_profile *p = s->engine->profile;
    if (!s->decoder.group || !p || !p->cost.n || !fr_budget_disagrees(&s->decoder.group->budget))
        return;
    p->cost.n = 0;
    fr_engine_keep_profile(s->engine, &unkept); // else the next process finds out again
}

fr_status fr_session_check_free(const fr_session *s, fr_error *err) {
    if (!s->work.inside && (!s->group || fr_group_is_free(s->group))) return FR_OK;
    return fr_fail(err, FR_EARG, "session: expected no call within `stream`; return from it first");
}

void fr_session_close(fr_session *s) {
    if (!s) return;
    if (s->work.inside || s->work.holds || (s->group && s->group->at_work)) {
        s->work.closed = true; // the call that is at work frees it at its end
        fr_session_cancel(s);
        return;
    }
    fr_engine *e = s->engine;
    forget_cost(s);
    fr_generation_close(&s->run);
    fr_free(s->tokens);
    fr_free(s->scores);
    fr_free(s->logprobs);
    fr_free(s->logprobs_at);
    fr_buffer_free(&s->text);
    fr_decoder_close(&s->decoder);
    if (s->group) fr_group_remove(s->group, s);
    fr_drafter_close(s->drafter);
    fr_free(s);
    fr_engine_close(e);
}

fr_status fr_session_adopt(fr_session *s, const fr_session *from, fr_error *err) {
    fr_status st = fr_session_check_free(s, err);
    if (!st) st = fr_session_check_free(from, err);
    if (st) return st;
    if (s->run.begun)
        return fr_fail(err, FR_EARG, "session: a generation is at work; end it first");
    if (s->engine != from->engine)
        return fr_fail(err, FR_EARG, "session: expected one of the same engine, found another's");
    if (s->decoder.kv.type != from->decoder.kv.type)
        return fr_fail(err, FR_EARG, "session: expected one with the same kv-type, found another");
    if (s != from) fr_decoder_adopt(&s->decoder, &from->decoder);
    assert(fr_session_is_sound(s));
    return FR_OK;
}

const int32_t *fr_session_context(const fr_session *s, int *n) {
    *n = s->decoder.kv.n_committed;
    return s->decoder.ids;
}

fr_status fr_session_forget(fr_session *s, fr_error *err) {
    const fr_status st = fr_session_check_free(s, err);
    if (st) return st;
    if (s->run.begun)
        return fr_fail(err, FR_EARG, "session: a generation is at work; end it first");
    fr_decoder_forget(&s->decoder);
    assert(fr_session_is_sound(s));
    return FR_OK;
}
