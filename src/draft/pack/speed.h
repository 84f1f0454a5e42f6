// speed.h — how fast a pack is expected to make decoding, before it was ever tried.
//
// Its accuracies by depth and rank say which tree is best and how many tokens a pass with it brings
// (tree/best_shape.h, tree/expect.h). The cost of passes says what its rows take. Drafting takes the
// share of a plain pass that its weights are of the target's, once for every time that they are
// read. Where guesses run in the target's passes, their rows are part of the cost (tree/ppd.h).
#ifndef FR_DRAFT_PACK_SPEED_H
#define FR_DRAFT_PACK_SPEED_H
#include "draft/pack/pack.h"
#include "tree/cost.h"

// Tokens in the time of one of plain decoding; 1 where no tree is better than none. `layers`,
// `weights`: the target's, and the bytes of its weights. cost NULL or of no points: as on any
// machine.
double fr_pack_speed(const fr_pack *p, const fr_cost *cost, int layers, uint64_t weights);

#endif
