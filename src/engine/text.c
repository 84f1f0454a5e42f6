// text.c — opening a model's text side and describing it. The template is opened along with it; one
// that is missing or broken is no error until a conversation is to be put through it.
#include "base/alloc.h"
#include "engine/engine.h"
#include <string.h>

static fr_status describe(fr_text *t, fr_error *err) {
    const fr_special_ids *s = fr_tokenizer_special(t->tokenizer);
    const int n = fr_tokenizer_size(t->tokenizer);
    int n_ends = 0;
    for (int32_t id = 0; id < n; id++)
        n_ends += fr_token_is_end(t->tokenizer, id);
    t->ends = fr_alloc_array((size_t)n_ends + 1, sizeof *t->ends);
    if (!t->ends) return fr_fail(err, FR_ENOMEM, "vocabulary: no memory");
    n_ends = 0;
    for (int32_t id = 0; id < n; id++)
        if (fr_token_is_end(t->tokenizer, id)) t->ends[n_ends++] = id;
    t->info = (fr_text_info){
        .n_vocab = n,
        .bos = s->bos,
        .eos = s->eos,
        .eot = s->eot,
        .unknown = s->unknown,
        .pad = s->pad,
        .adds_bos = s->add_bos,
        .adds_eos = s->add_eos,
        .ends = t->ends,
        .n_ends = n_ends,
        .fim_prefix = s->fim_prefix,
        .fim_suffix = s->fim_suffix,
        .fim_middle = s->fim_middle,
        .fim_pad = s->fim_pad,
        .fim_repository = s->fim_repository,
        .fim_file = s->fim_file,
        .note = fr_tokenizer_note(t->tokenizer),
    };
    return FR_OK;
}

// A copy with a NUL after it; NULL where there is no text.
static fr_status copy_template(char **out, const char *text, size_t bytes, fr_error *err) {
    if (!bytes) return FR_OK;
    if (!(*out = fr_alloc_zero(bytes + 1)))
        return fr_fail(err, FR_ENOMEM, "chat template: no memory for %zu bytes", bytes);
    memcpy(*out, text, bytes);
    return FR_OK;
}

static fr_status take_chat(fr_text *t, const char *text, size_t bytes, fr_error *err) {
    fr_status st = copy_template(&t->chat_text, text, bytes, err);
    if (st) return st;
    st = fr_chat_open(&t->chat, t->chat_text, bytes, &t->no_chat);
    t->info.chat_template = t->chat_text;
    t->info.chat_template_bytes = bytes;
    t->info.chat_fault = st ? t->no_chat.text : NULL;
    t->info.chat_tools = t->chat.takes.tools;
    t->info.chat_thinking = !st && fr_jinja_mentions(t->chat.program, "enable_thinking");
    return st == FR_ENOMEM ? fr_fail(err, st, "%s", t->no_chat.text) : FR_OK;
}

// The second template of some files, as of Hermes 2 and 3, whose first lacks tools. A template that
// cannot be used counts as absent.
static fr_status take_tool_chat(fr_text *t, fr_error *err) {
    fr_gguf_str text = {"", 0};
    fr_error why;
    if (fr_gguf_opt_str(t->gguf, "tokenizer.chat_template.tool_use", &text, &why) || !text.bytes)
        return FR_OK;
    fr_status st = copy_template(&t->tool_text, text.data, text.bytes, err);
    if (st) return st;
    st = fr_chat_open(&t->tool_chat, t->tool_text, text.bytes, &why);
    if (st == FR_ENOMEM) return fr_fail(err, st, "%s", why.text);
    if (st || !t->tool_chat.takes.tools) return FR_OK;
    t->chat.for_tools = &t->tool_chat;
    t->info.tool_template = t->tool_text;
    t->info.tool_template_bytes = text.bytes;
    t->info.chat_tools = true;
    return FR_OK;
}

// Of t->gguf and t->tokenizer.
static fr_status fill(fr_text *t, fr_error *err) {
    fr_gguf_str text = {"", 0};
    fr_status st = describe(t, err);
    if (st) return st;
    const fr_status unread =
        fr_gguf_opt_str(t->gguf, "tokenizer.chat_template", &text, &t->no_chat);
    if (unread)
        t->info.chat_fault = t->no_chat.text; // it is no text
    else
        st = take_chat(t, text.data, text.bytes, err);
    return st ? st : take_tool_chat(t, err);
}

static fr_text *new_text(fr_error *err) {
    fr_text *t = fr_alloc_zero(sizeof *t);
    if (!t)
        fr_fail(err, FR_ENOMEM, "text: cannot get %zu bytes", sizeof *t);
    else
        atomic_init(&t->n_keepers, 1);
    return t;
}

fr_status fr_text_lend(fr_text **out, fr_gguf *gguf, fr_tokenizer *tokenizer, fr_error *err) {
    fr_text *t = *out = new_text(err);
    if (!t) return FR_ENOMEM;
    t->gguf = gguf;
    t->tokenizer = tokenizer;
    t->lent = true;
    const fr_status st = fill(t, err);
    if (!st) return FR_OK;
    fr_text_close(t);
    *out = NULL;
    return st;
}

fr_status fr_text_open(fr_text **out, const char *model_path, fr_error *err) {
    fr_text *t = new_text(err);
    *out = NULL;
    if (!t) return FR_ENOMEM;
    fr_status st = fr_gguf_open(&t->gguf, model_path, err);
    if (!st) st = fr_tokenizer_open(&t->tokenizer, t->gguf, err);
    if (!st) st = fill(t, err);
    if (st)
        fr_text_close(t);
    else
        *out = t;
    return st;
}

// An engine's own text is closed with the engine.
static void keep(fr_text *t) {
    if (t->engine)
        fr_engine_keep(t->engine);
    else
        atomic_fetch_add(&t->n_keepers, 1);
}

fr_status fr_text_open_with(fr_text **out, const fr_text *of, const char *chat_template,
                            size_t bytes, fr_error *err) {
    *out = NULL;
    if (!bytes) return fr_fail(err, FR_EUNSUP, "chat template: expected a text, found none");
    fr_text *t = new_text(err);
    if (!t) return FR_ENOMEM;
    t->gguf = of->gguf;
    t->tokenizer = of->tokenizer;
    t->lent = true;
    t->of = (fr_text *)(uintptr_t)of; // only its keepers are counted
    keep(t->of);
    fr_status st = describe(t, err);
    if (!st) st = take_chat(t, chat_template, bytes, err);
    if (!st) st = fr_text_check_chat(t, err);
    if (st)
        fr_text_close(t);
    else
        *out = t;
    return st;
}

void fr_text_close(fr_text *t) {
    if (!t || atomic_fetch_sub(&t->n_keepers, 1) > 1) return;
    fr_text *of = t->of;
    fr_chat_close(&t->chat);
    fr_chat_close(&t->tool_chat);
    fr_free(t->chat_text);
    fr_free(t->tool_text);
    fr_free(t->ends);
    if (!t->lent) {
        fr_tokenizer_close(t->tokenizer);
        fr_gguf_close(t->gguf);
    }
    fr_free(t);
    if (!of) return;
    if (of->engine)
        fr_engine_close(of->engine);
    else
        fr_text_close(of);
}

const fr_text_info *fr_text_describe(const fr_text *t) {
    return &t->info;
}

fr_status fr_text_check_chat(const fr_text *t, fr_error *err) {
    return t->chat.program ? FR_OK : fr_fail(err, t->no_chat.code, "%s", t->no_chat.text);
}

const char *fr_text_token(const fr_text *t, int32_t id, size_t *n_bytes) {
    size_t n;
    const char *bytes = fr_token_bytes(t->tokenizer, id, &n);
    if (n_bytes) *n_bytes = n;
    return bytes;
}

int32_t fr_text_find(const fr_text *t, const char *bytes, size_t n_bytes) {
    return fr_tokenizer_find(t->tokenizer, bytes, n_bytes);
}

bool fr_text_is_control(const fr_text *t, int32_t id) {
    return fr_token_is_control(t->tokenizer, id);
}

bool fr_text_is_end(const fr_text *t, int32_t id) {
    return fr_token_is_end(t->tokenizer, id);
}
