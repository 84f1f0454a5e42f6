// group.c — opens what members share; members come, begin a text, and go.
#include "decode/group.h"
#include "base/alloc.h"
#include <assert.h>

fr_cost fr_guessed_cost(const fr_model *m) {
    const fr_experts *e = &m->config.experts;
    const uint64_t head = m->head.panel_bytes * (uint64_t)m->head.n_panels;
    const int layers = fr_expert_layers(&m->config);
    if (!layers) return fr_cost_guess(0, 0, 0, 0);
    return fr_cost_guess(e->n, e->used, layers,
                         (double)m->expert_bytes / (double)(m->row_bytes - head));
}

void fr_decoder_group_cost(fr_decoder_group *g, const fr_cost *cost) {
    const fr_cost guess = fr_guessed_cost(g->model);
    fr_budget_open(&g->budget, cost, &guess);
}

static fr_status open_group(fr_decoder_group **out, const fr_model *m,
                            const fr_forward_limits *limits, int rooms, fr_error *err) {
    fr_decoder_group *g = fr_alloc_zero(sizeof *g);
    fr_status st = FR_OK;
    *out = NULL;
    if (!g) return fr_fail(err, FR_ENOMEM, "group: cannot get %zu bytes", sizeof *g);
    g->model = m;
    g->read_times = FR_PROMPT_SHARE; // 4, if predictions are a tenth low
    g->max_taps = limits->max_taps;
    fr_decoder_group_cost(g, NULL);
    for (; g->n_rooms < rooms && !st; g->n_rooms += !st)
        st = fr_verify_room_open(&g->room[g->n_rooms], m->kern, m->config.n_vocab, err);
    if (!st) st = fr_forward_open(&g->forward, m, limits, err);
    if (st)
        fr_decoder_group_close(g);
    else
        *out = g;
    return st;
}

fr_status fr_decoder_group_open(fr_decoder_group **out, const fr_model *m, int n_ctx,
                                fr_error *err) {
    const fr_forward_limits limits = {
        .max_logits = fr_most_rows(&m->config), .max_taps = FR_GROUP_TAPS, .n_ctx = n_ctx};
    const int threads = fr_pool_threads(m->pool);
    return open_group(out, m, &limits, threads < FR_GROUP_ROOMS ? threads : FR_GROUP_ROOMS, err);
}

fr_status fr_decoder_group_open_one(fr_decoder_group **out, const fr_model *m, int n_ctx,
                                    const fr_needs *needs, fr_error *err) {
    const int taps = needs->n_taps > needs->own_taps ? needs->n_taps : needs->own_taps;
    const fr_forward_limits limits = {
        .max_logits = FR_TREE_MAX + needs->attached_logits, .max_taps = taps, .n_ctx = n_ctx};
    return open_group(out, m, &limits, 1, err);
}

fr_status fr_decoder_group_score(fr_decoder_group *g, fr_error *err) {
    fr_status st = FR_OK;
    for (int i = 0; i < g->n_rooms && !st; i++)
        st = fr_verify_room_score(&g->room[i], err);
    return st;
}

void fr_decoder_group_close(fr_decoder_group *g) {
    if (!g) return;
    assert(!g->n_members);
    fr_forward_close(g->forward);
    for (int i = 0; i < g->n_rooms; i++)
        fr_verify_room_close(&g->room[i]);
    fr_free(g);
}

// Layers that the members' drafters and one of these needs read together.
static int layers_read(const fr_decoder_group *g, const fr_needs *needs) {
    bool read[FR_MAX_LAYERS + 1] = {false};
    int n = 0;
    for (int i = 0; i <= g->n_members; i++) {
        const fr_needs *of = i < g->n_members ? &g->member[i]->drafter->needs : needs;
        for (int t = 0; t < of->n_taps; t++) {
            n += !read[of->taps[t]];
            read[of->taps[t]] = true;
        }
    }
    return n;
}

// The same of maps, of which drafters with one pack have the same.
static int maps_read(const fr_decoder_group *g, const fr_needs *needs) {
    int n = needs->n_maps;
    for (int i = 0; i < g->n_members; i++) {
        const fr_needs *of = &g->member[i]->drafter->needs;
        bool new = of->n_maps && !(needs->n_maps && of->maps[0].panels == needs->maps[0].panels);
        for (int k = 0; k < i && new; k++) {
            const fr_needs *before = &g->member[k]->drafter->needs;
            new = !before->n_maps || before->maps[0].panels != of->maps[0].panels;
        }
        if (new) n += of->n_maps;
    }
    return n;
}

fr_status fr_decoder_group_add(fr_decoder_group *g, fr_decoder *d, const fr_needs *needs,
                               fr_error *err) {
    if (g->n_members == FR_GROUP_MEMBERS)
        return fr_fail(err, FR_EUNSUP, "group: expected at most %d members", FR_GROUP_MEMBERS);
    if (layers_read(g, needs) > g->max_taps || needs->own_taps > g->max_taps ||
        maps_read(g, needs) > FR_GROUP_MAPS)
        return fr_fail(err, FR_EUNSUP,
                       "group: expected drafters that read at most %d layers of the model and have "
                       "%d maps together, found more",
                       g->max_taps, FR_GROUP_MAPS);
    g->member[g->n_members++] = d;
    d->group = g;
    return FR_OK;
}

// Alone a text begins with an account of its own. Among others it adds to the common one what a
// text may lose; what was gained before counts for little, as it was not gained by this text.
void fr_decoder_group_begin(fr_decoder *d) {
    d->overtaken = 0;
    fr_budget *p = &d->group->budget;
    if (!d->alone) {
        fr_budget_join(p, d->drafter->allowance, d->n_ids);
        return;
    }
    fr_budget_begin(p);
    if (d->drafter->allowance > 0) p->allowance = d->drafter->allowance;
}

void fr_decoder_group_remove(fr_decoder_group *g, fr_decoder *d) {
    int n = 0;
    for (int i = 0; i < g->n_members; i++)
        if (g->member[i] != d) g->member[n++] = g->member[i];
    g->n_members = n;
    d->group = NULL;
}

bool fr_decoder_group_is_sound(const fr_decoder_group *g) {
    if (g->n_members < 0 || g->n_members > FR_GROUP_MEMBERS || !fr_budget_is_sound(&g->budget))
        return false;
    for (int i = 0; i < g->n_members; i++)
        if (g->member[i]->group != g || !fr_decoder_is_sound(g->member[i])) return false;
    return true;
}
