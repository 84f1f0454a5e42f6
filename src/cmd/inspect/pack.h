// pack.h — what `inspect` prints for a pack.
#ifndef FR_CMD_INSPECT_PACK_H
#define FR_CMD_INSPECT_PACK_H
#include "cmd/lib/cmd.h"
#include "gguf/gguf.h"
#include <jansson.h>

// NULL where this is a pack that is at fault, with the reason in *err.
json_t *fr_inspect_pack_json(const fr_gguf *g, fr_error *err);
void fr_inspect_pack_print(const fr_gguf *g, fr_error *err); // prints the reason too

#endif
