#include "decode/trial.h"

void fr_trial_idle(fr_trial *t) {
    t->idle++;
}

bool fr_trial_is_due(const fr_trial *t, const fr_pauses *p) {
    int pause = p->shortest;
    for (int i = 0; i < t->trials && pause < p->longest; i++)
        pause *= 2;
    return t->idle >= (pause < p->longest ? pause : p->longest);
}

void fr_trial_begin(fr_trial *t) {
    t->idle = 0;
    t->trials++;
}

void fr_trial_used(fr_trial *t) {
    t->idle = 0;
}

void fr_trial_pays(fr_trial *t) {
    t->trials = 0;
}

bool fr_trial_is_sound(const fr_trial *t) {
    return t->idle >= 0 && t->trials >= 0;
}
