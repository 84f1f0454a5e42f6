// test_tokenizer_models.c — real vocabularies against other programs' ids. Needs the model files.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gguf/gguf.h"
#include "text/tokenizer.h"

#ifndef FR_SOURCE_DIR
#define FR_SOURCE_DIR "."
#endif

typedef struct vector {
    const char *text;
    size_t bytes, n;
    int32_t ids[80];
} vector;
#include "model_vectors.inc"

// NULL: the test is skipped.
static fr_tokenizer *open_model(const char *name) {
    const char *folder = getenv("FR_MODELS");
    char path[4096];
    fr_gguf *file;
    fr_tokenizer *t = NULL;
    fr_error err = {0};
    snprintf(path, sizeof path, "%s/%s", folder ? folder : FR_SOURCE_DIR "/models", name);
    if (access(path, R_OK) != 0) {
        printf("skipped: no %s (set FR_MODELS)\n", path);
        return NULL;
    }
    fr_status st = fr_gguf_open(&file, path, &err);
    if (!st) st = fr_tokenizer_open(&t, file, &err);
    fr_gguf_close(file); // the tokenizer does not need it any more
    if (st) fail_msg("%s", err.text);
    return t;
}

static void check_vector(const fr_tokenizer *t, const vector *v, unsigned flags) {
    fr_ids ids = {0};
    fr_buffer text = {0};
    assert_int_equal(fr_tokenizer_encode(t, v->text, v->bytes, flags, &ids, NULL), FR_OK);
    bool same = ids.n == v->n && memcmp(ids.data, v->ids, v->n * sizeof v->ids[0]) == 0;
    for (size_t i = 0; !same && i < ids.n; i++)
        printf("%d%s", ids.data[i], i + 1 < ids.n ? ", " : "\n");
    if (!same) fail_msg("other ids for '%s'", v->text);
    assert_int_equal(fr_tokenizer_decode(t, ids.data, ids.n, &text, NULL), FR_OK);
    assert_int_equal(text.n, v->bytes);
    assert_memory_equal(text.data, v->text, v->bytes);
    fr_ids_free(&ids);
    fr_buffer_free(&text);
}

static void check_model(const char *name, const vector *v, size_t n, unsigned flags,
                        const int32_t *ends) {
    fr_tokenizer *t = open_model(name);
    if (!t) skip();
    for (size_t i = 0; i < n; i++)
        check_vector(t, &v[i], flags);
    for (int32_t id = 0; id < fr_tokenizer_size(t); id++) {
        bool end = false;
        for (const int32_t *e = ends; *e >= 0; e++)
            end = end || *e == id;
        if (fr_token_is_end(t, id) != end) fail_msg("token %d", id);
    }
    fr_tokenizer_close(t);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void smollm2_ids_equal_those_recorded(void **state) {
    (void)state;
    check_model("smollm2-135m.gguf", smollm2_vectors, COUNT(smollm2_vectors), FR_PARSE_SPECIAL,
                (const int32_t[]){0, 2, 3, 4, 5, -1});
}

static void qwen2_ids_equal_those_recorded(void **state) {
    (void)state;
    check_model("qwen2.5-coder-0.5b.gguf", qwen2_vectors, COUNT(qwen2_vectors), FR_PARSE_SPECIAL,
                (const int32_t[]){151643, 151645, 151662, 151663, 151664, -1});
}

static void gemma3_ids_equal_those_recorded(void **state) {
    (void)state;
    check_model("gemma-3-270m.gguf", gemma3_vectors, COUNT(gemma3_vectors), 0,
                (const int32_t[]){1, 106, -1});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smollm2_ids_equal_those_recorded),
        cmocka_unit_test(qwen2_ids_equal_those_recorded),
        cmocka_unit_test(gemma3_ids_equal_those_recorded),
    };
    return cmocka_run_group_tests_name("text.tokenizer_models", tests, NULL, NULL);
}
