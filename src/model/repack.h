// repack.h — the matrices of a model from the file into panels, all in one parallel region.
#ifndef FR_MODEL_REPACK_H
#define FR_MODEL_REPACK_H
#include "base/pool.h"
#include "gguf/gguf.h"
#include "kern/kern.h"

typedef struct fr_repack {
    const fr_gguf_tensor *tensor;
    size_t begin;        // bytes of the tensor before the matrix' first row
    const fr_matrix *to; // sizes; its panels are written
    uint8_t *panels;     // n_panels * panel_bytes, 64-byte aligned
} fr_repack;

typedef struct fr_repack_report { // progress in source bytes
    fr_progress_fn *progress;     // NULL: none; called on the calling thread
    void *user;
    uint64_t done, total; // bytes already done, bytes in all
} fr_repack_report;

// Packs n matrices; source pages are given back chunk by chunk, so that little of the source lies
// in memory beside its copy. FR_EINTR: progress ended the work.
fr_status fr_repack_run(const fr_gguf *g, fr_pool *pool, const fr_repack *items, int n,
                        const fr_repack_report *report, fr_error *err);

#endif
