// layer.h — a layer of a pass on the rows that are active (workspace.h). Private to forward.c.
//
// One pass runs as one parallel region: every thread walks the layers, takes its share of each
// phase, and meets the others at barriers. Shares are of rows (norms, residual), of k-blocks
// (quantisation), of panels (products), of heads (RoPE) and of query tiles (attention); no sum is
// ever split.
#ifndef FR_MODEL_LAYER_H
#define FR_MODEL_LAYER_H
#include "model/project.h"

// Attention of a layer, from the residual to the residual.
void fr_layer_attention(fr_forward *f, int layer, int t, int nt);
// Its parts, where the rows that leave keys and values are not those that attend.
void fr_layer_keys(fr_forward *f, int layer, int t, int nt);
void fr_layer_queries(fr_forward *f, int layer, int t, int nt);
// attended: attention has run in this layer, on the same rows.
void fr_layer_feed_forward(fr_forward *f, int layer, bool attended, int t, int nt);

#endif
