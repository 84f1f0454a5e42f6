// tokens.c — /tokenize, /detokenize, /apply-template (llama.cpp's shapes) and /tokenizer_info
// (vLLM's).
#include "api/value.h"
#include "serve/server.h"
#include <stdio.h>
#include <string.h>

// *out stays as it is where nothing is said.
static fr_status flag(const json_t *root, const char *name, bool *out, fr_error *err) {
    const json_t *value = fr_api_member(root, name);
    if (!value) return FR_OK;
    if (!json_is_boolean(value)) return fr_api_wrong(err, value, "true or false", "%s", name);
    *out = json_is_true(value);
    return FR_OK;
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

static json_t *tokens_json(const fr_text *text, const fr_ids *ids, bool pieces) {
    json_t *list = json_array();
    for (size_t i = 0; i < ids->n; i++)
        json_array_append_new(list, pieces ? json_pack("{s:i, s:o}", "id", ids->data[i], "piece",
                                                       piece_of(text, ids->data[i]))
                                           : json_integer(ids->data[i]));
    return list;
}

// Of "content", or vLLM's name for it; none where neither is there.
static fr_status encode(const fr_api_model *model, const json_t *root, fr_ids *ids, bool *pieces,
                        fr_error *err) {
    const json_t *content = fr_api_member(root, "content"), *prompt = fr_api_member(root, "prompt");
    const bool named = prompt && !content;
    bool bos = named, control = true;
    fr_status st = flag(root, named ? "add_special_tokens" : "add_special", &bos, err);
    if (!st) st = flag(root, "parse_special", &control, err);
    if (!st) st = flag(root, "with_pieces", pieces, err);
    if (st || (!content && !prompt)) return st;
    return fr_api_tokens(model, named ? prompt : content, named ? "prompt" : "content",
                         (bos ? FR_TEXT_BOS : 0) | (control ? FR_TEXT_CONTROL : 0), ids, err);
}

static fr_status tokenize(void *user, const fr_watch *watch, fr_error *err) {
    const fr_handling *h = user;
    const fr_server *s = h->server;
    fr_api_model model = s->api;
    bool pieces = false;
    fr_ids ids = {0};
    json_t *root = fr_read_body(h->x, watch, err);
    if (!root) return err->code;
    model.watch = watch;
    const fr_status st = encode(&model, root, &ids, &pieces, err);
    if (!st)
        fr_reply_json(h->x, 200,
                      json_pack("{s:o, s:i, s:i}", "tokens", tokens_json(s->text, &ids, pieces),
                                "count", (int)ids.n, "max_model_len", s->n_ctx));
    fr_ids_free(&ids);
    json_decref(root);
    return st;
}

void fr_handle_tokenize(fr_exchange *x, void *server) {
    fr_prepare(server, x, tokenize, &(fr_handling){server, x});
}

// Appends the ids of a list; none where there is no list.
static fr_status read_ids(fr_ids *ids, const json_t *tokens, int n_vocab, fr_error *err) {
    const json_t *id;
    char expected[64];
    size_t i;
    if (tokens && !json_is_array(tokens))
        return fr_api_wrong(err, tokens, "a list of token ids", "tokens");
    snprintf(expected, sizeof expected, "a token id, 0 to %d", n_vocab - 1);
    json_array_foreach(tokens, i, id) {
        double x;
        if (!fr_api_number(id, true, &x) || !(x >= 0 && x < n_vocab))
            return fr_api_wrong(err, id, expected, "tokens[%zu]", i);
        const fr_status st = fr_ids_push(ids, (int32_t)x, err);
        if (st) return st;
    }
    return FR_OK;
}

static fr_status detokenize(void *user, const fr_watch *watch, fr_error *err) {
    const fr_handling *h = user;
    const fr_server *s = h->server;
    fr_encoded *e = NULL;
    fr_ids ids = {0};
    json_t *root = fr_read_body(h->x, watch, err);
    if (!root) return err->code;
    fr_status st = read_ids(&ids, fr_api_member(root, "tokens"), s->api.n_vocab, err);
    if (!st) st = fr_text_detokenize(s->text, ids.data, (int)ids.n, &e, err);
    if (!st) st = fr_watch_ask(watch, err);
    if (!st) {
        json_t *text = fr_json_text(e->text, e->text_bytes);
        fr_reply_json(h->x, 200, json_pack("{s:O, s:O}", "content", text, "prompt", text));
        json_decref(text);
    }
    fr_encoded_free(e);
    fr_ids_free(&ids);
    json_decref(root);
    return st;
}

void fr_handle_detokenize(fr_exchange *x, void *server) {
    fr_prepare(server, x, detokenize, &(fr_handling){server, x});
}

static fr_status apply_template(void *user, const fr_watch *watch, fr_error *err) {
    const fr_handling *h = user;
    fr_api_model model = h->server->api;
    fr_chat_text text = {0};
    json_t *root = fr_read_body(h->x, watch, err);
    if (!root) return err->code;
    model.watch = watch;
    const fr_status st =
        fr_api_render(&model, root, h->server->defaults.no_thinking, &text, NULL, err);
    const fr_buffer *said = &text.marked.text;
    if (!st)
        fr_reply_json(
            h->x, 200,
            json_pack("{s:o}", "prompt", fr_json_text(said->data ? said->data : "", said->n)));
    fr_chat_text_close(&text);
    json_decref(root);
    return st;
}

void fr_handle_template(fr_exchange *x, void *server) {
    fr_prepare(server, x, apply_template, &(fr_handling){server, x});
}

static fr_status count(void *user, const fr_watch *watch, fr_error *err) {
    const fr_handling *h = user;
    fr_api_model model = h->server->api;
    fr_api_request r;
    json_t *root = fr_read_body(h->x, watch, err);
    if (!root) return err->code;
    model.watch = watch;
    fr_status st = fr_api_parse_value(&r, FR_API_CHAT, root, &h->server->defaults, err);
    if (!st) st = fr_api_encode(&r, &model, err);
    if (!st)
        fr_reply_json(h->x, 200,
                      json_pack("{s:s, s:I}", "object", "response.input_tokens", "input_tokens",
                                (json_int_t)r.prompt[0].n));
    fr_api_close(&r);
    return st;
}

// Tokens of a chat's prompt.
void fr_handle_count(fr_exchange *x, void *server) {
    fr_prepare(server, x, count, &(fr_handling){server, x});
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
