// session_group.c — sessions that share passes: a step is taken by all that have something to do.
// Their rows are merged into one pass in decode/step.c.
#include "base/alloc.h"
#include "base/sized.h"
#include "engine/session.h"

FR_SIZED_ENDS_WITH(fr_group_options, prompt_share);

static fr_status read_options(fr_group_options *o, const fr_engine *e,
                              const fr_group_options *options, fr_error *err) {
    const fr_status st = fr_sized_read(o, sizeof *o, options, "fr_group_options", err);
    if (st) return st;
    if (!o->n_ctx) o->n_ctx = e->model.config.n_ctx_train;
    if (!(o->prompt_share >= 0 && o->prompt_share <= 1000))
        return fr_fail(err, FR_EARG, "prompt-share: expected 0 to 1000, found %g",
                       (double)o->prompt_share);
    return fr_config_check_context(&e->model.config, o->n_ctx, err);
}

fr_status fr_group_open(fr_group **out, fr_engine *e, const fr_group_options *options,
                        fr_error *err) {
    fr_group_options o;
    *out = NULL;
    fr_status st = read_options(&o, e, options, err);
    if (st) return st;
    fr_group *g = fr_alloc_zero(sizeof *g);
    if (!g) return fr_fail(err, FR_ENOMEM, "group: cannot get %zu bytes", sizeof *g);
    g->n_keepers = 1;
    g->engine = e;
    g->n_ctx = g->batches.n_ctx = o.n_ctx;
    if ((st = fr_decoder_group_open(&g->decoders, &e->model, o.n_ctx, err))) {
        fr_free(g);
        return st;
    }
    fr_decoder_group_cost(g->decoders, e->profile ? &e->profile->cost : NULL);
    if (o.prompt_share > 0) g->decoders->read_times = o.prompt_share;
    fr_engine_keep(e);
    *out = g;
    return FR_OK;
}

const fr_group_pass *fr_group_last(const fr_group *g) {
    return &g->last;
}

void fr_group_close(fr_group *g) {
    if (!g || --g->n_keepers) return;
    fr_engine *e = g->engine;
    fr_decoder_group_close(g->decoders);
    fr_free(g);
    fr_engine_close(e);
}

bool fr_group_is_free(const fr_group *g) {
    for (int i = 0; i < g->n_sessions; i++)
        if (g->session[i]->work.inside) return false;
    return !g->at_work;
}

fr_status fr_group_add(fr_group *g, fr_session *s, int n_ctx, fr_error *err) {
    if (g->engine != s->engine)
        return fr_fail(err, FR_EARG, "session: expected a group of the same engine");
    if (!fr_group_is_free(g))
        return fr_fail(err, FR_EARG, "session: no session joins a group within `stream`");
    if (n_ctx > g->n_ctx)
        return fr_fail(err, FR_EARG,
                       "session: expected a context of at most the group's %d tokens, "
                       "found %d",
                       g->n_ctx, n_ctx);
    if (g->n_sessions == FR_GROUP_MEMBERS)
        return fr_fail(err, FR_EUNSUP, "group: expected at most %d sessions", FR_GROUP_MEMBERS);
    g->session[g->n_sessions++] = s;
    g->n_keepers++;
    s->group = g;
    return FR_OK;
}

void fr_group_remove(fr_group *g, fr_session *s) {
    int n = 0;
    for (int i = 0; i < g->n_sessions; i++)
        if (g->session[i] != s) g->session[n++] = g->session[i];
    g->n_sessions = n;
    fr_group_close(g);
}

// ---------------------------------------------------------------- a step

void fr_session_pause(fr_session *s, bool paused) {
    s->paused = paused;
}

void fr_session_order(fr_session *s, int order) {
    s->decoder.order = order;
}

// Frees sessions that were closed within the step.
static void close_deferred(fr_group *g) {
    for (int i = 0; i < g->n_sessions;) {
        fr_session *s = g->session[i];
        if (s->work.closed && !s->work.holds)
            fr_session_close(s); // which takes it out
        else
            i++;
    }
}

static bool step(fr_group *g) {
    fr_session *taking[FR_GROUP_MEMBERS];
    int n = 0;
    bool more = false;
    for (int i = 0; i < g->n_sessions; i++)
        if (!g->session[i]->paused && fr_generation_prepare(&g->session[i]->run))
            taking[n++] = g->session[i];
    g->last = (fr_group_pass){0};
    if (n && fr_decoder_group_step(g->decoders))
        g->last = (fr_group_pass){n, g->decoders->n_rows, g->decoders->seconds_pass,
                                  g->decoders->seconds_predicted};
    for (int i = 0; i < n; i++) {
        fr_generation_settle(&taking[i]->run);
        more |= !taking[i]->run.over;
    }
    return more;
}

bool fr_group_step(fr_group *g) {
    if (!fr_group_is_free(g)) return false;
    g->n_keepers++; // `stream` may close the group and its sessions
    g->at_work = true;
    const bool more = step(g);
    g->at_work = false;
    close_deferred(g);
    fr_group_close(g);
    return more;
}

bool fr_group_has(const fr_group *g, const fr_session *s) {
    for (int i = 0; i < g->n_sessions; i++)
        if (g->session[i] == s) return true;
    return false;
}
