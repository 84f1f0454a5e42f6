// Keys and tensors of experts: each is obeyed or refused by its name, also where numbers make no
// sense.
#include "model/forward.h"
#include "support/edit_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static fr_config config;
static fr_error err;

static fr_status read_edited(const fr_tiny_options *o, const fr_edit *edits) {
    fr_edited x;
    if (fr_edit_open(&x, o, edits, &err)) fail_msg("%s", err.text);
    const fr_status st = fr_model_check(&config, NULL, x.file, &err);
    fr_edit_close(&x);
    return st;
}

#define O(...) (&(fr_tiny_options){__VA_ARGS__})
#define RUNS(options, ...)                                                                         \
    do {                                                                                           \
        if (read_edited(options, (fr_edit[]){__VA_ARGS__, {0}})) fail_msg("%s", err.text);         \
    } while (0)
#define REFUSED(options, says, ...)                                                                \
    do {                                                                                           \
        if (!read_edited(options, (fr_edit[]){__VA_ARGS__, {0}}))                                  \
            fail_msg("not refused: expected '%s'", says);                                          \
        if (!strstr(err.text, says)) fail_msg("expected '%s' in '%s'", says, err.text);            \
    } while (0)
#define MIXTRAL O(.n_expert = 8)
#define QWEN    O(.arch = "qwen3moe")
#define LING    O(.arch = "bailingmoe2", .n_layer = 2)

static void what_families_leave_unsaid_is_known(void **state) {
    (void)state;
    RUNS(MIXTRAL, fr_edit_none("llama.expert_feed_forward_length"));
    assert_int_equal(config.experts.n, 8);
    assert_int_equal(config.experts.used, 2);
    assert_int_equal(config.experts.d_ff, 64);
    assert_true(config.experts.normed && config.experts.gating == FR_GATE_SOFTMAX &&
                config.experts.scale == 1 && !config.experts.d_shared);
    RUNS(O(.arch = "qwen2moe"), {0});
    assert_true(!config.experts.normed && config.experts.d_shared == 128);
    RUNS(O(.arch = "gpt-oss"), {0});
    assert_true(config.experts.gating == FR_GATE_CHOSEN && config.plan[0].window &&
                !config.plan[1].window);
    RUNS(O(.arch = "glm4moe", .n_layer = 3), {0});
    assert_true(config.experts.gating == FR_GATE_SIGMOID && !config.plan[0].experts &&
                config.plan[1].experts && config.plan[2].experts);
    RUNS(O(.arch = "llama4", .n_layer = 4), {0});
    assert_true(config.plan[1].experts && !config.plan[2].experts && config.experts.weighs_inputs);
}

static void keys_of_the_rule_are_obeyed(void **state) {
    (void)state;
    RUNS(QWEN, fr_edit_u32("qwen3moe.expert_gating_func", 2),
         fr_edit_bool("qwen3moe.expert_weights_norm", false),
         fr_edit_f32("qwen3moe.expert_weights_scale", 2.5f));
    assert_true(config.experts.gating == FR_GATE_SIGMOID && !config.experts.normed &&
                config.experts.scale == 2.5f);
    RUNS(QWEN, fr_edit_u32("qwen3moe.expert_gating_func", 0),
         fr_edit_f32("qwen3moe.expert_weights_scale", 0)); // not set, as llama.cpp has it
    assert_true(config.experts.gating == FR_GATE_SOFTMAX && config.experts.scale == 1);
    static const uint32_t used[] = {3, 3, 3}, other[] = {3, 2, 3};
    RUNS(QWEN, fr_edit_array("qwen3moe.expert_used_count", FR_GGUF_U32, used, 3));
    REFUSED(QWEN, "expert_used_count",
            fr_edit_array("qwen3moe.expert_used_count", FR_GGUF_U32, other, 3));
}

static void numbers_that_make_no_choice_are_refused(void **state) {
    (void)state;
    REFUSED(QWEN, "expert_used_count: expected 1..6, found 7",
            fr_edit_u32("qwen3moe.expert_used_count", 7));
    REFUSED(QWEN, "expert_used_count", fr_edit_u32("qwen3moe.expert_used_count", 0));
    REFUSED(QWEN, "expert_used_count", fr_edit_none("qwen3moe.expert_used_count"));
    REFUSED(QWEN, "expert_count: expected at least 1", fr_edit_none("qwen3moe.expert_count"));
    REFUSED(QWEN, "expert_count: expected at least 1", fr_edit_u32("qwen3moe.expert_count", 0));
    REFUSED(QWEN, "ffn_gate_inp.weight: expected [64,7]", fr_edit_u32("qwen3moe.expert_count", 7));
    REFUSED(QWEN, "expert_count: expected at most", fr_edit_u32("qwen3moe.expert_count", 5000));
    REFUSED(QWEN, "expert_gating_func: expected 1 to 3, found 4",
            fr_edit_u32("qwen3moe.expert_gating_func", 4));
    REFUSED(QWEN, "expert_weights_scale", fr_edit_f32("qwen3moe.expert_weights_scale", NAN));
    REFUSED(QWEN, "expert_feed_forward_length: expected 64, as the tensors have, found 65",
            fr_edit_u32("qwen3moe.expert_feed_forward_length", 65));
    REFUSED(LING, "expert_group_count: expected a divisor of the 8 experts, found 3",
            fr_edit_u32("bailingmoe2.expert_group_count", 3));
    REFUSED(LING, "expert_group_count", fr_edit_u32("bailingmoe2.expert_group_count", 8));
    REFUSED(LING, "expert_group_used_count", fr_edit_u32("bailingmoe2.expert_group_used_count", 5));
    REFUSED(LING, "expert_group_used_count", fr_edit_u32("bailingmoe2.expert_group_used_count", 0));
}

static void a_count_without_a_router_is_a_dense_model(void **state) {
    (void)state;
    RUNS(O(.arch = "qwen3moe", .n_expert = 1, .n_used = 1), // one expert with a router is one
         fr_edit_u32("qwen3moe.expert_count", 1));
    assert_int_equal(config.experts.n, 1);
    for (uint32_t n = 0; n < 3; n++) {
        RUNS(O(.arch = "llama"), fr_edit_u32("llama.expert_count", n));
        assert_int_equal(config.experts.n, 0);
    }
    REFUSED(O(.arch = "llama"), "blk.0.ffn_gate_inp.weight",
            fr_edit_tensor("blk.0.ffn_gate_inp.weight"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_families_leave_unsaid_is_known),
        cmocka_unit_test(keys_of_the_rule_are_obeyed),
        cmocka_unit_test(numbers_that_make_no_choice_are_refused),
        cmocka_unit_test(a_count_without_a_router_is_a_dense_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
