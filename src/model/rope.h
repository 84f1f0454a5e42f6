// rope.h — rotary position embedding: frequencies at load, cosines and sines per pass.
#ifndef FR_MODEL_ROPE_H
#define FR_MODEL_ROPE_H
#include "model/config.h"

typedef struct fr_rope {
    int n_rot;
    double *freq;           // [n_rot/2] radians per position, layers that see everything
    double *freq_local;     // [n_rot/2] of layers with a window
    double magnitude;       // cosines and sines are multiplied by it, in layers that see everything
    double magnitude_local; // ... in layers with a window
} fr_rope;

// `factors` (n_rot/2 floats or NULL): each frequency is divided by its factor (Llama 3's and
// Phi-3's tables). FR_ENOMEM.
fr_status fr_rope_open(fr_rope *r, const fr_config *c, const float *factors, fr_error *err);
void fr_rope_close(fr_rope *r); // {0} is fine
// What YaRN multiplies cosines and sines by.
double fr_rope_yarn_magnitude(const fr_config *c);
// cs: n_rot/2 pairs (cos, sin) of position pos; `local`: for layers with a window.
void fr_rope_fill(const fr_rope *r, bool local, int pos, float *cs);

#endif
