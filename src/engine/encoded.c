// encoded.c — texts and conversations to ids, and ids to text. What the commands use appends to
// lists of theirs; what forerun.h has puts the same into one object.
#include "base/alloc.h"
#include "engine/text.h"
#include <limits.h>
#include <string.h>

// ---------------------------------------------------------------- into lists

static fr_status add_bos(const fr_text *t, fr_ids *ids, fr_error *err) {
    return t->info.adds_bos ? fr_ids_push(ids, t->info.bos, err) : FR_OK;
}

fr_status fr_text_encode(const fr_text *t, const char *text, size_t bytes, unsigned flags,
                         const fr_watch *watch, fr_ids *ids, fr_error *err) {
    const fr_status st = flags & FR_TEXT_BOS ? add_bos(t, ids, err) : FR_OK;
    if (st) return st;
    return fr_tokenizer_encode_watched(
        t->tokenizer, text, bytes, flags & FR_TEXT_CONTROL ? FR_PARSE_SPECIAL : 0, watch, ids, err);
}

bool fr_text_begins_twice(const fr_text *t, const int32_t *ids, size_t n, fr_error *says) {
    const int32_t bos = t->info.bos;
    size_t bytes;
    if (!t->info.adds_bos || n < 2 || ids[0] != bos || ids[1] != bos) return false;
    fr_fail(
        says, FR_OK,
        "the prompt begins with %s twice: the model's file adds it, so the text need not have it",
        fr_token_bytes(t->tokenizer, bos, &bytes));
    return true;
}

fr_status fr_text_render(const fr_text *t, fr_chat_request *request, unsigned flags,
                         fr_chat_text *rendered, fr_ids *ids, fr_error *err) {
    const fr_status st = fr_text_check_chat(t, err);
    return st ? st
              : fr_chat_encode(&t->chat, t->tokenizer, request, flags & FR_TEXT_BOS,
                               flags & FR_TEXT_CONTROL, rendered, ids, err);
}

fr_status fr_text_render_json(const fr_text *t, const json_t *json, unsigned flags,
                              fr_chat_text *rendered, fr_ids *ids, fr_error *err) {
    fr_json_chat chat;
    fr_status st = fr_text_check_chat(t, err);
    if (st) return st;
    const json_t *messages = json_is_array(json) ? json : json_object_get(json, "messages");
    if (json_is_array(messages) && !json_array_size(messages)) // else that says what is wrong
        return fr_fail(err, FR_EARG, "messages: expected a list of at least one message");
    const fr_chat_template *used = fr_chat_choose(&t->chat, fr_json_has_tools(json));
    st = fr_json_chat_from(&chat, json, &used->takes, NULL, err);
    if (!st) st = fr_text_render(t, &chat.request, flags, rendered, ids, err);
    fr_json_chat_close(&chat);
    return st;
}

fr_status fr_text_render_bytes(const fr_text *t, const char *json, size_t bytes, unsigned flags,
                               fr_chat_text *rendered, fr_ids *ids, fr_error *err) {
    fr_error unread = {0};
    json_t *root = fr_json_load(json, bytes, &unread);
    if (!root) return fr_fail(err, unread.code, "%s", unread.text);
    const fr_status st = fr_text_render_json(t, root, flags, rendered, ids, err);
    json_decref(root);
    return st;
}

// ---------------------------------------------------------------- into one object

typedef struct encoded { // what an fr_encoded, its first member, is a view of
    fr_encoded view;
    fr_ids ids;
    fr_chat_text chat;
} encoded;

void fr_encoded_free(fr_encoded *view) {
    encoded *e = (encoded *)view;
    if (!e) return;
    fr_ids_free(&e->ids);
    fr_chat_text_close(&e->chat);
    fr_free(e);
}

static fr_status open_encoded(encoded **out, unsigned flags, fr_error *err) {
    *out = NULL;
    if (flags & ~(unsigned)(FR_TEXT_BOS | FR_TEXT_CONTROL))
        return fr_fail(err, FR_EARG, "flags: expected FR_TEXT_BOS and FR_TEXT_CONTROL, found %#x",
                       flags);
    *out = fr_alloc_zero(sizeof **out);
    return *out ? FR_OK : fr_fail(err, FR_ENOMEM, "text: cannot get %zu bytes", sizeof **out);
}

fr_status fr_text_check_count(size_t n_ids, fr_error *err) {
    if (n_ids <= INT_MAX) return FR_OK;
    return fr_fail(err, FR_EARG, "text: expected at most %d tokens, found %zu", INT_MAX, n_ids);
}

// Hands it over, or frees it where `st` is an error.
static fr_status finish(encoded *e, fr_status st, fr_encoded **out, fr_error *err) {
    *out = NULL;
    if (!st) st = fr_text_check_count(e->ids.n, err);
    if (st) {
        fr_encoded_free(e ? &e->view : NULL);
        return st;
    }
    const fr_buffer *text = &e->chat.marked.text;
    e->view = (fr_encoded){.text = text->data ? text->data : "",
                           .text_bytes = text->n,
                           .ids = e->ids.data,
                           .n_ids = (int)e->ids.n};
    *out = &e->view;
    return FR_OK;
}

fr_status fr_text_tokenize(const fr_text *t, const char *bytes, size_t n_bytes, unsigned flags,
                           fr_encoded **out, fr_error *err) {
    encoded *e;
    fr_status st = open_encoded(&e, flags, err);
    if (!st) st = fr_text_encode(t, bytes, n_bytes, flags, NULL, &e->ids, err);
    if (!st) st = fr_buffer_add(&e->chat.marked.text, bytes, n_bytes, err);
    return finish(e, st, out, err);
}

fr_status fr_text_detokenize(const fr_text *t, const int32_t *ids, int n, fr_encoded **out,
                             fr_error *err) {
    encoded *e;
    fr_status st = n < 0 ? fr_fail(err, FR_EARG, "ids: expected 0 or more, found %d", n) : FR_OK;
    *out = NULL;
    if (st || (st = open_encoded(&e, 0, err))) return st;
    for (int i = 0; i < n && !st; i++)
        st = fr_ids_push(&e->ids, ids[i], err);
    if (!st) st = fr_tokenizer_decode(t->tokenizer, ids, (size_t)n, &e->chat.marked.text, err);
    return finish(e, st, out, err);
}

static fr_status copy_messages(fr_message *to, const fr_chat_message *from, int n, fr_error *err) {
    for (int i = 0; i < n; i++) {
        const fr_chat_message *m = &from[i];
        if (!m->role || !m->content)
            return fr_fail(err, FR_EARG, "message %d: expected a role and a content", i + 1);
        to[i] = (fr_message){{m->role, strlen(m->role)}, {m->content, strlen(m->content)}};
    }
    return FR_OK;
}

fr_status fr_text_chat(const fr_text *t, const fr_chat_message *messages, int n, unsigned flags,
                       fr_encoded **out, fr_error *err) {
    encoded *e;
    fr_chat_request request = {.n_messages = n, .add_generation_prompt = true};
    fr_status st = open_encoded(&e, flags, err);
    if (st) return finish(e, st, out, err);
    fr_message *own = n > 0 ? fr_alloc_array((size_t)n, sizeof *own) : NULL;
    if (n > 0 && !own) st = fr_fail(err, FR_ENOMEM, "text: no memory for %d messages", n);
    if (!st) st = copy_messages(own, messages, n, err);
    request.messages = own;
    if (!st) st = fr_text_render(t, &request, flags, &e->chat, &e->ids, err);
    fr_free(own);
    return finish(e, st, out, err);
}

fr_status fr_text_chat_json(const fr_text *t, const char *json, size_t n_bytes, unsigned flags,
                            fr_encoded **out, fr_error *err) {
    encoded *e;
    fr_status st = open_encoded(&e, flags, err);
    if (!st) st = fr_text_render_bytes(t, json, n_bytes, flags, &e->chat, &e->ids, err);
    return finish(e, st, out, err);
}
