// store.h — what `inspect` prints for a datastore.
#ifndef FR_CMD_INSPECT_STORE_H
#define FR_CMD_INSPECT_STORE_H
#include "cmd/lib/cmd.h"

bool fr_inspect_is_store(const char *path);                      // by how the file begins
int fr_inspect_store(const fr_cmd_args *args, const char *path); // prints; the exit code

#endif
