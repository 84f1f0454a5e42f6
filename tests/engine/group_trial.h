// group_trial.h — random sessions in one group, each compared with plain decoding alone.
//
// A trial opens sessions with random drafters, trees and contexts, lets each answer some requests
// with random settings, and steps the group. Sessions begin at random steps, some take over what
// another has read, some are broken off. What a session gave must be what a session by itself with
// drafter none gives for the same request, or the beginning of it.
#ifndef FR_TESTS_ENGINE_GROUP_TRIAL_H
#define FR_TESTS_ENGINE_GROUP_TRIAL_H
#include "engine/engine.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TRIAL_MEMBERS = 32, TRIAL_PROMPT = 2048 };

typedef struct trial_world { // what trials draw from
    fr_engine *engine;
    const char *const *specs; // of drafters
    int n_specs;
    const int32_t *text; // prompts are pieces of it
    int n_text, n_ctx, most_prompt, most_tokens;
    const char *const *stops;
    int n_stops;
    const char *kv_type;
} trial_world;

typedef struct trial_counts {
    long requests, cancelled, adopted, tokens, passes, drafted;
} trial_counts;

typedef struct trial_member {
    fr_session *session;
    const char *spec;
    int32_t prompt[TRIAL_PROMPT];
    fr_request request;
    fr_sampling sampling;
    const fr_result *result;
    const char *stop[2];
    int left, wait, cancel_at; // requests; steps until the next; step at which it ends (-1: never)
    bool runs;
} trial_member;

// A variable of the environment: how many trials, from which seed on.
static inline long trial_number(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? strtol(value, NULL, 10) : otherwise;
}

static inline uint64_t trial_draw(uint64_t *state, uint64_t below) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % below;
}

static inline void trial_open(const trial_world *w, fr_group *group, trial_member *m,
                              uint64_t *rng) {
    static const char *const trees[] = {NULL, NULL, NULL, "3", "12"};
    fr_error err;
    m->spec = w->specs[trial_draw(rng, (uint64_t)w->n_specs)];
    const fr_session_options o = {.size = sizeof o,
                                  .drafter = m->spec,
                                  .n_ctx = w->n_ctx,
                                  .tree = trees[trial_draw(rng, 5)],
                                  .no_adapt = trial_draw(rng, 3) == 0,
                                  .kv_type = w->kv_type,
                                  .group = group};
    if (fr_session_open(&m->session, w->engine, &o, &err)) fail_msg("%s: %s", m->spec, err.text);
    m->left = 1 + (int)trial_draw(rng, 3);
    m->wait = (int)trial_draw(rng, 12);
}

static inline fr_sampling trial_sampling(uint64_t *rng) {
    static const float temperatures[] = {0, 0.8f, 1.3f};
    static const fr_logit_bias bias[] = {{97, -INFINITY}, {98, 2.5f}, {101, -3}};
    const bool adds = trial_draw(rng, 4) == 0;
    return (fr_sampling){.size = sizeof(fr_sampling),
                         .temperature = temperatures[trial_draw(rng, 3)],
                         .frequency_penalty = adds ? 0.3f : 0,
                         .presence_penalty = adds ? -0.4f : 0,
                         .bias = bias,
                         .n_bias = trial_draw(rng, 4) ? 0 : 3,
                         .top_k = trial_draw(rng, 2) ? 40 : 0,
                         .top_p = trial_draw(rng, 2) ? 0.95f : 0,
                         .min_p = trial_draw(rng, 3) ? 0 : 0.05f,
                         .repeat_penalty = trial_draw(rng, 3) ? 0 : 1.1f,
                         .seed = trial_draw(rng, 1000)};
}

static inline void trial_request(const trial_world *w, trial_member *m, uint64_t *rng) {
    // Prompts begin alike often, as conversations do.
    const int n = 1 + (int)trial_draw(rng, (uint64_t)w->most_prompt);
    const int shared = (int)trial_draw(rng, 2) * (n / 2);
    const int from = (int)trial_draw(rng, (uint64_t)(w->n_text - n));
    memcpy(m->prompt, w->text, sizeof *m->prompt * (size_t)shared);
    memcpy(m->prompt + shared, w->text + from, sizeof *m->prompt * (size_t)(n - shared));
    m->stop[0] = w->n_stops && trial_draw(rng, 3) == 0
                     ? w->stops[trial_draw(rng, (uint64_t)w->n_stops)]
                     : NULL;
    m->stop[1] = NULL;
    m->sampling = trial_sampling(rng);
    m->request = (fr_request){.size = sizeof(fr_request),
                              .prompt = m->prompt,
                              .n_prompt = n,
                              .n_predict = 1 + (int)trial_draw(rng, (uint64_t)w->most_tokens),
                              .sampling = &m->sampling,
                              .stop = m->stop,
                              .logprobs = trial_draw(rng, 4) == 0,
                              .top_logprobs = (int)trial_draw(rng, 6),
                              .ignore_eos = trial_draw(rng, 2)};
    m->cancel_at = trial_draw(rng, 6) ? -1 : (int)trial_draw(rng, 20);
}

static inline void trial_compare(const trial_world *w, const trial_member *m, bool whole,
                                 uint64_t seed) {
    fr_session *s;
    const fr_result *r;
    fr_error err;
    const fr_session_options o = {
        .size = sizeof o, .drafter = "none", .n_ctx = w->n_ctx, .kv_type = w->kv_type};
    if (fr_session_open(&s, w->engine, &o, &err) || fr_session_generate(s, &m->request, &r, &err))
        fail_msg("%s", err.text);
    const fr_result *got = m->result;
    const bool same = (whole ? got->n_tokens == r->n_tokens && got->text_bytes == r->text_bytes &&
                                   !memcmp(got->text, r->text, r->text_bytes) &&
                                   got->stats->finish == r->stats->finish
                             : got->n_tokens <= r->n_tokens) &&
                      !memcmp(got->tokens, r->tokens, sizeof *r->tokens * (size_t)got->n_tokens);
    for (int i = 0; same && m->request.logprobs && i < got->n_tokens; i++)
        assert_memory_equal(got->logprobs[i], r->logprobs[i], sizeof **r->logprobs);
    if (!same)
        fail_msg("trial %llu, %s: differs from plain decoding (%d tokens, %d alone)",
                 (unsigned long long)seed, m->spec, got->n_tokens, r->n_tokens);
    fr_session_close(s);
}

static inline void trial_begin(const trial_world *w, trial_member *members, int n, trial_member *m,
                               uint64_t *rng, trial_counts *counts) {
    fr_error err;
    const trial_member *from = &members[trial_draw(rng, (uint64_t)n)];
    if (trial_draw(rng, 3) == 0 && from != m) {
        if (fr_session_adopt(m->session, from->session, &err)) fail_msg("%s", err.text);
        counts->adopted++;
    }
    trial_request(w, m, rng);
    m->result = fr_session_result(m->session);
    if (fr_session_begin(m->session, &m->request, &err)) fail_msg("%s", err.text);
    m->runs = true;
}

static inline void trial_end(const trial_world *w, trial_member *m, uint64_t seed, uint64_t *rng,
                             trial_counts *counts) {
    fr_error err;
    const bool whole = !fr_session_runs(m->session);
    if (fr_session_end(m->session, &err)) fail_msg("%s", err.text);
    trial_compare(w, m, whole, seed);
    counts->requests++;
    counts->cancelled += !whole;
    counts->tokens += m->result->n_tokens;
    counts->passes += m->result->stats->passes;
    counts->drafted += m->result->stats->accepted[0];
    m->runs = false;
    m->wait = (int)trial_draw(rng, 6);
    m->left--;
}

static inline void trial_run(const trial_world *w, uint64_t seed, trial_counts *counts) {
    static trial_member members[TRIAL_MEMBERS];
    uint64_t rng = (seed + 1) * 0x9e3779b97f4a7c15u;
    // Every third seed reads prompts in smaller chunks: that must not show.
    const fr_group_options go = {
        .size = sizeof go, .n_ctx = w->n_ctx, .prompt_share = seed % 3 ? 0 : 1.3f};
    fr_group *group;
    fr_error err;
    for (int i = 0; i < 8; i++)
        trial_draw(&rng, 2);
    static const int sizes[] = {1, 2, 2, 3, 4, 4, 6, 8, 12, 16, 32};
    const int n = sizes[trial_draw(&rng, sizeof sizes / sizeof *sizes)];
    memset(members, 0, sizeof members);
    if (fr_group_open(&group, w->engine, &go, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < n; i++)
        trial_open(w, group, &members[i], &rng);
    for (int busy = n; busy > 0;) {
        fr_group_step(group);
        busy = 0;
        for (int i = 0; i < n; i++) {
            trial_member *m = &members[i];
            if (m->runs && (!fr_session_runs(m->session) || m->cancel_at-- == 0))
                trial_end(w, m, seed, &rng, counts);
            else if (!m->runs && m->left > 0 && m->wait-- <= 0)
                trial_begin(w, members, n, m, &rng, counts);
            busy += m->runs || m->left > 0;
        }
    }
    for (int i = 0; i < n; i++)
        fr_session_close(members[i].session);
    fr_group_close(group);
}

#endif
