// open_model.h — a tiny model ready to run, in one call.
#ifndef FR_TESTS_SUPPORT_OPEN_MODEL_H
#define FR_TESTS_SUPPORT_OPEN_MODEL_H
#include "model/forward.h"
#include "support/tiny_model.h"

typedef struct fr_opened {
    void *file;
    fr_gguf *gguf;
    fr_pool *pool;
    fr_model model;
} fr_opened;

// Fails the running test when anything fails.
void fr_opened_open(fr_opened *o, const fr_tiny_options *options, const fr_kern *kern, int threads);
void fr_opened_close(fr_opened *o);
void fr_test_ids(int32_t *ids, int n, int n_vocab, unsigned seed); // random tokens

#endif
