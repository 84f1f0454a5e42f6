#include "train/method/learners.h"
#include <stdio.h>
#include <string.h>

#define FR_DRAFTER(name)
#define FR_LEARNER(name) &fr_learn_##name,
static const fr_learner_method *const METHODS[] = {
#include "draft/drafters.def"
};
#undef FR_LEARNER
#undef FR_DRAFTER
enum { N_METHODS = sizeof METHODS / sizeof *METHODS };

const fr_learner_method *fr_learner_method_at(int index) {
    if (index < N_METHODS) return METHODS[index];
    for (const fr_learner_method *const *m = fr_learner_more_methods; *m; m++)
        if (index-- == N_METHODS) return *m;
    return NULL;
}

fr_status fr_learner_find(const fr_learner_method **out, const char *name, fr_error *err) {
    char names[256] = "";
    const fr_learner_method *m;
    for (int i = 0; (m = fr_learner_method_at(i)); i++) {
        const size_t n = strlen(names);
        if (!strcmp(m->name, name)) {
            *out = m;
            return FR_OK;
        }
        snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", m->name);
    }
    return fr_fail(err, FR_EARG, "%.64s: expected a drafter that is trained: %s", name, names);
}
