// Groups of sessions on tiny models: whatever members do, each gives the bytes that it gives alone.
#define _GNU_SOURCE
#include "decode/group.h"
#include "group_trial.h"
#include "model/plan.h"
#include "support/quick.h"
#include "support/tiny_model.h"
#include "support/tiny_pack.h"
#include <unistd.h>

enum { CTX = 160, TEXT = 400 };

static const fr_tiny_pack PACKS[] = {
    {.form = &fr_medusa_form, .n_draft = 200},
    {.form = &fr_medusa_form, .variant = FR_MEDUSA_EXIT, .tap = 1},
    {.form = &fr_eagle_form, .n_draft = 200},
    {.form = &fr_eagle_form, .n_taps = 2, .taps = {0, 2}, .n_draft = 200},
    {.form = &fr_ppd_form, .n_draft = 200},
    {.form = &fr_hidden_transfer_form, .n_draft = 200},
    {.form = &fr_hidden_transfer_form, .type = FR_TYPE_Q8_0, .depth = 2},
    {.form = &fr_chimera_form, .n_draft = 200, .ngram = 3},
    {.form = &fr_hidden_state_form, .n_draft = 200, .rank = 8},
    {.form = &fr_layer_skip_form},
    {.form = &fr_early_exit_form},
};
static const char *const NAMES[] = {"medusa",       "medusa",          "eagle",           "eagle",
                                    "ppd",          "hidden-transfer", "hidden-transfer", "chimera",
                                    "hidden-state", "layer-skip",      "early-exit"};
enum { N_PACKS = sizeof PACKS / sizeof *PACKS, N_SPECS = 2 * N_PACKS + 4 };

typedef struct world {
    char model[64], small[64], pack[N_PACKS][32], specs[N_SPECS][96];
    const char *spec[N_SPECS];
    int32_t text[TEXT];
    trial_world trials;
} world;

static void open_world(world *w, const fr_tiny_options *options, int threads) {
    fr_error err;
    int n = 0;
    snprintf(w->model, sizeof w->model, "group-test-%d.gguf", (int)getpid());
    snprintf(w->small, sizeof w->small, "group-small-%d.gguf", (int)getpid());
    fr_tiny_options small = *options;
    small.n_layer = 1;
    small.seed = options->seed + 1;
    assert_int_equal(fr_tiny_write(options, w->model, &err), FR_OK);
    assert_int_equal(fr_tiny_write(&small, w->small, &err), FR_OK);
    const fr_engine_options o = {.size = sizeof o, .threads = threads, .isa = getenv("FR_ISA")};
    if (fr_engine_open(&w->trials.engine, w->model, &o, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < N_PACKS; i++) {
        strcpy(w->pack[i], "pack-XXXXXX");
        fr_tiny_pack_write(w->pack[i], &PACKS[i], &w->trials.engine->model);
        snprintf(w->specs[n++], sizeof *w->specs, "%s:%s", NAMES[i], w->pack[i]);
        snprintf(w->specs[n++], sizeof *w->specs, "%s:%s+prompt-lookup", NAMES[i], w->pack[i]);
    }
    strcpy(w->specs[n++], "none");
    strcpy(w->specs[n++], "prompt-lookup");
    strcpy(w->specs[n++], "lookahead");
    snprintf(w->specs[n++], sizeof *w->specs, "draft-model:%s", w->small);
    for (int i = 0; i < N_SPECS; i++)
        w->spec[i] = w->specs[i];
    uint64_t rng = 12345;
    for (int i = 0; i < TEXT; i++) // it repeats itself, so that some guesses are right
        w->text[i] = i >= 40 && trial_draw(&rng, 3) ? w->text[i - 40]
                                                    : (int32_t)('a' + trial_draw(&rng, 26));
    static const char *const stops[] = {"e", "th"};
    w->trials.specs = w->spec;
    w->trials.n_specs = N_SPECS;
    w->trials.text = w->text;
    w->trials.n_text = TEXT;
    w->trials.n_ctx = CTX;
    w->trials.most_prompt = 100;
    w->trials.most_tokens = 50;
    w->trials.stops = stops;
    w->trials.n_stops = 2;
}

static void close_world(world *w) {
    fr_engine_close(w->trials.engine);
    for (int i = 0; i < N_PACKS; i++)
        unlink(w->pack[i]);
    unlink(w->small);
    unlink(w->model);
}

// FR_GROUP_TRIALS of them from FR_GROUP_SEED on, for each model, by the kernels of FR_ISA.
static void members_give_the_bytes_that_they_give_alone(void **state) {
    (void)state;
    static const fr_tiny_options models[] = {
        {.type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32},
        {.arch = "gemma3", .type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32, .window = 24},
        {.arch = "phi3", .n_ctx = 256, .n_ctx_short = 64},
    };
    const long trials = trial_number("FR_GROUP_TRIALS", fr_test_is_quick() ? 4 : 24);
    const long first = trial_number("FR_GROUP_SEED", 1);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        static world w;
        trial_counts c = {0};
        memset(&w, 0, sizeof w);
        open_world(&w, &models[i], 2);
        for (long t = 0; t < trials; t++) {
            w.trials.kv_type = models[i].head_dim && t % 2 ? "q8_0" : NULL;
            trial_run(&w.trials, (uint64_t)(first + t), &c);
        }
        print_message("%ld trials from %ld: %ld requests (%ld broken off, %ld taken over), %ld "
                      "tokens in %ld passes\n",
                      trials, first, c.requests, c.cancelled, c.adopted, c.tokens, c.passes);
        assert_true(c.requests > trials && c.adopted && c.drafted);
        close_world(&w);
    }
}

// The same of every family of models, without and with biases: FR_GROUP_TRIALS of each.
static void members_of_every_family_give_the_bytes_that_they_give_alone(void **state) {
    (void)state;
    const long trials = trial_number("FR_GROUP_TRIALS", fr_test_is_quick() ? 1 : 6);
    const long first = trial_number("FR_GROUP_SEED", 1);
    trial_counts c = {0};
    for (int i = 0; i < 2 * fr_n_families; i++) {
        static world w;
        const fr_tiny_options options = {.arch = fr_families[i / 2].name,
                                         .biases = i % 2,
                                         .type = FR_TYPE_Q8_0,
                                         .n_layer = 4,
                                         .n_ctx = 256,
                                         .head_dim = 32,
                                         .untied = true,
                                         .loud_every = 24};
        memset(&w, 0, sizeof w);
        open_world(&w, &options, 1 + i % 3);
        for (long t = 0; t < trials; t++) {
            w.trials.kv_type = (i / 2 + i + t) % 2 ? "q8_0" : NULL;
            trial_run(&w.trials, (uint64_t)(first + t + i), &c);
        }
        close_world(&w);
    }
    print_message("%ld trials of each kind from %ld: %ld requests (%ld broken off, %ld taken "
                  "over), %ld tokens in %ld passes\n",
                  trials, first, c.requests, c.cancelled, c.adopted, c.tokens, c.passes);
    assert_true(c.requests > 2 * trials * fr_n_families && c.adopted && c.drafted);
}

static int known(const fr_session *s) {
    int n;
    fr_session_context(s, &n);
    return n;
}

// Two long texts and a short one begin in one step. The short one has been read first, though it
// came last, and the long ones did not stand still meanwhile.
static void a_text_that_is_read_soon_goes_first(void **state) {
    (void)state;
    static const int n_prompt[3] = {CTX - 8, CTX - 8, 50};
    static world w;
    fr_group *g;
    fr_session *s[3];
    fr_error err;
    memset(&w, 0, sizeof w);
    open_world(&w, &(fr_tiny_options){.n_ctx = 256}, 1);
    if (fr_group_open(&g, w.trials.engine,
                      &(fr_group_options){.size = sizeof(fr_group_options), .n_ctx = CTX}, &err))
        fail_msg("%s", err.text);
    const fr_session_options o = {.size = sizeof o, .drafter = "none", .n_ctx = CTX, .group = g};
    for (int i = 0; i < 3; i++) {
        const fr_request q = {
            .size = sizeof q, .prompt = w.text + i, .n_prompt = n_prompt[i], .n_predict = 4};
        if (fr_session_open(&s[i], w.trials.engine, &o, &err) || fr_session_begin(s[i], &q, &err))
            fail_msg("%s", err.text);
    }
    assert_true(fr_group_step(g));
    assert_true(known(s[2]) >= 40);
    for (int i = 0; i < 2; i++)
        assert_in_range(known(s[i]), 5, 12);
    while (fr_group_step(g)) {
    }
    for (int i = 0; i < 3; i++) {
        if (fr_session_end(s[i], &err)) fail_msg("%s", err.text);
        fr_session_close(s[i]);
    }
    fr_group_close(g);
    close_world(&w);
}

// Shorter texts come all the time, each read before a long one. With the part of the rows that all
// have it would be read in 13 steps.
static void a_long_text_is_not_overtaken_for_ever(void **state) {
    (void)state;
    static world w;
    fr_group *g;
    fr_session *s[2];
    fr_error err;
    int steps = 0;
    memset(&w, 0, sizeof w);
    open_world(&w, &(fr_tiny_options){.n_ctx = 256}, 1);
    if (fr_group_open(&g, w.trials.engine,
                      &(fr_group_options){.size = sizeof(fr_group_options), .n_ctx = CTX}, &err))
        fail_msg("%s", err.text);
    const fr_session_options o = {.size = sizeof o, .drafter = "none", .n_ctx = CTX, .group = g};
    fr_request q = {.size = sizeof q, .prompt = w.text, .n_prompt = CTX - 8, .n_predict = 4};
    for (int i = 0; i < 2; i++)
        if (fr_session_open(&s[i], w.trials.engine, &o, &err)) fail_msg("%s", err.text);
    if (fr_session_begin(s[0], &q, &err)) fail_msg("%s", err.text);
    for (q.n_prompt = 62; known(s[0]) < CTX - 9; steps++) {
        fr_session_cancel(s[1]); // most of it was read
        if (steps && fr_session_end(s[1], &err)) fail_msg("%s", err.text);
        q.prompt = w.text + 1 + steps;
        if (fr_session_forget(s[1], &err) || fr_session_begin(s[1], &q, &err))
            fail_msg("%s", err.text);
        assert_true(fr_group_step(g));
    }
    print_message("%d steps\n", steps);
    assert_in_range(steps, 3, 9);
    for (int i = 0; i < 2; i++) {
        fr_session_cancel(s[i]);
        fr_session_end(s[i], &err);
        fr_session_close(s[i]);
    }
    fr_group_close(g);
    close_world(&w);
}

static void expect_bytes(const fr_result *r, const fr_result *right) {
    assert_int_equal(r->n_tokens, right->n_tokens);
    assert_memory_equal(r->tokens, right->tokens, sizeof *r->tokens * (size_t)r->n_tokens);
    assert_int_equal(r->text_bytes, right->text_bytes);
    assert_memory_equal(r->text, right->text, r->text_bytes);
}

// One is paused, one is ended and begun again with what it had: their bytes are those of one alone.
static void a_generation_goes_on_after_a_break(void **state) {
    (void)state;
    static const char *const stop[] = {"\x02never", NULL};
    static world w;
    fr_group *g;
    fr_session *s[2], *alone;
    int32_t had[CTX] = {0};
    fr_error err;
    memset(&w, 0, sizeof w);
    open_world(&w, &(fr_tiny_options){.n_ctx = 256}, 1);
    const fr_group_options go = {.size = sizeof go, .n_ctx = CTX};
    if (fr_group_open(&g, w.trials.engine, &go, &err)) fail_msg("%s", err.text);
    fr_session_options o = {.size = sizeof o, .drafter = "none", .n_ctx = CTX};
    const fr_sampling sampling = {.size = sizeof sampling,
                                  .temperature = 1,
                                  .repeat_penalty = 1.3f,
                                  .presence_penalty = 0.5f,
                                  .seed = 4};
    const fr_request q = {.size = sizeof q,
                          .prompt = w.text,
                          .n_prompt = 30,
                          .n_predict = 40,
                          .sampling = &sampling,
                          .stop = stop,
                          .ignore_eos = true};
    const fr_result *right, *r;
    if (fr_session_open(&alone, w.trials.engine, &o, &err) ||
        fr_session_generate(alone, &q, &right, &err))
        fail_msg("%s", err.text);
    o.group = g;
    for (int i = 0; i < 2; i++)
        if (fr_session_open(&s[i], w.trials.engine, &o, &err) || fr_session_begin(s[i], &q, &err))
            fail_msg("%s", err.text);
    for (int i = 0; i < 12; i++)
        fr_group_step(g);
    fr_session_pause(s[0], true);
    const int n = fr_session_result(s[1])->n_tokens;
    assert_true(n > 4 && n < 40);
    memcpy(had, fr_session_result(s[1])->tokens, sizeof *had * (size_t)n);
    if (fr_session_end(s[1], &err) || fr_session_forget(s[1], &err) ||
        fr_session_begin_again(s[1], &q, had, n, &err))
        fail_msg("%s", err.text);
    while (fr_group_step(g)) {
    }
    assert_true(fr_session_runs(s[0]) && !fr_session_runs(s[1]));
    assert_int_equal(fr_session_result(s[0])->n_tokens, n); // it stood still
    fr_session_pause(s[0], false);
    while (fr_group_step(g)) {
    }
    for (int i = 0; i < 2; i++) {
        if (fr_session_end(s[i], &err)) fail_msg("%s", err.text);
        r = fr_session_result(s[i]);
        expect_bytes(r, right);
        assert_int_equal(r->stats->completion_tokens, i ? 40 - n : 40);
    }
    assert_int_equal(fr_session_begin_again(s[1], &q, had, CTX - 29, &err), FR_ECONTEXT);
    for (int i = 0; i < 2; i++)
        fr_session_close(s[i]);
    fr_session_close(alone);
    fr_group_close(g);
    close_world(&w);
}

static bool stop_at_once(void *user, const fr_piece *piece) {
    (void)user;
    return piece->token >= 0;
}

static void a_known_answer_has_no_scores(void **state) {
    (void)state;
    enum { KNOWN = 3, MORE = 2 };
    static world w;
    fr_session *s;
    int32_t known[KNOWN];
    char text[64];
    fr_error err;
    memset(&w, 0, sizeof w);
    open_world(&w, &(fr_tiny_options){.n_ctx = 256, .seed = 2}, 1);
    const fr_session_options o = {.size = sizeof o, .drafter = "none", .n_ctx = CTX};
    fr_request q = {.size = sizeof q,
                    .prompt = w.text,
                    .n_prompt = 30,
                    .n_predict = KNOWN + MORE,
                    .logprobs = true,
                    .ignore_eos = true};
    const fr_result *r;
    if (fr_session_open(&s, w.trials.engine, &o, &err) || fr_session_generate(s, &q, &r, &err))
        fail_msg("%s", err.text);
    memcpy(known, r->tokens, sizeof known);
    assert_in_range(r->text_bytes, 1, sizeof text - 1);
    strcpy(text, r->text);
    if (fr_session_begin_again(s, &q, known, KNOWN, &err)) fail_msg("%s", err.text);
    while (fr_session_step(s)) {
    }
    assert_int_equal(fr_session_end(s, &err), FR_OK);
    assert_string_equal(r->text, text);
    for (int i = 0; i < KNOWN + MORE; i++)
        assert_int_equal(r->logprobs[i] != NULL, i >= KNOWN);
    fr_session_close(s);
    close_world(&w);
}

// Text that is held back for a stop string comes out where the listener stops the generation, also while
// a known answer is handed out.
static void a_listener_that_stops_gets_what_was_held_back(void **state) {
    (void)state;
    static const char *const stop[] = {"a\x02never", NULL};
    static world w;
    fr_session *s;
    fr_error err;
    memset(&w, 0, sizeof w);
    open_world(&w, &(fr_tiny_options){.n_ctx = 256}, 1);
    const fr_session_options o = {.size = sizeof o, .drafter = "none", .n_ctx = CTX};
    const fr_request q = {.size = sizeof q,
                          .prompt = w.text,
                          .n_prompt = 30,
                          .n_predict = 9,
                          .stop = stop,
                          .stream = stop_at_once};
    if (fr_session_open(&s, w.trials.engine, &o, &err) ||
        fr_session_begin_again(s, &q, (const int32_t[]){'a', 'b', 'c'}, 3, &err))
        fail_msg("%s", err.text);
    const fr_result *r = fr_session_result(s);
    assert_false(fr_session_runs(s));
    assert_int_equal(fr_session_end(s, &err), FR_OK);
    assert_int_equal(r->stats->finish, FR_FINISH_INTERRUPTED);
    assert_int_equal(r->n_tokens, 1);
    assert_string_equal(r->text, "a");
    fr_session_close(s);
    close_world(&w);
}

// Nothing before the first step; then two texts in one pass, later one, and a guess of how long it
// takes.
static void the_last_pass_is_told(void **state) {
    (void)state;
    static world w;
    fr_group *g;
    fr_session *s[2];
    fr_error err;
    memset(&w, 0, sizeof w);
    open_world(&w, &(fr_tiny_options){.n_ctx = 256}, 1);
    if (fr_group_open(&g, w.trials.engine,
                      &(fr_group_options){.size = sizeof(fr_group_options), .n_ctx = CTX}, &err))
        fail_msg("%s", err.text);
    assert_int_equal(fr_group_last(g)->sessions, 0);
    assert_int_equal(fr_group_last(g)->rows, 0);
    const fr_session_options o = {.size = sizeof o, .drafter = "none", .n_ctx = CTX, .group = g};
    for (int i = 0; i < 2; i++) {
        const fr_request q = {.size = sizeof q,
                              .prompt = w.text + i,
                              .n_prompt = 3,
                              .n_predict = 4 + 4 * i,
                              .ignore_eos = true};
        if (fr_session_open(&s[i], w.trials.engine, &o, &err) || fr_session_begin(s[i], &q, &err))
            fail_msg("%s", err.text);
    }
    const fr_group_pass *last = fr_group_last(g);
    int two = 0, one = 0;
    for (int step = 0; fr_group_step(g); step++) {
        assert_true(last->sessions >= 1 && last->sessions <= 2 && last->seconds > 0);
        assert_true(last->rows >= last->sessions);
        if (step > 1) assert_int_equal(last->rows, last->sessions); // the prompts are read
        if (step > 1) assert_true(last->predicted > 0);
        two += last->sessions == 2, one += last->sessions == 1;
    }
    assert_true(two >= 3 && one >= 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fr_session_end(s[i], &err), FR_OK);
        fr_session_close(s[i]);
    }
    fr_group_close(g);
    close_world(&w);
}

static void a_group_refuses_what_it_has_no_room_for(void **state) {
    (void)state;
    static world w;
    fr_group *g;
    fr_session *s[FR_GROUP_MEMBERS + 1], *one;
    fr_error err;
    memset(&w, 0, sizeof w);
    open_world(&w, &(fr_tiny_options){.n_ctx = 256}, 1);
    assert_int_equal(
        fr_group_open(&g, w.trials.engine,
                      &(fr_group_options){.size = sizeof(fr_group_options), .n_ctx = 64}, &err),
        FR_OK);
    fr_session_options o = {.size = sizeof o, .drafter = "none", .n_ctx = 65, .group = g};
    assert_int_equal(fr_session_open(&one, w.trials.engine, &o, &err), FR_EARG);
    assert_string_equal(err.text, "session: expected a context of at most the group's 64 tokens, "
                                  "found 65");
    o.n_ctx = 64;
    for (int i = 0; i < FR_GROUP_MEMBERS; i++)
        assert_int_equal(fr_session_open(&s[i], w.trials.engine, &o, &err), FR_OK);
    assert_int_equal(fr_session_open(&one, w.trials.engine, &o, &err), FR_EUNSUP);
    fr_session_close(s[5]); // its place is free again
    assert_int_equal(fr_session_open(&s[5], w.trials.engine, &o, &err), FR_OK);
    assert_false(fr_group_step(g)); // nobody has anything to do
    for (int i = 0; i < FR_GROUP_MEMBERS; i++)
        fr_session_close(s[i]);
    fr_group_close(g);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_give_the_bytes_that_they_give_alone),
        cmocka_unit_test(members_of_every_family_give_the_bytes_that_they_give_alone),
        cmocka_unit_test(a_text_that_is_read_soon_goes_first),
        cmocka_unit_test(a_long_text_is_not_overtaken_for_ever),
        cmocka_unit_test(a_generation_goes_on_after_a_break),
        cmocka_unit_test(a_known_answer_has_no_scores),
        cmocka_unit_test(a_listener_that_stops_gets_what_was_held_back),
        cmocka_unit_test(the_last_pass_is_told),
        cmocka_unit_test(a_group_refuses_what_it_has_no_room_for),
    };
    return cmocka_run_group_tests_name("engine/group", tests, NULL, NULL);
}
