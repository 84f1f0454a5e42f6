// weights.h — a pack's weights in the form in which they are multiplied.
//
// The half of a trained drafter that belongs to the model (shared.h). Each tensor is made once,
// when the first drafter uses it, and is read-only from then on; so are the draft head, which comes
// from the target, and the pack's decoder block.
#ifndef FR_DRAFT_SHARED_WEIGHTS_H
#define FR_DRAFT_SHARED_WEIGHTS_H
#include "draft/pack/pack.h"
#include "draft/shared/linear.h"
#include "draft/shared/shared.h"

typedef struct fr_pack_weights {
    fr_shared_part part;
    fr_pack pack;
    const fr_model *target;
    char file[FR_GGUF_FINGERPRINT]; // the pack's fingerprint; "": no file holds it
    pthread_mutex_t lock;           // held while one of the following is made
    fr_matrix *matrix;              // by tensor of the pack, in panels
    float **values;                 // by tensor of the pack, as floats
    fr_matrix head;                 // [n_draft][d]
    fr_model block;
} fr_pack_weights;

// The weights of a file, checked (fr_pack_open_for); shared if config has parts to share.
fr_status fr_pack_weights_take(fr_pack_weights **out, const char *path, const fr_pack_form *form,
                               const fr_drafter_config *config, fr_error *err);
// Those of a pack that was opened otherwise, which becomes theirs. FR_ENOMEM: the pack is closed.
fr_status fr_pack_weights_own(fr_pack_weights **out, const fr_pack *pack, const fr_model *target,
                              fr_error *err);
void fr_pack_weights_give_back(fr_pack_weights *w); // NULL is fine

// The matrix, or all values, of a tensor that the pack has. FR_ENOMEM.
fr_status fr_pack_weights_matrix(fr_pack_weights *w, const char *name, const fr_matrix **out,
                                 fr_error *err);
fr_status fr_pack_weights_values(fr_pack_weights *w, const char *name, const float **out,
                                 fr_error *err);
// The draft head (draft_head.h). FR_ENOMEM.
fr_status fr_pack_weights_head(fr_pack_weights *w, const fr_matrix **out, fr_error *err);
// The decoder block as a model of one layer, whose rows enter as vectors; its head is the draft
// head. FR_ENOMEM, FR_EUNSUP: the target's threads or kernels lack something.
fr_status fr_pack_weights_block(fr_pack_weights *w, const fr_model **out, fr_error *err);

#endif
