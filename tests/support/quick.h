// quick.h — whether long tests do less: FR_QUICK in the environment, as `make test` sets it.
#ifndef FR_TESTS_SUPPORT_QUICK_H
#define FR_TESTS_SUPPORT_QUICK_H
#include <stdbool.h>
#include <stdlib.h>

static inline bool fr_test_is_quick(void) {
    return getenv("FR_QUICK") != NULL;
}

#endif
