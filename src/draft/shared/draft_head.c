#include "draft/shared/draft_head.h"
#include "base/alloc.h"
#include "gguf/writer.h"
#include "kern/repack.h"
#include <math.h>
#include <string.h>

// Rows whose width is no multiple of a Q8_0 block are kept as f32.
fr_type fr_draft_head_type(const fr_model *target) {
    return target->config.d % 32 ? FR_TYPE_F32 : FR_TYPE_Q8_0;
}

size_t fr_draft_head_row_bytes(const fr_model *target) {
    return (size_t)fr_qtype_row_bytes(fr_draft_head_type(target), target->config.d);
}

void fr_draft_head_row(const fr_model *target, int32_t id, float *values, uint8_t *to) {
    const int d = target->config.d;
    fr_model_head_row(target, id, values);
    for (int k = 0; k < d; k++)
        if (!isfinite(values[k])) values[k] = 0; // a broken model: nothing true can be drafted
    if (fr_draft_head_type(target) == FR_TYPE_Q8_0)
        fr_gguf_quantize_q8_0(values, to, d);
    else
        memcpy(to, values, sizeof *values * (size_t)d);
}

fr_status fr_draft_head_open(fr_matrix *w, const fr_model *target, const int32_t *ids, int n,
                             fr_error *err) {
    const size_t bytes = fr_draft_head_row_bytes(target);
    float *values = fr_alloc_array((size_t)target->config.d, sizeof *values);
    uint8_t *rows = fr_alloc_array((size_t)n, bytes);
    fr_status st = FR_OK;
    *w = (fr_matrix){0};
    if (!values || !rows) st = fr_fail(err, FR_ENOMEM, "draft head: no memory for %d tokens", n);
    for (int i = 0; i < n && !st; i++)
        fr_draft_head_row(target, ids[i], values, rows + bytes * (size_t)i);
    if (!st)
        st = fr_matrix_open(w, fr_draft_head_type(target), rows, n, target->config.d, target->pool,
                            "draft head", err);
    fr_free(values);
    fr_free(rows);
    return st;
}
