#include "lab/cmd/whole_pack.h"
#include "base/alloc.h"
#include "kern/dequant.h"
#include "model/finite.h"

static fr_status check_values(const fr_gguf_tensor *t, fr_error *err) {
    const int64_t cols = t->ne[0], rows = t->ne[1] * t->ne[2] * t->ne[3];
    const uint8_t *data = t->data;
    float *x = fr_alloc_array((size_t)cols, sizeof *x);
    if (!x) return fr_fail(err, FR_ENOMEM, "no memory for a row of %s", t->name);
    fr_status st = FR_OK;
    for (int64_t i = 0; i < rows && !st; i++) {
        fr_dequant_row(t->type, data + i * fr_qtype_row_bytes(t->type, cols), x, cols);
        if (!fr_are_finite(x, (int)cols))
            st = fr_fail(err, FR_EDATA, "%s: expected finite values, found others in row %lld",
                         t->name, (long long)i);
    }
    fr_free(x);
    return st;
}

fr_status fr_lab_check_pack(const fr_gguf *g, fr_error *err) {
    fr_pack p;
    if (!fr_pack_is(g)) return fr_fail(err, FR_EDATA, "expected a pack");
    fr_status st = fr_pack_take(&p, g, err);
    if (st) return st;
    st = fr_pack_check_sum(&p, err);
    for (size_t i = 0; i < fr_gguf_n_tensors(g) && !st; i++)
        st = check_values(fr_gguf_tensor_at(g, i), err);
    fr_pack_close(&p);
    return st;
}

void fr_lab_copy_entries(fr_gguf_writer *w, const fr_gguf *pack, const char *const *but) {
    for (size_t i = 0; i < fr_gguf_n_kv(pack); i++) {
        const fr_gguf_kv *kv = fr_gguf_kv_at(pack, i);
        bool left_out = fr_gguf_str_is(kv->key, FR_PACK_CHECKSUM);
        for (const char *const *key = but; *key; key++)
            left_out |= fr_gguf_str_is(kv->key, *key);
        if (!left_out) fr_gguf_writer_kv(w, kv);
    }
}
