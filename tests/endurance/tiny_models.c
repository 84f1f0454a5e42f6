// tiny_models.c — makes a folder of small random models, a datastore for each, and packs of every
// trained drafter in packs/ below it: `tiny_models DIR`. For tests that run the program itself.
#include "draft/retrieval/datastore_writer.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h> // after setjmp and stdarg: what the support files say failures with

enum { PATH = 1024, SAME = 7 }; // SAME: seed of models that agree often, as a draft and its target

// Layers 1 and 2 of `still` add nothing, so the drafter that leaves them out is always right.
enum { STILL = 0x3C };

static const struct made {
    const char *name;
    fr_tiny_options o;
} MODELS[] = {
    {"tiny-llama-f32", {.seed = SAME, .pre = "smollm"}},
    {"tiny-llama-q8_0", {.type = FR_TYPE_Q8_0, .seed = SAME, .pre = "smollm"}},
    {"tiny-llama-still", {.type = FR_TYPE_Q8_0, .seed = 1, .n_layer = 4, .identity = STILL}},
    {"tiny-llama-spm-q4_k", {.type = FR_TYPE_Q4_K, .seed = 2, .spm = true, .n_padding = 5}},
    {"tiny-llama-window-bf16", {.type = FR_TYPE_BF16, .seed = 3, .window = 16, .untied = true}},
    {"tiny-llama-short-iq4_nl", {.type = FR_TYPE_IQ4_NL, .seed = 4, .n_ctx = 96}},
    {"tiny-qwen2-q5_1-padding",
     {.arch = "qwen2", .type = FR_TYPE_Q5_1, .seed = 5, .n_padding = 37, .pre = "qwen2"}},
    {"tiny-qwen2-q6_k-untied",
     {.arch = "qwen2", .type = FR_TYPE_Q6_K, .seed = 6, .untied = true, .n_layer = 2}},
    {"tiny-qwen3-f16", {.arch = "qwen3", .type = FR_TYPE_F16, .seed = 8, .head_dim = 32}},
    {"tiny-qwen3-q3_k", {.arch = "qwen3", .type = FR_TYPE_Q3_K, .seed = 9, .n_kv = 1}},
    {"tiny-gemma3-q8_0", {.arch = "gemma3", .type = FR_TYPE_Q8_0, .seed = SAME, .n_layer = 4}},
    {"tiny-gemma3-q4_0",
     {.arch = "gemma3", .type = FR_TYPE_Q4_0, .seed = SAME, .n_layer = 4, .global_every = 3}},
    {"tiny-gemma3-q2_k-padding",
     {.arch = "gemma3", .type = FR_TYPE_Q2_K, .seed = 11, .window = 7, .n_padding = 3}},
    {"tiny-phi3-q4_1-untied", {.arch = "phi3", .type = FR_TYPE_Q4_1, .seed = 12, .untied = true}},
    {"tiny-phi3-q5_k-window", {.arch = "phi3", .type = FR_TYPE_Q5_K, .seed = 13, .window = 20}},
    {"tiny-phi3-iq4_xs", {.arch = "phi3", .type = FR_TYPE_IQ4_XS, .seed = 14, .n_kv = 4}},
    {"tiny-gemma2-q4_0", {.arch = "gemma2", .type = FR_TYPE_Q4_0, .seed = 30, .n_layer = 4}},
    {"tiny-smollm3-q4_k", {.arch = "smollm3", .type = FR_TYPE_Q4_K, .seed = 31, .n_layer = 4}},
    {"tiny-granite-q8_0",
     {.arch = "granite", .type = FR_TYPE_Q8_0, .seed = 32, .untied = true, .loud_every = 24}},
    {"tiny-minicpm-q4_1", {.arch = "minicpm", .type = FR_TYPE_Q4_1, .seed = 33}},
    {"tiny-mistral3-q6_k", {.arch = "mistral3", .type = FR_TYPE_Q6_K, .seed = 34}},
    {"tiny-ernie4_5-q5_0", {.arch = "ernie4_5", .type = FR_TYPE_Q5_0, .seed = 35, .head_dim = 32}},
    {"tiny-seed_oss-iq4_nl",
     {.arch = "seed_oss", .type = FR_TYPE_IQ4_NL, .seed = 36, .untied = true, .loud_every = 24}},
    {"tiny-glm4-q5_1", {.arch = "glm4", .type = FR_TYPE_Q5_1, .seed = 37}},
    {"tiny-hunyuan-dense-f16", {.arch = "hunyuan-dense", .type = FR_TYPE_F16, .seed = 38}},
    {"tiny-olmo2-q5_k",
     {.arch = "olmo2", .type = FR_TYPE_Q5_K, .seed = 39, .window = 11, .n_layer = 4}},
    {"tiny-exaone4-q4_0",
     {.arch = "exaone4", .type = FR_TYPE_Q4_0, .seed = 40, .window = 11, .n_layer = 4}},
    {"tiny-qwen3moe-q4_k",
     {.arch = "qwen3moe", .type = FR_TYPE_Q4_K, .seed = 43, .n_expert = 40, .n_used = 4}},
    {"tiny-gpt-oss-q8_0", {.arch = "gpt-oss", .type = FR_TYPE_Q8_0, .seed = 44, .window = 11}},
    {"tiny-granitemoe-q4_0", {.arch = "granitemoe", .type = FR_TYPE_Q4_0, .seed = 45}},
    {"tiny-glm4moe-q5_0",
     {.arch = "glm4moe", .type = FR_TYPE_Q5_0, .seed = 46, .untied = true, .loud_every = 24}},
    {"tiny-llama4-iq4_nl", {.arch = "llama4", .type = FR_TYPE_IQ4_NL, .seed = 47, .n_layer = 4}},
    {"tiny-command-r-q8_0", {.arch = "command-r", .type = FR_TYPE_Q8_0, .seed = 41}},
    {"tiny-cohere2-q3_k",
     {.arch = "cohere2", .type = FR_TYPE_Q3_K, .seed = 42, .window = 11, .n_layer = 4}},
    {"tiny-starcoder2-bf16", {.arch = "starcoder2", .type = FR_TYPE_BF16, .seed = 43}},
    {"tiny-qwen3-mxfp4", {.arch = "qwen3", .type = FR_TYPE_MXFP4, .seed = 44}},
    {"tiny-llama-iq2_s", {.type = FR_TYPE_IQ2_S, .seed = 45}},
    // They say about a dozen tokens, so drafters that learnt nothing are often right.
    {"tiny-llama-loud", {.seed = 15, .untied = true, .loud_every = 24, .pre = "smollm"}},
    {"tiny-qwen3-loud-q8_0",
     {.arch = "qwen3", .type = FR_TYPE_Q8_0, .seed = 16, .untied = true, .loud_every = 30}},
    {"tiny-gemma3-loud-q4_k",
     {.arch = "gemma3", .type = FR_TYPE_Q4_K, .seed = 17, .untied = true, .loud_every = 30}},
    {"tiny-phi3-loud-q5_0",
     {.arch = "phi3",
      .type = FR_TYPE_Q5_0,
      .seed = 18,
      .untied = true,
      .loud_every = 24,
      .window = 12}},
};

static const int32_t ONE_LAYER[] = {1, 1, 1};
static const struct packed {
    const char *name;
    fr_tiny_pack o;
} PACKS[] = {
    {"medusa", {.form = &fr_medusa_form, .n_draft = 200}},
    {"medusa-own-heads",
     {.form = &fr_medusa_form, .variant = FR_MEDUSA_OWN_HEADS, .depth = 2, .n_draft = 250}},
    {"medusa-hydra", {.form = &fr_medusa_form, .variant = FR_MEDUSA_HYDRA}},
    {"medusa-exit", {.form = &fr_medusa_form, .variant = FR_MEDUSA_EXIT, .tap = 1, .depth = 4}},
    {"eagle", {.form = &fr_eagle_form, .n_draft = 200, .depth = 5}},
    {"eagle-wide", {.form = &fr_eagle_form, .d_ff = 256, .n_draft = 7}},
    {"hidden-state", {.form = &fr_hidden_state_form, .rank = 64, .n_draft = 220, .depth = 4}},
    {"hidden-state-gate", {.form = &fr_hidden_state_form, .rank = 32, .gate = true}},
    {"hidden-state-pure", {.form = &fr_hidden_state_form, .pure = true, .n_draft = 100}},
    {"ppd", {.form = &fr_ppd_form, .n_draft = 230}},
    {"ppd-ensemble", {.form = &fr_ppd_form, .ensemble = 3, .depth = 2}},
    {"hidden-transfer", {.form = &fr_hidden_transfer_form, .n_draft = 200, .layers = ONE_LAYER}},
    {"chimera", {.form = &fr_chimera_form, .n_draft = 200}},
    {"chimera-residual",
     {.form = &fr_chimera_form, .encoder = FR_ENCODER_RESIDUAL, .ngram = 3, .depth = 2}},
    {"chimera-own-heads",
     {.form = &fr_chimera_form,
      .variant = FR_MEDUSA_OWN_HEADS,
      .encoder = FR_ENCODER_LAYERS,
      .no_residual = true}},
    {"early-exit", {.form = &fr_early_exit_form, .n_draft = 270}},
    {"layer-skip", {.form = &fr_layer_skip_form, .n_draft = 270, .skip = 0x4}},
};

static const char *const TEXTS[] = {
    "Then the wind and the water and the other wind went on and on.\n",
    "The one and the other: you and the thing that you were in the end.\n",
    "for (int i = 0; i < n; i++) {\n    sum += x[i];\n}\n",
    "1 2 3 4 5 6 7 8 9 10 1 2 3 4 5 6 7 8 9 10\n",
    "a a a a a a a a a b b b b b b b b b\n",
};

static void must(fr_status st, const fr_error *err) {
    if (st) fail_msg("%s", err->text);
}

static void write_store(const char *path, const fr_gguf *model) {
    fr_error err;
    fr_tokenizer *tokenizer;
    fr_datastore_writer w;
    must(fr_tokenizer_open(&tokenizer, model, &err), &err);
    must(fr_datastore_writer_open(&w, tokenizer, &err), &err);
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        fr_ids ids = {0};
        must(fr_tokenizer_encode(tokenizer, TEXTS[i], strlen(TEXTS[i]), 0, &ids, &err), &err);
        must(fr_datastore_writer_add(&w, ids.data, ids.n, &err), &err);
        fr_ids_free(&ids);
    }
    must(fr_datastore_writer_finish(&w, path, NULL, NULL, &err), &err);
    fr_datastore_writer_close(&w);
    fr_tokenizer_close(tokenizer);
}

static void write_pack(const char *path, const fr_tiny_pack *o, const fr_model *target) {
    fr_error err;
    fr_gguf_writer *w;
    must(fr_gguf_writer_open(&w, &err), &err);
    fr_tiny_pack_add(w, o, target);
    must(fr_gguf_writer_finish(w, path, &err), &err);
    fr_gguf_writer_close(w);
}

static void write_model(const char *folder, const struct made *m) {
    char path[PATH];
    fr_error err;
    fr_opened target;
    snprintf(path, sizeof path, "%s/%s.gguf", folder, m->name);
    must(fr_tiny_write(&m->o, path, &err), &err);
    fr_opened_open(&target, &m->o, &fr_kern_scalar, 1);
    snprintf(path, sizeof path, "%s/%s.frd", folder, m->name);
    write_store(path, target.gguf);
    for (size_t i = 0; i < sizeof PACKS / sizeof *PACKS; i++) {
        fr_tiny_pack o = PACKS[i].o;
        o.type = target.model.config.d % 256 ? FR_TYPE_F32 : FR_TYPE_Q8_0;
        if (o.form == &fr_layer_skip_form && m->o.identity) o.skip = m->o.identity;
        snprintf(path, sizeof path, "%s/packs/%s-%s.gguf", folder, m->name, PACKS[i].name);
        write_pack(path, &o, &target.model);
    }
    fr_opened_close(&target);
}

static const char *folder;

static void all_models(void **unused) {
    (void)unused;
    char path[PATH];
    snprintf(path, sizeof path, "%s/packs", folder);
    mkdir(folder, 0777); // there already: what is written next says whether it can be used
    mkdir(path, 0777);
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++)
        write_model(folder, &MODELS[i]);
}

int main(int argc, char **argv) {
    if (argc != 2 || strlen(argv[1]) > PATH / 2) {
        fprintf(stderr, "Usage: tiny_models DIR\n");
        return 2;
    }
    folder = argv[1];
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_models)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
