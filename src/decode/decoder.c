// decoder.c — opens a sequence's context, begins texts in it and takes texts over (adopt); steps it
// where it is by itself.
#include "decode/decoder.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "decode/group.h"
#include "model/finite.h"
#include <assert.h>
#include <limits.h>
#include <string.h>

// ---------------------------------------------------------------- open and close

fr_status fr_decoder_join(fr_decoder *d, fr_decoder_group *g, int n_ctx, fr_kv_type kv_type,
                          const fr_needs *needs, fr_error *err) {
    const fr_model *m = g->model;
    *d = (fr_decoder){.model = m,
                      .n_ctx = n_ctx,
                      .drafter = fr_drafter_none(),
                      .accept = {.typical = fr_typical_default}};
    fr_status st;
    if ((st = fr_kv_open(&d->kv, &m->config, n_ctx, kv_type, err))) goto fail;
    if (!(d->ids = fr_alloc_array((size_t)n_ctx + FR_TREE_MAX_DEPTH + 2, sizeof *d->ids))) {
        st = fr_fail(err, FR_ENOMEM, "context: cannot get memory for %d tokens", n_ctx);
        goto fail;
    }
    if ((st = fr_decoder_group_add(g, d, needs, err))) goto fail;
    return FR_OK;
fail:
    fr_decoder_close(d);
    return st;
}

fr_status fr_decoder_open(fr_decoder *d, const fr_model *m, int n_ctx, fr_kv_type kv_type,
                          const fr_needs *needs, fr_error *err) {
    fr_decoder_group *g;
    *d = (fr_decoder){0};
    fr_status st = fr_decoder_group_open_one(&g, m, n_ctx, needs, err);
    if (st) return st;
    if ((st = fr_decoder_join(d, g, n_ctx, kv_type, needs, err)))
        fr_decoder_group_close(g);
    else
        d->alone = true;
    return st;
}

void fr_decoder_close(fr_decoder *d) {
    fr_decoder_group *g = d->group;
    if (g) fr_decoder_group_remove(g, d);
    if (d->alone) fr_decoder_group_close(g);
    fr_free(d->ids);
    fr_kv_close(&d->kv);
    *d = (fr_decoder){0};
}

bool fr_decoder_is_sound(const fr_decoder *d) {
    if (!d->model || !d->group || !d->ids || d->n_ids < 0 || d->n_ids > d->n_ctx) return false;
    if (d->kv.n_committed > d->n_ids || d->kv.n_scratch || d->kv.n_ctx != d->n_ctx) return false;
    if (d->n_shown < 0 || d->n_shown > d->n_ids) return false;
    for (int i = 0; i < d->n_ids; i++)
        if (d->ids[i] < 0 || d->ids[i] >= d->model->config.n_vocab) return false;
    return fr_kv_is_sound(&d->kv) && fr_budget_is_sound(&d->group->budget) &&
           fr_drafter_is_sound(d->drafter);
}

fr_context fr_decoder_context(const fr_decoder *d) {
    return (fr_context){.model = d->model,
                        .forward = d->group->forward,
                        .places = d->places,
                        .tap = d->tap,
                        .kv = (fr_kv *)(uintptr_t)&d->kv,
                        .ids = d->ids,
                        .n_ids = d->n_ids,
                        .sampling = &d->sampling,
                        .rule = d->accept.rule,
                        .budget = &d->group->budget,
                        .clock = (fr_draft_clock *)(uintptr_t)&d->draft_clock};
}

float *fr_decoder_logits(const fr_decoder *d, int node) {
    return fr_forward_logits(d->group->forward, fr_row_place(d->places, node));
}

int fr_decoder_in_pass(const fr_decoder *d) {
    return d->hook ? d->hook->n_rows : d->n_rows;
}

// ---------------------------------------------------------------- texts

static int in_common(const fr_decoder *d, const int32_t *ids, int n) {
    int same = 0;
    while (same < n && same < d->n_ids && d->ids[same] == ids[same])
        same++;
    return same;
}

void fr_decoder_adopt(fr_decoder *d, const fr_decoder *from) {
    const int n = from->kv.n_committed < d->n_ctx ? from->kv.n_committed : d->n_ctx - 1;
    const int n_ids = n < from->n_ids ? n + 1 : n;
    const bool alike = fr_drafter_is_alike(d->drafter, from->drafter);
    const int agree = alike ? n_ids : in_common(d, from->ids, n_ids);
    fr_kv_copy(&d->kv, &from->kv, n);
    memcpy(d->ids, from->ids, sizeof *d->ids * (size_t)n_ids);
    d->n_ids = n_ids;
    d->n_shown = n;
    const fr_context c = fr_decoder_context(d);
    d->drafter->ops->begin(d->drafter, &c, agree, alike ? from->drafter : NULL);
    assert(fr_decoder_is_sound(d));
}

static int lesser(int a, int b) {
    return a < b ? a : b;
}

void fr_decoder_begin(fr_decoder *d, const int32_t *prompt, int n, const fr_sampling *sampling) {
    assert(n >= 1 && n <= d->n_ctx);
    const bool stretched = fr_model_stretches(d->model, n - 1);
    // The last token is the first root. It does not count as known, because no drafter can use
    // that.
    const int same = d->kv.stretched == stretched ? lesser(in_common(d, prompt, n), n - 1) : 0;
    int kept = lesser(same, d->kv.n_committed);
    memcpy(d->ids, prompt, sizeof *prompt * (size_t)n);
    d->n_ids = n;
    d->broken = false;
    d->sampling = *sampling;
    d->n_prompt = n;
    fr_decoder_group_begin(d);
    const fr_context c = fr_decoder_context(d);
    const int seen = d->drafter->ops->begin(d->drafter, &c, same, NULL);
    // A drafter that reads the hidden states of the prompt has to see those that it did not keep.
    if (d->drafter->needs.prompt_rows) kept = lesser(kept, seen);
    fr_kv_truncate(&d->kv, kept);
    fr_kv_stretch(&d->kv, stretched);
    d->n_shown = kept;
    // Without a drafter there is nothing to accept: the bytes of EXACT.
    assert(!d->hook || (!d->adapt && d->accept.rule == FR_RULE_EXACT));
    const fr_rule_ops *rule =
        &fr_rules[fr_drafter_is_none(d->drafter) ? FR_RULE_EXACT : d->accept.rule];
    d->stats = (fr_stats){.lossless = rule->same_bytes,
                          .exact_law = rule->same_distribution,
                          .prompt_tokens = n,
                          .prompt_reused = kept};
    assert(fr_decoder_is_sound(d));
}

void fr_decoder_stretch(fr_decoder *d) {
    fr_kv_stretch(&d->kv, fr_model_stretches(d->model, d->n_ids - 1));
}

bool fr_decoder_reads(const fr_decoder *d) {
    return d->kv.n_committed < d->n_ids - 1;
}

void fr_decoder_shorten(fr_decoder *d) {
    if (d->n_ids > d->kv.n_committed + 1) d->n_ids = d->kv.n_committed + 1;
    d->n_shown = lesser(d->n_shown, d->n_ids);
}

void fr_decoder_forget(fr_decoder *d) {
    fr_kv_truncate(&d->kv, 0);
    d->n_ids = d->n_shown = 0;
}

int fr_decoder_reach(const fr_decoder *d) {
    return d->kv.stretched ? INT_MAX : fr_model_stretch_at(d->model) - (d->n_ids - 1);
}

fr_status fr_decoder_fault(fr_decoder *d, fr_error *err) {
    if (!d->broken) return FR_OK;
    return fr_logits_refuse(fr_decoder_logits(d, d->verdict.broken), d->model->config.n_vocab,
                            d->broken_at, err);
}

// ---------------------------------------------------------------- a decoder by itself

void fr_decoder_prompt(fr_decoder *d, const int32_t *prompt, int n, const fr_sampling *sampling) {
    const double start = fr_seconds();
    assert(d->alone);
    fr_decoder_begin(d, prompt, n, sampling);
    while (fr_decoder_reads(d)) {
        d->turn = (fr_decoder_turn){.max_tokens = 1};
        fr_decoder_group_step(d->group);
    }
    d->stats.seconds_prompt = fr_seconds() - start;
}

bool fr_decoder_step(fr_decoder *d, int max_tokens, fr_emit_fn *emit, void *user) {
    assert(d->alone && max_tokens >= 1);
    d->turn = (fr_decoder_turn){.max_tokens = max_tokens, .emit = emit, .user = user};
    fr_decoder_group_step(d->group);
    return d->go_on;
}
