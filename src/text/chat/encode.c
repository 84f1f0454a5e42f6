// encode.c — a conversation to its text and ids: special tokens and the time are filled in, the template is
// rendered, and what it wrote is tokenized.
#include "text/chat/chat.h"
#include <string.h>
#include <time.h>

static fr_chat_str token_text(const fr_tokenizer *t, int32_t id) {
    fr_chat_str s = {0};
    if (id >= 0) s.data = fr_token_bytes(t, id, &s.bytes);
    return s;
}

// Whether it ends where thinking begins, as some templates begin an answer.
static bool is_thinking(const fr_marked *marked) {
    static const char open[] = "<think>";
    const fr_buffer *text = &marked->text;
    const size_t m = sizeof open - 1;
    size_t n = text->n;
    while (n && strchr(" \r\n", text->data[n - 1]))
        n--;
    return n >= m && !memcmp(text->data + n - m, open, m);
}

// Some templates know no flag that they should not think.
static fr_status close_thinking(fr_marked *marked, fr_error *err) {
    static const char close[] = "</think>";
    return is_thinking(marked)
               ? fr_marked_add(marked, close, sizeof close - 1, FR_MARK_TEMPLATE, err)
               : FR_OK;
}

static fr_status begin_answer(const fr_chat_request *request, fr_marked *marked, fr_error *err) {
    const fr_chat_str *begun = &request->begun;
    fr_status st = FR_OK;
    if (request->no_thinking || begun->bytes) st = close_thinking(marked, err);
    if (st || !begun->bytes) return st;
    return fr_marked_add(marked, begun->data, begun->bytes, FR_MARK_MESSAGE, err);
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
    if (!st) st = begin_answer(request, &out->marked, err);
    out->thinks = !st && is_thinking(&out->marked);
    const bool adds_bos = bos && special->add_bos && special->bos >= 0 && !out->has_bos;
    if (!st && adds_bos) st = fr_ids_push(ids, special->bos, err);
    if (st) return st;
    const fr_marked *marked = &out->marked;
    if (control)
        return fr_tokenizer_encode(t, marked->text.data, marked->text.n, FR_PARSE_SPECIAL, ids,
                                   err);
    return fr_tokenizer_encode_marked(t, marked, NULL, ids, err);
}
