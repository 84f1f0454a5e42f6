// more_learners.c — methods that a program adds: none. Where a program defines the table itself, the
// linker leaves this file in the library, so nothing else may stand in it.
#include "train/method/learners.h"

const fr_learner_method *const fr_learner_more_methods[] = {NULL};
