// weights.h — the weights of a pack file, for tests that open parts of a drafter themselves.
#ifndef FR_TESTS_SUPPORT_WEIGHTS_H
#define FR_TESTS_SUPPORT_WEIGHTS_H
#include "draft/shared/weights.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Fails the running test when anything fails.
static inline fr_pack_weights *weights_of(const char *path, const fr_model *target) {
    fr_pack_weights *w;
    fr_pack pack;
    fr_error err;
    if (fr_pack_open(&pack, path, &err) || fr_pack_weights_own(&w, &pack, target, &err))
        fail_msg("%s", err.text);
    return w;
}

#endif
