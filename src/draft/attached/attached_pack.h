// attached_pack.h — settings of packs whose guesses are rows of the target's own pass.
#ifndef FR_DRAFT_ATTACHED_ATTACHED_PACK_H
#define FR_DRAFT_ATTACHED_ATTACHED_PACK_H
#include "draft/pack/form.h"

enum { FR_PACK_ATTACHED = 7, FR_PACK_ENSEMBLE = 10 }; // steps of a chain; rows of a step, at most

typedef struct fr_attached_pack {
    int ensemble;                // rows of a step
    int layer[FR_PACK_ATTACHED]; // after which layer step i + 1 enters, ascending; 0: at the bottom
} fr_attached_pack;

static inline const fr_attached_pack *fr_attached_pack_of(const fr_pack *p) {
    return p->settings;
}
extern const fr_pack_form fr_ppd_form, fr_hidden_transfer_form;

#endif
