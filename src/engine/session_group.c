// session_group.c — sessions that share passes: a step is taken by all that have something to do.
// Their rows are merged into one pass in decode/group.c.
#include "base/alloc.h"
#include "engine/session.h"

fr_status fr_group_open(fr_group **out, fr_engine *e, int n_ctx, fr_error *err) {
    *out = NULL;
    if (!n_ctx) n_ctx = e->model.config.n_ctx_train;
    fr_status st = fr_config_check_context(&e->model.config, n_ctx, err);
    if (st) return st;
    fr_group *g = fr_alloc_zero(sizeof *g);
    if (!g) return fr_fail(err, FR_ENOMEM, "group: cannot get %zu bytes", sizeof *g);
    g->engine = e;
    g->n_ctx = g->batches.n_ctx = n_ctx;
    if ((st = fr_decoder_group_open(&g->decoders, &e->model, n_ctx, err))) {
        fr_free(g);
        return st;
    }
    fr_budget_open(&g->decoders->budget, e->profile ? &e->profile->cost : NULL);
    *out = g;
    return FR_OK;
}

void fr_group_close(fr_group *g) {
    if (!g) return;
    fr_decoder_group_close(g->decoders);
    fr_free(g);
}

fr_status fr_group_add(fr_group *g, fr_session *s, int n_ctx, fr_error *err) {
    if (g->engine != s->engine)
        return fr_fail(err, FR_EARG, "session: expected a group of the same engine");
    if (n_ctx > g->n_ctx)
        return fr_fail(err, FR_EARG,
                       "session: expected a context of at most the group's %d tokens, "
                       "found %d",
                       g->n_ctx, n_ctx);
    if (g->n_sessions == FR_GROUP_MEMBERS)
        return fr_fail(err, FR_EUNSUP, "group: expected at most %d sessions", FR_GROUP_MEMBERS);
    g->session[g->n_sessions++] = s;
    s->group = g;
    return FR_OK;
}

void fr_group_remove(fr_group *g, fr_session *s) {
    int n = 0;
    for (int i = 0; i < g->n_sessions; i++)
        if (g->session[i] != s) g->session[n++] = g->session[i];
    g->n_sessions = n;
}

bool fr_group_step(fr_group *g) {
    fr_session *taking[FR_GROUP_MEMBERS];
    int n = 0;
    bool more = false;
    for (int i = 0; i < g->n_sessions; i++)
        if (fr_generation_prepare(&g->session[i]->run)) taking[n++] = g->session[i];
    if (n) fr_decoder_group_step(g->decoders);
    for (int i = 0; i < n; i++) {
        fr_generation_settle(&taking[i]->run);
        more |= !taking[i]->run.over;
    }
    return more;
}
