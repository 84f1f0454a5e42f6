// Keys of a model file by the names and in the types that other programs write: each is obeyed, changes
// nothing, or is refused by its name.
#include "model/forward.h"
#include "model/rope.h"
#include "support/edit_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static fr_config config;
static fr_error err;

// Reads the configuration of a tiny model after the edits, which end with {0}.
static fr_status read_edited(const fr_tiny_options *o, const fr_edit *edits) {
    fr_edited x;
    if (fr_edit_open(&x, o, edits, &err)) fail_msg("%s", err.text);
    const fr_status st = fr_model_check(&config, NULL, x.file, &err);
    fr_edit_close(&x);
    return st;
}

#define EDITED(options, ...) read_edited(options, (fr_edit[]){__VA_ARGS__, {0}})
#define O(...)               (&(fr_tiny_options){__VA_ARGS__})
#define RUNS(options, ...)                                                                         \
    do {                                                                                           \
        if (EDITED(options, __VA_ARGS__)) fail_msg("%s", err.text);                                \
    } while (0)
#define REFUSED(options, says, ...)                                                                \
    do {                                                                                           \
        if (!EDITED(options, __VA_ARGS__)) fail_msg("not refused: expected '%s'", says);           \
        if (!strstr(err.text, says)) fail_msg("expected '%s' in '%s'", says, err.text);            \
    } while (0)
#define LLAMA O(.arch = "llama", .n_layer = 2)
#define GEMMA O(.arch = "gemma3", .n_layer = 4)

static void ollamas_names_of_the_bases_are_read(void **state) {
    (void)state;
    RUNS(GEMMA, fr_edit_none("gemma3.rope.freq_base"),
         fr_edit_f32("gemma3.rope.global.freq_base", 5e5f),
         fr_edit_f32("gemma3.rope.local.freq_base", 2e4f));
    assert_true(config.rope_base == 5e5f && config.rope_base_local == 2e4f);
    RUNS(GEMMA, fr_edit_f32("gemma3.rope.freq_base", 3e5f),
         fr_edit_f32("gemma3.rope.global.freq_base", 5e5f)); // as both programs read it
    assert_true(config.rope_base == 3e5f && config.rope_base_local == 10000);
    RUNS(GEMMA, fr_edit_f32("gemma3.rope.freq_base_swa", 3e4f));
    assert_true(config.rope_base_local == 3e4f);
}

static void gemma_3_has_defaults_of_its_own(void **state) {
    (void)state;
    RUNS(GEMMA, fr_edit_none("gemma3.rope.freq_base"),
         fr_edit_none("gemma3.attention.layer_norm_rms_epsilon"));
    assert_true(config.rope_base == 1e6f && config.rope_base_local == 1e4f && config.eps == 1e-6f);
    assert_true(config.rope_factor == 1 && config.rope_scaling == FR_ROPE_NONE);
    RUNS(O(.arch = "gemma3", .n_layer = 34, .d = 32), fr_edit_none("gemma3.rope.freq_base"));
    assert_true(config.rope_factor == 8 && config.rope_scaling == FR_ROPE_LINEAR);
    RUNS(O(.arch = "gemma3", .n_layer = 34, .d = 32), fr_edit_bool("gemma3.x", true));
    assert_true(config.rope_factor == 1);
    RUNS(GEMMA, fr_edit_none("gemma3.attention.sliding_window"));
    assert_int_equal(config.plan[0].window, 0);
}

static void families_have_defaults_by_size(void **state) {
    (void)state;
    RUNS(O(.arch = "gemma2", .n_layer = 46, .d = 32, .head_dim = 16),
         fr_edit_bool("gemma2.x", true));
    assert_true(config.plan[3].attn_scale == (float)(1 / sqrt(32 / 4.0)));
    RUNS(O(.arch = "gemma2", .n_layer = 2, .d = 32, .head_dim = 16),
         fr_edit_none("gemma2.attn_logit_softcapping"),
         fr_edit_none("gemma2.final_logit_softcapping"));
    assert_true(config.plan[1].attn_scale == 0.25f && config.plan[1].attn_cap == 50 &&
                config.logit_cap == 30);
    RUNS(O(.arch = "minicpm", .n_layer = 4, .d = 32), fr_edit_none("minicpm.logit_scale"),
         fr_edit_none("minicpm.residual_scale"), fr_edit_none("minicpm.embedding_scale"));
    assert_true(config.logit_scale == 8 && config.embed_scale == 12 &&
                config.plan[2].residual_scale == 0.7f);
    RUNS(O(.arch = "exaone4", .n_layer = 64, .d = 32, .n_ctx = 8192),
         fr_edit_none("exaone4.attention.sliding_window"),
         fr_edit_none("exaone4.attention.sliding_window_pattern"));
    assert_true(config.plan[0].window == 4096 && config.plan[0].rope == FR_ROPE_OF_LOCAL);
    assert_true(!config.plan[3].window && config.plan[3].rope == FR_ROPE_OF_NONE);
    RUNS(O(.arch = "exaone4", .n_layer = 4), fr_edit_none("exaone4.attention.sliding_window"));
    assert_true(!config.window && config.plan[3].rope == FR_ROPE_OF_FULL);
}

static void granite_without_finetuned_rope_does_not_rotate(void **state) {
    (void)state;
    RUNS(O(.arch = "granite", .n_layer = 2), fr_edit_bool("granite.rope.scaling.finetuned", false));
    assert_true(config.plan[0].rope == FR_ROPE_OF_NONE && config.plan[1].rope == FR_ROPE_OF_NONE);
    RUNS(O(.arch = "granite", .n_layer = 2), fr_edit_bool("granite.rope.scaling.finetuned", true));
    assert_true(config.plan[1].rope == FR_ROPE_OF_FULL);
    RUNS(O(.arch = "llama", .n_layer = 2), fr_edit_bool("llama.rope.scaling.finetuned", false));
    assert_true(config.plan[1].rope == FR_ROPE_OF_FULL);
}

static void glm_4_with_sections_rotates_halves(void **state) {
    (void)state;
    static const uint32_t none[4] = {0, 0, 0, 0}, some[4] = {4, 2, 2, 0};
    RUNS(O(.arch = "glm4"), fr_edit_u32s("glm4.rope.dimension_sections", none, 4));
    assert_false(config.neox);
    RUNS(O(.arch = "glm4"), fr_edit_u32s("glm4.rope.dimension_sections", some, 4));
    assert_true(config.neox);
    RUNS(O(.arch = "ernie4_5"), fr_edit_u32s("ernie4_5.rope.dimension_sections", some, 4));
    assert_false(config.neox);
}

// 1 + 0.1 ln 8, as OLMo 3's files have it.
static void yarns_own_magnitude_is_no_further_factor(void **state) {
    (void)state;
    const float magnitude = 1.2079441f;
    fr_rope r;
    RUNS(O(.arch = "olmo2"), fr_edit_f32("olmo2.rope.scaling.attn_factor", magnitude));
    assert_int_equal(fr_rope_open(&r, &config, NULL, &err), FR_OK);
    assert_true(fabs(r.magnitude - (double)magnitude) < 1e-6 && r.magnitude_local == 1);
    fr_rope_close(&r);
    RUNS(O(.arch = "olmo2"), fr_edit_f32("olmo2.rope.scaling.yarn_attn_factor", magnitude));
    REFUSED(O(.arch = "olmo2"), "yarn_attn_factor",
            fr_edit_f32("olmo2.rope.scaling.yarn_attn_factor", 1.3f));
    REFUSED(LLAMA, "yarn_attn_factor",
            fr_edit_f32("llama.rope.scaling.yarn_attn_factor", magnitude));
}

static void ollamas_names_of_mistral_3_are_read(void **state) {
    (void)state;
    RUNS(O(.arch = "mistral3"), fr_edit_none("mistral3.rope.scaling.yarn_log_multiplier"),
         fr_edit_none("mistral3.attention.temperature_scale"),
         fr_edit_f32("mistral3.rope.scaling.mscale_all_dim", 1),
         fr_edit_f32("mistral3.rope.scaling.mscale", 1),
         fr_edit_f32("mistral3.rope.scaling_beta", 0.1f),
         fr_edit_f32("mistral3.rope.scaling.beta_fast", 0),
         fr_edit_u32("mistral3.attention.temperature_length", 8));
    assert_true(config.yarn_multiplier == 1 && config.temperature == 0.1f &&
                config.plan[1].tempered && config.yarn_beta_fast == 32);
    REFUSED(O(.arch = "mistral3"), "temperature_length",
            fr_edit_u32("mistral3.attention.temperature_length", 9));
}

static void one_expert_is_none(void **state) {
    (void)state;
    RUNS(O(.arch = "hunyuan-dense"), fr_edit_u32("hunyuan-dense.expert_count", 1));
    REFUSED(O(.arch = "hunyuan-dense"), "expert_count",
            fr_edit_u32("hunyuan-dense.expert_count", 2));
}

static void keys_that_nothing_reads_are_refused_where_they_matter(void **state) {
    (void)state;
    static const char *const matter[] = {"rope.foo",
                                         "rope.scaling.low_freq_factor",
                                         "attention.foo",
                                         "attention.temperature_scale",
                                         "attention.q_lora_rank",
                                         "attention.value_scale"};
    for (size_t i = 0; i < sizeof matter / sizeof *matter; i++) {
        char key[96];
        snprintf(key, sizeof key, "llama.%s", matter[i]);
        REFUSED(LLAMA, key, fr_edit_f32(key, 4.5f));
        REFUSED(LLAMA, key, fr_edit_u32(key, 7));
        REFUSED(LLAMA, key, fr_edit_str(key, "some"));
        REFUSED(LLAMA, key, fr_edit_bools(key, (uint8_t[]){0, 1}, 2));
        RUNS(LLAMA, fr_edit_f32(key, 0));
        RUNS(LLAMA, fr_edit_u32(key, 0));
        RUNS(LLAMA, fr_edit_bool(key, false));
    }
    REFUSED(LLAMA, "found 'x'", fr_edit_strs("llama.rope.foo", (const char *const[]){"", "x"}, 2));
    REFUSED(LLAMA, "llama.rope.freq_scale", fr_edit_f32("llama.rope.freq_scale", 0.25f));
    REFUSED(LLAMA, "llama.attention.causal", fr_edit_bool("llama.attention.causal", false));
    REFUSED(LLAMA, "expected silu, found 'relu'", fr_edit_str("llama.hidden_act", "relu"));
    REFUSED(LLAMA, "llama.use_parallel_residual",
            fr_edit_bool("llama.use_parallel_residual", true));
    REFUSED(O(.arch = "qwen2", .n_layer = 1), "qwen2.attention.sliding_window",
            fr_edit_u32("qwen2.attention.sliding_window", 64));
}

// What llama.cpp's and Ollama's converters write, and llama.cpp when it saves a model again.
static void keys_that_change_nothing_are_left_alone(void **state) {
    (void)state;
    RUNS(LLAMA, fr_edit_bool("llama.rope.scaling.finetuned", true),
         fr_edit_u32s("llama.rope.dimension_sections", (uint32_t[]){16, 24, 24, 0}, 4),
         fr_edit_f32("llama.attention.layer_norm_epsilon", 1e-5f),
         fr_edit_u32("llama.attention.head_dim", 16), fr_edit_bool("llama.attention.causal", true),
         fr_edit_u32("llama.attention.key_length_swa", 16),
         fr_edit_u32("llama.rope.dimension_count_swa", 16),
         fr_edit_f32("llama.attention.scale", 0.25f), fr_edit_f32("llama.logit_scale", 0),
         fr_edit_f32("llama.attention.clamp_kqv", 0), fr_edit_u32("llama.vocab_size", 3),
         fr_edit_u32("llama.attention.sliding_window", 0),
         fr_edit_u32s("llama.attention.rope_pattern", (uint32_t[]){1, 1}, 2),
         fr_edit_str("llama.tensor_data_layout", "Meta AI original pth"),
         fr_edit_f32("llama.vision.rope.freq_base", 5), fr_edit_str("llama.hidden_act", "silu"),
         fr_edit_u32("llama.nextn_predict_layers", 0));
    RUNS(GEMMA, fr_edit_f32("gemma3.rope.scaling.extrapolation_factor", 1),
         fr_edit_str("gemma3.rope.scaling.type", "yarn"),
         fr_edit_f32("gemma3.rope.scaling.factor", 8),
         fr_edit_f32("gemma3.rope.scaling.beta_fast", 64),
         fr_edit_f32("gemma3.rope.scaling.beta_slow", 2));
    assert_true(config.yarn_beta_fast == 64 && config.yarn_beta_slow == 2);
    RUNS(O(.arch = "qwen2", .n_layer = 1), fr_edit_u32("qwen2.attention.sliding_window", 1 << 20));
}

static void window_patterns_are_numbers_and_arrays(void **state) {
    (void)state;
    static const char key[] = "gemma3.attention.sliding_window_pattern";
    const uint8_t bools[] = {1, 0, 1, 0};
    const uint32_t numbers[] = {1, 0, 1, 0};
    const fr_edit same[] = {fr_edit_bools(key, bools, 4), fr_edit_u32s(key, numbers, 4),
                            fr_edit_u8s(key, bools, 4), fr_edit_u32(key, 2), fr_edit_u64(key, 2)};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        RUNS(GEMMA, same[i]);
        for (int l = 0; l < 4; l++)
            assert_int_equal(config.plan[l].window, l % 2 ? 0 : 24);
    }
    RUNS(GEMMA, fr_edit_bools(key, (uint8_t[]){0, 0, 0, 1}, 4)); // no period
    assert_true(!config.plan[0].window && config.plan[3].window == 24);
    RUNS(GEMMA, fr_edit_u32(key, 100));
    for (int l = 0; l < 4; l++)
        assert_int_equal(config.plan[l].window, 24);
    RUNS(GEMMA, fr_edit_u32(key, 1));
    for (int l = 0; l < 4; l++)
        assert_int_equal(config.plan[l].window, 0);
    REFUSED(GEMMA, "expected 4 values, one a layer, found 3", fr_edit_bools(key, bools, 3));
    REFUSED(GEMMA, key, fr_edit_str(key, "sliding"));
    RUNS(O(.arch = "llama", .n_layer = 2, .window = 24),
         fr_edit_bools("llama.attention.sliding_window_pattern", bools, 2));
    assert_true(config.plan[0].window == 24 && !config.plan[1].window);
}

static void one_number_a_layer_runs_where_all_are_equal(void **state) {
    (void)state;
    static const struct {
        const char *key;
        uint32_t value;
    } keys[] = {{"llama.attention.head_count", 4},
                {"llama.attention.head_count_kv", 2},
                {"llama.feed_forward_length", 128}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const uint32_t v = keys[i].value;
        const int32_t equal[] = {(int32_t)v, (int32_t)v}, below[] = {-1, -1};
        RUNS(LLAMA, fr_edit_u32s(keys[i].key, (uint32_t[]){v, v}, 2));
        RUNS(LLAMA, fr_edit_i32s(keys[i].key, equal, 2));
        REFUSED(LLAMA, "in layer 1", fr_edit_u32s(keys[i].key, (uint32_t[]){v, v * 2}, 2));
        REFUSED(LLAMA, "expected 2 numbers, one a layer, found 3",
                fr_edit_u32s(keys[i].key, (uint32_t[]){v, v, v}, 3));
        REFUSED(LLAMA, keys[i].key, fr_edit_u32s(keys[i].key, (uint32_t[]){0, 0}, 2));
        REFUSED(LLAMA, keys[i].key, fr_edit_i32s(keys[i].key, below, 2));
        REFUSED(LLAMA, keys[i].key, fr_edit_str(keys[i].key, "4"));
        RUNS(LLAMA, fr_edit_u64(keys[i].key, v));
        RUNS(LLAMA, fr_edit_i32(keys[i].key, (int32_t)v));
    }
    RUNS(O(.n_layer = 2, .d = 32, .n_head = 4, .n_kv = 4),
         fr_edit_none("llama.attention.head_count_kv"));
    assert_int_equal(config.n_kv, 4);
}

static void scalings_may_leave_keys_out(void **state) {
    (void)state;
    RUNS(LLAMA, fr_edit_f32("llama.rope.scale_linear", 4));
    assert_true(config.rope_scaling == FR_ROPE_LINEAR && config.rope_factor == 4);
    RUNS(LLAMA, fr_edit_f32("llama.rope.scale_linear", 4),
         fr_edit_f32("llama.rope.scaling.factor", 2));
    assert_true(config.rope_factor == 2); // the old name counts where the new one is absent
    RUNS(LLAMA, fr_edit_f32("llama.rope.scaling.factor", 0));
    assert_true(config.rope_scaling == FR_ROPE_NONE && config.rope_factor == 1);
    RUNS(LLAMA, fr_edit_str("llama.rope.scaling.type", "none"),
         fr_edit_f32("llama.rope.scaling.factor", 4));
    assert_true(config.rope_scaling == FR_ROPE_NONE && config.rope_factor == 1);
    RUNS(LLAMA, fr_edit_str("llama.rope.scaling.type", "yarn"));
    assert_true(config.rope_scaling == FR_ROPE_YARN && config.rope_factor == 1);
    RUNS(LLAMA, fr_edit_f32("llama.rope.scaling.attn_factor", 1.25f));
    assert_true(config.rope_attn_factor == 1.25f);
    REFUSED(LLAMA, "yarn_ext_factor", fr_edit_f32("llama.rope.scaling.yarn_ext_factor", 1),
            fr_edit_f32("llama.rope.scaling.factor", 4)); // YaRN without its name
    REFUSED(O(.arch = "phi3", .n_layer = 1, .n_ctx_short = 64), "rope.scaling.factor",
            fr_edit_f32("phi3.rope.scaling.factor", 4));
    REFUSED(O(.arch = "llama", .n_layer = 1, .window = 24), "llama.rope.freq_base_swa",
            fr_edit_f32("llama.rope.freq_base_swa", 20000));
}

enum { ROWS = 40, SEEN = 64 }; // more rows than the window has

// The first SEEN logits after ROWS tokens.
static void first_logits(const fr_tiny_options *o, const fr_edit *edits, float out[SEEN]) {
    fr_edited x;
    fr_pool *pool;
    fr_model m;
    fr_kv kv = {0};
    fr_forward *f;
    fr_row rows[ROWS];
    const fr_forward_limits limits = {.max_rows = ROWS, .max_logits = 1, .n_ctx = 64};
    if (fr_edit_open(&x, o, edits, &err) || fr_pool_open(&pool, 1, &err) ||
        fr_model_open(&m, x.file, &fr_kern_scalar, pool, FR_WEIGHTS_PACKED, NULL, NULL, &err) ||
        fr_kv_open(&kv, &m.config, 64, FR_KV_F16, &err) || fr_forward_open(&f, &m, &limits, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < ROWS; i++)
        rows[i] = fr_row_token(i % 7 * 31, i - 1, i == ROWS - 1 ? FR_WANT_LOGITS : 0);
    fr_forward_run(f, &(fr_pass){.rows = rows, .n_rows = ROWS, .kv = (fr_kv *[]){&kv}, .n_seq = 1});
    memcpy(out, fr_forward_logits(f, ROWS - 1), SEEN * sizeof *out);
    fr_forward_close(f);
    fr_kv_close(&kv);
    fr_model_close(&m);
    fr_pool_close(pool);
    fr_edit_close(&x);
}

static void a_scaling_changes_layers_that_see_everything(void **state) {
    (void)state;
    const fr_tiny_options o = {.arch = "gemma3", .n_layer = 3, .d = 32};
    float logits[2][2][SEEN];
    for (int global = 0; global < 2; global++) {
        const fr_edit pattern =
            fr_edit_u32("gemma3.attention.sliding_window_pattern", global ? 2 : 100);
        first_logits(&o, (fr_edit[]){pattern, {0}}, logits[global][0]);
        first_logits(&o,
                     (fr_edit[]){pattern,
                                 fr_edit_str("gemma3.rope.scaling.type", "yarn"),
                                 fr_edit_f32("gemma3.rope.scaling.factor", 4),
                                 fr_edit_u32("gemma3.rope.scaling.original_context_length", 256),
                                 {0}},
                     logits[global][1]);
    }
    assert_memory_equal(logits[0][0], logits[0][1], sizeof logits[0][0]);
    assert_memory_not_equal(logits[1][0], logits[1][1], sizeof logits[1][0]);
}

// Cosines and sines times c multiply the scores of the attention by c squared.
static void a_factor_of_the_file_changes_the_scores(void **state) {
    (void)state;
    const fr_tiny_options o = {.arch = "llama", .n_layer = 1, .d = 32};
    float plain[SEEN], stretched[SEEN], one[SEEN];
    first_logits(&o, (fr_edit[]){{0}}, plain);
    first_logits(&o, (fr_edit[]){fr_edit_f32("llama.rope.scaling.attn_factor", 1), {0}}, one);
    first_logits(&o, (fr_edit[]){fr_edit_f32("llama.rope.scaling.attn_factor", 1.3f), {0}},
                 stretched);
    assert_memory_equal(plain, one, sizeof plain);
    assert_memory_not_equal(plain, stretched, sizeof plain);
}

// The last block of this file guesses ahead: it has a projection besides a layer's tensors.
static void layers_that_guess_ahead_are_left_out(void **state) {
    (void)state;
    RUNS(O(.n_layer = 3), fr_edit_u32("llama.nextn_predict_layers", 1),
         fr_edit_tensor("blk.2.nextn.eh_proj.weight"));
    assert_int_equal(config.n_layer, 2);
    RUNS(O(.n_layer = 3), fr_edit_u32("llama.block_count", 2),
         fr_edit_tensor("blk.2.nextn.eh_proj.weight"));
    REFUSED(O(.n_layer = 3), "blk.2.", fr_edit_u32("llama.block_count", 2));
    REFUSED(O(.n_layer = 3), "blk.2.", fr_edit_u32("llama.nextn_predict_layers", 1));
    REFUSED(O(.n_layer = 3), "nextn_predict_layers", fr_edit_u32("llama.nextn_predict_layers", 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ollamas_names_of_the_bases_are_read),
        cmocka_unit_test(gemma_3_has_defaults_of_its_own),
        cmocka_unit_test(families_have_defaults_by_size),
        cmocka_unit_test(granite_without_finetuned_rope_does_not_rotate),
        cmocka_unit_test(glm_4_with_sections_rotates_halves),
        cmocka_unit_test(yarns_own_magnitude_is_no_further_factor),
        cmocka_unit_test(ollamas_names_of_mistral_3_are_read),
        cmocka_unit_test(one_expert_is_none),
        cmocka_unit_test(keys_that_nothing_reads_are_refused_where_they_matter),
        cmocka_unit_test(keys_that_change_nothing_are_left_alone),
        cmocka_unit_test(window_patterns_are_numbers_and_arrays),
        cmocka_unit_test(one_number_a_layer_runs_where_all_are_equal),
        cmocka_unit_test(scalings_may_leave_keys_out),
        cmocka_unit_test(a_scaling_changes_layers_that_see_everything),
        cmocka_unit_test(a_factor_of_the_file_changes_the_scores),
        cmocka_unit_test(layers_that_guess_ahead_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
