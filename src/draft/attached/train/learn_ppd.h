// learn_ppd.h — PPD's learner, and the parts that another learner extends.
#ifndef FR_DRAFT_ATTACHED_TRAIN_LEARN_PPD_H
#define FR_DRAFT_ATTACHED_TRAIN_LEARN_PPD_H
#include "train/attached/attached_learner.h"

typedef struct fr_ppd_learner fr_ppd_learner;

// What a learner has beyond the vectors (lab/train/learn_ppd_ablation.c). Called while it opens, in
// this order.
typedef struct fr_ppd_more {
    bool (*read_option)(fr_ppd_learner *p, const char *option); // false: not one of its own
    const char *options;                                        // in words: ", mask=..."
    void (*reshape)(const fr_ppd_learner *p, fr_trunk_shape *shape);
    void (*add_params)(fr_ppd_learner *p);
    void (*start)(fr_ppd_learner *p, uint64_t seed); // the values of these
} fr_ppd_more;

struct fr_ppd_learner {
    fr_attached_learner attached; // first
    int vectors;                  // number of the parameter, [depth * members][d]
    const fr_ppd_more *more;      // borrowed; NULL: none
};

// Opens a learner at the beginning of a block of fr_alloc_zero, which an error frees, as closing
// does.
fr_status fr_ppd_learner_open(fr_ppd_learner *p, const char *name, const fr_ppd_more *more,
                              const fr_learner_config *config, fr_error *err);

#endif
