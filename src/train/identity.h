// identity.h — what names a training: "KEY=VALUE" lines, kept in its checkpoint.
//
// A line "set=NAME=VALUE" has the key "set=NAME". Lines are compared by their keys, wherever they
// stand; of several with one key, the first with the first and so on.
#ifndef FR_TRAIN_IDENTITY_H
#define FR_TRAIN_IDENTITY_H
#include "base/status.h"
#include <stddef.h>

// Compares the identity of a training with the one found in `file`, `bytes` of text. FR_EDATA: they
// differ; names the first line that does. How long a training is to be, how often it is judged and
// the type of its pack may differ; what older checkpoints have not may be missing.
fr_status fr_identity_compare(const char *mine, const char *found, size_t bytes, const char *file,
                              fr_error *err);
// The value of the first line with a key, cut to `room`; "" where there is none.
void fr_identity_value(const char *text, size_t bytes, const char *key, char *value, size_t room);

#endif
