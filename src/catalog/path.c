// path.c — what -m means: a path, a folder, or a name.
#include "catalog/listing.h"
#include "catalog/names.h"
#include "catalog/walk.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// The models' names, as many as a sentence holds.
static void list_models(char *text, size_t room, const fr_listing *l) {
    size_t at = 0;
    *text = 0;
    for (size_t i = 0; i < l->n && at < room; i++)
        if (fr_name_is_model(l->name[i]))
            at += (size_t)snprintf(text + at, room - at, "%s%s", at ? ", " : "", l->name[i]);
    if (at >= room) memcpy(text + room - 4, "...", 4);
}

static fr_status choose_in(char path[PATH_MAX], const char *folder, fr_error *err) {
    fr_listing l;
    char names[300];
    const char *model = NULL;
    int unread, n = 0;
    fr_status st = fr_listing_read(&l, folder, &unread, err);
    if (st) return st;
    for (size_t i = 0; i < l.n; i++) {
        if (!fr_name_is_model(l.name[i])) continue;
        model = l.name[i];
        n++;
    }
    list_models(names, sizeof names, &l);
    if (unread)
        st = fr_fail(err, FR_EIO, "%.200s: %s", folder, strerror(unread));
    else if (!n)
        st = fr_fail(err, FR_EIO, "%.200s: is a folder without a model (.gguf) in it", folder);
    else if (n > 1)
        st = fr_fail(err, FR_EIO, "%.120s: is a folder with %d models: give one of %s", folder, n,
                     names);
    else if (!fr_path_join(path, folder, model))
        st = fr_fail(err, FR_EIO, "%.200s...: too long a path", folder);
    fr_listing_free(&l);
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
    if (!*name) return fr_fail(err, FR_EIO, "model: expected a name, found none");
    if (strlen(name) >= PATH_MAX) return fr_fail(err, FR_EIO, "%.100s...: too long a path", name);
    if (!stat(name, &s) && S_ISDIR(s.st_mode)) return choose_in(path, name, err);
    // A dangling link and a file without permission are paths too; opening them reports the error.
    const bool missing = lstat(name, &s) && (errno == ENOENT || errno == ENOTDIR);
    if (missing && !is_written_as_path(name)) return look_up(path, name, err);
    snprintf(path, PATH_MAX, "%s", name);
    return FR_OK;
}
