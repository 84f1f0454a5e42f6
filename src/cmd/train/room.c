// room.c — what a training writes, and whether the disk has room for it.
#include "base/room.h"
#include "cmd/train/train.h"
#include <sys/stat.h>

static uint64_t bytes_there(const char *path) {
    struct stat s;
    return stat(path, &s) || !S_ISREG(s.st_mode) ? 0 : (uint64_t)s.st_size;
}

static uint64_t more(uint64_t bytes, const char *instead_of) {
    const uint64_t there = bytes_there(instead_of);
    return bytes > there ? bytes - there : 0;
}

typedef struct files {
    uint64_t pack, checkpoint;
} files;

static files files_of(const fr_training *t, const fr_learner *l) {
    enum { CURVE = 1 << 16 }; // and what else is not parameters
    return (files){.pack = fr_pack_bytes(l, fr_training_pack_type(t)),
                   .checkpoint =
                       (t->args->average > 0 ? 5 : 4) * l->params.n_floats * sizeof(float) + CURVE};
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

// While one of the two is replaced, the old file and the new one are there.
uint64_t fr_training_room(const fr_training *t, const fr_learner *l) {
    const files f = files_of(t, l);
    return more(f.pack, t->args->output) + more(f.checkpoint, t->checkpoint) +
           larger(f.pack, f.checkpoint);
}

fr_status fr_training_check_room(const fr_training *t, const fr_learner *l, fr_error *err) {
    const files f = files_of(t, l);
    if (t->comm.rank) return FR_OK;
    return fr_room_check(t->args->output, fr_training_room(t, l), larger(f.pack, f.checkpoint),
                         err);
}
