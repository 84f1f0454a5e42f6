// hugging_face.c — Hugging Face's cache, which newer versions of llama.cpp use too:
// models--ORG--REPO/snapshots/COMMIT/…, whose files are links into blobs/; refs/main names the
// commit.
#include "base/map.h"
#include "catalog/names.h"
#include "catalog/walk.h"
#include <stdio.h>
#include <string.h>

enum { DEPTH = 4, COMMIT = 64 };

typedef struct repository {
    char name[NAME_MAX + 1];
    char commit[COMMIT + 1]; // that refs/main names; "": none is known
    const char *only, *but;  // the commit that is looked at; the one that is left out; or NULL
    size_t first;            // its first item
} repository;

// A commit's hexadecimal digits; anything else could lead out of the folder.
static void read_commit(repository *r, const char *path) {
    fr_map m;
    fr_error unsaid;
    if (fr_map_open(&m, path, &unsaid)) return;
    size_t n = 0;
    while (n < m.bytes && n <= COMMIT && m.data[n] && strchr("0123456789abcdef", m.data[n]))
        n++;
    if (n && n <= COMMIT && (n == m.bytes || m.data[n] <= ' '))
        snprintf(r->commit, sizeof r->commit, "%.*s", (int)n, (const char *)m.data);
    fr_map_close(&m);
}

static fr_status add_file(fr_walk *w, const char *path, const char *name, bool folder, void *user) {
    const repository *r = user;
    (void)folder;
    if (!fr_name_is_model(name)) return FR_OK;
    for (size_t i = r->first; i < w->catalog->n; i++) // another commit has it
        if (!strcmp(w->catalog->item[i].file, name)) return FR_OK;
    return fr_walk_add(w, r->name, name, path, NULL);
}

static fr_status look_at_snapshot(fr_walk *w, const char *path, const char *name, bool folder,
                                  void *user) {
    const repository *r = user;
    if (!folder || (r->only && strcmp(name, r->only)) || (r->but && !strcmp(name, r->but)))
        return FR_OK;
    return fr_walk_below(w, path, DEPTH, add_file, user);
}

static fr_status look_at_repository(fr_walk *w, const char *path, const char *name, bool folder,
                                    void *user) {
    static const char begin[] = "models--";
    char inner[PATH_MAX];
    repository r = {.first = w->catalog->n};
    (void)user;
    if (!folder || strncmp(name, begin, sizeof begin - 1)) return FR_OK;
    snprintf(r.name, sizeof r.name, "%s", name + sizeof begin - 1);
    char *dashes = strstr(r.name, "--");
    if (dashes) {
        *dashes = '/';
        memmove(dashes + 1, dashes + 2, strlen(dashes + 1));
    }
    if (fr_path_join(inner, path, "refs/main")) read_commit(&r, inner);
    if (!fr_path_join(inner, path, "snapshots")) return FR_OK;
    // The main commit's files, then those that only others have.
    r.only = r.commit;
    fr_status st = *r.commit ? fr_walk_folder(w, inner, look_at_snapshot, &r) : FR_OK;
    r.only = NULL;
    r.but = r.commit;
    return st ? st : fr_walk_folder(w, inner, look_at_snapshot, &r);
}

fr_status fr_walk_hugging_face(fr_walk *w, const char *path) {
    return fr_walk_folder(w, path, look_at_repository, NULL);
}
