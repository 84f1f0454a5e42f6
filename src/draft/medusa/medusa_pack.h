// medusa_pack.h — settings of Medusa's and Hydra's packs.
#ifndef FR_DRAFT_MEDUSA_MEDUSA_PACK_H
#define FR_DRAFT_MEDUSA_MEDUSA_PACK_H
#include "draft/pack/form.h"
#include <assert.h>

typedef enum fr_medusa_variant { // the module after the heads, and their input
    FR_MEDUSA_SHARED,            // the draft head, the final hidden state
    FR_MEDUSA_OWN_HEADS,         // a head of each one's own
    FR_MEDUSA_HYDRA,             // ... and the tokens of the path
    FR_MEDUSA_EXIT,              // the final norm of the residual of layer `tap`
} fr_medusa_variant;

typedef struct fr_medusa_pack {
    fr_medusa_variant variant;
    int tap; // FR_MEDUSA_EXIT: the heads read the residual after so many layers
} fr_medusa_pack;

extern const fr_pack_form fr_medusa_form;
static inline const fr_medusa_pack *fr_medusa_pack_of(const fr_pack *p) {
    assert(p->form == &fr_medusa_form);
    return p->settings;
}
const char *fr_medusa_variant_name(fr_medusa_variant variant);

#endif
