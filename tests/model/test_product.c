// Weights left in the file give the bits of weights in panels; loading says how far it is and can
// be stopped.
#include "support/open_model.h"
#include "support/quantize.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 19 };

// Logits of a chain of tokens, every row.
static float *chain_logits(const fr_model *m) {
    fr_error err;
    fr_kv kv;
    fr_forward *f;
    fr_row rows[ROWS];
    int32_t ids[ROWS];
    const size_t n_vocab = (size_t)m->config.n_vocab;
    const fr_forward_limits limits = {.max_rows = ROWS, .n_ctx = 64};
    float *logits = fr_alloc_array(ROWS * n_vocab, sizeof *logits);
    assert_non_null(logits);
    assert_int_equal(fr_kv_open(&kv, &m->config, 64, FR_KV_F16, &err), FR_OK);
    assert_int_equal(fr_forward_open(&f, m, &limits, &err), FR_OK);
    fr_test_ids(ids, ROWS, m->config.n_vocab, 5);
    for (int i = 0; i < ROWS; i++)
        rows[i] = fr_row_token(ids[i], i - 1, FR_WANT_LOGITS);
    fr_forward_run(f, &(fr_pass){.rows = rows, .n_rows = ROWS, .kv = (fr_kv *[]){&kv}, .n_seq = 1});
    for (size_t i = 0; i < ROWS; i++)
        memcpy(logits + i * n_vocab, fr_forward_logits(f, (int)i), n_vocab * sizeof *logits);
    fr_forward_close(f);
    fr_kv_close(&kv);
    return logits;
}

static void check_in_place(const fr_tiny_options *tiny, const fr_kern *kern, int threads) {
    fr_opened o;
    fr_model in_place;
    fr_error err;
    fr_opened_open(&o, tiny, kern, threads);
    if (fr_model_open(&in_place, o.gguf, kern, o.pool, FR_WEIGHTS_IN_PLACE, NULL, NULL, &err))
        fail_msg("%s", err.text);
    assert_null(in_place.head.panels);
    assert_int_equal(in_place.weights_bytes, o.model.weights_bytes);
    fr_config config;
    uint64_t packed;
    assert_int_equal(fr_model_check(&config, &packed, o.gguf, &err), FR_OK);
    assert_int_equal(packed, o.model.weights_bytes);
    assert_int_equal(in_place.macs_per_row, o.model.macs_per_row);
    float *expected = chain_logits(&o.model), *found = chain_logits(&in_place);
    if (memcmp(expected, found, ROWS * sizeof *found * (size_t)in_place.config.n_vocab))
        fail_msg("%s %s %s, %d threads: other logits in place", tiny->arch,
                 fr_qtype_name(tiny->type), kern->name, threads);
    fr_free(expected);
    fr_free(found);
    fr_model_close(&in_place);
    fr_opened_close(&o);
}

static void weights_in_place_give_the_bits_of_panels(void **state) {
    (void)state;
    const fr_qtype *q;
    for (int isa = 0; isa < FR_ISA_COUNT; isa++)
        for (int t = 0; fr_isa_available(isa) && (q = fr_qtype_at(t)); t++) {
            if (!fr_test_quantizes(q->type)) continue;
            fr_tiny_options tiny = {.arch = "qwen2", .type = q->type, .n_layer = 2};
            check_in_place(&tiny, fr_kern_of(isa), 1 + t % 3);
            tiny.untied = true;
            tiny.n_padding = 5; // the last panel of the head is not whole
            check_in_place(&tiny, fr_kern_of(isa), 2);
        }
}

static void experts_are_read_in_place(void **state) {
    (void)state;
    const fr_kern *kern;
    fr_error err;
    assert_int_equal(fr_kern_pick(&kern, "auto", &err), FR_OK);
    for (int i = 0; i < fr_n_families; i++)
        if (fr_families[i].has_experts != FR_EXPERTS_NEVER)
            check_in_place(&(fr_tiny_options){.arch = fr_families[i].name,
                                              .type = i % 2 ? FR_TYPE_Q4_K : FR_TYPE_Q5_0,
                                              .n_expert = 8,
                                              .quantized_router = i % 2,
                                              .biases = i % 3 == 0},
                           kern, 1 + i % 3);
}

static void fused_tensors_are_read_in_place(void **state) {
    (void)state;
    const fr_kern *kern;
    fr_error err;
    assert_int_equal(fr_kern_pick(&kern, "auto", &err), FR_OK);
    check_in_place(&(fr_tiny_options){.arch = "phi3", .type = FR_TYPE_Q5_1}, kern, 2);
    check_in_place(&(fr_tiny_options){.arch = "gemma3", .type = FR_TYPE_Q6_K}, kern, 2);
}

typedef struct watch {
    uint64_t done, total;
    int calls, allowed; // how many calls before it asks to stop
} watch;

static bool watch_loading(void *user, const char *what, uint64_t done, uint64_t total) {
    watch *w = user;
    assert_string_equal(what, "loading");
    assert_true(done >= w->done && done <= total && (!w->calls || total == w->total));
    w->done = done;
    w->total = total;
    return ++w->calls <= w->allowed;
}

static void loading_reports_every_byte_and_can_be_stopped(void **state) {
    (void)state;
    const fr_tiny_options tiny = {.arch = "llama", .type = FR_TYPE_Q8_0};
    for (int threads = 1; threads <= 2; threads++) {
        fr_opened o;
        fr_model m;
        fr_error err;
        watch all = {.allowed = 1000000}, none = {0};
        fr_opened_open(&o, &tiny, &fr_kern_scalar, threads);
        assert_int_equal(fr_model_open(&m, o.gguf, &fr_kern_scalar, o.pool, FR_WEIGHTS_PACKED,
                                       watch_loading, &all, &err),
                         FR_OK);
        assert_true(all.total > 0);
        assert_int_equal(all.done, all.total);
        fr_model_close(&m);
        assert_int_equal(fr_model_open(&m, o.gguf, &fr_kern_scalar, o.pool, FR_WEIGHTS_PACKED,
                                       watch_loading, &none, &err),
                         FR_EINTR);
        assert_int_equal(none.calls, 1);
        fr_opened_close(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_in_place_give_the_bits_of_panels),
        cmocka_unit_test(experts_are_read_in_place),
        cmocka_unit_test(fused_tensors_are_read_in_place),
        cmocka_unit_test(loading_reports_every_byte_and_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
