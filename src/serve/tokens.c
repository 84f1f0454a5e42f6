// tokens.c — /tokenize, /detokenize, /apply-template (llama.cpp's shapes), /tokenizer_info
// (vLLM's), and counts of a prompt's tokens.
#include "api/value.h"
#include "base/utf8.h"
#include "serve/dialect.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// *out is unchanged if the field is absent.
static fr_status flag(const json_t *root, const char *name, bool *out, fr_error *err) {
    const json_t *value = fr_api_member(root, name);
    if (!value) return FR_OK;
    if (!json_is_boolean(value)) return fr_api_wrong(err, value, "true or false", "%s", name);
    *out = json_is_true(value);
    return FR_OK;
}

// ---- answers that may be long: counted, then written in one piece

typedef struct sink {
    char *to; // NULL: bytes are counted, not stored
    size_t n;
} sink;

static void put(sink *s, const char *text) {
    const size_t n = strlen(text);
    if (s->to) memcpy(s->to + s->n, text, n);
    s->n += n;
}

static void put_number(sink *s, long long x) {
    char text[24];
    snprintf(text, sizeof text, "%lld", x);
    put(s, text);
}

static void put_text(sink *s, const char *text, size_t n) {
    s->n += fr_json_quote(s->to ? s->to + s->n : NULL, text, n);
}

typedef void put_fn(sink *s, const void *what);

static fr_status reply_counted(fr_exchange *x, put_fn *put_all, const void *what, fr_error *err) {
    sink s = {0};
    put_all(&s, what);
    const fr_status st = fr_exchange_hold(x, "the answer", s.n, 0, err);
    if (st) return st;
    s = (sink){.to = malloc(s.n)};
    if (!s.to) return fr_fail(err, FR_ENOMEM, "no memory for the answer");
    put_all(&s, what);
    fr_exchange_give(x, 200, "application/json; charset=utf-8", s.to, s.n);
    return FR_OK;
}

// ---- to ids

typedef struct told_tokens {
    const fr_text *text;
    fr_ids ids;
    bool pieces;
    int n_ctx;
} told_tokens;

static bool is_utf8(const char *bytes, size_t n) {
    for (size_t at = 0; at < n;) {
        const fr_utf8_step step = fr_utf8_next((const uint8_t *)bytes + at, n - at);
        if (step.kind != FR_UTF8_WHOLE) return false;
        at += (size_t)step.bytes;
    }
    return true;
}

// A string, or a list of bytes if they are no UTF-8 by themselves.
static void put_piece(sink *s, const fr_text *text, int32_t id) {
    size_t n = 0;
    const char *bytes = fr_text_token(text, id, &n);
    if (bytes && is_utf8(bytes, n)) {
        put_text(s, bytes, n);
        return;
    }
    put(s, "[");
    for (size_t i = 0; i < n; i++) {
        if (i) put(s, ",");
        put_number(s, (unsigned char)bytes[i]);
    }
    put(s, "]");
}

static void put_tokens(sink *s, const void *what) {
    const told_tokens *t = what;
    put(s, "{\"tokens\":[");
    for (size_t i = 0; i < t->ids.n; i++) {
        if (i) put(s, ",");
        if (t->pieces) put(s, "{\"id\":");
        put_number(s, t->ids.data[i]);
        if (t->pieces) put(s, ",\"piece\":");
        if (t->pieces) put_piece(s, t->text, t->ids.data[i]);
        if (t->pieces) put(s, "}");
    }
    put(s, "],\"count\":");
    put_number(s, (long long)t->ids.n);
    put(s, ",\"max_model_len\":");
    put_number(s, t->n_ctx);
    put(s, "}");
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
    told_tokens t = {.text = s->text, .n_ctx = s->n_ctx};
    fr_api_model model = s->api;
    json_t *root = fr_read_values(h->x, watch, err);
    if (!root) return err->code;
    model.watch = watch;
    fr_status st = encode(&model, root, &t.ids, &t.pieces, err);
    json_decref(root);
    fr_exchange_settle(h->x);
    if (!st) st = reply_counted(h->x, put_tokens, &t, err);
    fr_ids_free(&t.ids);
    return st;
}

void fr_handle_tokenize(fr_exchange *x, void *server) {
    fr_prepare(server, x, tokenize, &(fr_handling){server, x});
}

// ---- to text

// Appends the ids of a list; none where there is no list.
static fr_status read_ids(fr_ids *ids, const json_t *tokens, int n_vocab, fr_error *err) {
    if (tokens && !json_is_array(tokens))
        return fr_api_wrong(err, tokens, "a list of token ids", "tokens");
    return fr_api_token_ids(tokens, n_vocab, "tokens", ids, err);
}

static void put_content(sink *s, const void *what) {
    const fr_buffer *text = what;
    put(s, "{\"content\":");
    put_text(s, text->data, text->n);
    put(s, ",\"prompt\":");
    put_text(s, text->data, text->n);
    put(s, "}");
}

static size_t text_bytes(const fr_text *text, const fr_ids *ids) {
    size_t sum = 1, n;
    for (size_t i = 0; i < ids->n; i++)
        if (fr_text_token(text, ids->data[i], &n)) sum += n;
    return sum;
}

static fr_status reply_text(fr_exchange *x, const fr_server *s, const fr_ids *ids, fr_error *err) {
    const size_t bytes = text_bytes(s->text, ids);
    fr_buffer text = {0};
    fr_status st = fr_exchange_hold(x, "the text", bytes, 0, err);
    if (!st) st = fr_buffer_reserve(&text, bytes, err);
    if (!st) st = fr_tokenizer_decode(s->api.tokenizer, ids->data, ids->n, &text, err);
    if (!st) st = reply_counted(x, put_content, &text, err);
    fr_buffer_free(&text);
    return st;
}

static fr_status detokenize(void *user, const fr_watch *watch, fr_error *err) {
    const fr_handling *h = user;
    fr_ids ids = {0};
    json_t *root = fr_read_values(h->x, watch, err);
    if (!root) return err->code;
    fr_status st = read_ids(&ids, fr_api_member(root, "tokens"), h->server->api.n_vocab, err);
    json_decref(root);
    fr_exchange_settle(h->x);
    if (!st) st = fr_watch_ask(watch, err);
    if (!st) st = reply_text(h->x, h->server, &ids, err);
    fr_ids_free(&ids);
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

// ---- counts of a prompt's tokens

typedef struct counting {
    const fr_server *server;
    fr_exchange *x;
    const fr_ask_options *options;
    const char *object; // of the answer; NULL: it has none
} counting;

static fr_status count(void *user, const fr_watch *watch, fr_error *err) {
    const counting *c = user;
    fr_api_request r;
    json_t *body = fr_read_body(c->x, watch, err);
    if (!body) return err->code;
    const fr_status st = fr_ask_read(&r, c->server, c->options, body, 0, watch, err);
    if (!st)
        fr_reply_json(c->x, 200,
                      json_pack("{s:s*, s:I}", "object", c->object, "input_tokens",
                                (json_int_t)r.prompt[0].n));
    fr_api_close(&r);
    json_decref(body);
    return st;
}

static void reply_count(fr_exchange *x, const fr_server *server, const fr_dialect *dialect,
                        const char *object) {
    fr_prepare(server, x, count, &(counting){server, x, &dialect->ask, object});
}

static const char openais[] = "response.input_tokens";

void fr_handle_count(fr_exchange *x, void *server) {
    reply_count(x, server, &fr_dialect_chat, openais);
}

void fr_handle_count_input(fr_exchange *x, void *server) {
    reply_count(x, server, &fr_dialect_responses, openais);
}

void fr_handle_count_tokens(fr_exchange *x, void *server) {
    reply_count(x, server, &fr_dialect_anthropic, NULL);
}

// ---- the tokenizer

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
