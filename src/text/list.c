// The growable lists of tokenizer.h.
#include "base/alloc.h"
#include "text/tokenizer.h"
#include <string.h>

// Makes room for `more` items behind the n that *data holds. False: no memory, and nothing has
// changed.
static bool reserve(void **data, size_t *cap, size_t n, size_t more, size_t size) {
    size_t need, doubled = *cap ? 2 * *cap : 32;
    if (!fr_add_size(n, more, &need)) return false;
    if (need <= *cap) return true;
    if (need < doubled) need = doubled;
    void *grown = fr_alloc_array(need, size);
    if (!grown) return false;
    if (n) memcpy(grown, *data, n * size);
    fr_free(*data);
    *data = grown;
    *cap = need;
    return true;
}

fr_status fr_ids_push(fr_ids *ids, int32_t id, fr_error *err) {
    void *data = ids->data;
    if (!reserve(&data, &ids->cap, ids->n, 1, sizeof *ids->data))
        return fr_fail(err, FR_ENOMEM, "text: no memory for %zu token ids", ids->n + 1);
    ids->data = data;
    ids->data[ids->n++] = id;
    return FR_OK;
}

void fr_ids_free(fr_ids *ids) {
    fr_free(ids->data);
    *ids = (fr_ids){0};
}

fr_status fr_text_add(fr_text *text, const void *bytes, size_t n, fr_error *err) {
    void *data = text->data;
    if (!reserve(&data, &text->cap, text->n, n, 1))
        return fr_fail(err, FR_ENOMEM, "text: no memory for %zu more bytes behind %zu", n, text->n);
    text->data = data;
    if (n) memcpy(text->data + text->n, bytes, n);
    text->n += n;
    return FR_OK;
}

void fr_text_free(fr_text *text) {
    fr_free(text->data);
    *text = (fr_text){0};
}
