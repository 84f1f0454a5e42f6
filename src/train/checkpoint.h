// checkpoint.h — the file that a training continues from.
//
// It holds what the training is (a text of KEY=VALUE lines), where it stands (bytes that train.c
// understands), its loss curve, and blocks of floats: parameters, moments, the best parameters. A
// checksum stands over all of it. Written beside its place, synced and renamed: whoever kills the
// program at any moment leaves the old file or the new one.
#ifndef FR_TRAIN_CHECKPOINT_H
#define FR_TRAIN_CHECKPOINT_H
#include "base/map.h"

enum { FR_CHECKPOINT_BLOCKS = 5 };

typedef struct fr_checkpoint { // everything is borrowed: from a mapping when read
    const char *identity;      // identity_bytes, no NUL
    const void *state, *curve;
    size_t identity_bytes, state_bytes, curve_bytes;
    size_t n_floats; // of each block
    int n_blocks;
    const float *block[FR_CHECKPOINT_BLOCKS];
} fr_checkpoint;

// FR_EIO; then the old file stays as it was. (base/save.h)
fr_status fr_checkpoint_write(const fr_checkpoint *c, const char *path, fr_error *err);
size_t fr_checkpoint_bytes(const fr_checkpoint *c); // of the file

// Opens and checks a file. *map must stay open as long as *c is read. FR_EIO: there is none;
// FR_EDATA: it is damaged, or of another version.
fr_status fr_checkpoint_read(fr_checkpoint *c, fr_map *map, const char *path, fr_error *err);
// The same from memory, 64-byte aligned; `name` stands in messages.
fr_status fr_checkpoint_take(fr_checkpoint *c, const void *data, size_t bytes, const char *name,
                             fr_error *err);

#endif
