// tiny_folder.h — a folder of a test's own, with a tiny model in it.
#ifndef FR_TESTS_LAB_TINY_FOLDER_H
#define FR_TESTS_LAB_TINY_FOLDER_H
#include "support/tiny_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];

static inline const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline bool make_folder(void) {
    strcpy(folder, "lab-XXXXXX");
    return mkdtemp(folder) != NULL;
}

static inline int write_tiny(const fr_tiny_options *options) {
    fr_error err;
    return fr_tiny_write(options, in_folder("tiny.gguf"), &err);
}

static inline int drop_folder(void **state) {
    char line[96];
    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line);
}

#endif
