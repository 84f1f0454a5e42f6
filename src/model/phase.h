// phase.h — where the time of a pass goes.
#ifndef FR_MODEL_PHASE_H
#define FR_MODEL_PHASE_H

typedef enum fr_phase {
    FR_PHASE_ENTER,    // embeddings, views, cosines and sines
    FR_PHASE_NORM,     // RMS norms
    FR_PHASE_QUANTIZE, // activations to int8
    FR_PHASE_PRODUCTS, // with the layers' matrices and linear maps
    FR_PHASE_HEAD,     // with the head
    FR_PHASE_ROPE,     // bias, query and key norm, RoPE, storing K and V
    FR_PHASE_ATTENTION,
    FR_PHASE_ACTIVATION, // SwiGLU, GeGLU
    FR_PHASE_ROUTE,      // choosing experts, and gathering the rows of each
    FR_PHASE_ADD,        // onto the residual stream
    FR_PHASE_WAIT,       // in barriers, for the other threads
    FR_PHASES
} fr_phase;

// "norm", "quantize", ...
const char *fr_phase_name(fr_phase phase);

#endif
