// text_head.c — opens the draft head with spare rows, and gives them to ids of the text that the
// draft vocabulary lacks. Only the panels whose rows changed are packed again.
#include "draft/kit/text_head.h"
#include "base/alloc.h"
#include "kern/repack.h"

static uint8_t *row_at(const fr_text_head *h, int row) {
    return h->rows + fr_draft_head_row_bytes(h->target) * (size_t)(row - h->first);
}

// The panels of the draft head that hold nothing else; all of them where there is no room.
static void share_panels(fr_text_head *h, const fr_matrix *shared) {
    h->vocabulary = *shared;
    h->first = h->room ? h->n_fixed / FR_PANEL * FR_PANEL : h->n_fixed;
    h->vocabulary.m = h->first;
    h->vocabulary.n_panels = (h->first + FR_PANEL - 1) / FR_PANEL;
    h->m = h->n_fixed + h->room;
}

static fr_status open_own(fr_text_head *h, const int32_t *ids, fr_error *err) {
    const size_t own = (size_t)(h->m - h->first);
    if (!(h->rows = fr_alloc_array(own + 1, fr_draft_head_row_bytes(h->target))))
        return fr_fail(err, FR_ENOMEM, "draft head: no memory for %zu tokens", own);
    for (int i = h->first; i < h->n; i++)
        fr_draft_head_row(h->target, ids[i], h->values, row_at(h, i));
    if (!own) return FR_OK;
    return fr_matrix_open(&h->text, fr_draft_head_type(h->target), h->rows, (int)own,
                          h->target->config.d, h->target->pool, "draft head", err);
}

fr_status fr_text_head_open(fr_text_head *h, const fr_matrix *shared, const fr_model *target,
                            const int32_t *ids, int n, int room, fr_error *err) {
    *h = (fr_text_head){.n = n, .n_fixed = n, .room = room, .target = target};
    share_panels(h, shared);
    h->ids = fr_alloc_array((size_t)h->m, sizeof *h->ids);
    h->known = fr_alloc_zero((size_t)target->config.n_vocab);
    h->values = fr_alloc_array((size_t)target->config.d, sizeof *h->values);
    const fr_status st = h->ids && h->known && h->values
                             ? open_own(h, ids, err)
                             : fr_fail(err, FR_ENOMEM, "draft head: no memory for %d tokens", h->m);
    if (st) {
        fr_text_head_close(h);
        return st;
    }
    for (int i = 0; i < n; i++) {
        h->ids[i] = ids[i];
        h->known[ids[i]] = 1;
    }
    return FR_OK;
}

void fr_text_head_close(fr_text_head *h) {
    fr_matrix_close(&h->text);
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

// `panel` counts those of its own.
static void pack_panel(fr_text_head *h, int panel) {
    const fr_matrix *w = &h->text;
    const int first = panel * FR_PANEL, left = w->m - first;
    uint8_t *to = (uint8_t *)(uintptr_t)w->panels + w->panel_bytes * (size_t)panel;
    fr_repack_panel(w->type, to, row_at(h, h->first + first), left < FR_PANEL ? left : FR_PANEL,
                    w->k);
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
        const int its_panel = (row - h->first) / FR_PANEL;
        if (panel >= 0 && panel != its_panel) pack_panel(h, panel);
        panel = its_panel;
        h->ids[row] = ids[i];
        h->known[ids[i]] = 1;
        fr_draft_head_row(h->target, ids[i], h->values, row_at(h, row));
    }
    if (panel >= 0) pack_panel(h, panel);
}
