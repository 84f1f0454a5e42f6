// path.h — the parts of a path.
#ifndef FR_BASE_PATH_H
#define FR_BASE_PATH_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// Bytes of the folder in front of the name, its last slash with it; 0: the name stands alone.
static inline size_t fr_path_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

// The folder itself, "." where the name stands alone. False: it does not fit.
static inline bool fr_path_folder_of(char folder[PATH_MAX], const char *path) {
    const size_t n = fr_path_folder(path);
    if (n >= PATH_MAX) return false;
    memcpy(folder, n ? path : ".", n ? n : 1);
    folder[n ? n : 1] = 0;
    return true;
}

// The name after the folder; "" where the path ends in a slash.
static inline const char *fr_path_name(const char *path) {
    return path + fr_path_folder(path);
}

// The path that `path` leads to where it is a link, or a link to one, also to nothing; else itself.
// False: it does not fit, or the links have no end.
bool fr_path_follow(char to[PATH_MAX], const char *path);

// Whether a name ends so, with something in front.
static inline bool fr_path_ends(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && !strcmp(name + n - m, end);
}

#endif
