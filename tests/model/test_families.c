// The logits of every family of models are those of an independent engine, and every fact of a plan
// shows in them.
//
//     model.families --write DIR       the models as files, to record logits anew (record_logits.py)
//
// NAME+biases is the family NAME with every bias that its files may have.
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

static const char WITH_BIASES[] = "+biases";

// Of a family, or of a name with the ending +biases.
static fr_tiny_options options_of(const char *name) {
    const size_t bytes = strcspn(name, "+");
    const fr_family *f = fr_family_find(name, bytes);
    const char *family = f->name;
    fr_tiny_options o = {.arch = family, .seed = 5, .n_layer = 4, .biases = name[bytes] != 0};
    if (f->windows == FR_WINDOW_SOME) o.window = 8;
    if (!strcmp(family, "minicpm")) o.n_ctx_short = 1024; // the short table counts throughout
    if (!strcmp(family, "ernie4_5")) o.head_dim = 32;     // heads are wider than the model
    if (!strcmp(family, "gemma3")) o.global_every = 3;
    return o;
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
    assert_int_equal(N_RECORDED, 2 * fr_n_families); // without and with biases
    for (int i = 0; i < N_RECORDED; i++) {
        const recorded *want = &RECORDED[i];
        const fr_tiny_options options = options_of(want->family);
        fr_opened o;
        fr_opened_open(&o, &options, fr_kern_of(FR_ISA_SCALAR), 2);
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
    EACH_LAYER(p->temperature = 0)
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

static const struct {
    const char *family, *fact;
    undo_fn *undo;
    bool turns; // RoPE is opened anew, without factors
} FACTS[] = {
    {"smollm3", "every fourth layer does not rotate", rotate_all, false},
    {"gemma2", "scores are capped", cap_no_scores, false},
    {"gemma2", "logits are capped", cap_no_logits, false},
    {"gemma2", "embeddings are scaled", keep_embeddings, false},
    {"gemma2", "GELU", gate_by_silu, false},
    {"gemma2", "windows", see_all, false},
    {"granite", "the residual is scaled", add_whole, false},
    {"granite", "scores have a scale of their own", scale_by_width, false},
    {"granite", "logits are divided", keep_logits, false},
    {"granite", "embeddings are scaled", keep_embeddings, false},
    {"minicpm", "the residual is scaled", add_whole, false},
    {"minicpm", "frequencies have factors", change_nothing, true},
    {"mistral3", "queries are tempered", keep_temper, false},
    {"mistral3", "YaRN's magnitude is divided", keep_magnitude, true},
    {"glm4", "neighbours rotate", turn_other_pairs, false},
    {"ernie4_5", "neighbours rotate", turn_other_pairs, false},
    {"starcoder2", "halves rotate", turn_other_pairs, false},
    {"starcoder2", "the mean is subtracted", subtract_no_mean, false},
    {"hunyuan-dense", "norms of heads follow RoPE", norm_before_rope, false},
    {"olmo2", "queries and keys are normed", norm_no_queries, false},
    {"olmo2", "windows rotate by their own table", rotate_all, false},
    {"olmo2", "windows", see_all, false},
    {"exaone4", "layers without a window do not rotate", rotate_all, false},
    {"cohere2", "layers without a window do not rotate", rotate_all, false},
    {"cohere2", "the mean is subtracted", subtract_no_mean, false},
    {"command-r", "layers rotate", rotate_none, false},
    {"command-r", "both sublayers read one norm", feed_after_attention, false},
    {"command-r", "logits are scaled", keep_logits, false},
};

// An undone fact moves the logits by several times what is held to be close.
static void every_fact_of_a_plan_shows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof FACTS / sizeof *FACTS; i++) {
        const recorded *want = RECORDED;
        while (want < RECORDED + N_RECORDED - 1 && strcmp(want->family, FACTS[i].family))
            want++;
        assert_string_equal(want->family, FACTS[i].family);
        const fr_tiny_options options = options_of(want->family);
        fr_opened o;
        fr_opened_open(&o, &options, fr_kern_of(FR_ISA_SCALAR), 2);
        FACTS[i].undo(&o.model.config);
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
    for (int i = 0; i < 2 * fr_n_families; i++) {
        char name[64], path[1024];
        fr_error err;
        snprintf(name, sizeof name, "%s%s", fr_families[i / 2].name, i % 2 ? WITH_BIASES : "");
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
