// test_similarity.c — attached rows that are what they stand for are like it; those that did not
// move are like the row they hang under.
#include "draft/drafting.h"
#include "lab/draft/similarity.h"
#include "support/tiny_pack.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 40, FIRST = 9, LAYERS = 3, TOKEN = 17 };
static const fr_tiny_options TARGET = {.arch = "llama", .type = FR_TYPE_F32, .n_layer = LAYERS};

// A pack whose one tensor of each name holds what the test says.
static void write_pack(pair *p, const fr_tiny_pack *o, const char *const *names, int n_names, int k,
                       int m, const float *values) {
    fr_error err;
    fr_gguf_writer *w;
    strcpy(p->path, "pack-XXXXXX");
    close(mkstemp(p->path));
    if (fr_gguf_writer_open(&w, &err)) fail_msg("%s", err.text);
    fr_tiny_pack_add(w, o, &p->target.model);
    for (int i = 0; i < n_names; i++)
        fr_gguf_writer_tensor_copy(w, names[i], FR_TYPE_F32, 2, (int64_t[]){k, m}, values);
    if (fr_gguf_writer_finish(w, p->path, &err)) fail_msg("%s", err.text);
    fr_gguf_writer_close(w);
}

static void measure(const pair *p, const char *kind, const int32_t *ids, fr_similarity *s) {
    char spec[80];
    fr_error err;
    snprintf(spec, sizeof spec, "%s:%s", kind, p->path);
    fr_drafter *d = open_drafter(p, spec, false, NULL);
    if (fr_similarity_open(s, &p->target.model, (fr_attached *)(void *)d, FR_KV_F16, &err))
        fail_msg("%s", err.text);
    fr_similarity_add(s, ids, N, FIRST, 1);
    // Rows whose three attached rows stand for tokens of the answer.
    assert_int_equal(s->n, N - FIRST - 2);
}

// The attached row is the token's own embedding, and the text is that token again and again: in
// every layer it is the very row that it stands for.
static void an_attached_row_that_is_the_token_is_like_it_everywhere(void **state) {
    (void)state;
    pair p;
    fr_similarity s;
    int32_t ids[N];
    float vectors[3 * 256];
    const char *const name = "ppd.vectors";
    open_target(&p, &TARGET, 2, 64);
    const int d = p.target.model.config.d;
    for (int i = 0; i < 3; i++)
        fr_model_embed(&p.target.model, TOKEN, vectors + i * d);
    for (int i = 0; i < N; i++)
        ids[i] = TOKEN;
    write_pack(&p, &(fr_tiny_pack){.form = &fr_ppd_form, .leave_out = "ppd.vectors"}, &name, 1, d,
               3, vectors);
    measure(&p, "ppd", ids, &s);
    for (int i = 0; i < 3; i++)
        for (int l = 0; l <= LAYERS; l++)
            assert_true(fabs(fr_similarity_attached(&s, i, l) - 1) < 1e-6);
    fr_drafter_close((fr_drafter *)(void *)(uintptr_t)s.drafter);
    fr_similarity_close(&s);
    unlink(p.path);
    close_target(&p);
}

// With identity for a map the attached row begins as its row, and what it becomes lies elsewhere.
static void an_attached_row_that_did_not_move_is_like_its_row(void **state) {
    (void)state;
    static const char *const names[] = {"transfer.1.weight", "transfer.2.weight",
                                        "transfer.3.weight"};
    static const int32_t layers[] = {1, 2, 2};
    pair p;
    fr_similarity s;
    int32_t ids[N];
    open_target(&p, &TARGET, 1, 64);
    const int d = p.target.model.config.d;
    float *identity = calloc((size_t)(d * d), sizeof *identity);
    for (int i = 0; i < d; i++)
        identity[i * d + i] = 1;
    fr_test_ids(ids, N, 256, 5);
    const fr_tiny_pack o = {
        .form = &fr_hidden_transfer_form, .layers = layers, .leave_out = "transfer.1.weight"};
    // One tensor can be left out; the maps of steps 2 and 3 are random ones.
    write_pack(&p, &o, names, 1, d, d, identity);
    measure(&p, "hidden-transfer", ids, &s);
    assert_true(isnan(fr_similarity_attached(&s, 0, 0)));
    assert_true(isnan(fr_similarity_attached(&s, 1, 1)));
    assert_true(fabs(fr_similarity_attached(&s, 0, 1) - fr_similarity_stays(&s, 0, 1)) < 1e-6);
    assert_true(fabs(fr_similarity_attached(&s, 0, 2) - fr_similarity_stays(&s, 0, 2)) > 1e-4);
    for (int i = 0; i < 3; i++)
        for (int l = layers[i]; l <= LAYERS; l++) {
            assert_true(fabs(fr_similarity_attached(&s, i, l)) <= 1 + 1e-9);
            assert_true(fabs(fr_similarity_stays(&s, i, l)) <= 1 + 1e-9);
        }
    fr_drafter_close((fr_drafter *)(void *)(uintptr_t)s.drafter);
    fr_similarity_close(&s);
    unlink(p.path);
    free(identity);
    close_target(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attached_row_that_is_the_token_is_like_it_everywhere),
        cmocka_unit_test(an_attached_row_that_did_not_move_is_like_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
