#include "train/method/learners.h"
#include <stdio.h>
#include <string.h>

static const fr_learner_method METHODS[] = {
    {"medusa", fr_learn_medusa_open, false, 1024, NULL},
    {"eagle", fr_learn_eagle_open, false, 1024, NULL},
    {"hidden-state", fr_learn_hidden_state_open, false, 1024, NULL},
    {"chimera", fr_learn_chimera_open, false, 1024, NULL},
    {"ppd", fr_learn_ppd_open, true, 512, NULL},
    {"hidden-transfer", fr_learn_transfer_open, true, 512, NULL},
    {"early-exit", fr_learn_early_exit_open, false, 1024, NULL},
};
enum { N_METHODS = sizeof METHODS / sizeof *METHODS };

const fr_learner_method *fr_learner_method_at(int index) {
    if (index < N_METHODS) return &METHODS[index];
    for (const fr_learner_method *m = fr_learner_more_methods; m->name; m++)
        if (index-- == N_METHODS) return m;
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
