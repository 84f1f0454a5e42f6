#define _GNU_SOURCE // memmem
#include "api/shown.h"
#include "api/forms.h"
#include <string.h>

// Whether it is a control token that is part of the mark, not one for unknown text.
static bool is_part(const fr_tokenizer *t, int32_t id, const char *mark) {
    size_t n;
    const char *bytes = fr_token_is_control(t, id) ? fr_token_bytes(t, id, &n) : NULL;
    return bytes && n && memmem(mark, strlen(mark), bytes, n);
}

// The control tokens that the mark is made of, or begins with, in this model.
static fr_status add_mark(fr_ids *all, const fr_tokenizer *t, const char *mark, fr_error *err) {
    fr_ids ids = {0};
    fr_status st = fr_tokenizer_encode(t, mark, strlen(mark), FR_PARSE_SPECIAL, &ids, err);
    for (size_t i = 0; i < ids.n && !st; i++) {
        bool is_new = is_part(t, ids.data[i], mark);
        for (size_t k = 0; k < all->n && is_new; k++)
            is_new = all->data[k] != ids.data[i];
        if (is_new) st = fr_ids_push(all, ids.data[i], err);
    }
    fr_ids_free(&ids);
    return st;
}

fr_status fr_api_shown_open(fr_api_shown *out, const fr_tokenizer *t, fr_error *err) {
    const char *mark;
    fr_status st = FR_OK;
    *out = (fr_api_shown){0};
    for (size_t i = 0; !st && (mark = fr_thinking_mark(i)); i++)
        st = add_mark(&out->ids, t, mark, err);
    out->n_thinking = out->ids.n;
    for (size_t i = 0; !st && (mark = fr_call_mark(i)); i++)
        st = add_mark(&out->ids, t, mark, err);
    if (st) fr_api_shown_close(out);
    return st;
}

void fr_api_shown_close(fr_api_shown *s) {
    fr_ids_free(&s->ids);
    *s = (fr_api_shown){0};
}
