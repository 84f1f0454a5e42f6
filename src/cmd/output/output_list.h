// output_list.h — the files that a command line reads and those that it writes, each as the option
// that names it and as the file it is.
#ifndef FR_CMD_OUTPUT_OUTPUT_LIST_H
#define FR_CMD_OUTPUT_OUTPUT_LIST_H
#include "cmd/lib/cmd.h"
#include "cmd/output/output_kind.h"

typedef struct fr_named_file {
    char option[24]; // "-o", "--plot"
    char path[PATH_MAX];
    fr_output_kind kind; // of an output
    fr_file_id id;
    bool known; // the folder it stands in is there, and so the id
} fr_named_file;

typedef struct fr_named_files { // {0} is empty
    fr_named_file *item;
    size_t n, cap;
} fr_named_files;

// FR_ENOMEM; FR_EIO: a path that is too long.
fr_status fr_list_outputs(fr_named_files *to, const char *command, const fr_cmd_args *args,
                          fr_error *err);
fr_status fr_list_inputs(fr_named_files *to, const fr_cmd_args *args, fr_error *err);
void fr_named_files_free(fr_named_files *f);

#endif
