// encode.c — a conversation to its text and ids: sets special tokens and the time, renders the
// template, and tokenizes its output.
#define _GNU_SOURCE
#include "text/chat/chat.h"
#include <string.h>
#include <time.h>

static fr_chat_str token_text(const fr_tokenizer *t, int32_t id) {
    fr_chat_str s = {0};
    if (id >= 0) s.data = fr_token_bytes(t, id, &s.bytes);
    return s;
}

// Whether it ends where thinking begins, as some templates begin an answer.
static bool is_thinking(const fr_marked *marked, const char *open) {
    const fr_buffer *text = &marked->text;
    size_t n = text->n, n_open = strlen(open);
    while (n && strchr(" \r\n", text->data[n - 1]))
        n--;
    return n >= n_open && !memcmp(text->data + n - n_open, open, n_open);
}

// Bytes of an answer up to its first thought; 0: it does not begin by thinking.
static size_t opening(const fr_chat_str *answer, const char *open) {
    const size_t n_open = strlen(open);
    size_t at = 0;
    while (at < answer->bytes && answer->data[at] && strchr(" \r\n", answer->data[at]))
        at++;
    const bool thinks = answer->bytes - at >= n_open && !memcmp(answer->data + at, open, n_open);
    return thinks ? at + n_open : 0;
}

// Bytes of the begun answer that the prompt already has, because it has begun thinking itself: the
// mark, and a newline after it.
static size_t doubled(const fr_chat_str *begun, size_t opened, const fr_buffer *prompt) {
    const bool line = opened && opened < begun->bytes && begun->data[opened] == '\n' &&
                      prompt->data[prompt->n - 1] == '\n';
    return opened + line;
}

// Closes thinking that the template has begun, unless the answer continues it. Some templates have
// no setting that switches thinking off.
static fr_status begin_answer(const fr_thinking_form *form, const fr_chat_request *request,
                              fr_chat_text *out, fr_error *err) {
    const fr_chat_str *begun = &request->begun;
    const size_t opened = opening(begun, form->open), n_close = strlen(form->close);
    fr_marked *marked = &out->marked;
    size_t from = 0;
    fr_status st = FR_OK;
    out->thinks = is_thinking(marked, form->open);
    if (out->thinks && opened) {
        from = doubled(begun, opened, &marked->text);
    } else if (out->thinks && (request->no_thinking || begun->bytes)) {
        st = fr_marked_add(marked, form->close, n_close, FR_MARK_TEMPLATE, err);
        out->thinks = false;
    }
    if (st || !begun->bytes) return st;
    out->thinks = opened && !memmem(begun->data, begun->bytes, form->close, n_close);
    return fr_marked_add(marked, begun->data + from, begun->bytes - from, FR_MARK_PLAIN, err);
}

// FR_ECONTEXT: the prompt cannot fit, by its bytes.
static fr_status check_room(const fr_chat_request *request, const fr_tokenizer *t,
                            fr_chat_text *out, fr_error *err) {
    const fr_buffer *text = &out->marked.text;
    if (!request->n_ctx) return FR_OK;
    out->fewest = fr_tokenizer_fewest(t, text->data, text->n);
    if (out->fewest < (size_t)request->n_ctx) return FR_OK;
    return fr_fail(err, FR_ECONTEXT, "expected less than %d tokens, found at least %zu",
                   request->n_ctx, out->fewest);
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
    if (!st)
        st = begin_answer(fr_chat_choose(chat, request->has_tools)->thinking, request, out, err);
    if (st || !ids) return st;
    const bool adds_bos = bos && special->add_bos && special->bos >= 0 && !out->has_bos;
    st = check_room(request, t, out, err);
    if (!st && adds_bos) st = fr_ids_push(ids, special->bos, err);
    if (st) return st;
    const fr_marked *marked = &out->marked;
    if (control)
        return fr_tokenizer_encode_watched(t, marked->text.data, marked->text.n, FR_PARSE_SPECIAL,
                                           request->watch, ids, err);
    return fr_tokenizer_encode_marked(t, marked, request->watch, ids, err);
}
