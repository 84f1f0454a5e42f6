#define _GNU_SOURCE
#include "catalog/walk.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool fr_path_join(char path[PATH_MAX], const char *folder, const char *name) {
    const size_t n = strlen(folder);
    const int bytes =
        snprintf(path, PATH_MAX, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    return bytes > 0 && bytes < PATH_MAX;
}

static int is_shown(const struct dirent *e) {
    return e->d_name[0] != '.';
}

static bool is_folder(const char *path, const struct dirent *e) {
    struct stat s;
    if (e->d_type == DT_DIR || e->d_type == DT_REG) return e->d_type == DT_DIR;
    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

static void note_unread(fr_walk *w, const char *path, int why) {
    fr_catalog_folder *f = &w->catalog->folder[w->folder];
    if (*f->unread) return;
    snprintf(f->unread, sizeof f->unread, "%s", path);
    f->unread_errno = why;
}

fr_status fr_walk_folder(fr_walk *w, const char *path, fr_walk_fn *told, void *user) {
    char inner[PATH_MAX];
    struct dirent **entry;
    const int n = scandir(path, &entry, is_shown, alphasort);
    fr_status st = FR_OK;
    if (n < 0) {
        if (errno != ENOENT) note_unread(w, path, errno);
        return FR_OK;
    }
    for (int i = 0; i < n; i++) {
        if (!st && w->left < 1) w->catalog->cut = true;
        if (!st && w->left-- > 0 && fr_path_join(inner, path, entry[i]->d_name))
            st = told(w, inner, entry[i]->d_name, is_folder(inner, entry[i]), user);
        free(entry[i]);
    }
    free(entry);
    return st;
}

// ---------------------------------------------------------------- below a folder

typedef struct below {
    size_t skip; // bytes of the path where the walk began
    int depth;   // folders that may still be gone into
    fr_walk_fn *told;
    void *user;
} below;

static fr_status go_below(fr_walk *w, const char *path, const char *name, bool folder, void *user) {
    below inner = *(const below *)user;
    (void)name;
    if (!folder) return inner.told(w, path, path + inner.skip, false, inner.user);
    if (inner.depth < 1) return FR_OK;
    inner.depth--;
    return fr_walk_folder(w, path, go_below, &inner);
}

fr_status fr_walk_below(fr_walk *w, const char *path, int depth, fr_walk_fn *told, void *user) {
    const size_t n = strlen(path);
    below b = {n + !(n && path[n - 1] == '/'), depth, told, user};
    return fr_walk_folder(w, path, go_below, &b);
}

// ---------------------------------------------------------------- what is found

static const char *put(char **at, const char *text) {
    char *to = *at;
    const size_t n = strlen(text) + 1;
    memcpy(to, text, n);
    *at += n;
    return to;
}

fr_status fr_walk_add(fr_walk *w, const char *repo, const char *file, const char *path,
                      const char *fault) {
    fr_catalog *c = w->catalog;
    if (c->n >= FR_CATALOG_ITEMS) {
        c->cut = true;
        return FR_OK;
    }
    const size_t bytes = strlen(repo) + strlen(file) + strlen(path) + 3;
    char *text = fr_alloc_zero(bytes + (fault ? strlen(fault) + 1 : 0));
    if (!text || !fr_list_reserve((void **)&c->item, &c->cap, c->n, 1, sizeof *c->item)) {
        fr_free(text);
        return fr_fail(w->err, FR_ENOMEM, "no memory for the names of models");
    }
    fr_catalog_item *item = &c->item[c->n++];
    item->folder = w->folder;
    item->repo = put(&text, repo); // the memory of all of them: fr_catalog_close
    item->file = put(&text, file);
    item->path = put(&text, path);
    item->fault = fault ? put(&text, fault) : NULL;
    return FR_OK;
}
