// learners.h — the drafters that can be trained, by name.
#ifndef FR_TRAIN_METHOD_LEARNERS_H
#define FR_TRAIN_METHOD_LEARNERS_H
#include "train/learner/learner.h"

typedef struct fr_learner_method {
    const char *name;
    fr_learner_open_fn *open; // NULL: nothing is learned, it is searched for (skip_search.h)
    const char *settings;     // --set KEY=VALUE: what it knows, in words
    bool passes;              // runs the target's passes: wants its weights packed and all threads
    int batch_rows;           // of a batch where nobody says: dear steps want to be many
} fr_learner_method;

extern const fr_learner_method fr_learner_methods[]; // ends with a name of NULL
// FR_EARG: no drafter of that name can be trained; the sentence names those that can.
fr_status fr_learner_find(const fr_learner_method **out, const char *name, fr_error *err);

#endif
