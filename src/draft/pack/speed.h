// speed.h — the predicted speed of decoding with a pack, before it was ever tried.
//
// The accuracies by depth and rank give the best tree and its tokens a pass (tree/best_shape.h,
// tree/expect.h). The measured cost of passes gives the cost of its rows. Each time that drafting
// reads its weights costs a share of a plain pass: the ratio of these weights to the target's.
// Where guesses run in the target's passes, their rows are part of the cost (tree/ppd.h).
#ifndef FR_DRAFT_PACK_SPEED_H
#define FR_DRAFT_PACK_SPEED_H
#include "draft/pack/pack.h"
#include "tree/cost.h"

// Tokens in the time of one of plain decoding; 1 where no tree is better than none. `layers`,
// `weights`: the target's, and the bytes of its weights. cost NULL or of no points: as on any
// machine.
double fr_pack_speed(const fr_pack *p, const fr_cost *cost, int layers, uint64_t weights);

#endif
