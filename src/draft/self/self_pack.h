// self_pack.h — settings of packs of the drafters that draft with the target's own layers.
#ifndef FR_DRAFT_SELF_SELF_PACK_H
#define FR_DRAFT_SELF_SELF_PACK_H
#include "draft/pack/form.h"
#include <assert.h>

typedef struct fr_layer_skip_pack {
    uint8_t skip[2 * FR_MAX_LAYERS]; // sublayers left out, as in fr_pass:
    int n_skip, skip_end;            // ... how many, and one more than the last
    float share;                     // of the target's bytes that a drafted token reads
} fr_layer_skip_pack;

typedef struct fr_early_exit_pack {
    int exit; // layers that a draft runs through
} fr_early_exit_pack;

extern const fr_pack_form fr_layer_skip_form, fr_early_exit_form;
static inline const fr_layer_skip_pack *fr_layer_skip_pack_of(const fr_pack *p) {
    assert(p->form == &fr_layer_skip_form);
    return p->settings;
}
static inline const fr_early_exit_pack *fr_early_exit_pack_of(const fr_pack *p) {
    assert(p->form == &fr_early_exit_form);
    return p->settings;
}

#endif
