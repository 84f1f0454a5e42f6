// learners.h — the drafters that can be trained, by name.
#ifndef FR_TRAIN_METHOD_LEARNERS_H
#define FR_TRAIN_METHOD_LEARNERS_H
#include "train/learner/learner.h"

typedef struct fr_learner_method {
    const char *name;
    fr_learner_open_fn *open;
    bool passes;      // runs the target's passes: wants its weights packed and all threads
    int batch_rows;   // of a batch where nobody says: dear steps want to be many
    const char *what; // one line for a list; NULL: that of the drafter of this name
} fr_learner_method;

// Methods of the program's own, behind those of the trainer, up to a name of NULL. The trainer's
// library holds an empty table: a program that defines one is linked with its own.
extern const fr_learner_method fr_learner_more_methods[];

const fr_learner_method *fr_learner_method_at(int index); // NULL past the last
// FR_EARG: no drafter of that name can be trained; the sentence names those that can.
fr_status fr_learner_find(const fr_learner_method **out, const char *name, fr_error *err);

#endif
