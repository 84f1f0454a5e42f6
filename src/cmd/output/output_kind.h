// output_kind.h — whether the file in an output's place is an earlier output of the same kind.
#ifndef FR_CMD_OUTPUT_OUTPUT_KIND_H
#define FR_CMD_OUTPUT_OUTPUT_KIND_H
#include "base/file_id.h"
#include "base/status.h"

typedef enum fr_output_kind {
    FR_OUTPUT_PACK,
    FR_OUTPUT_CHECKPOINT,
    FR_OUTPUT_STORE,
    FR_OUTPUT_ANSWERS,
    FR_OUTPUT_SHARDS, // a folder
    FR_OUTPUT_PICTURE,
    FR_OUTPUT_PAGE,    // index.html of bench
    FR_OUTPUT_NUMBERS, // bench.json
    FR_OUTPUT_MANUAL,
    FR_OUTPUT_REPLAY, // of the lab's replay, which looks at the lines when it reads them
} fr_output_kind;

// FR_OK: it is one, or it is empty, or nothing is there, or it is neither file nor folder. FR_EIO:
// another file, which only --force writes over. FR_EDATA: a damaged file of this kind, or a file
// that is never written over. own: n other outputs of the command line, which may be in a folder of
// shards.
fr_status fr_output_check(const char *path, fr_output_kind kind, const fr_file_id *own, size_t n,
                          fr_error *err);

#endif
