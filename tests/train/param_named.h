// param_named.h — a learner's parameter by the name that it has in a pack.
#ifndef FR_TESTS_TRAIN_PARAM_NAMED_H
#define FR_TESTS_TRAIN_PARAM_NAMED_H
#include "train/math/param.h"
#include <string.h>

static inline int param_named(const fr_params *p, const char *name) { // -1: none
    for (int i = 0; i < p->n; i++)
        if (!strcmp(p->item[i].name, name)) return i;
    return -1;
}

#endif
