// tokens.c — /tokenize, /detokenize, /apply-template (llama.cpp's shapes) and /tokenizer_info
// (vLLM's).
#include "serve/server.h"
#include <string.h>

static bool flag(const json_t *root, const char *name, bool otherwise) {
    const json_t *value = json_object_get(root, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static json_t *piece_of(const fr_text *text, int32_t id) {
    size_t n = 0;
    const char *bytes = fr_text_token(text, id, &n);
    json_t *piece = bytes ? json_stringn(bytes, n) : NULL; // NULL: it is no UTF-8 by itself
    if (piece) return piece;
    piece = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(piece, json_integer((unsigned char)bytes[i]));
    return piece;
}

static json_t *tokens_json(const fr_text *text, const fr_encoded *e, bool pieces) {
    json_t *list = json_array();
    for (int i = 0; i < e->n_ids; i++)
        json_array_append_new(list, pieces ? json_pack("{s:i, s:o}", "id", e->ids[i], "piece",
                                                       piece_of(text, e->ids[i]))
                                           : json_integer(e->ids[i]));
    return list;
}

static fr_status encode(const fr_text *text, const json_t *root, fr_encoded **out, fr_error *err) {
    const json_t *content = json_object_get(root, "content");
    const json_t *prompt = json_object_get(root, "prompt"); // vLLM's name
    const json_t *from = content ? content : prompt;
    if (!fr_json_is_text(from)) return fr_fail(err, FR_EARG, "content: expected a string");
    const unsigned bos =
        flag(root, content ? "add_special" : "add_special_tokens", !content) ? FR_TEXT_BOS : 0;
    const unsigned control = flag(root, "parse_special", true) ? FR_TEXT_CONTROL : 0;
    return fr_text_tokenize(text, json_string_value(from), json_string_length(from), bos | control,
                            out, err);
}

void fr_handle_tokenize(fr_exchange *x, void *server) {
    const fr_server *s = server;
    fr_encoded *e = NULL;
    fr_error err;
    json_t *root = fr_reply_body(x);
    if (!root) return;
    if (!json_object_get(root, "content") && !json_object_get(root, "prompt"))
        fr_reply_json(x, 200, json_pack("{s:[]}", "tokens"));
    else if (encode(s->text, root, &e, &err))
        fr_reply_fault(x, &err);
    else
        fr_reply_json(x, 200,
                      json_pack("{s:o, s:i, s:i}", "tokens",
                                tokens_json(s->text, e, flag(root, "with_pieces", false)), "count",
                                e->n_ids, "max_model_len", s->n_ctx));
    fr_encoded_free(e);
    json_decref(root);
}

// Appends the ids of a list; none where there is no list.
static fr_status read_ids(fr_ids *ids, const json_t *tokens, int n_vocab, fr_error *err) {
    const json_t *id;
    size_t i;
    if (tokens && !json_is_array(tokens))
        return fr_fail(err, FR_EARG, "tokens: expected a list of token ids");
    json_array_foreach(tokens, i, id) {
        const json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
        if (value < 0 || value >= n_vocab)
            return fr_fail(err, FR_EARG, "tokens[%zu]: expected a token id, 0 to %d", i,
                           n_vocab - 1);
        const fr_status st = fr_ids_push(ids, (int32_t)value, err);
        if (st) return st;
    }
    return FR_OK;
}

void fr_handle_detokenize(fr_exchange *x, void *server) {
    const fr_server *s = server;
    fr_encoded *e = NULL;
    fr_error err = {0};
    fr_ids ids = {0};
    json_t *root = fr_reply_body(x);
    if (!root) return;
    fr_status st = read_ids(&ids, json_object_get(root, "tokens"), s->api.n_vocab, &err);
    if (!st) st = fr_text_detokenize(s->text, ids.data, (int)ids.n, &e, &err);
    if (st) {
        fr_reply_fault(x, &err);
    } else {
        json_t *text = fr_json_text(e->text, e->text_bytes);
        fr_reply_json(x, 200, json_pack("{s:O, s:O}", "content", text, "prompt", text));
        json_decref(text);
    }
    fr_encoded_free(e);
    fr_ids_free(&ids);
    json_decref(root);
}

void fr_handle_template(fr_exchange *x, void *server) {
    const fr_server *s = server;
    fr_chat_text text = {0};
    fr_ids ids = {0};
    fr_error err;
    json_t *root = fr_reply_body(x);
    if (!root) return;
    if (fr_api_render(&s->api, root, s->defaults.no_thinking, &text, &ids, &err)) {
        fr_reply_fault(x, &err);
    } else {
        const fr_buffer *said = &text.marked.text;
        fr_reply_json(
            x, 200,
            json_pack("{s:o}", "prompt", fr_json_text(said->data ? said->data : "", said->n)));
    }
    fr_chat_text_close(&text);
    fr_ids_free(&ids);
    json_decref(root);
}

// Tokens of a chat's prompt.
void fr_handle_count(fr_exchange *x, void *server) {
    const fr_server *s = server;
    const fr_buffer *body = fr_exchange_body(x);
    fr_api_request r;
    fr_error err;
    fr_status st =
        fr_api_parse(&r, FR_API_CHAT, body->data ? body->data : "", body->n, &s->defaults, &err);
    if (!st) st = fr_api_encode(&r, &s->api, &err);
    if (st)
        fr_reply_fault(x, &err);
    else
        fr_reply_json(x, 200,
                      json_pack("{s:s, s:I}", "object", "response.input_tokens", "input_tokens",
                                (json_int_t)r.prompt[0].n));
    fr_api_close(&r);
}

static json_t *token_or_null(const fr_text *text, int32_t id) {
    size_t n = 0;
    const char *bytes = id < 0 ? NULL : fr_text_token(text, id, &n);
    return bytes ? fr_json_text(bytes, n) : json_null();
}

void fr_handle_tokenizer(fr_exchange *x, void *server) {
    const fr_server *s = server;
    const fr_text_info *t = fr_text_describe(s->text);
    fr_reply_json(
        x, 200,
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:b, s:i, s:i}", "tokenizer_class",
                  "forerun", "name_or_path", s->name, "bos_token", token_or_null(s->text, t->bos),
                  "eos_token", token_or_null(s->text, t->eos), "pad_token",
                  token_or_null(s->text, t->pad), "chat_template",
                  t->chat_template ? fr_json_text(t->chat_template, t->chat_template_bytes)
                                   : json_null(),
                  "add_bos_token", t->adds_bos, "add_eos_token", t->adds_eos, "model_max_length",
                  s->n_ctx, "vocab_size", t->n_vocab));
}
