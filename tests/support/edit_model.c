#include "support/edit_model.h"
#include "base/alloc.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool ends(const fr_edit *e) {
    return !e->key && !e->tensor;
}

static bool is_edited(const fr_edit *edits, fr_gguf_str key) {
    for (; !ends(edits); edits++)
        if (edits->key && fr_gguf_str_is(key, edits->key)) return true;
    return false;
}

static void add_value(fr_gguf_writer *w, const fr_edit *e) {
    switch (e->type) {
    case FR_GGUF_U32:
        fr_gguf_writer_u32(w, e->key, (uint32_t)e->value.u);
        break;
    case FR_GGUF_U64:
        fr_gguf_writer_u64(w, e->key, e->value.u);
        break;
    case FR_GGUF_I32:
        fr_gguf_writer_i32(w, e->key, e->value.i);
        break;
    case FR_GGUF_F32:
        fr_gguf_writer_f32(w, e->key, e->value.f);
        break;
    case FR_GGUF_BOOL:
        fr_gguf_writer_bool(w, e->key, e->value.u);
        break;
    case FR_GGUF_STR:
        fr_gguf_writer_str(w, e->key, e->value.s);
        break;
    case FR_GGUF_U8:
    case FR_GGUF_I8:
    case FR_GGUF_U16:
    case FR_GGUF_I16:
    case FR_GGUF_ARRAY:
    case FR_GGUF_I64:
    case FR_GGUF_F64:
        assert(!"a type that edits have");
    }
}

static void add_edited(fr_gguf_writer *w, const fr_gguf *whole, const fr_edit *edits) {
    static const float zeros[64];
    for (size_t i = 0; i < fr_gguf_n_kv(whole); i++)
        if (!is_edited(edits, fr_gguf_kv_at(whole, i)->key))
            fr_gguf_writer_kv(w, fr_gguf_kv_at(whole, i));
    for (size_t i = 0; i < fr_gguf_n_tensors(whole); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(whole, i);
        fr_gguf_writer_tensor(w, t->name, t->type, t->n_dims, t->ne, t->data);
    }
    for (const fr_edit *e = edits; !ends(e); e++) {
        if (e->tensor) fr_gguf_writer_tensor(w, e->tensor, FR_TYPE_F32, 1, (int64_t[]){64}, zeros);
        if (!e->key || e->none) continue;
        if (e->array && e->type == FR_GGUF_STR)
            fr_gguf_writer_str_array(w, e->key, e->items, e->count);
        else if (e->array)
            fr_gguf_writer_raw_array(w, e->key, e->type, e->items, e->count);
        else
            add_value(w, e);
    }
}

// Into the file `path`, or into memory where that is NULL.
static fr_status write_edited(const fr_tiny_options *o, const fr_edit *edits, const char *path,
                              fr_edited *x, fr_error *err) {
    void *data;
    size_t bytes;
    fr_gguf *whole = NULL;
    fr_gguf_writer *w = NULL;
    fr_status st = fr_tiny_memory(o, &data, &bytes, err);
    if (st) return st;
    st = fr_gguf_open_memory(&whole, data, bytes, "tiny", err);
    if (!st) st = fr_gguf_writer_open(&w, err);
    if (!st) add_edited(w, whole, edits);
    if (!st)
        st = path ? fr_gguf_writer_finish(w, path, err)
                  : fr_gguf_writer_finish_memory(w, &x->data, &x->bytes, err);
    fr_gguf_writer_close(w);
    fr_gguf_close(whole);
    fr_free(data);
    return st;
}

fr_status fr_edit_open(fr_edited *x, const fr_tiny_options *o, const fr_edit *edits,
                       fr_error *err) {
    *x = (fr_edited){0};
    const fr_status st = write_edited(o, edits, NULL, x, err);
    return st ? st : fr_gguf_open_memory(&x->file, x->data, x->bytes, "edited", err);
}

void fr_edit_close(fr_edited *x) {
    fr_gguf_close(x->file);
    fr_free(x->data);
    *x = (fr_edited){0};
}

fr_status fr_edit_write(const char *path, const fr_tiny_options *o, const fr_edit *edits,
                        fr_error *err) {
    return write_edited(o, edits, path, NULL, err);
}
