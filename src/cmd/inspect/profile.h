// profile.h — what `inspect` prints for a profile, the file with the results of `tune`.
#ifndef FR_CMD_INSPECT_PROFILE_H
#define FR_CMD_INSPECT_PROFILE_H
#include "cmd/lib/cmd.h"
#include "gguf/gguf.h"
#include <jansson.h>

// NULL where this is a profile that is at fault, with the reason in *err.
json_t *fr_inspect_profile_json(const fr_gguf *g, fr_error *err);
void fr_inspect_profile_print(const fr_gguf *g, fr_error *err); // prints the reason too

#endif
