// text_head.c — opens the draft head with spare rows, and gives them to ids of the text that the
// draft vocabulary lacks. Only the panels whose rows changed are packed again.
#include "draft/kit/text_head.h"
#include "base/alloc.h"
#include "kern/repack.h"
#include <string.h>

static int first_row(const fr_text_head *h) { // of those whose GGUF rows are kept
    return h->n_fixed / FR_PANEL * FR_PANEL;
}

static uint8_t *row_at(const fr_text_head *h, int row) {
    return h->rows + fr_draft_head_row_bytes(h->target) * (size_t)(row - first_row(h));
}

fr_status fr_text_head_open(fr_text_head *h, const fr_model *target, const int32_t *ids, int n,
                            int room, fr_error *err) {
    *h = (fr_text_head){.n = n, .n_fixed = n, .room = room, .target = target};
    const size_t all = (size_t)n + (size_t)room, bytes = fr_draft_head_row_bytes(target);
    h->ids = fr_alloc_array(all, sizeof *h->ids);
    h->known = fr_alloc_zero((size_t)target->config.n_vocab);
    h->values = fr_alloc_array((size_t)target->config.d, sizeof *h->values);
    h->rows = fr_alloc_zero((FR_PANEL + (size_t)room) * bytes);
    const fr_status st = h->ids && h->known && h->values && h->rows
                             ? fr_draft_head_open(&h->w, target, ids, n, room, err)
                             : fr_fail(err, FR_ENOMEM, "draft head: no memory for %zu tokens", all);
    if (st) {
        fr_text_head_close(h);
        return st;
    }
    for (int i = 0; i < n; i++) {
        h->ids[i] = ids[i];
        h->known[ids[i]] = 1;
    }
    for (int i = first_row(h); i < n; i++)
        fr_draft_head_row(target, ids[i], h->values, row_at(h, i));
    return FR_OK;
}

void fr_text_head_close(fr_text_head *h) {
    fr_matrix_close(&h->w);
    fr_free(h->ids);
    fr_free(h->known);
    fr_free(h->values);
    fr_free(h->rows);
    *h = (fr_text_head){0};
}

void fr_text_head_begin(fr_text_head *h) {
    for (int i = h->n_fixed; i < h->n; i++)
        h->known[h->ids[i]] = 0;
    h->n = h->n_fixed;
    h->taken = 0;
}

static void pack_panel(fr_text_head *h, int panel) {
    const int first = panel * FR_PANEL, left = h->w.m - first;
    uint8_t *to = (uint8_t *)(uintptr_t)h->w.panels + h->w.panel_bytes * (size_t)panel;
    fr_repack_panel(h->w.type, to, row_at(h, first), left < FR_PANEL ? left : FR_PANEL, h->w.k);
}

// The row that the next id gets.
static int next_row(fr_text_head *h) {
    const int row = h->n_fixed + h->taken++ % h->room;
    if (row < h->n)
        h->known[h->ids[row]] = 0;
    else
        h->n = row + 1;
    return row;
}

void fr_text_head_take(fr_text_head *h, const int32_t *ids, int n) {
    int panel = -1; // whose rows were changed
    for (int i = 0; i < n && h->room; i++) {
        if (h->known[ids[i]]) continue;
        const int row = next_row(h);
        if (panel >= 0 && panel != row / FR_PANEL) pack_panel(h, panel);
        panel = row / FR_PANEL;
        h->ids[row] = ids[i];
        h->known[ids[i]] = 1;
        fr_draft_head_row(h->target, ids[i], h->values, row_at(h, row));
    }
    if (panel >= 0) pack_panel(h, panel);
}
