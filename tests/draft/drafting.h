// drafting.h — a tiny target, a drafter from a SPEC, and what a decoder emits with it.
#ifndef FR_TESTS_DRAFT_DRAFTING_H
#define FR_TESTS_DRAFT_DRAFTING_H
#include "decode/group.h"
#include "draft/registry.h"
#include "support/open_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { DRAFTING_TOKENS = 160 };

typedef struct pair { // a target, and a file that holds what drafts for it
    fr_opened target;
    fr_tokenizer *tokenizer;
    int n_ctx;
    char path[32], spec[80];
} pair;

static inline void open_target(pair *p, const fr_tiny_options *options, int threads, int n_ctx) {
    fr_error err;
    const fr_kern *kern;
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&p->target, options, kern, threads);
    if (fr_tokenizer_open(&p->tokenizer, p->target.gguf, &err)) fail_msg("%s", err.text);
    p->n_ctx = n_ctx;
}

static inline void close_target(pair *p) {
    fr_tokenizer_close(p->tokenizer);
    fr_opened_close(&p->target);
}

static inline fr_status try_drafter(fr_drafter **d, const pair *p, const char *spec, bool no_adapt,
                                    const char *const *options, fr_error *err) {
    char used[64];
    const fr_drafter_config config = {.model = &p->target.model,
                                      .tokenizer = p->tokenizer,
                                      .n_ctx = p->n_ctx,
                                      .no_adapt = no_adapt,
                                      .options = options};
    return fr_drafter_open(d, used, spec, &config, err);
}

static inline fr_drafter *open_drafter(const pair *p, const char *spec, bool no_adapt,
                                       const char *const *options) {
    fr_drafter *d;
    fr_error err;
    if (try_drafter(&d, p, spec, no_adapt, options, &err)) fail_msg("%s: %s", spec, err.text);
    return d;
}

typedef struct output {
    int32_t token[DRAFTING_TOKENS];
    int n, stop_after; // 0: never
} output;

static inline bool emit(void *user, int32_t token, const fr_node *node) {
    output *o = user;
    if (node) assert_int_equal(node->id, token);
    assert_true(o->n < DRAFTING_TOKENS);
    o->token[o->n++] = token;
    return o->n != o->stop_after;
}

static inline void open_decoder(fr_decoder *d, const pair *p, fr_drafter *drafter, bool adapt) {
    const fr_needs none = {0};
    fr_error err;
    if (fr_decoder_open(d, &p->target.model, p->n_ctx, FR_KV_F16, drafter ? &drafter->needs : &none,
                        &err))
        fail_msg("%s", err.text);
    d->drafter = drafter ? drafter : fr_drafter_none();
    d->adapt = adapt;
}

static inline output decode(fr_decoder *d, const int32_t *prompt, int n_prompt,
                            const fr_sampling *dist, int n_predict) {
    output o = {.n = 0};
    fr_decoder_prompt(d, prompt, n_prompt, dist);
    while (o.n < n_predict && fr_decoder_step(d, n_predict - o.n, emit, &o)) {
    }
    assert_int_equal(o.n, n_predict);
    return o;
}

static inline output decode_once(const pair *p, fr_drafter *drafter, fr_rule rule, bool adapt,
                                 const int32_t *prompt, int n_prompt, const fr_sampling *dist,
                                 int n_predict, fr_stats *stats) {
    fr_decoder d;
    open_decoder(&d, p, drafter, adapt);
    d.accept.rule = rule;
    const output o = decode(&d, prompt, n_prompt, dist, n_predict);
    if (stats) *stats = d.stats;
    fr_decoder_close(&d);
    return o;
}

static inline void expect_same(const output *a, const output *b) {
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->token, b->token, sizeof *a->token * (size_t)a->n);
}

#endif
