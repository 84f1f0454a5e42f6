// repack.c — threads take chunks of panels as they come: a slow core delays the others by one chunk
// at most, and no thread waits for another before the end.
#include "model/repack.h"
#include "kern/repack.h"
#include <stdatomic.h>

enum { CHUNK = 2 << 20 }; // bytes of panels, about

typedef struct repack_job {
    const fr_gguf *gguf;
    const fr_repack *items;
    int n;
    const fr_repack_report *report;
    atomic_int next;  // chunks taken, counted through all items
    atomic_bool stop; // progress ended the work
    atomic_uint_fast64_t done;
} repack_job;

static int panels_of_chunk(const fr_matrix *w) {
    const size_t n = CHUNK / w->panel_bytes;
    return n < 1 ? 1 : n < (size_t)w->n_panels ? (int)n : w->n_panels;
}

// Chunk `c` of an item.
static void pack_chunk(repack_job *j, const fr_repack *item, int c) {
    const fr_matrix *w = item->to;
    const int per = panels_of_chunk(w), p0 = c * per;
    const int p1 = p0 + per < w->n_panels ? p0 + per : w->n_panels;
    const size_t row = (size_t)fr_qtype_row_bytes(w->type, w->k);
    const int rows = (p1 * FR_PANEL < w->m ? p1 * FR_PANEL : w->m) - p0 * FR_PANEL;
    fr_repack_panels(w->type, item->panels, (const uint8_t *)item->tensor->data + item->begin, w->m,
                     w->k, p0, p1);
    const size_t bytes = row * (size_t)rows;
    fr_gguf_release(j->gguf, item->tensor, item->begin + row * (size_t)p0 * FR_PANEL, bytes);
    atomic_fetch_add(&j->done, bytes);
}

static void pack_share(void *arg, int thread, int n_threads) {
    (void)n_threads;
    repack_job *j = arg;
    const fr_repack_report *r = j->report;
    int item = 0, first = 0; // the item of the last chunk taken, and its first chunk's number
    while (!atomic_load(&j->stop)) {
        const int c = atomic_fetch_add(&j->next, 1);
        for (; item < j->n; item++) {
            const int per = panels_of_chunk(j->items[item].to);
            const int chunks = (j->items[item].to->n_panels + per - 1) / per;
            if (c < first + chunks) break;
            first += chunks;
        }
        if (item == j->n) return;
        // Where the file is not in memory yet, the disk works one tensor ahead.
        if (c == 0) fr_gguf_prefetch(j->gguf, j->items[0].tensor);
        if (c == first && item + 1 < j->n) fr_gguf_prefetch(j->gguf, j->items[item + 1].tensor);
        pack_chunk(j, &j->items[item], c - first);
        if (thread == 0 && r->progress &&
            !r->progress(r->user, "loading", r->done + atomic_load(&j->done), r->total))
            atomic_store(&j->stop, true);
    }
}

fr_status fr_repack_run(const fr_gguf *g, fr_pool *pool, const fr_repack *items, int n,
                        const fr_repack_report *report, fr_error *err) {
    repack_job j = {.gguf = g, .items = items, .n = n, .report = report};
    fr_pool_run(pool, pack_share, &j);
    if (report->progress && !atomic_load(&j.stop) &&
        !report->progress(report->user, "loading", report->done + j.done, report->total))
        atomic_store(&j.stop, true);
    if (atomic_load(&j.stop)) return fr_fail(err, FR_EINTR, "loading was interrupted");
    return FR_OK;
}
