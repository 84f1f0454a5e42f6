// asked.h — a watch that counts how often it is asked, and says no from some question on.
#ifndef FR_TESTS_SUPPORT_ASKED_H
#define FR_TESTS_SUPPORT_ASKED_H
#include "base/watch.h"
#include <limits.h>

typedef struct asked {
    int n, most; // questions so far; those that are answered by yes
} asked;

static inline bool asked_go_on(void *user) {
    asked *a = user;
    return a->n++ < a->most;
}

// Work that this stops asks once more and no more: it ends there.
#define ASKED(a) ((fr_watch){asked_go_on, (a)})

#endif
