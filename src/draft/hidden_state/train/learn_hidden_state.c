// learn_hidden_state.c — the learner of hidden-state: that of EAGLE's chain with a token bias.
#include "draft/eagle/train/learn_eagle.h"
#include "train/learner/learner.h"

static fr_status open_hidden_state(fr_learner **out, const fr_learner_config *config,
                                   fr_error *err) {
    return fr_unrolled_learner_open(out, FR_UNROLLED_HIDDEN_STATE, "hidden-state", config, err);
}

const fr_learner_method fr_learn_hidden_state = {
    .name = "hidden-state", .open = open_hidden_state, .batch_rows = 1024};
