// path.c — what -m means: a path, a folder, or a name.
#include "base/alloc.h"
#include "catalog/names.h"
#include "catalog/walk.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_model(const struct dirent *e) {
    return e->d_name[0] != '.' && fr_name_is_model(e->d_name);
}

// The names, as many as a sentence holds.
static void list_names(char *text, size_t room, struct dirent **entry, int n) {
    size_t at = 0;
    *text = 0;
    for (int i = 0; i < n && at < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%s", i ? ", " : "", entry[i]->d_name);
    if (at >= room) memcpy(text + room - 4, "...", 4);
}

static fr_status choose_in(char path[PATH_MAX], const char *folder, fr_error *err) {
    struct dirent **entry;
    char names[300];
    const int n = scandir(folder, &entry, is_model, alphasort);
    if (n < 0) return fr_fail(err, FR_EIO, "%.200s: %s", folder, strerror(errno));
    fr_status st = FR_OK;
    if (n == 1) {
        if (!fr_path_join(path, folder, entry[0]->d_name))
            st = fr_fail(err, FR_EIO, "%.200s...: too long a path", folder);
    } else if (!n) {
        st = fr_fail(err, FR_EIO, "%.200s: is a folder without a model (.gguf) in it", folder);
    } else {
        list_names(names, sizeof names, entry, n);
        st = fr_fail(err, FR_EIO, "%.120s: is a folder with %d models: give one of %s", folder, n,
                     names);
    }
    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
    return st;
}

static fr_status look_up(char path[PATH_MAX], const char *name, fr_error *err) {
    const fr_catalog_item *item;
    fr_catalog c;
    fr_status st = fr_catalog_open(&c, err);
    if (!st) st = fr_catalog_find(&c, name, &item, err);
    if (!st) snprintf(path, PATH_MAX, "%s", item->path);
    fr_catalog_close(&c);
    return st;
}

static bool is_written_as_path(const char *name) {
    return name[0] == '/' || !strncmp(name, "./", 2) || !strncmp(name, "../", 3);
}

fr_status fr_model_path(char path[PATH_MAX], const char *name, fr_error *err) {
    struct stat s;
    if (strlen(name) >= PATH_MAX) return fr_fail(err, FR_EIO, "%.100s...: too long a path", name);
    if (!stat(name, &s) && S_ISDIR(s.st_mode)) return choose_in(path, name, err);
    // A link that leads nowhere and a file that may not be looked at are paths too: who opens them
    // says what is wrong.
    const bool missing = lstat(name, &s) && (errno == ENOENT || errno == ENOTDIR);
    if (missing && !is_written_as_path(name)) return look_up(path, name, err);
    snprintf(path, PATH_MAX, "%s", name);
    return FR_OK;
}
