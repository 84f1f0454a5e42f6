// learners.h — the lab's learners, one a file.
#ifndef LAB_TRAIN_LEARNERS_H
#define LAB_TRAIN_LEARNERS_H
#include "train/learner/learner.h"

fr_learner_open_fn lab_learn_chimera_layer_open, lab_learn_chimera_published_open,
    lab_learn_ppd_ablation_open;

#endif
