// Every bias that a file may have is read, and counts as what it is however the file joins it with
// others. Recorded logits of models with biases are in test_families.c.
#include "support/open_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 12 };

// The last rows of a chain, [ROWS][n_vocab]: the caller's.
static float *logits_of(const fr_model *m) {
    const size_t n = (size_t)m->config.n_vocab;
    float *z = malloc(sizeof *z * ROWS * n);
    fr_row rows[ROWS];
    fr_error err;
    fr_forward *f;
    fr_kv kv;
    const fr_forward_limits limits = {.max_rows = ROWS, .max_logits = ROWS, .n_ctx = 64};
    if (fr_kv_open(&kv, &m->config, 64, FR_KV_F16, &err) || fr_forward_open(&f, m, &limits, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < ROWS; i++)
        rows[i] = fr_row_token(i * 101 % 256, i - 1, FR_WANT_LOGITS);
    fr_forward_run(f, &(fr_pass){.rows = rows, .n_rows = ROWS, .kv = (fr_kv *[]){&kv}, .n_seq = 1});
    for (int i = 0; i < ROWS; i++)
        memcpy(z + (size_t)i * n, fr_forward_logits(f, i), sizeof *z * n);
    fr_forward_close(f);
    fr_kv_close(&kv);
    return z;
}

static fr_tiny_options biased(int family, bool untied) {
    return (fr_tiny_options){
        .arch = fr_families[family].name, .n_layer = 2, .untied = untied, .biases = true};
}

// The model of the file as it is now.
static void reopen(fr_opened *o) {
    const fr_kern *kern = o->model.kern;
    fr_error err;
    fr_model_close(&o->model);
    if (fr_model_open(&o->model, o->gguf, kern, o->pool, FR_WEIGHTS_PACKED, NULL, NULL, &err))
        fail_msg("%s", err.text);
}

static bool ends_with(const char *name, const char *end) {
    const size_t bytes = strlen(name), n = strlen(end);
    return bytes >= n && !strcmp(name + bytes - n, end);
}

// Whether the logits stay as they were when values [from, to) of the bias are 0.
static bool is_silent(fr_opened *o, const fr_gguf_tensor *bias, int64_t from, int64_t to,
                      const float *whole) {
    float *values = (float *)(uintptr_t)bias->data + from;
    const size_t bytes = sizeof *values * (size_t)(to - from);
    float *kept = malloc(bytes);
    memcpy(kept, values, bytes);
    memset(values, 0, bytes);
    reopen(o);
    float *without = logits_of(&o->model);
    memcpy(values, kept, bytes);
    free(kept);
    const size_t all = sizeof *without * ROWS * (size_t)o->model.config.n_vocab;
    const bool same = !memcmp(whole, without, all);
    free(without);
    return same;
}

// The logits are others if a bias is 0, or a half of it: joined ones have parts.
static void every_bias_counts(void **state) {
    (void)state;
    for (int i = 0; i < fr_n_families; i++) {
        const fr_tiny_options options = biased(i, i % 2);
        fr_opened o;
        int n_biases = 0;
        fr_opened_open(&o, &options, fr_kern_of(FR_ISA_SCALAR), 1);
        float *whole = logits_of(&o.model);
        for (size_t t = 0; t < fr_gguf_n_tensors(o.gguf); t++) {
            const fr_gguf_tensor *bias = fr_gguf_tensor_at(o.gguf, t);
            if (!ends_with(bias->name, ".bias")) continue;
            assert_int_equal(bias->type, FR_TYPE_F32);
            for (int half = 0; half < 2; half++)
                if (is_silent(&o, bias, half * bias->ne[0] / 2, (half + 1) * bias->ne[0] / 2,
                              whole))
                    fail_msg("%s: half %d of %s counts for nothing", options.arch, half,
                             bias->name);
            n_biases++;
        }
        assert_true(n_biases >= 1 + 2 * 4); // of the head, and of the products of both layers
        free(whole);
        fr_opened_close(&o);
    }
}

// Each logit is its product and then its bias, whatever threads make of a wide vocabulary.
static void the_bias_of_the_head_is_added_to_its_products(void **state) {
    (void)state;
    fr_tiny_options options = biased(0, true);
    options.n_padding = 5000;
    for (int threads = 1; threads <= 3; threads++) {
        fr_opened o;
        fr_opened_open(&o, &options, fr_kern_of(FR_ISA_SCALAR), threads);
        const int n = o.model.config.n_vocab;
        float *whole = logits_of(&o.model);
        const fr_gguf_tensor *bias = fr_gguf_tensor_find(o.gguf, "output.bias");
        float *b = malloc(bias->bytes);
        memcpy(b, bias->data, bias->bytes);
        memset((void *)(uintptr_t)bias->data, 0, bias->bytes);
        reopen(&o);
        float *products = logits_of(&o.model);
        for (int i = 0; i < ROWS * n; i++)
            if (whole[i] != products[i] + b[i % n])
                fail_msg("%d threads: row %d, token %d", threads, i / n, i % n);
        free(whole);
        free(products);
        free(b);
        fr_opened_close(&o);
    }
}

// ---------------------------------------------------------------- joined and apart

typedef struct piece {
    const char *end; // of its name
    int64_t size;
} piece;

// Rows, or values of a bias, under several names.
static void write_apart(fr_gguf_writer *w, const fr_gguf_tensor *t, const piece *pieces, int n) {
    const int64_t row = t->n_dims == 2 ? t->ne[0] : 1;
    const char *at = t->data;
    for (int i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.6s%s%s", t->name, pieces[i].end, strrchr(t->name, '.'));
        const int64_t ne[2] = {t->n_dims == 2 ? row : pieces[i].size, pieces[i].size};
        fr_gguf_writer_tensor(w, name, t->type, t->n_dims, ne, at);
        at += sizeof(float) * (size_t)(row * pieces[i].size);
    }
}

static const char *const JOINED[] = {"attn_qkv.weight", "attn_qkv.bias", "ffn_up.weight",
                                     "ffn_up.bias"};
enum { QKV_WEIGHT = 1, QKV_BIAS = 2, FFN = 4 | 8, ALL = 15 };

// The file with those of JOINED apart that the mask names.
static void open_apart(fr_opened *o, const fr_opened *whole, unsigned mask) {
    const fr_config *c = &whole->model.config;
    const piece heads[] = {{"attn_q", c->n_head * c->head_dim},
                           {"attn_k", c->n_kv * c->head_dim},
                           {"attn_v", c->n_kv * c->head_dim}};
    const piece halves[] = {{"ffn_gate", c->d_ff}, {"ffn_up", c->d_ff}};
    fr_gguf_writer *w;
    fr_error err;
    size_t bytes;
    *o = (fr_opened){0};
    if (fr_gguf_writer_open(&w, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < fr_gguf_n_kv(whole->gguf); i++)
        fr_gguf_writer_kv(w, fr_gguf_kv_at(whole->gguf, i));
    for (size_t i = 0; i < fr_gguf_n_tensors(whole->gguf); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(whole->gguf, i);
        int k = 0;
        while (k < 4 && !ends_with(t->name, JOINED[k]))
            k++;
        if (k == 4 || !(mask >> k & 1))
            fr_gguf_writer_tensor(w, t->name, t->type, t->n_dims, t->ne, t->data);
        else
            write_apart(w, t, k < 2 ? heads : halves, k < 2 ? 3 : 2);
    }
    if (fr_gguf_writer_finish_memory(w, &o->file, &bytes, &err) ||
        fr_gguf_open_memory(&o->gguf, o->file, bytes, "apart", &err) ||
        fr_pool_open(&o->pool, 1, &err) ||
        fr_model_open(&o->model, o->gguf, fr_kern_of(FR_ISA_SCALAR), o->pool, FR_WEIGHTS_PACKED,
                      NULL, NULL, &err))
        fail_msg("%s", err.text);
    fr_gguf_writer_close(w);
}

// Biases of queries, keys and values, and of gate and up, are the same joined or apart. Biases may
// be apart where the matrices are joined.
static void joined_biases_are_those_of_their_parts(void **state) {
    (void)state;
    static const unsigned masks[] = {ALL, QKV_BIAS, QKV_WEIGHT | QKV_BIAS, FFN};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        const fr_tiny_options options = {.arch = "phi3", .n_layer = 2, .biases = true};
        fr_opened whole, apart;
        fr_opened_open(&whole, &options, fr_kern_of(FR_ISA_SCALAR), 1);
        open_apart(&apart, &whole, masks[i]);
        assert_true(fr_gguf_n_tensors(apart.gguf) > fr_gguf_n_tensors(whole.gguf));
        float *a = logits_of(&whole.model), *b = logits_of(&apart.model);
        if (memcmp(a, b, sizeof *a * ROWS * (size_t)whole.model.config.n_vocab))
            fail_msg("apart by %u: other logits", masks[i]);
        free(a);
        free(b);
        fr_opened_close(&apart);
        fr_opened_close(&whole);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bias_counts),
        cmocka_unit_test(the_bias_of_the_head_is_added_to_its_products),
        cmocka_unit_test(joined_biases_are_those_of_their_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
