// skip_set.h — sublayers of a target that a draft leaves out, in the numbering of a pass
// (fr_pass.skip): 2 l is the attention of layer l, 2 l + 1 its feed-forward. Which set a drafter
// uses, a pack's or the default, is settled in layer_skip.c.
#ifndef FR_DRAFT_SELF_SKIP_SET_H
#define FR_DRAFT_SELF_SKIP_SET_H
#include "model/model.h"

// Bytes of the matrices of one sublayer, as a pass reads them.
uint64_t fr_sublayer_bytes(const fr_model *m, int sublayer);
// The share of the model's bytes that a pass without `skip` ([2 * n_layer]) and without the head
// reads.
double fr_skip_trunk_share(const fr_model *m, const uint8_t *skip);
// Where no search was made: the attention of every second layer of the later two thirds. More of
// attention than of feed-forward can go, and nothing of the first layers.  [Draft & Verify, Zhang
// et al. 2023, appendix on the sets found]
void fr_skip_default(const fr_model *m, uint8_t *skip);

#endif
