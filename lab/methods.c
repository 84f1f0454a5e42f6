// methods.c — the drafters and learners of forerun-lab besides forerun's (draft/registry.h,
// train/method/learners.h).
#include "lab/draft/methods.h"
#include "draft/registry.h"
#include "lab/train/learners.h"
#include "train/method/learners.h"

const fr_drafter_method *const fr_drafter_more_methods[] = {
    &lab_hidden_state_union_method, &lab_hidden_state_iterative_method,  &lab_jacobi_method,
    &lab_ppd_planned_method,        &lab_hidden_transfer_planned_method, NULL};

static const fr_learner_method CHIMERA_LAYER = {
    .name = "chimera-layer",
    .open = lab_learn_chimera_layer_open,
    .batch_rows = 1024,
    .what = "Chimera with the model's first layer in place of n-grams (section 4.4.1, table 7)"};
static const fr_learner_method CHIMERA_PUBLISHED = {
    .name = "chimera-published",
    .open = lab_learn_chimera_published_open,
    .batch_rows = 1024,
    .what = "Chimera as in its paper: residual encoder, own heads, hard labels"};
static const fr_learner_method PPD_ABLATION = {
    .name = "ppd-ablation",
    .open = lab_learn_ppd_ablation_open,
    .passes = true,
    .batch_rows = 512,
    .what = "the variants with which PPD's paper compares its method (appendix B)"};
const fr_learner_method *const fr_learner_more_methods[] = {&CHIMERA_LAYER, &CHIMERA_PUBLISHED,
                                                            &PPD_ABLATION, NULL};
