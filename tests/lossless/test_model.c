// On a real model (SmolLM2): every mode gives the bytes of plain decoding, and random trees give
// its logits.
#define _GNU_SOURCE
#include "engine/engine.h"
#include "support/quick.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char model_path[1024];

static const char *const PROMPTS[] = {
    "<|im_start|>user\nRepeat this list three times: red, green, blue, yellow, red, "
    "green.<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\nWrite a C function that adds two integers, then one that adds two "
    "floats.<|im_end|>\n<|im_start|>assistant\n",
    "The cat sat on the mat. The dog sat on the mat. The bird sat on",
};
enum { N_PROMPTS = sizeof PROMPTS / sizeof *PROMPTS, N_PREDICT = 48 };

static void need_model(void) {
    const char *folder = getenv("FR_MODELS");
    snprintf(model_path, sizeof model_path, "%s/smollm2-135m.gguf",
             folder ? folder : FR_SOURCE_DIR "/models");
    if (access(model_path, R_OK) == 0) return;
    print_message("skipped: %s is not there (make get-model NAME=smollm2-135m)\n", model_path);
    skip();
}

// Whether case i is tried: under FR_QUICK every n-th one.
static bool is_tried(int i, int n) {
    return !fr_test_is_quick() || i % n == 0;
}

static fr_engine *open_engine(const char *isa, int threads) {
    fr_engine *e;
    fr_error err;
    if (fr_engine_open(
            &e, model_path,
            &(fr_engine_options){.size = sizeof(fr_engine_options), .isa = isa, .threads = threads},
            &err))
        fail_msg("%s", err.text);
    return e;
}

static fr_session *open_session(fr_engine *e, const char *kv_type, const char *drafter) {
    fr_session *s;
    fr_error err;
    const fr_session_options options = {
        .size = sizeof options, .drafter = drafter, .n_ctx = 256, .kv_type = kv_type};
    if (fr_session_open(&s, e, &options, &err)) fail_msg("%s", err.text);
    return s;
}

static const fr_result *ask(fr_engine *e, fr_session *s, int prompt, const fr_sampling *sampling,
                            int n_predict) {
    fr_error err;
    const fr_result *r;
    fr_ids ids = {0};
    fr_sampling own = *sampling;
    own.size = sizeof own;
    if (fr_text_encode(e->text, PROMPTS[prompt], strlen(PROMPTS[prompt]),
                       FR_TEXT_BOS | FR_TEXT_CONTROL, NULL, &ids, &err))
        fail_msg("%s", err.text);
    fr_request q = {.size = sizeof q,
                    .prompt = ids.data,
                    .n_prompt = (int)ids.n,
                    .n_predict = n_predict,
                    .sampling = &own};
    if (fr_session_generate(s, &q, &r, &err)) fail_msg("%s", err.text);
    fr_ids_free(&ids);
    return r;
}

static const fr_result *generate(fr_engine *e, fr_session **s, const char *drafter, int prompt,
                                 const fr_sampling *sampling) {
    *s = open_session(e, NULL, drafter);
    return ask(e, *s, prompt, sampling, N_PREDICT);
}

static void every_mode_gives_the_bytes_of_plain_decoding(void **state) {
    (void)state;
    need_model();
    const fr_sampling dists[] = {
        {.temperature = 0},
        {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 11},
        {.temperature = 1.2f, .seed = 12, .repeat_penalty = 1.1f}};
    const fr_result *expected[N_PROMPTS][3];
    fr_session *kept[N_PROMPTS][3], *s;
    fr_engine *plain = open_engine("auto", 2);
    for (int p = 0; p < N_PROMPTS; p++)
        for (int dist = 0; dist < 3; dist++)
            expected[p][dist] = generate(plain, &kept[p][dist], "none", p, &dists[dist]);
    int64_t passes = 0, tokens = 0;
    for (int isa = FR_ISA_AVX2; isa < FR_ISA_COUNT; isa++) {
        if (!fr_isa_available(isa)) {
            print_message("skipped: this CPU has no %s\n", fr_isa_name(isa));
            continue;
        }
        for (int threads = 1; threads <= 3; threads++) {
            fr_engine *e = open_engine(fr_isa_name(isa), threads);
            for (int p = 0; p < N_PROMPTS; p++)
                for (int dist = 0; dist < 3; dist++) {
                    if (!is_tried(isa + threads + p + dist, 3)) continue;
                    const fr_result *r = generate(e, &s, "prompt-lookup", p, &dists[dist]),
                                    *x = expected[p][dist];
                    assert_int_equal(r->n_tokens, x->n_tokens);
                    assert_memory_equal(r->tokens, x->tokens,
                                        sizeof *r->tokens * (size_t)r->n_tokens);
                    assert_int_equal(r->text_bytes, x->text_bytes);
                    assert_memory_equal(r->text, x->text, r->text_bytes);
                    assert_int_equal(r->stats->finish, x->stats->finish);
                    passes += r->stats->passes;
                    tokens += r->n_tokens;
                    fr_session_close(s);
                }
            fr_engine_close(e);
        }
    }
    print_message("%.2f tokens a pass\n", passes ? (double)tokens / (double)passes : 0.0);
    assert_true(passes == 0 || tokens > passes); // it drafted
    for (int p = 0; p < N_PROMPTS; p++)
        for (int dist = 0; dist < 3; dist++)
            fr_session_close(kept[p][dist]);
    fr_engine_close(plain);
}

// Weights left in the file, where every product packs them anew.
static void low_memory_gives_the_same_bytes(void **state) {
    (void)state;
    need_model();
    const fr_sampling dist = {.temperature = 0.8f, .top_k = 40, .seed = 21};
    fr_engine *packed = open_engine("auto", 2), *in_place;
    fr_error err;
    const fr_engine_options options = {.size = sizeof options, .threads = 2, .low_memory = true};
    if (fr_engine_open(&in_place, model_path, &options, &err)) fail_msg("%s", err.text);
    for (int p = 0; p < N_PROMPTS; p++) {
        fr_session *s, *t;
        const fr_result *x = generate(packed, &s, "none", p, &dist);
        const fr_result *r = generate(in_place, &t, "prompt-lookup", p, &dist);
        assert_int_equal(r->n_tokens, x->n_tokens);
        assert_memory_equal(r->tokens, x->tokens, sizeof *r->tokens * (size_t)r->n_tokens);
        fr_session_close(s);
        fr_session_close(t);
    }
    fr_engine_close(in_place);
    fr_engine_close(packed);
}

// The definition itself is slow, so it says only a few tokens.
static void the_definition_gives_the_same_bytes(void **state) {
    (void)state;
    need_model();
    fr_error err;
    int32_t first[6];
    for (int scalar = 0; scalar < 2; scalar++) {
        fr_engine *e = open_engine(scalar ? "scalar" : "auto", 2);
        fr_session *s;
        fr_ids ids = {0};
        const fr_result *r;
        assert_int_equal(
            fr_text_encode(e->text, PROMPTS[2], strlen(PROMPTS[2]), FR_TEXT_BOS, NULL, &ids, &err),
            FR_OK);
        assert_int_equal(
            fr_session_open(&s, e,
                            &(fr_session_options){.size = sizeof(fr_session_options), .n_ctx = 64},
                            &err),
            FR_OK);
        fr_request q = {
            .size = sizeof q,
            .prompt = ids.data,
            .n_prompt = (int)ids.n,
            .n_predict = 6,
            .sampling = &(fr_sampling){.size = sizeof(fr_sampling), .temperature = 1, .seed = 2}};
        assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK);
        assert_int_equal(r->n_tokens, 6);
        if (scalar) assert_memory_equal(r->tokens, first, sizeof first);
        memcpy(first, r->tokens, sizeof first);
        fr_ids_free(&ids);
        fr_session_close(s);
        fr_engine_close(e);
    }
}

static void assert_begins(const fr_result *whole, const fr_result *begin, int n) {
    assert_int_equal(begin->n_tokens, n < whole->n_tokens ? n : whole->n_tokens);
    assert_memory_equal(begin->tokens, whole->tokens,
                        sizeof *begin->tokens * (size_t)begin->n_tokens);
}

static void decode_with(const char *kv_type) {
    const fr_sampling dists[] = {{.temperature = 0}, {.temperature = 0.8f, .seed = 3}};
    fr_engine *plain = open_engine("auto", 2);
    for (int isa = FR_ISA_SCALAR; isa < FR_ISA_COUNT; isa++) {
        if (!fr_isa_available((fr_isa)isa)) continue;
        const bool slow = isa == FR_ISA_SCALAR; // the definition says only a few tokens
        for (int threads = slow ? 2 : 1; threads <= 2; threads++) {
            fr_engine *e = open_engine(fr_isa_name((fr_isa)isa), threads);
            for (int p = slow ? N_PROMPTS - 1 : 0; p < N_PROMPTS; p++)
                for (int dist = 0; dist < 2; dist++) {
                    if (!is_tried(isa + threads + p + dist, 2)) continue;
                    const int n = slow ? 4 : N_PREDICT;
                    fr_session *a = open_session(plain, kv_type, "none");
                    fr_session *b = open_session(e, kv_type, "prompt-lookup");
                    const fr_result *x = ask(plain, a, p, &dists[dist], n);
                    const fr_result *r = ask(e, b, p, &dists[dist], n);
                    assert_begins(x, r, n);
                    r = ask(e, b, p, &dists[dist], n); // the prompt's keys are still there
                    assert_int_equal(r->stats->prompt_reused, r->stats->prompt_tokens - 1);
                    assert_begins(x, r, n);
                    fr_session_close(a);
                    fr_session_close(b);
                }
            fr_engine_close(e);
        }
    }
    fr_engine_close(plain);
}

static void every_kv_type_gives_the_bytes_of_its_own_plain_decoding(void **state) {
    (void)state;
    need_model();
    for (int type = FR_KV_F16 + 1; type < FR_KV_TYPES; type++) // f16: above
        decode_with(fr_kv_type_name((fr_kv_type)type));
}

static void trees_give_the_logits_of_plain_decoding(fr_kv_type kv_type) {
    enum { NODES = 24, CONTEXT = 40 };
    fr_engine *e = open_engine("auto", 2);
    const fr_model *m = &e->model;
    size_t bytes = sizeof(float) * (size_t)m->config.n_vocab;
    fr_forward *f;
    fr_kv kv;
    fr_error err;
    assert_int_equal(fr_kv_open(&kv, &m->config, 128, kv_type, &err), FR_OK);
    assert_int_equal(fr_forward_open(&f, m, &(fr_forward_limits){.n_ctx = 128}, &err), FR_OK);
    fr_row rows[64];
    fr_pass pass = {.rows = rows, .kv = (fr_kv *[]){&kv}, .n_seq = 1};
    int path[64];
    srand(61);
    for (int i = 0; i < CONTEXT; i++) {
        rows[i] = fr_row_token(rand() % m->config.n_vocab, i - 1, 0);
        path[i] = i;
    }
    pass.n_rows = CONTEXT;
    fr_forward_run(f, &pass);
    fr_kv_commit(&kv, path, CONTEXT);
    int parent[NODES], id[NODES];
    for (int i = 0; i < NODES; i++) {
        parent[i] = rand() % (i + 1) - 1;
        id[i] = rand() % m->config.n_vocab;
        rows[i] = fr_row_token(id[i], parent[i], FR_WANT_LOGITS);
    }
    pass.n_rows = NODES;
    fr_forward_run(f, &pass);
    float *tree = malloc(bytes * NODES);
    for (int i = 0; i < NODES; i++)
        memcpy(tree + (size_t)i * m->config.n_vocab, fr_forward_logits(f, i), bytes);
    pass.n_rows = 1;
    for (int leaf = 0; leaf < NODES; leaf++) {
        int length = 0, slot = 0;
        for (int i = leaf; i >= 0; i = parent[i])
            path[length++] = i;
        fr_kv_truncate(&kv, CONTEXT);
        for (int i = length - 1; i >= 0; i--) {
            rows[0] = fr_row_token(id[path[i]], FR_PARENT_COMMITTED, FR_WANT_LOGITS);
            fr_forward_run(f, &pass);
            fr_kv_commit(&kv, &slot, 1);
        }
        assert_memory_equal(fr_forward_logits(f, 0), tree + (size_t)leaf * m->config.n_vocab,
                            bytes);
    }
    free(tree);
    fr_forward_close(f);
    fr_kv_close(&kv);
    fr_engine_close(e);
}

static void random_trees_give_the_logits_of_plain_decoding(void **state) {
    (void)state;
    need_model();
    for (int type = 0; type < FR_KV_TYPES; type++)
        trees_give_the_logits_of_plain_decoding((fr_kv_type)type);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_gives_the_bytes_of_plain_decoding),
        cmocka_unit_test(low_memory_gives_the_same_bytes),
        cmocka_unit_test(the_definition_gives_the_same_bytes),
        cmocka_unit_test(every_kv_type_gives_the_bytes_of_its_own_plain_decoding),
        cmocka_unit_test(random_trees_give_the_logits_of_plain_decoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
