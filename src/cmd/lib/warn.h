// warn.h — warnings: a line each on stderr, unless --quiet.
#ifndef FR_CMD_LIB_WARN_H
#define FR_CMD_LIB_WARN_H
#include "cmd/lib/cmd.h"
#include "engine/text.h"

// That a prompt begins twice, where it does (fr_text_begins_twice).
void fr_cmd_warn_of_beginning(const fr_cmd_args *args, const fr_text *text, const fr_ids *ids);

// Before a model is opened: that its weights take much more memory than in the file, where they do.
void fr_cmd_warn_of_memory(const fr_cmd_args *args);

#endif
