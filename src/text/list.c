// The list of ids of tokenizer.h.
#include "base/alloc.h"
#include "text/tokenizer.h"

fr_status fr_ids_push(fr_ids *ids, int32_t id, fr_error *err) {
    void *data = ids->data;
    if (!fr_list_reserve(&data, &ids->cap, ids->n, 1, sizeof *ids->data))
        return fr_fail(err, FR_ENOMEM, "text: no memory for %zu token ids", ids->n + 1);
    ids->data = data;
    ids->data[ids->n++] = id;
    return FR_OK;
}

void fr_ids_free(fr_ids *ids) {
    fr_free(ids->data);
    *ids = (fr_ids){0};
}
