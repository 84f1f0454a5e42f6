// left_out.h — tensors of a file that a pass over text does not need.
#ifndef FR_MODEL_LEFT_OUT_H
#define FR_MODEL_LEFT_OUT_H
#include "model/config.h"

// Whether a tensor that no layer has bound changes no text, so that the model runs without it.
bool fr_model_leaves_out(const fr_gguf *g, const fr_gguf_tensor *t, const fr_config *c);

#endif
