// stores.h — datastores for tests: made of given texts, in a file that the test removes.
#ifndef FR_TESTS_DRAFT_STORES_H
#define FR_TESTS_DRAFT_STORES_H
#include "base/alloc.h"
#include "draft/retrieval/datastore_file.h"
#include "draft/retrieval/datastore_writer.h"
#include "support/tiny_model.h"
#include "tree/dice.h"
#include <stdio.h>
#include <unistd.h>

typedef struct texts { // any number of texts in a row
    int32_t *ids;
    size_t *length;
    int n;
} texts;

// n texts of 0 to `longest` (2 or more) tokens below n_ids; the first has 2 at least, so that there
// is something to find.
static inline texts texts_random(int n, int longest, int n_ids) {
    texts t = {malloc(sizeof *t.ids * (size_t)(n * longest + 1)),
               malloc(sizeof *t.length * (size_t)(n + 1)), n};
    int32_t *at = t.ids;
    for (int i = 0; i < n; i++) {
        t.length[i] = (size_t)(i ? dice_below(longest + 1) : 2 + dice_below(longest - 1));
        for (size_t k = 0; k < t.length[i]; k++)
            *at++ = dice_below(n_ids);
    }
    return t;
}

static inline void texts_free(texts *t) {
    free(t->ids);
    free(t->length);
}

static inline fr_tokenizer *tiny_tokenizer(void) {
    const fr_tiny_options tiny = {.n_layer = 1};
    fr_error err;
    fr_tokenizer *t;
    fr_gguf *g;
    void *data;
    size_t bytes;
    assert_int_equal(fr_tiny_memory(&tiny, &data, &bytes, &err), FR_OK);
    assert_int_equal(fr_gguf_open_memory(&g, data, bytes, "tiny", &err), FR_OK);
    assert_int_equal(fr_tokenizer_open(&t, g, &err), FR_OK);
    fr_gguf_close(g);
    fr_free(data);
    return t;
}

// For a group of tests whose state is that tokenizer.
static inline int open_tokenizer(void **state) {
    *state = tiny_tokenizer();
    return 0;
}

static inline int close_tokenizer(void **state) {
    fr_tokenizer_close(*state);
    return 0;
}

// `path` ends in XXXXXX.
static inline void store_write(char *path, const fr_tokenizer *vocabulary, const texts *t) {
    fr_datastore_writer w;
    fr_error err;
    const int32_t *at = t->ids;
    close(mkstemp(path));
    assert_int_equal(fr_datastore_writer_open(&w, vocabulary, &err), FR_OK);
    for (int i = 0; i < t->n; at += t->length[i++])
        assert_int_equal(fr_datastore_writer_add(&w, at, t->length[i], &err), FR_OK);
    if (fr_datastore_writer_finish(&w, path, NULL, NULL, &err)) fail_msg("%s", err.text);
    fr_datastore_writer_close(&w);
}

static inline void store_open(fr_datastore *s, const char *path) {
    fr_error err;
    if (fr_datastore_open(s, path, &err)) fail_msg("%s", err.text);
}

#endif
