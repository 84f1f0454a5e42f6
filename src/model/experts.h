// experts.h — the feed-forward of a layer with experts. Private to layer.c.
#ifndef FR_MODEL_EXPERTS_H
#define FR_MODEL_EXPERTS_H
#include "model/project.h"

// f->y = what the experts that each active row chooses give for its f->xn, and its shared expert. A
// row's sum is one chain, ascending by expert, the shared one last: it does not depend on which
// experts other rows read. `joining`: the activation of every expert.
void fr_layer_read_experts(fr_forward *f, int layer, fr_layer_joining joining, int t, int nt);

#endif
