// lines.h — a file of JSON lines that is gone on with: read when it opens, then added to.
#ifndef LAB_CMD_REPLAY_LINES_H
#define LAB_CMD_REPLAY_LINES_H
#include "base/lock.h"
#include "cmd/lib/cmd.h"

typedef struct lab_lines { // {0}: closed
    const char *path;
    FILE *out; // NULL: nothing is written
    fr_lock lock;
} lab_lines;

// Called for every line; the first is number 1. FR_EDATA: the line is not of this file's kind.
typedef fr_status lab_line_fn(void *user, int number, const json_t *line, fr_error *err);

// path NULL: nothing is read or written. Half a line at the end, which a process that was killed
// may have left, is dropped where a whole one shows whose file it is. FR_EDATA: another file.
// FR_EIO: it cannot be written, or another process writes it.
fr_status lab_lines_open(lab_lines *l, const char *path, lab_line_fn *visit, void *user,
                         fr_error *err);
// Adds a line, whose reference it takes (NULL: there was no memory). It is in the system's hands at
// the end.
fr_status lab_lines_add(lab_lines *l, json_t *line, fr_error *err);
void lab_lines_close(lab_lines *l);

#endif
