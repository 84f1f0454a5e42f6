// profile.c — an engine's profile: read, or measured and kept.
#include "base/alloc.h"
#include "engine/engine.h"
#include "tune/latency.h"
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 3 }; // of every pass: some seconds with a large model

fr_status fr_engine_measure(fr_engine *e, int rounds, fr_progress_fn *progress, void *user,
                            fr_error *note, fr_error *err) {
    fr_error unkept;
    const fr_status st =
        fr_latency_measure(&e->profile->cost, &e->model, rounds, progress, user, err);
    if (!st && fr_engine_keep_profile(e, &unkept)) *note = unkept;
    return st;
}

// Stores a loaded or partly measured profile in the folder of the last call.
static fr_status keep_in(fr_engine *e, const char *path, fr_progress_fn *progress, void *user,
                         fr_error *note, fr_error *err) {
    fr_error unkept;
    const bool moved = *path && strcmp(path, e->profile_path) != 0;
    if (moved) snprintf(e->profile_path, sizeof e->profile_path, "%s", path);
    if (!e->profile->cost.n) return fr_engine_measure(e, ROUNDS, progress, user, note, err);
    if (moved && fr_engine_keep_profile(e, &unkept)) *note = unkept;
    return FR_OK;
}

fr_status fr_engine_profile(fr_engine *e, const char *dir, fr_progress_fn *progress, void *user,
                            fr_error *note, fr_error *err) {
    fr_profile_key key;
    char path[FR_PROFILE_PATH] = "";
    fr_status st;
    *note = (fr_error){0};
    fr_profile_key_of(&key, e->gguf, e->model.kern->name, fr_pool_threads(e->pool));
    if (dir && (st = fr_profile_path(&key, dir, path, sizeof path, err))) return st;
    if (e->profile) return keep_in(e, path, progress, user, note, err);
    fr_profile *p = fr_alloc_zero(sizeof *p);
    if (!p) return fr_fail(err, FR_ENOMEM, "profile: cannot get %zu bytes", sizeof *p);
    p->key = key;
    e->profile = p;
    memcpy(e->profile_path, path, sizeof path);
    if (*path) {
        st = fr_profile_read(p, &key, path, note);
        e->profile_found = st != FR_EIO;
        if (!st && p->cost.n) return FR_OK;
        if (st == FR_EIO) *note = (fr_error){0}; // there is none yet
    }
    return fr_engine_measure(e, ROUNDS, progress, user, note, err);
}

fr_status fr_engine_keep_profile(const fr_engine *e, fr_error *err) {
    if (!*e->profile_path) return FR_OK;
    fr_profile p = *e->profile;
    fr_profile_merge(&p, e->profile_path);
    return fr_profile_write(&p, e->profile_path, err);
}
