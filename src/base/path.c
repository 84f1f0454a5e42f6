// path.c — resolves links step by step, because realpath(3) fails for a target that does not
// exist yet.
#include "base/path.h"
#include <unistd.h>

bool fr_path_follow(char to[PATH_MAX], const char *path) {
    enum { LINKS = 40 };
    char next[PATH_MAX];
    if (strlen(path) >= PATH_MAX) return false;
    strcpy(to, path);
    for (int i = 0; i < LINKS; i++) {
        const ssize_t n = readlink(to, next, sizeof next);
        if (n < 0) return true;
        const size_t folder = *next == '/' ? 0 : fr_path_folder(to);
        if (folder + (size_t)n >= PATH_MAX) return false;
        memcpy(to + folder, next, (size_t)n);
        to[folder + (size_t)n] = 0;
    }
    return false;
}
