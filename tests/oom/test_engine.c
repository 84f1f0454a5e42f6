// Memory or a thread that cannot be had, at every single place where one is asked for while an
// engine and a session open and generate: a status with a sentence or the same tokens as ever,
// never a crash, and everything given back.
#include "draft/retrieval/datastore_writer.h"
#include "engine/engine.h"
#include "oom/counted.h"
#include "support/tiny_model.h"
#include "support/tiny_pack.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h> // after setjmp and stdarg

enum { N_PREDICT = 12, MAX_CALLS = 20000 };

typedef struct story { // one life of an engine
    const char *path, *drafter;
    bool low_memory;
    int32_t tokens[N_PREDICT];
    int n_tokens;
} story;

static fr_status generate(story *s, fr_engine *e, fr_session *session, fr_error *err) {
    static const char text[] = "the wind and the wind and the";
    static const char *const stops[] = {"never said", NULL};
    fr_ids ids = {0};
    const fr_result *result;
    fr_status st = fr_text_encode(e->text, text, strlen(text), FR_TEXT_BOS, NULL, &ids, err);
    if (!st) {
        const fr_request request = {.size = sizeof request,
                                    .prompt = ids.data,
                                    .n_prompt = (int)ids.n,
                                    .n_predict = N_PREDICT,
                                    .stop = stops,
                                    .ignore_eos = true};
        st = fr_session_generate(session, &request, &result, err);
    }
    if (!st) {
        assert_true(result->n_tokens <= N_PREDICT);
        s->n_tokens = result->n_tokens;
        memcpy(s->tokens, result->tokens, sizeof *s->tokens * (size_t)result->n_tokens);
    }
    fr_ids_free(&ids);
    return st;
}

static fr_status live(story *s, fr_error *err) {
    const fr_engine_options engine_options = {
        .size = sizeof engine_options, .threads = 2, .low_memory = s->low_memory};
    const fr_session_options session_options = {
        .size = sizeof session_options, .n_ctx = 128, .drafter = s->drafter};
    fr_engine *e = NULL;
    fr_session *session = NULL;
    fr_status st = fr_engine_open(&e, s->path, &engine_options, err);
    if (!st) st = fr_session_open(&session, e, &session_options, err);
    if (!st) st = generate(s, e, session, err);
    fr_session_close(session);
    fr_engine_close(e);
    return st;
}

// Of the text that is generated from, so that something is found.
static void write_store(char *path, const fr_tokenizer *vocabulary) {
    static const char text[] = "the wind and the wind and the";
    fr_datastore_writer w;
    fr_ids ids = {0};
    fr_error err;
    close(mkstemp(path));
    assert_int_equal(fr_tokenizer_encode(vocabulary, text, strlen(text), 0, &ids, &err), FR_OK);
    assert_int_equal(fr_datastore_writer_open(&w, vocabulary, &err), FR_OK);
    assert_int_equal(fr_datastore_writer_add(&w, ids.data, ids.n, &err), FR_OK);
    assert_int_equal(fr_datastore_writer_finish(&w, path, NULL, NULL, &err), FR_OK);
    fr_datastore_writer_close(&w);
    fr_ids_free(&ids);
}

static void write_pack(const char *model, const char *drafter, char *path) {
    static const fr_tiny_pack packs[] = {
        {.form = &fr_medusa_form, .type = FR_TYPE_Q8_0},
        {.form = &fr_eagle_form, .type = FR_TYPE_Q8_0},
        {.form = &fr_hidden_state_form, .type = FR_TYPE_Q8_0, .rank = 32},
        {.form = &fr_ppd_form},
        {.form = &fr_hidden_transfer_form, .type = FR_TYPE_Q8_0},
        {.form = &fr_chimera_form, .type = FR_TYPE_Q8_0},
        {.form = &fr_layer_skip_form},
        {.form = &fr_early_exit_form, .type = FR_TYPE_Q8_0}};
    fr_engine *e;
    fr_error err;
    if (fr_engine_open(&e, model,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .threads = 1}, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof packs / sizeof *packs; i++)
        if (strstr(drafter, packs[i].form->name)) fr_tiny_pack_write(path, &packs[i], &e->model);
    if (strstr(drafter, "rest:")) write_store(path, e->tokenizer);
    fr_engine_close(e);
}

// Fails call 1, 2, 3, ... until a life needs no call that far; `on`: and all calls after it. A
// drafter that ends in ':' gets the same model as its file, or a pack or a store for it.
static void fail_every_call(const char *arch, const char *drafter, bool low_memory, bool on) {
    char path[] = "oom-XXXXXX", pack[] = "oom-pack-XXXXXX";
    const fr_tiny_options tiny = {.arch = arch, .type = FR_TYPE_Q8_0, .n_layer = 2, .seed = 3};
    fr_error err = {0};
    close(mkstemp(path));
    const bool of_model = strstr(drafter, "draft-model"), has_file = strchr(drafter, ':');
    char spec[64];
    story truth = {.path = path, .drafter = spec, .low_memory = low_memory}, s = truth;
    if (fr_tiny_write(&tiny, path, &err)) fail_msg("%s", err.text);
    if (has_file && !of_model) write_pack(path, drafter, pack);
    snprintf(spec, sizeof spec, "%s%s", drafter, !has_file ? "" : of_model ? path : pack);
    if (live(&truth, &err)) fail_msg("%s", err.text);
    assert_int_equal(truth.n_tokens, N_PREDICT);

    const long before = counted_live();
    int refused = 0, n = 1;
    for (; n < MAX_CALLS; n++) {
        err = (fr_error){0};
        s.n_tokens = 0;
        counted_fail(n, on);
        const fr_status st = live(&s, &err);
        const int failures = counted_failures();
        counted_fail(0, false);
        if (counted_live() != before)
            fail_msg("%s, call %d: %ld blocks were not given back (%s)", arch, n,
                     counted_live() - before, err.text);
        if (st) {
            refused++;
            if (!failures) fail_msg("%s, call %d: failed on its own: %s", arch, n, err.text);
            if (!err.text[0] || err.code != st) fail_msg("%s, call %d: no sentence", arch, n);
        } else {
            assert_int_equal(s.n_tokens, truth.n_tokens);
            assert_memory_equal(s.tokens, truth.tokens, sizeof truth.tokens);
        }
        if (!failures) break;
    }
    unlink(path);
    unlink(pack);
    assert_in_range(n, 10, MAX_CALLS - 1); // the wrapping is at work, and it ends
    assert_true(refused > 10);
    print_message("%s, %s: %d calls, %d refused\n", arch, drafter, n - 1, refused);
}

static void one_failure_is_an_error_or_nothing(void **unused) {
    (void)unused;
    fail_every_call("llama", "none", false, false);
    fail_every_call("llama", "prompt-lookup", false, false);
    fail_every_call("gemma3", "prompt-lookup", false, false);
    fail_every_call("llama", "lookahead", false, false);
    fail_every_call("phi3", "none", true, false);
    fail_every_call("llama", "prompt-lookup+draft-model:", false, false);
    fail_every_call("llama", "medusa:", false, false);
    fail_every_call("qwen2", "prompt-lookup+eagle:", false, false);
    fail_every_call("llama", "hidden-state:", true, false);
    fail_every_call("llama", "ppd:", false, false);
    fail_every_call("qwen2", "prompt-lookup+hidden-transfer:", false, false);
    fail_every_call("llama", "prompt-lookup+chimera:", false, false);
    fail_every_call("llama", "prompt-lookup+rest:", false, false);
    fail_every_call("qwen2", "layer-skip:", false, false);
    fail_every_call("llama", "prompt-lookup+early-exit:", false, false);
}

static void lasting_failure_is_an_error_or_nothing(void **unused) {
    (void)unused;
    fail_every_call("qwen2", "prompt-lookup", false, true);
    fail_every_call("gemma3", "none", false, true);
    fail_every_call("qwen2", "draft-model:", false, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_failure_is_an_error_or_nothing),
        cmocka_unit_test(lasting_failure_is_an_error_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
