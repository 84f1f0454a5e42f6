#include "base/file_id.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// The folder of a path and the name in it, whatever slashes stand at its end.
static bool take_apart(const char *path, char folder[PATH_MAX], char name[NAME_MAX + 1]) {
    size_t n = strlen(path), from;
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (from = n; from > 0 && path[from - 1] != '/'; from--)
        ;
    if (!n || n >= PATH_MAX || n - from > NAME_MAX) return false;
    snprintf(folder, PATH_MAX, "%.*s", from ? (int)from : 1, from ? path : ".");
    snprintf(name, NAME_MAX + 1, "%.*s", (int)(n - from), path + from);
    return true;
}

bool fr_file_id_of(fr_file_id *id, const char *path) {
    char folder[PATH_MAX];
    struct stat s;
    *id = (fr_file_id){0};
    if (stat(path, &s) && (!take_apart(path, folder, id->name) || stat(folder, &s))) return false;
    id->device = s.st_dev;
    id->number = s.st_ino;
    return true;
}

bool fr_file_id_same(const fr_file_id *a, const fr_file_id *b) {
    return a->device == b->device && a->number == b->number && !strcmp(a->name, b->name);
}

bool fr_same_file(const char *a, const char *b) {
    fr_file_id x, y;
    if (!strcmp(a, b)) return true;
    return fr_file_id_of(&x, a) && fr_file_id_of(&y, b) && fr_file_id_same(&x, &y);
}
