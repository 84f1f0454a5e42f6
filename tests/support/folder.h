// folder.h — what a folder holds.
#ifndef FR_TESTS_SUPPORT_FOLDER_H
#define FR_TESTS_SUPPORT_FOLDER_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>

// How many files there are, hidden ones apart.
static inline int files_in(const char *folder) {
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

#endif
