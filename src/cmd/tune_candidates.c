// tune_candidates.c — which drafters there are for a model.
#include "cmd/tune.h"
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

enum { MODELS_MAX = 8 }; // files tried as draft models

static off_t size_of(const char *path) {
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode) ? s.st_size : -1;
}

static bool ends_with(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && !strcmp(name + n - m, end);
}

// A SPEC cannot name files with these in their names.
static bool can_be_named(const char *path) {
    return strlen(path) < 400 && !strpbrk(path, "+,@");
}

static fr_status add(fr_buffer *room, const char *prefix, const char *path, fr_error *err) {
    fr_status st = fr_buffer_add(room, prefix, strlen(prefix), err);
    if (!st) st = fr_buffer_add(room, path, strlen(path) + 1, err);
    return st;
}

static fr_status add_models(const char *model, fr_buffer *room, fr_error *err) {
    char dir[4096], path[4096 + 300];
    const char *slash = strrchr(model, '/');
    const int n = slash ? (int)(slash - model) + 1 : 0;
    const off_t most = size_of(model) / 4 * 3;
    int found = 0;
    fr_status st = FR_OK;
    if (n >= (int)sizeof dir) return FR_OK;
    snprintf(dir, sizeof dir, "%.*s", n, model);
    DIR *d = opendir(n ? dir : ".");
    for (struct dirent *e; d && !st && found < MODELS_MAX && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s%s", dir, e->d_name);
        const off_t size = size_of(path);
        if (!ends_with(path, ".gguf") || !can_be_named(path) || size < 0 || size > most) continue;
        found++;
        st = add(room, "prompt-lookup+draft-model:", path, err);
    }
    if (d) closedir(d);
    return st;
}

fr_status fr_tune_candidates(const char *model, fr_buffer *room, fr_strings *specs, fr_error *err) {
    fr_status st = add(room, "", "prompt-lookup", err);
    if (!st) st = add_models(model, room, err);
    specs->n = 0;
    for (size_t at = 0; !st && at < room->n; at += strlen(room->data + at) + 1)
        specs->item[specs->n++] = room->data + at;
    specs->item[specs->n] = NULL;
    return st;
}
