// The made models are what they claim: every architecture and type opens as a GGUF file, equal
// options give equal bytes, and the vocabulary reads what it should.
#include "base/alloc.h"
#include "gguf/gguf.h"
#include "model/plan.h"
#include "support/quantize.h"
#include "support/tiny_model.h"
#include "text/tokenizer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> // after setjmp and stdarg

static void tiny_models_open(void **unused) {
    (void)unused;
    for (int a = 0; a < fr_n_families; a++)
        for (uint32_t type = 0; type < FR_TYPE_LIMIT; type++) {
            const bool some = type == FR_TYPE_F32 || type == FR_TYPE_Q8_0 || type == FR_TYPE_Q4_K;
            if (!fr_qtype_of(type) || !fr_test_quantizes((fr_type)type)) continue;
            if (a && !some) continue; // types differ in their sizes alone
            fr_tiny_options o = {
                .arch = fr_families[a].name, .type = (fr_type)type, .untied = type % 2};
            void *data;
            size_t bytes;
            fr_error err = {0};
            fr_gguf *g;
            assert_int_equal(fr_tiny_memory(&o, &data, &bytes, &err), FR_OK);
            assert_int_equal(fr_gguf_open_memory(&g, data, bytes, "tiny", &err), FR_OK);
            const fr_gguf_tensor *t = fr_gguf_tensor_find(g, "blk.2.attn_output.weight");
            assert_non_null(t);
            assert_int_equal(t->type, type);
            assert_int_equal(fr_gguf_tensor_find(g, "output.weight") != NULL, type % 2);
            fr_gguf_close(g);
            fr_free(data);
        }
}

static void tiny_model_depends_on_its_options_only(void **unused) {
    (void)unused;
    fr_tiny_options o = {.arch = "qwen2", .type = FR_TYPE_Q8_0, .seed = 7};
    void *a, *b, *c;
    size_t na, nb, nc;
    fr_error err = {0};
    assert_int_equal(fr_tiny_memory(&o, &a, &na, &err), FR_OK);
    assert_int_equal(fr_tiny_memory(&o, &b, &nb, &err), FR_OK);
    o.seed = 8;
    assert_int_equal(fr_tiny_memory(&o, &c, &nc, &err), FR_OK);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    assert_int_equal(na, nc);
    assert_memory_not_equal(a, c, na);
    fr_free(a);
    fr_free(b);
    fr_free(c);
}

static void tiny_vocabularies_read_text_back(void **unused) {
    (void)unused;
    const char text[] = "Then the wind and\n\xC3\xA9\xE2\x82\xAC \"42\" ...";
    for (int a = 0; a <= fr_n_families; a++) {
        fr_tiny_options o = {.pre = "gemma4"}; // the last one
        if (a < fr_n_families) o = (fr_tiny_options){.arch = fr_families[a].name};
        void *data;
        size_t bytes;
        fr_error err = {0};
        fr_gguf *g;
        fr_tokenizer *t;
        fr_ids ids = {0};
        fr_buffer back = {0};
        assert_int_equal(fr_tiny_memory(&o, &data, &bytes, &err), FR_OK);
        assert_int_equal(fr_gguf_open_memory(&g, data, bytes, "tiny", &err), FR_OK);
        if (fr_tokenizer_open(&t, g, &err)) fail_msg("%s: %s", o.arch ? o.arch : o.pre, err.text);
        assert_int_equal(fr_tokenizer_encode(t, text, strlen(text), 0, &ids, &err), FR_OK);
        assert_true(ids.n > 10 && ids.n < strlen(text)); // some merges were taken
        assert_int_equal(fr_tokenizer_decode(t, ids.data, ids.n, &back, &err), FR_OK);
        assert_int_equal(back.n, strlen(text));
        assert_memory_equal(back.data, text, back.n);
        fr_buffer_free(&back);
        fr_ids_free(&ids);
        fr_tokenizer_close(t);
        fr_gguf_close(g);
        fr_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_models_open),
        cmocka_unit_test(tiny_model_depends_on_its_options_only),
        cmocka_unit_test(tiny_vocabularies_read_text_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
