// tune_candidates.c — which drafters there are for a model.
#include "base/path.h"
#include "cmd/tune.h"
#include "draft/pack_find.h"
#include "draft/registry.h"
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

enum { MODELS_MAX = 8 }; // files tried as draft models

static off_t size_of(const char *path) {
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode) ? s.st_size : -1;
}

// A SPEC cannot name files with these in their names.
static bool can_be_named(const char *path) {
    return strlen(path) < 400 && !strpbrk(path, "+,@");
}

// Packs may lie there too: they are no models.
static bool is_pack(const char *path) {
    fr_gguf *g;
    fr_error unsaid;
    if (fr_gguf_open(&g, path, &unsaid)) return false;
    const bool pack = fr_pack_is(g);
    fr_gguf_close(g);
    return pack;
}

static fr_status add(fr_buffer *room, const char *prefix, const char *path, fr_error *err) {
    fr_status st = fr_buffer_add(room, prefix, strlen(prefix), err);
    if (!st) st = fr_buffer_add(room, path, strlen(path) + 1, err);
    return st;
}

static fr_status add_models(const char *model, fr_buffer *room, fr_error *err) {
    char dir[4096], path[4096 + 300];
    const int n = (int)fr_path_folder(model);
    const off_t most = size_of(model) / 4 * 3;
    int found = 0;
    fr_status st = FR_OK;
    if (n >= (int)sizeof dir) return FR_OK;
    snprintf(dir, sizeof dir, "%.*s", n, model);
    DIR *d = opendir(n ? dir : ".");
    for (struct dirent *e; d && !st && found < MODELS_MAX && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s%s", dir, e->d_name);
        const off_t size = size_of(path);
        if (!fr_path_ends(path, ".gguf") || !can_be_named(path) || size < 0 || size > most ||
            is_pack(path))
            continue;
        found++;
        st = add(room, "prompt-lookup+draft-model:", path, err);
    }
    if (d) closedir(d);
    return st;
}

// Packs that lie where they are found again, so that SPECs need not name them.
static fr_status add_packs(const fr_gguf *model, fr_buffer *room, fr_error *err) {
    char path[FR_PACK_PATH];
    fr_error none;
    fr_status st = FR_OK;
    for (int kind = 0; kind < FR_PACK_KINDS && !st; kind++) {
        const char *name = fr_pack_kind_name((fr_pack_kind)kind);
        if (fr_drafter_check(name, &none) || fr_pack_find(path, (fr_pack_kind)kind, model, &none))
            continue;
        st = add(room, "prompt-lookup+", name, err);
    }
    return st;
}

fr_status fr_tune_candidates(const fr_gguf *model, fr_buffer *room, fr_strings *specs,
                             fr_error *err) {
    fr_status st = add(room, "", "prompt-lookup", err);
    if (!st) st = add_packs(model, room, err);
    if (!st) st = add_models(fr_gguf_path(model), room, err);
    specs->n = 0;
    for (size_t at = 0; !st && at < room->n; at += strlen(room->data + at) + 1)
        specs->item[specs->n++] = room->data + at;
    specs->item[specs->n] = NULL;
    return st;
}
