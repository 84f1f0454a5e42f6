// The logits of every family of models are those of an independent engine, and every fact of a plan
// shows in them.
//
//     model.families --write DIR       the models as files, to record logits anew (record_logits.py)
//
// NAME+biases is the family NAME with every bias that its files may have, NAME+experts with experts.
#include "kern/repack.h"
#include "support/open_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { POSITIONS = 24, PICKED = 8 };

typedef struct recorded {
    const char *family;
    float largest;                   // |logit| of all
    int32_t best[POSITIONS];         // token
    float margin[POSITIONS];         // of the best token over the next one
    float picked[POSITIONS][PICKED]; // logits of tokens 0, 37, 74, ...
} recorded;

static const recorded RECORDED[] = {
#include "family_logits.h"
};
enum { N_RECORDED = sizeof RECORDED / sizeof *RECORDED, PICK = 37 };

// Of the largest logit, at the median position. Keys and values are f16 here, f64 there.
static const double CLOSE = 1.5e-3;

static const char WITH_BIASES[] = "+biases", WITH_EXPERTS[] = "+experts";

// Of a family, or of a name with an ending.
static fr_tiny_options options_of(const char *name) {
    const size_t bytes = strcspn(name, "+");
    const fr_family *f = fr_family_find(name, bytes);
    const char *family = f->name;
    fr_tiny_options o = {
        .arch = family, .seed = 5, .n_layer = 4, .biases = !strcmp(name + bytes, WITH_BIASES)};
    if (!strcmp(name + bytes, WITH_EXPERTS)) o.n_expert = 7;
    if (f->windows == FR_WINDOW_SOME) o.window = 8;
    if (!strcmp(family, "minicpm")) o.n_ctx_short = 1024; // the short table counts throughout
    if (!strcmp(family, "ernie4_5")) o.head_dim = 32;     // heads are wider than the model
    if (!strcmp(family, "gemma3")) o.global_every = 3;
    // With seed 5 two experts are so near each other that keys in f16 change the choice.
    if (!strcmp(family, "gpt-oss")) o.seed = 6;
    return o;
}

// ... with what no file can say in so few tokens.
static void open_family(fr_opened *o, const char *name) {
    const fr_tiny_options options = options_of(name);
    fr_opened_open(o, &options, fr_kern_of(FR_ISA_SCALAR), 2);
    if (o->model.config.family->still_temperature > 0) o->model.config.temper_length = 4;
}

static void logits_of(const fr_model *m, float *out) {
    fr_row rows[POSITIONS];
    fr_error err;
    fr_forward *f;
    fr_kv kv;
    const fr_forward_limits limits = {.max_rows = POSITIONS, .max_logits = POSITIONS, .n_ctx = 64};
    assert_int_equal(fr_kv_open(&kv, &m->config, 64, FR_KV_F16, &err), FR_OK);
    assert_int_equal(fr_forward_open(&f, m, &limits, &err), FR_OK);
    for (int i = 0; i < POSITIONS; i++)
        rows[i] = fr_row_token(i * 101 % 256, i - 1, FR_WANT_LOGITS);
    fr_forward_run(
        f, &(fr_pass){.rows = rows, .n_rows = POSITIONS, .kv = (fr_kv *[]){&kv}, .n_seq = 1});
    for (int i = 0; i < POSITIONS; i++)
        memcpy(out + (size_t)i * (size_t)m->config.n_vocab, fr_forward_logits(f, i),
               sizeof *out * (size_t)m->config.n_vocab);
    fr_forward_close(f);
    fr_kv_close(&kv);
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The difference at the median position, over the largest logit.
static double difference(const fr_model *m, const recorded *want) {
    float *z = malloc(sizeof *z * POSITIONS * (size_t)m->config.n_vocab);
    double worst[POSITIONS] = {0};
    logits_of(m, z);
    for (int i = 0; i < POSITIONS; i++)
        for (int k = 0; k < PICKED; k++) {
            const double d = fabs((double)z[(size_t)i * (size_t)m->config.n_vocab + k * PICK] -
                                  (double)want->picked[i][k]);
            if (!(d <= worst[i])) worst[i] = d;
        }
    free(z);
    qsort(worst, POSITIONS, sizeof *worst, compare_doubles);
    return worst[POSITIONS / 2] / (double)want->largest;
}

static void every_family_gives_the_recorded_logits(void **state) {
    (void)state;
    assert_int_equal(N_RECORDED,
                     2 * fr_n_families + 1); // without and with biases; llama with experts
    for (int i = 0; i < N_RECORDED; i++) {
        const recorded *want = &RECORDED[i];
        fr_opened o;
        open_family(&o, want->family);
        const size_t n_vocab = (size_t)o.model.config.n_vocab;
        const double found = difference(&o.model, want);
        if (!(found <= CLOSE)) fail_msg("%s: %.2e of the largest logit", want->family, found);
        float *z = malloc(sizeof *z * POSITIONS * n_vocab);
        logits_of(&o.model, z);
        for (size_t p = 0; p < POSITIONS; p++) {
            const int best = o.model.kern->argmax(z + p * n_vocab, (int)n_vocab);
            if (want->margin[p] > 10 * CLOSE * want->largest && best != want->best[p])
                fail_msg("%s, position %zu: best %d, not %d", want->family, p, best, want->best[p]);
        }
        free(z);
        fr_opened_close(&o);
    }
}

// ---------------------------------------------------------------- facts

typedef void undo_fn(fr_config *c);

#define EACH_LAYER(change)                                                                         \
    for (int i = 0; i < c->n_layer; i++) {                                                         \
        fr_layer_plan *p = &c->plan[i];                                                            \
        change;                                                                                    \
    }
static void turn_other_pairs(fr_config *c) {
    c->neox = !c->neox;
}
static void rotate_all(fr_config *c) {
    EACH_LAYER(p->rope = FR_ROPE_OF_FULL)
}
static void rotate_none(fr_config *c) {
    EACH_LAYER(p->rope = FR_ROPE_OF_NONE)
}
static void see_all(fr_config *c) {
    EACH_LAYER(p->window = 0)
}
static void norm_before_rope(fr_config *c) {
    EACH_LAYER(p->qk_norm = FR_QK_HEAD)
}
static void norm_no_queries(fr_config *c) {
    EACH_LAYER(p->qk_norm = FR_QK_PLAIN)
}
static void subtract_no_mean(fr_config *c) {
    EACH_LAYER(p->norm = FR_NORM_RMS)
}
static void feed_after_attention(fr_config *c) {
    EACH_LAYER(p->place = FR_NORM_BEFORE)
}
static void add_whole(fr_config *c) {
    EACH_LAYER(p->residual_scale = 1)
}
static void cap_no_scores(fr_config *c) {
    EACH_LAYER(p->attn_cap = 0)
}
static void keep_temper(fr_config *c) {
    EACH_LAYER(p->tempered = false)
}
static void scale_by_width(fr_config *c) {
    EACH_LAYER(p->attn_scale = (float)(1 / sqrt((double)c->head_dim)))
}
static void gate_by_silu(fr_config *c) {
    EACH_LAYER(p->feed = FR_FEED_SILU)
}
static void cap_no_logits(fr_config *c) {
    c->logit_cap = 0;
}
static void keep_logits(fr_config *c) {
    c->logit_scale = 1;
}
static void keep_magnitude(fr_config *c) {
    c->yarn_multiplier = 0;
}
static void change_nothing(fr_config *c) {
    (void)c;
}
static void keep_embeddings(fr_config *c) {
    c->embed_scale = 1;
}

static void slide_windows(fr_config *c) {
    c->chunks = false;
}
static void read_one_expert(fr_config *c) {
    c->experts.used = 1;
}
static void divide_weights(fr_config *c) {
    c->experts.normed = true;
}
static void keep_weights(fr_config *c) {
    c->experts.normed = false;
}
static void choose_by_softmax(fr_config *c) {
    c->experts.gating = FR_GATE_SOFTMAX;
}
static void weigh_by_softmax_of_all(fr_config *c) {
    c->experts.gating = FR_GATE_SOFTMAX;
    c->experts.normed = false;
}
static void choose_from_all_groups(fr_config *c) {
    c->experts.groups = 0;
}
static void scale_no_weights(fr_config *c) {
    c->experts.scale = 1;
}
static void weigh_outputs(fr_config *c) {
    c->experts.weighs_inputs = false;
}
static void share_no_expert(fr_config *c) {
    c->experts.d_shared = 0;
}

typedef void undo_weights_fn(fr_layer *l);
static void share_whole(fr_layer *l) {
    l->experts.shared_gate.m = 0;
}
static void choose_without_bias(fr_layer *l) {
    l->experts.choice_bias = NULL;
}
static void route_without_bias(fr_layer *l) {
    l->experts.router_bias = NULL;
}
static void drop_gate_bias(fr_layer *l) {
    l->experts.gate_bias = NULL;
}
static void drop_up_bias(fr_layer *l) {
    l->experts.up_bias = NULL;
}
static void drop_down_bias(fr_layer *l) {
    l->experts.down_bias = NULL;
}
static void drop_sinks(fr_layer *l) {
    l->sinks = NULL;
}

static const struct {
    const char *family, *fact;
    undo_fn *undo;
    bool turns;                    // RoPE is opened anew, without factors
    undo_weights_fn *undo_weights; // of each layer; NULL: none
} FACTS[] = {
    {"smollm3", "every fourth layer does not rotate", rotate_all, false, NULL},
    {"gemma2", "scores are capped", cap_no_scores, false, NULL},
    {"gemma2", "logits are capped", cap_no_logits, false, NULL},
    {"gemma2", "embeddings are scaled", keep_embeddings, false, NULL},
    {"gemma2", "GELU", gate_by_silu, false, NULL},
    {"gemma2", "windows", see_all, false, NULL},
    {"granite", "the residual is scaled", add_whole, false, NULL},
    {"granite", "scores have a scale of their own", scale_by_width, false, NULL},
    {"granite", "logits are divided", keep_logits, false, NULL},
    {"granite", "embeddings are scaled", keep_embeddings, false, NULL},
    {"minicpm", "the residual is scaled", add_whole, false, NULL},
    {"minicpm", "frequencies have factors", change_nothing, true, NULL},
    {"mistral3", "queries are tempered", keep_temper, false, NULL},
    {"mistral3", "YaRN's magnitude is divided", keep_magnitude, true, NULL},
    {"glm4", "neighbours rotate", turn_other_pairs, false, NULL},
    {"ernie4_5", "neighbours rotate", turn_other_pairs, false, NULL},
    {"starcoder2", "halves rotate", turn_other_pairs, false, NULL},
    {"starcoder2", "the mean is subtracted", subtract_no_mean, false, NULL},
    {"hunyuan-dense", "norms of heads follow RoPE", norm_before_rope, false, NULL},
    {"olmo2", "queries and keys are normed", norm_no_queries, false, NULL},
    {"olmo2", "windows rotate by their own table", rotate_all, false, NULL},
    {"olmo2", "windows", see_all, false, NULL},
    {"exaone4", "layers without a window do not rotate", rotate_all, false, NULL},
    {"cohere2", "layers without a window do not rotate", rotate_all, false, NULL},
    {"cohere2", "the mean is subtracted", subtract_no_mean, false, NULL},
    {"command-r", "layers rotate", rotate_none, false, NULL},
    {"command-r", "both sublayers read one norm", feed_after_attention, false, NULL},
    {"command-r", "logits are scaled", keep_logits, false, NULL},
    {"qwen3moe", "several experts are read", read_one_expert, false, NULL},
    {"qwen3moe", "weights are divided by their sum", keep_weights, false, NULL},
    {"qwen2moe", "weights are not divided by their sum", divide_weights, false, NULL},
    {"qwen2moe", "the shared expert has a gate", change_nothing, false, share_whole},
    {"olmoe", "weights are not divided by their sum", divide_weights, false, NULL},
    {"granitemoe", "one expert is shared", share_no_expert, false, NULL},
    {"ernie4_5-moe", "the choice has a bias", change_nothing, false, choose_without_bias},
    {"bailingmoe2", "experts are in groups", choose_from_all_groups, false, NULL},
    {"bailingmoe2", "weights are scaled", scale_no_weights, false, NULL},
    {"glm4moe", "scores are sigmoids", choose_by_softmax, false, NULL},
    {"glm4moe", "the choice has a bias", change_nothing, false, choose_without_bias},
    {"gpt-oss", "softmax is over the chosen", weigh_by_softmax_of_all, false, NULL},
    {"gpt-oss", "gate and up are cut off", gate_by_silu, false, NULL},
    {"gpt-oss", "the router has a bias", change_nothing, false, route_without_bias},
    {"gpt-oss", "gates have biases", change_nothing, false, drop_gate_bias},
    {"gpt-oss", "ups have biases", change_nothing, false, drop_up_bias},
    {"gpt-oss", "downs have biases", change_nothing, false, drop_down_bias},
    {"gpt-oss", "attention has sinks", change_nothing, false, drop_sinks},
    {"gpt-oss", "windows", see_all, false, NULL},
    {"llama4", "weights multiply inputs", weigh_outputs, false, NULL},
    {"llama4", "windows are chunks", slide_windows, false, NULL},
    {"llama4", "queries are tempered", keep_temper, false, NULL},
    {"llama4", "queries and keys are normed", norm_no_queries, false, NULL},
    {"llama4", "layers without a window do not rotate", rotate_all, false, NULL},
};

// An undone fact moves the logits by several times what is held to be close.
static void every_fact_of_a_plan_shows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof FACTS / sizeof *FACTS; i++) {
        const recorded *want = RECORDED;
        while (want < RECORDED + N_RECORDED - 1 && strcmp(want->family, FACTS[i].family))
            want++;
        assert_string_equal(want->family, FACTS[i].family);
        fr_opened o;
        open_family(&o, want->family);
        FACTS[i].undo(&o.model.config);
        for (int l = 0; FACTS[i].undo_weights && l < o.model.config.n_layer; l++)
            FACTS[i].undo_weights(&o.model.layers[l]);
        if (FACTS[i].turns) {
            fr_error err;
            fr_rope_close(&o.model.rope);
            assert_int_equal(fr_rope_open(&o.model.rope, &o.model.config, NULL, &err), FR_OK);
        }
        const double found = difference(&o.model, want);
        if (!(found > 2 * CLOSE))
            fail_msg("%s: %s: undone, the logits differ by %.2e alone", FACTS[i].family,
                     FACTS[i].fact, found);
        fr_opened_close(&o);
    }
}

// Drafters take rows of the head with the scale that logits have.
static void rows_of_the_head_have_the_scale_of_logits(void **state) {
    (void)state;
    static const char *const names[] = {"llama", "granite", "command-r"};
    for (int i = 0; i < 3; i++) {
        const fr_tiny_options options = options_of(names[i]);
        fr_opened o;
        float whole[64], scaled[64];
        fr_opened_open(&o, &options, fr_kern_of(FR_ISA_SCALAR), 1);
        assert_int_equal(o.model.config.d, 64);
        assert_int_equal(o.model.config.logit_scale != 1, i > 0);
        fr_matrix_row(&o.model.head, 7, whole);
        fr_model_head_row(&o.model, 7, scaled);
        for (int k = 0; k < 64; k++)
            assert_true(scaled[k] == whole[k] * o.model.config.logit_scale);
        fr_opened_close(&o);
    }
}

static int write_models(const char *folder) {
    for (int i = 0; i <= 2 * fr_n_families; i++) {
        char name[64], path[1024];
        fr_error err;
        snprintf(name, sizeof name, "%s%s", fr_families[i / 2 % fr_n_families].name,
                 i == 2 * fr_n_families ? WITH_EXPERTS
                 : i % 2                ? WITH_BIASES
                                        : "");
        const fr_tiny_options options = options_of(name);
        snprintf(path, sizeof path, "%s/%s.gguf", folder, name);
        if (fr_tiny_write(&options, path, &err)) return fprintf(stderr, "%s\n", err.text), 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "--write")) return write_models(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_gives_the_recorded_logits),
        cmocka_unit_test(every_fact_of_a_plan_shows),
        cmocka_unit_test(rows_of_the_head_have_the_scale_of_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
