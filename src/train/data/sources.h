// sources.h — what a folder of shards was made from: names of texts, kept beside the shards.
//
// A line a source, "own NAME" (answers written by the target) or "given NAME". Names are those of
// files without their folders: they end up in packs.
#ifndef FR_TRAIN_DATA_SOURCES_H
#define FR_TRAIN_DATA_SOURCES_H
#include "base/buffer.h"

// Adds the files of "PATH,PATH,..." that the folder does not name yet. FR_EIO, FR_ENOMEM.
fr_status fr_sources_add(const char *dir, const char *kind, const char *paths, fr_error *err);

// Refuses a folder that was made from other files than these, or with answers of another kind.
// FR_EDATA: names its sources; FR_EIO, FR_ENOMEM.
fr_status fr_sources_check(const char *dir, const char *kind, const char *paths, fr_error *err);

typedef struct fr_sources {
    char **name; // without doubles
    int n;
    bool own, given; // answers of these kinds are there
} fr_sources;
// Those of some folders; a folder that names none counts under its own name, as given.
fr_status fr_sources_read(fr_sources *s, const char *const *dirs, int n, fr_error *err);
void fr_sources_close(fr_sources *s); // {0} is fine

#endif
