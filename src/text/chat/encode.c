// encode.c — a conversation to its text and ids: special tokens and the time are filled in, the template is
// rendered, and what it wrote is tokenized.
#include "text/chat/chat.h"
#include <time.h>

static fr_chat_str token_text(const fr_tokenizer *t, int32_t id) {
    fr_chat_str s = {0};
    if (id >= 0) s.data = fr_token_bytes(t, id, &s.bytes);
    return s;
}

fr_status fr_chat_encode(const fr_chat_template *chat, const fr_tokenizer *t,
                         fr_chat_request *request, bool bos, bool control, fr_chat_text *out,
                         fr_ids *ids, fr_error *err) {
    const fr_special_ids *special = fr_tokenizer_special(t);
    const time_t seconds = time(NULL);
    struct tm now;
    request->bos = token_text(t, special->bos);
    request->eos = token_text(t, special->eos);
    request->now = localtime_r(&seconds, &now);
    fr_status st = fr_chat_render(chat, request, out, err);
    request->now = NULL;
    const bool adds_bos = bos && special->add_bos && special->bos >= 0 && !out->has_bos;
    if (!st && adds_bos) st = fr_ids_push(ids, special->bos, err);
    if (st) return st;
    const fr_marked *marked = &out->marked;
    if (control)
        return fr_tokenizer_encode(t, marked->text.data, marked->text.n, FR_PARSE_SPECIAL, ids,
                                   err);
    return fr_tokenizer_encode_marked(t, marked, NULL, ids, err);
}
