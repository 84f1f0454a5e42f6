// outputs.h — what a command line writes, checked so that no other file is lost.
//
// Before any work: no output is a file that the same line reads (by device and inode, so through
// links too) nor another output of it; what stands there already is of the output's kind, or
// --force was given. While it is written, packs, stores, answers and folders of shards are locked
// (base/lock.h).
#ifndef FR_CMD_OUTPUT_OUTPUTS_H
#define FR_CMD_OUTPUT_OUTPUTS_H
#include "base/lock.h"
#include "cmd/lib/cmd.h"

// Of the line of `command`; nothing is changed. FR_EARG: an output is an input; FR_EIO, FR_EDATA:
// something else stands there.
fr_status fr_outputs_check(const char *command, const fr_cmd_args *args, fr_error *err);

enum { FR_OUTPUT_LOCKS = 4 };
typedef struct fr_output_locks { // {0}: none
    fr_lock lock[FR_OUTPUT_LOCKS];
    int n;
} fr_output_locks;

// FR_EIO names the process that writes one of them; then none is held.
fr_status fr_outputs_lock(fr_output_locks *l, const char *command, const fr_cmd_args *args,
                          fr_error *err);
void fr_outputs_unlock(fr_output_locks *l); // {0} is fine

#endif
