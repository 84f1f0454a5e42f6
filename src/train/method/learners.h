// learners.h — the drafters that can be trained, by name.
#ifndef FR_TRAIN_METHOD_LEARNERS_H
#define FR_TRAIN_METHOD_LEARNERS_H
#include "train/learner/learner.h"

#define FR_DRAFTER(name)
#define FR_LEARNER(name) extern const fr_learner_method fr_learn_##name;
#include "draft/drafters.def"
#undef FR_LEARNER
#undef FR_DRAFTER

// Methods of the program's own, after those of draft/drafters.def, up to NULL. The trainer's library
// holds an empty table: a program that defines one is linked with its own.
extern const fr_learner_method *const fr_learner_more_methods[];

const fr_learner_method *fr_learner_method_at(int index); // NULL past the last
// FR_EARG: no drafter of that name can be trained; the sentence names those that can.
fr_status fr_learner_find(const fr_learner_method **out, const char *name, fr_error *err);

#endif
