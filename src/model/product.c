#include "model/product.h"
#include "kern/repack.h"

void fr_product(const fr_model *m, const fr_matrix *w, float *y, int ldy, const fr_act *act, int p0,
                int p1, int thread) {
    fr_matmul_fn *const matmul = m->kern->matmul[w->type];
    if (w->panels) {
        matmul(y, ldy, act, w, p0, p1);
        return;
    }
    uint8_t *panel = m->scratch + (size_t)thread * m->scratch_stride;
    const size_t source = FR_PANEL * (size_t)fr_qtype_row_bytes(w->type, w->k);
    for (int p = p0; p < p1; p++) {
        const int left = w->m - p * FR_PANEL, rows = left < FR_PANEL ? left : FR_PANEL;
        fr_repack_panel(w->type, panel, w->rows + (size_t)p * source, rows, w->k);
        const fr_matrix one = {.type = w->type,
                               .m = rows,
                               .k = w->k,
                               .n_panels = 1,
                               .panel_bytes = w->panel_bytes,
                               .panels = panel};
        matmul(y + (size_t)p * FR_PANEL, ldy, act, &one, 0, 1);
    }
}
