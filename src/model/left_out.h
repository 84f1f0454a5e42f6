// left_out.h — tensors of a file that a pass over text does not need.
#ifndef FR_MODEL_LEFT_OUT_H
#define FR_MODEL_LEFT_OUT_H
#include "model/config.h"

// Whether the model gives the same text without the tensor, which nothing has bound.
bool fr_model_leaves_out(const fr_gguf *g, const fr_gguf_tensor *t, const fr_config *c);

#endif
