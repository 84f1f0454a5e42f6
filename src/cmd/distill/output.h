// output.h — the answers that are written: a line of JSON for each conversation, added to what an
// earlier run left.
#ifndef FR_CMD_DISTILL_OUTPUT_H
#define FR_CMD_DISTILL_OUTPUT_H
#include "cmd/lib/talk.h"
#include "gguf/gguf.h"
#include <jansson.h>

typedef struct fr_distill_output { // {0}: none, and every call does nothing
    FILE *file;
    const char *path;
    char model[FR_GGUF_FINGERPRINT]; // which every line names
    bool unsynced;                   // there are answers that may not be on the disk
} fr_distill_output;

// A run that was killed may have left half a line, which is dropped. A file that holds no answers at
// all is emptied where force is given, and is FR_EDATA otherwise. FR_EIO. model: its fingerprint.
fr_status fr_distill_output_open(fr_distill_output *o, const char *path, const char *model,
                                 bool force, fr_error *err);
// Writes the conversation; asked: its line in the file that was read, for id and task; cut: its last
// answer was cut off, so the target wrote no end. FR_EIO, FR_ENOMEM.
fr_status fr_distill_output_write(fr_distill_output *o, const json_t *asked, const fr_talk *talk,
                                  bool cut, fr_error *err);
fr_status fr_distill_output_sync(fr_distill_output *o, fr_error *err); // FR_EIO
void fr_distill_output_close(fr_distill_output *o);

#endif
