// asked.h — a watch that counts how often it is asked, and answers no after so many times.
#ifndef FR_TESTS_SUPPORT_ASKED_H
#define FR_TESTS_SUPPORT_ASKED_H
#include "base/watch.h"
#include <limits.h>

typedef struct asked {
    int n, most; // questions so far; how many get a yes
} asked;

static inline bool asked_go_on(void *user) {
    asked *a = user;
    return a->n++ < a->most;
}

// Work that it stops must end at the first no: then n is most + 1.
#define ASKED(a) ((fr_watch){asked_go_on, (a)})

#endif
