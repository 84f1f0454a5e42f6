#define _GNU_SOURCE
#include "catalog/walk.h"
#include "base/alloc.h"
#include "catalog/listing.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool fr_path_join(char path[PATH_MAX], const char *folder, const char *name) {
    const size_t n = strlen(folder);
    const int bytes =
        snprintf(path, PATH_MAX, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    return bytes > 0 && bytes < PATH_MAX;
}

static bool is_folder(const char *path, unsigned char type) {
    struct stat s;
    if (type == DT_DIR || type == DT_REG) return type == DT_DIR;
    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

static void note_unread(fr_walk *w, const char *path, int why) {
    fr_catalog_folder *f = &w->catalog->folder[w->folder];
    if (*f->unread) return;
    snprintf(f->unread, sizeof f->unread, "%s", path);
    f->unread_errno = why;
}

fr_status fr_walk_folder(fr_walk *w, const char *path, fr_walk_fn *visit, void *user) {
    char inner[PATH_MAX];
    fr_listing l;
    int unread;
    fr_status st = fr_listing_read(&l, path, &unread, w->err);
    if (unread && unread != ENOENT) note_unread(w, path, unread);
    for (size_t i = 0; i < l.n && !st; i++) {
        if (w->left < 1) {
            w->catalog->cut = true;
            break;
        }
        w->left--;
        if (fr_path_join(inner, path, l.name[i]))
            st = visit(w, inner, l.name[i], is_folder(inner, (unsigned char)l.name[i][-1]), user);
    }
    fr_listing_free(&l);
    return st;
}

// ---------------------------------------------------------------- below a folder

typedef struct below {
    size_t skip; // bytes of the path where the walk began
    int depth;   // folders that may still be gone into
    fr_walk_fn *visit;
    void *user;
} below;

static fr_status go_below(fr_walk *w, const char *path, const char *name, bool folder, void *user) {
    below inner = *(const below *)user;
    (void)name;
    if (!folder) return inner.visit(w, path, path + inner.skip, false, inner.user);
    if (inner.depth < 1) return FR_OK;
    inner.depth--;
    return fr_walk_folder(w, path, go_below, &inner);
}

fr_status fr_walk_below(fr_walk *w, const char *path, int depth, fr_walk_fn *visit, void *user) {
    const size_t n = strlen(path);
    below b = {n + !(n && path[n - 1] == '/'), depth, visit, user};
    return fr_walk_folder(w, path, go_below, &b);
}

// ---------------------------------------------------------------- results

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
