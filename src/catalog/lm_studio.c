// lm_studio.c — LM Studio's folder: PUBLISHER/REPO/FILE.gguf.
#include "catalog/names.h"
#include "catalog/walk.h"
#include <stdio.h>
#include <string.h>

enum { DEPTH = 4 };

static fr_status add_file(fr_walk *w, const char *path, const char *name, bool folder, void *user) {
    char repo[PATH_MAX];
    (void)folder, (void)user;
    const char *slash = strchr(name, '/'), *second = slash ? strchr(slash + 1, '/') : NULL;
    const char *end = second ? second : slash; // a folder less deep is a repository of no publisher
    if (!end || !fr_name_is_model(name)) return FR_OK;
    snprintf(repo, sizeof repo, "%.*s", (int)(end - name), name);
    return fr_walk_add(w, repo, end + 1, path, NULL);
}

fr_status fr_walk_lm_studio(fr_walk *w, const char *path) {
    return fr_walk_below(w, path, DEPTH, add_file, NULL);
}
