#include "train/method/learners.h"
#include <stdio.h>
#include <string.h>

const fr_learner_method fr_learner_methods[] = {
    {"medusa", fr_learn_medusa_open, "variant=shared, own-heads, hydra or exit; tap=LAYER of exit",
     false, 1024},
    {"eagle", fr_learn_eagle_open, "ffn=WIDTH; feature=WEIGHT; init=fit, random or target", false,
     1024},
    {"hidden-state", fr_learn_hidden_state_open,
     "rank=R, gate=0 or 1, inject=0 or 1 of the injected term; ztail=WEIGHT; pure=0 or 1; "
     "feed=SHARE; "
     "ffn=WIDTH; feature=WEIGHT; init=fit, random or target",
     false, 1024},
    {"chimera", fr_learn_chimera_open,
     "ngram=1 to 5; encoder=wide, residual or layers; hidden=WIDTH; residual=0 or 1; "
     "variant=shared or own-heads; ffn=WIDTH; feature=WEIGHT; init=fit or random",
     false, 1024},
    {"ppd", fr_learn_ppd_open, "points=BASES of a text; ensemble=1 to 10; distil=0 or 1", true,
     512},
    {"hidden-transfer", fr_learn_transfer_open,
     "points=BASES of a text; layers=A/B/C; start=ridge or identity; step=I alone; masked=0 or 1",
     true, 512},
    {"early-exit", fr_learn_early_exit_open, "exit=LAYER, layers that a draft runs through", false,
     1024},
    {"layer-skip", NULL, "search=greedy or bayes; places=N in texts; sets=N that bayes tries", true,
     1024},
    {.name = NULL}};

fr_status fr_learner_find(const fr_learner_method **out, const char *name, fr_error *err) {
    char names[256] = "";
    for (const fr_learner_method *m = fr_learner_methods; m->name; m++) {
        const size_t n = strlen(names);
        if (!strcmp(m->name, name)) {
            *out = m;
            return FR_OK;
        }
        snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", m->name);
    }
    return fr_fail(err, FR_EARG, "%.64s: expected a drafter that is trained: %s", name, names);
}
