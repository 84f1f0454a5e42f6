#include "draft/head.h"
#include "gguf/writer.h"
#include "kern/pack.h"
#include <math.h>

// A width that Q8_0 has no blocks for stays as it is.
fr_status fr_draft_head_open(fr_matrix *w, const fr_model *target, const int32_t *ids, int n,
                             fr_error *err) {
    const int d = target->config.d;
    const fr_type type = d % 32 ? FR_TYPE_F32 : FR_TYPE_Q8_0;
    const size_t bytes = (size_t)fr_qtype_row_bytes(type, d);
    float *row = fr_alloc_array((size_t)d, sizeof *row);
    uint8_t *rows = fr_alloc_array((size_t)n, bytes);
    fr_status st = FR_OK;
    *w = (fr_matrix){0};
    if (!row || !rows) st = fr_fail(err, FR_ENOMEM, "draft head: no memory for %d tokens", n);
    for (int i = 0; i < n && !st; i++) {
        uint8_t *to = rows + bytes * (size_t)i;
        fr_matrix_row(&target->head, ids[i], type == FR_TYPE_F32 ? (float *)(void *)to : row);
        if (type == FR_TYPE_F32) continue;
        for (int k = 0; k < d; k++)
            if (!isfinite(row[k])) row[k] = 0; // a broken model: nothing true can be drafted
        fr_gguf_quantize_q8_0(row, to, d);
    }
    if (!st) st = fr_matrix_open(w, type, rows, n, d, target->pool, "draft head", err);
    fr_free(row);
    fr_free(rows);
    return st;
}
