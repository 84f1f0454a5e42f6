// llama_cpp.c — llama.cpp's older cache: ORG_REPO_FILE.gguf, all in one folder. Where ORG ends and
// REPO does is in the name of a second file alone, manifest=ORG=REPO=TAG.json.
#include "base/buffer.h"
#include "base/path.h"
#include "catalog/names.h"
#include "catalog/walk.h"
#include <stdio.h>
#include <string.h>

// Appends the "ORG/REPO" of a manifest, and a NUL.
static fr_status add_manifest(fr_walk *w, const char *path, const char *name, bool folder,
                              void *user) {
    static const char begin[] = "manifest=";
    char repo[NAME_MAX + 1];
    (void)path;
    if (folder || strncmp(name, begin, sizeof begin - 1) || !fr_path_ends(name, ".json"))
        return FR_OK;
    snprintf(repo, sizeof repo, "%s", name + sizeof begin - 1);
    char *middle = strchr(repo, '='), *end = middle ? strchr(middle + 1, '=') : NULL;
    if (!end) return FR_OK;
    *middle = '/';
    *end = 0;
    return fr_buffer_add(user, repo, strlen(repo) + 1, w->err);
}

// Bytes of "ORG_REPO_" that the file's name begins with; 0: of another repository.
static size_t bytes_of(const char *name, const char *repo) {
    const size_t n = strlen(repo);
    for (size_t i = 0; i < n; i++)
        if (name[i] != (repo[i] == '/' ? '_' : repo[i])) return 0;
    return name[n] == '_' ? n + 1 : 0;
}

static fr_status add_file(fr_walk *w, const char *path, const char *name, bool folder, void *user) {
    const fr_buffer *repos = user;
    const char *best = "";
    size_t most = 0;
    if (folder || !fr_name_is_model(name)) return FR_OK;
    for (size_t at = 0; at < repos->n; at += strlen(repos->data + at) + 1) {
        const size_t n = bytes_of(name, repos->data + at);
        if (n <= most) continue;
        most = n;
        best = repos->data + at;
    }
    return fr_walk_add(w, best, name + most, path, NULL);
}

fr_status fr_walk_llama_cpp(fr_walk *w, const char *path) {
    fr_buffer repos = {0};
    fr_status st = fr_walk_folder(w, path, add_manifest, &repos);
    if (!st) st = fr_walk_folder(w, path, add_file, &repos);
    fr_buffer_free(&repos);
    return st;
}
