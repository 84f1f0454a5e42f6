// Files that make no model: every one is refused with a sentence, or is a model that runs, and none
// asks for more memory than its size and the bounds of config.h explain.
#include "support/open_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CTX = 16, ROWS = 4 };
static const size_t MEMORY_MAX = 1 << 28; // of weights, or of a small context's workspace

typedef struct fixture {
    void *file, *changed;
    fr_gguf *whole, *g;
    fr_pool *pool;
} fixture;

static void open_fixture(fixture *x, const fr_tiny_options *options) {
    fr_error err;
    size_t bytes;
    *x = (fixture){0};
    if (fr_tiny_memory(options, &x->file, &bytes, &err) ||
        fr_gguf_open_memory(&x->whole, x->file, bytes, "tiny", &err) ||
        fr_pool_open(&x->pool, 1, &err))
        fail_msg("%s", err.text);
}

static void close_fixture(fixture *x) {
    fr_gguf_close(x->g);
    fr_gguf_close(x->whole);
    fr_pool_close(x->pool);
    fr_free(x->changed);
    fr_free(x->file);
}

// What a case changes: a key (written anew by set, or left out) or a tensor (by its hook).
typedef struct change {
    const char *key;
    void (*set)(fr_gguf_writer *w, const char *key, const void *user); // NULL: leave the key out
    const char *tensor;
    void (*put)(fr_gguf_writer *w, const fr_gguf_tensor *t); // NULL: leave the tensor out
    const char *extra; // a tensor of 64 f32 that no model of ours has
    const void *user;
} change;

static bool same(fr_gguf_str a, const char *b) {
    return b && fr_gguf_str_is(a, b);
}

static void apply(fixture *x, const change *c) {
    static const float zeros[64];
    fr_error err;
    fr_gguf_writer *w;
    size_t bytes;
    if (fr_gguf_writer_open(&w, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < fr_gguf_n_kv(x->whole); i++)
        if (!same(fr_gguf_kv_at(x->whole, i)->key, c->key))
            fr_gguf_writer_kv(w, fr_gguf_kv_at(x->whole, i));
    if (c->key && c->set) c->set(w, c->key, c->user);
    for (size_t i = 0; i < fr_gguf_n_tensors(x->whole); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(x->whole, i);
        if (!c->tensor || strcmp(t->name, c->tensor))
            fr_gguf_writer_tensor(w, t->name, t->type, t->n_dims, t->ne, t->data);
        else if (c->put)
            c->put(w, t);
    }
    if (c->extra) fr_gguf_writer_tensor(w, c->extra, FR_TYPE_F32, 1, (int64_t[]){64}, zeros);
    fr_gguf_close(x->g);
    fr_free(x->changed);
    x->g = NULL;
    x->changed = NULL;
    if (fr_gguf_writer_finish_memory(w, &x->changed, &bytes, &err) ||
        fr_gguf_open_memory(&x->g, x->changed, bytes, "changed", &err))
        fail_msg("%s", err.text);
    fr_gguf_writer_close(w);
}

// A chunk of rows through the model, with every shape it claims: sanitizers watch.
static void use(const fr_model *m) {
    fr_error err;
    fr_kv kv = {0};
    fr_forward *f = NULL;
    fr_forward_limits limits = {.max_rows = ROWS, .max_logits = 1, .n_ctx = CTX};
    assert_true(fr_forward_bytes(m, &limits) < MEMORY_MAX);
    assert_true(fr_kv_bytes(&m->config, CTX, FR_KV_F16) < MEMORY_MAX);
    if (fr_kv_open(&kv, &m->config, CTX, FR_KV_F16, &err) || fr_forward_open(&f, m, &limits, &err))
        fail_msg("%s", err.text);
    fr_row rows[ROWS];
    for (int i = 0; i < ROWS; i++)
        rows[i] = fr_row_token(i, i - 1, i == ROWS - 1 ? FR_WANT_LOGITS : 0);
    fr_forward_run(f, &(fr_pass){.rows = rows, .n_rows = ROWS, .kv = (fr_kv *[]){&kv}, .n_seq = 1});
    fr_forward_close(f);
    fr_kv_close(&kv);
}

// Opens the changed file: FR_OK after a pass, or the status of a sentence in *err.
static fr_status try_model(fixture *x, const change *c, fr_error *err) {
    fr_model m;
    *err = (fr_error){0};
    apply(x, c);
    fr_status st =
        fr_model_open(&m, x->g, &fr_kern_scalar, x->pool, FR_WEIGHTS_PACKED, NULL, NULL, err);
    if (st) {
        if (st != FR_EDATA && st != FR_EUNSUP) fail_msg("status %d: %s", st, err->text);
        assert_true(strlen(err->text) > 10);
        return st;
    }
    assert_true(m.arena.size < MEMORY_MAX);
    use(&m);
    fr_model_close(&m);
    return FR_OK;
}

// The sentence holds one of the two texts.
static void refused_either(fixture *x, const change *c, const char *says, const char * or) {
    fr_error err;
    if (!try_model(x, c, &err)) fail_msg("not refused: expected '%s'", says);
    if (!strstr(err.text, says) && !strstr(err.text, or))
        fail_msg("expected '%s' or '%s' in '%s'", says, or, err.text);
}

static void refused(fixture *x, const change *c, const char *says) {
    refused_either(x, c, says, says);
}

static void runs(fixture *x, const change *c) {
    fr_error err;
    if (try_model(x, c, &err)) fail_msg("%s", err.text);
}

// ---------------------------------------------------------------- metadata

static const char *const KEYS[] = {"block_count",
                                   "embedding_length",
                                   "feed_forward_length",
                                   "attention.head_count",
                                   "attention.head_count_kv",
                                   "attention.key_length",
                                   "attention.value_length",
                                   "attention.layer_norm_rms_epsilon",
                                   "attention.layer_norm_epsilon",
                                   "attention.sliding_window",
                                   "attention.sliding_window_pattern",
                                   "context_length",
                                   "expert_count",
                                   "rope.dimension_count",
                                   "rope.freq_base",
                                   "rope.freq_base_swa",
                                   "rope.scale_linear",
                                   "rope.scaling.type",
                                   "rope.scaling.factor",
                                   "rope.scaling.attn_factor",
                                   "rope.scaling.yarn_beta_fast",
                                   "rope.scaling.yarn_beta_slow",
                                   "rope.scaling.original_context_length"};
enum { N_KEYS = sizeof KEYS / sizeof *KEYS, N_REQUIRED = 5 };
static const char *const REQUIRED[N_REQUIRED] = {"block_count", "embedding_length",
                                                 "feed_forward_length", "attention.head_count",
                                                 "context_length"};

static void set_u32(fr_gguf_writer *w, const char *key, const void *user) {
    fr_gguf_writer_u32(w, key, *(const uint32_t *)user);
}
static void set_i32(fr_gguf_writer *w, const char *key, const void *user) {
    fr_gguf_writer_i32(w, key, *(const int32_t *)user);
}
static void set_u64(fr_gguf_writer *w, const char *key, const void *user) {
    fr_gguf_writer_u64(w, key, *(const uint64_t *)user);
}
static void set_f32(fr_gguf_writer *w, const char *key, const void *user) {
    fr_gguf_writer_f32(w, key, *(const float *)user);
}
static void set_f64(fr_gguf_writer *w, const char *key, const void *user) {
    fr_gguf_writer_f64(w, key, *(const double *)user);
}
static void set_str(fr_gguf_writer *w, const char *key, const void *user) {
    fr_gguf_writer_str(w, key, user);
}
static void set_array(fr_gguf_writer *w, const char *key, const void *user) {
    fr_gguf_writer_u32_array(w, key, user, 3);
}

static const uint32_t U32[] = {0,        1,           2,           3,          7,        64,
                               65,       4097,        1u << 14,    1u << 17,   1u << 20, 1u << 24,
                               1u << 25, 0x7fffffffu, 0x80000000u, 0xffffffffu};
static const int32_t NEGATIVE = -1, LEAST = INT32_MIN;
static const uint64_t WIDE[] = {UINT64_C(1) << 32, UINT64_MAX};
static const float F32[] = {0, -1, 1, 1e-30f, 1e-3f, 0.5f, 1e6f, 1e30f, NAN, INFINITY, -INFINITY};
static const double F64[] = {1e300, 5};
static const uint32_t ARRAY[] = {1, 2, 3};

#define EACH(values, setter)                                                                       \
    for (size_t i = 0; i < sizeof(values) / sizeof *(values); i++)                                 \
    try_model(x, &(change){.key = key, .set = setter, .user = &(values)[i]}, &err)

static void try_values(fixture *x, const char *key) {
    fr_error err;
    try_model(x, &(change){.key = key}, &err);
    EACH(U32, set_u32);
    EACH(WIDE, set_u64);
    EACH(F32, set_f32);
    EACH(F64, set_f64);
    try_model(x, &(change){.key = key, .set = set_i32, .user = &NEGATIVE}, &err);
    try_model(x, &(change){.key = key, .set = set_i32, .user = &LEAST}, &err);
    const char *const strings[] = {"", "x", "yarn", "linear", "longrope", "none"};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        try_model(x, &(change){.key = key, .set = set_str, .user = strings[i]}, &err);
    refused(x, &(change){.key = key, .set = set_array, .user = ARRAY}, key);
}

static void absurd_metadata_is_refused_or_runs(void **state) {
    (void)state;
    for (int a = 0; a < fr_n_families; a++) {
        const char *arch = fr_families[a].name;
        fixture x;
        open_fixture(&x, &(fr_tiny_options){.arch = arch, .n_layer = 1, .d = 32, .n_ctx = 32});
        for (int k = 0; k < N_KEYS; k++) {
            char key[96];
            snprintf(key, sizeof key, "%s.rope.scaling.factor", arch);
            if (!strcmp(KEYS[k], "rope.scale_linear") && fr_gguf_find(x.whole, key))
                continue; // its newer name has precedence
            snprintf(key, sizeof key, "%s.%s", arch, KEYS[k]);
            try_values(&x, key);
        }
        close_fixture(&x);
    }
}

// Of the norms that the family has. It may know the value of files without the key.
static void check_epsilon(fixture *x, const fr_family *f) {
    const bool rms = f->norm == FR_NORM_RMS;
    const float huge = 2;
    char key[96];
    snprintf(key, sizeof key, "%s.attention.layer_norm_%sepsilon", f->name, rms ? "rms_" : "");
    if (f->eps > 0)
        runs(x, &(change){.key = key});
    else
        refused(x, &(change){.key = key}, key);
    refused(x, &(change){.key = key, .set = set_f32, .user = &huge}, key);
}

static void what_a_model_needs_is_named_when_missing(void **state) {
    (void)state;
    for (int a = 0; a < fr_n_families; a++) {
        fixture x;
        open_fixture(&x, &(fr_tiny_options){.arch = fr_families[a].name, .n_layer = 1});
        for (int k = 0; k < N_REQUIRED; k++) {
            char key[96];
            const uint32_t none = 0, huge = 0xffffffffu;
            snprintf(key, sizeof key, "%s.%s", fr_families[a].name, REQUIRED[k]);
            refused(&x, &(change){.key = key}, key);
            refused(&x, &(change){.key = key, .set = set_u32, .user = &huge}, key);
            refused(&x, &(change){.key = key, .set = set_u32, .user = &none}, key);
            refused(&x, &(change){.key = key, .set = set_i32, .user = &NEGATIVE}, key);
        }
        check_epsilon(&x, &fr_families[a]);
        refused(&x, &(change){.key = "general.architecture"}, "general.architecture");
        refused(&x, &(change){.key = "general.architecture", .set = set_str, .user = "mamba"},
                "found 'mamba'");
        close_fixture(&x);
    }
}

static void numbers_that_disagree_are_refused(void **state) {
    (void)state;
    const uint32_t three = 3, odd = 15, wide = 18, one = 1;
    const float no_base = 1;
    fixture x;
    open_fixture(&x, &(fr_tiny_options){.n_layer = 1}); // 4 heads of 16, 2 KV heads
    refused(&x, &(change){.key = "llama.attention.head_count_kv", .set = set_u32, .user = &three},
            "multiple of head_count_kv 3, found 4");
    refused(&x, &(change){.key = "llama.attention.value_length", .set = set_u32, .user = &wide},
            "expected key_length 16, found 18");
    refused(&x, &(change){.key = "llama.rope.dimension_count", .set = set_u32, .user = &odd},
            "even number up to 16, found 15");
    refused(&x, &(change){.key = "llama.rope.dimension_count", .set = set_u32, .user = &wide},
            "even number up to 16, found 18");
    refused(&x, &(change){.key = "llama.rope.scaling.type", .set = set_str, .user = "dynamic"},
            "found 'dynamic'");
    refused(&x, &(change){.key = "llama.rope.scaling.type", .set = set_str, .user = "longrope"},
            "rope_factors_short.weight");
    // YaRN divides by the logarithm of the one, LongRoPE by that of the other.
    refused(&x, &(change){.key = "llama.rope.freq_base", .set = set_f32, .user = &no_base},
            "llama.rope.freq_base");
    refused(&x,
            &(change){
                .key = "llama.rope.scaling.original_context_length", .set = set_u32, .user = &one},
            "llama.rope.scaling.original_context_length");
    close_fixture(&x);
}

// Scalings that other families of the same key names have: 0 or 1 say that there is none.
static void scalings_that_the_pass_lacks_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *suffix;
        float none;
        unsigned reads; // families that have the scaling
    } scalings[] = {{"logit_scale", 1, FR_READS_LOGIT_SCALE | FR_READS_LOGIT_DIVISOR},
                    {"embedding_scale", 1, FR_READS_EMBEDDING_SCALE},
                    {"residual_scale", 1, FR_READS_RESIDUAL_SCALE},
                    {"attn_logit_softcapping", 0, FR_READS_ATTENTION_CAP},
                    {"final_logit_softcapping", 0, FR_READS_FINAL_CAP},
                    {"attention.temperature_scale", 0, FR_READS_TEMPERATURE},
                    {"attention.clamp_kqv", 0, 0},
                    {"attention.max_alibi_bias", 0, 0},
                    {"attention.scale", 0, FR_READS_ATTENTION_SCALE},
                    {"rope.scaling.yarn_ext_factor", 1, 0},
                    {"rope.scaling.yarn_attn_factor", 1, 0},
                    {"rope.scaling.yarn_log_multiplier", 0, FR_READS_YARN_MULTIPLIER}};
    const float thirty = 30;
    for (int a = 0; a < fr_n_families; a++) {
        fixture x;
        open_fixture(&x, &(fr_tiny_options){.arch = fr_families[a].name, .n_layer = 1});
        for (size_t i = 0; i < sizeof scalings / sizeof *scalings; i++) {
            char key[96];
            fr_error err;
            const float *none = &scalings[i].none;
            if (fr_families[a].reads & scalings[i].reads) continue;
            snprintf(key, sizeof key, "%s.%s", fr_families[a].name, scalings[i].suffix);
            refused(&x, &(change){.key = key, .set = set_f32, .user = &thirty}, key);
            assert_int_equal(
                try_model(&x, &(change){.key = key, .set = set_f32, .user = none}, &err), FR_OK);
        }
        char key[96]; // as llama.cpp saves a model that says nothing of it
        fr_error err;
        const float unset = -1;
        snprintf(key, sizeof key, "%s.rope.scaling.yarn_ext_factor", fr_families[a].name);
        assert_int_equal(try_model(&x, &(change){.key = key, .set = set_f32, .user = &unset}, &err),
                         FR_OK);
        close_fixture(&x);
    }
}

// ---------------------------------------------------------------- tensors

static void put_swapped(fr_gguf_writer *w, const fr_gguf_tensor *t) {
    fr_gguf_writer_tensor(w, t->name, t->type, 2, (int64_t[]){t->ne[1], t->ne[0]}, t->data);
}
static void put_flat(fr_gguf_writer *w, const fr_gguf_tensor *t) {
    fr_gguf_writer_tensor(w, t->name, t->type, 1, (int64_t[]){t->ne[0] * t->ne[1]}, t->data);
}
static void put_deep(fr_gguf_writer *w, const fr_gguf_tensor *t) {
    fr_gguf_writer_tensor(w, t->name, t->type, 3, (int64_t[]){t->ne[0], t->ne[1], 1}, t->data);
}
static void put_short(fr_gguf_writer *w, const fr_gguf_tensor *t) {
    const bool flat = t->n_dims == 1;
    fr_gguf_writer_tensor(w, t->name, t->type, t->n_dims,
                          (int64_t[]){t->ne[0] - flat, t->ne[1] - !flat, t->ne[2]}, t->data);
}

// Without output.weight the embedding is the head.
static bool may_be_missing(const char *name, const fr_family *f) {
    return !strcmp(name, "output.weight") || !strcmp(name, "output.bias") ||
           strstr(name, "ffn_gate_inp_shexp") || (strstr(name, ".bias") && !f->is_biased);
}

// What the sentence about a file without the tensor says: its name, or that of one which is read in
// its place.
static const char *named_when_missing(const char *name) {
    if (strstr(name, "ffn_gate_inp")) return "ffn_up.weight: expected a tensor"; // a dense layer
    if (strstr(name, "ffn_up_shexp")) return "_shexp.weight: a tensor that no";
    if (strstr(name, "ffn_gate.")) return "ffn_up.weight: expected [64,256]"; // part of up
    if (strstr(name, "attn_q_norm")) return "attn_k_norm.weight: a tensor that no";
    if (strstr(name, "attn_qkv")) return "attn_q.weight: expected a tensor";
    return name;
}

// ... where it has other numbers of values. The first layer with experts says how wide they are.
static const char *named_when_short(const char *name) {
    if (strstr(name, "ffn_up_exps")) return "expert_feed_forward_length";
    if (strstr(name, "ffn_up_shexp")) return "_shexp.weight: expected [";
    if (!strcmp(name, "token_embd.weight")) return "output.weight"; // its rows are the vocabulary
    return name;
}

static void tensors_that_do_not_fit_are_named(void **state) {
    (void)state;
    for (int a = 0; a < fr_n_families; a++) {
        const fr_family *f = &fr_families[a];
        fixture x;
        open_fixture(
            &x, &(fr_tiny_options){.arch = f->name, .n_layer = 2, .untied = true, .biases = true});
        for (size_t i = 0; i < fr_gguf_n_tensors(x.whole); i++) {
            const fr_gguf_tensor *t = fr_gguf_tensor_at(x.whole, i);
            const char *name = t->name;
            if (may_be_missing(name, f))
                runs(&x, &(change){.tensor = name});
            else
                refused_either(&x, &(change){.tensor = name}, named_when_missing(name), name);
            refused(&x, &(change){.tensor = name, .put = put_deep}, name);
            refused_either(&x, &(change){.tensor = name, .put = put_short}, named_when_short(name),
                           name);
            if (t->n_dims == 1) continue;
            refused(&x, &(change){.tensor = name, .put = put_flat}, name);
            if (t->ne[0] != t->ne[1])
                refused_either(&x, &(change){.tensor = name, .put = put_swapped},
                               named_when_short(name), name);
        }
        close_fixture(&x);
    }
}

// A file whose tensors mean something that the pass would leave out must not run as if it were
// whole.
static void tensors_that_nothing_reads_are_refused(void **state) {
    (void)state;
    for (int a = 0; a < fr_n_families; a++) {
        fixture x;
        open_fixture(&x, &(fr_tiny_options){.arch = fr_families[a].name, .n_layer = 1});
        const char *const extra[] = {"blk.0.attn_sub_norm.weight",
                                     "blk.0.post_attention_norm.bias",
                                     "blk.0.attn_norm.bias",
                                     "output_norm.bias",
                                     "blk.0.ffn_gate_inp.weight",
                                     "blk.0.attn_sinks.weight",
                                     "blk.1.attn_norm.weight",
                                     "token_embd_norm.weight",
                                     "position_embd.weight",
                                     "dense.0.weight",
                                     "output.scale",
                                     "blk.1.nextn.enorm.weight"};
        for (size_t i = 0; i < sizeof extra / sizeof *extra; i++)
            if (!fr_gguf_tensor_find(x.whole, extra[i])) // norms of some families have biases
                refused_either(&x, &(change){.extra = extra[i]}, extra[i], "blk.0.ffn_up_exps");
        // Tables of old converters, and models of pictures and sound.
        static const char *const beside[] = {"blk.0.attn_rot_embd.weight",
                                             "v.blk.0.attn_k.bias",
                                             "v.patch_embedding.weight",
                                             "mm.mm_soft_emb_norm.weight",
                                             "mm.0.bias",
                                             "a.blk.3.ffn_up.bias",
                                             "vision_tower.encoder.layers.0.fc1.bias",
                                             "multi_modal_projector.linear_1.bias",
                                             "mtp.layers.0.weight",
                                             "blk.1.nextn.eh_proj.weight",
                                             "cls.output.weight"};
        for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
            runs(&x, &(change){.extra = beside[i]});
        close_fixture(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absurd_metadata_is_refused_or_runs),
        cmocka_unit_test(what_a_model_needs_is_named_when_missing),
        cmocka_unit_test(numbers_that_disagree_are_refused),
        cmocka_unit_test(scalings_that_the_pass_lacks_are_refused),
        cmocka_unit_test(tensors_that_do_not_fit_are_named),
        cmocka_unit_test(tensors_that_nothing_reads_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
