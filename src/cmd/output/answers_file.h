// answers_file.h — what a file of answers holds, before anything is added to it.
//
// `distill` writes a line of JSON for every conversation: {"id","task","messages","model"}, the
// last message being an answer. A process that was killed may have left half a line at the end.
#ifndef FR_CMD_OUTPUT_ANSWERS_FILE_H
#define FR_CMD_OUTPUT_ANSWERS_FILE_H
#include "base/status.h"

typedef struct fr_answers_file {
    size_t end;     // of the last whole line: what stands after it is the half of one
    bool unended;   // that line has no newline
    size_t lines;   // whole ones
    char model[64]; // what the first of them names, cut; "": none
} fr_answers_file;

// FR_EIO; FR_EDATA: another file (lines is 0), or the line that is damaged. A file that is empty or
// not there has no lines.
fr_status fr_answers_file_look(fr_answers_file *f, const char *path, fr_error *err);

#endif
