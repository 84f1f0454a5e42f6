// walk.h — searches other programs' folders, within bounds, and adds the models to a catalog.
// Private to src/catalog.
#ifndef FR_CATALOG_WALK_H
#define FR_CATALOG_WALK_H
#include "catalog/catalog.h"

typedef struct fr_walk {
    fr_catalog *catalog;
    int folder; // number of the one that is looked into
    int left;   // entries that may still be looked at
    fr_error *err;
} fr_walk;

// Called for an entry with its path, and its name or its path relative to the walk's beginning.
typedef fr_status fr_walk_fn(fr_walk *w, const char *path, const char *name, bool is_folder,
                             void *user);
// Every entry of a folder, by name, hidden ones apart. A missing folder has none; one that cannot
// be read is noted. Only errors that `visit` returns are errors.
fr_status fr_walk_folder(fr_walk *w, const char *path, fr_walk_fn *visit, void *user);
// Every file in a folder and in those below it, `depth` of them deep at most.
fr_status fr_walk_below(fr_walk *w, const char *path, int depth, fr_walk_fn *visit, void *user);

// Adds a model; strings are copied. fault may be NULL. FR_ENOMEM.
fr_status fr_walk_add(fr_walk *w, const char *repo, const char *file, const char *path,
                      const char *fault);

// What each store puts where; path: its folder.
fr_status fr_walk_hugging_face(fr_walk *w, const char *path); // and llama.cpp's newer cache
fr_status fr_walk_llama_cpp(fr_walk *w, const char *path);
fr_status fr_walk_ollama(fr_walk *w, const char *path);
fr_status fr_walk_lm_studio(fr_walk *w, const char *path);

// Fills c->folder and c->n_folders with those that the environment names.  [folders.c]
fr_status fr_catalog_folders(fr_catalog *c, fr_error *err);

// Joins with a slash. False: too long.
bool fr_path_join(char path[PATH_MAX], const char *folder, const char *name);

#endif
