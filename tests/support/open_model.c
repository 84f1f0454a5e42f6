#include "support/open_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void must(fr_status st, const fr_error *err) {
    if (st) fail_msg("%s", err->text);
}

void fr_opened_open(fr_opened *o, const fr_tiny_options *options, const fr_kern *kern,
                    int threads) {
    fr_error err;
    size_t bytes;
    *o = (fr_opened){0};
    must(fr_tiny_memory(options, &o->file, &bytes, &err), &err);
    must(fr_gguf_open_memory(&o->gguf, o->file, bytes, "tiny", &err), &err);
    must(fr_pool_open(&o->pool, threads, &err), &err);
    must(fr_model_open(&o->model, o->gguf, kern, o->pool, FR_WEIGHTS_PACKED, NULL, NULL, &err),
         &err);
}

void fr_opened_close(fr_opened *o) {
    fr_model_close(&o->model);
    fr_pool_close(o->pool);
    fr_gguf_close(o->gguf);
    fr_free(o->file);
    *o = (fr_opened){0};
}

void fr_test_ids(int32_t *ids, int n, int n_vocab, unsigned seed) {
    srand(seed);
    for (int i = 0; i < n; i++)
        ids[i] = rand() % n_vocab;
}
