// encode.c — prompts and messages to ids. A "prompt" is a string, a list of ids, a list of ids
// and strings in one, an object with a "prompt_string", or a list of any of these, which are
// prompts of their own.
#include "api/fields.h"
#include "api/value.h"
#include "base/alloc.h"
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- prompts

enum { ASK = 1 << 12 }; // items of a list from one question of the watch to the next

typedef struct reader {
    const fr_api_model *model;
    unsigned flags; // FR_TEXT_BOS, FR_TEXT_CONTROL
    fr_error *err;
    char path[32]; // of the current value
} reader;

// Called for each item of a list, number i. FR_EINTR.
static fr_status go_on(const reader *p, size_t i) {
    return i % ASK == ASK - 1 ? fr_watch_ask(p->model->watch, p->err) : FR_OK;
}

static fr_status begin_text(const reader *p, fr_ids *ids) {
    const fr_special_ids *special = fr_tokenizer_special(p->model->tokenizer);
    if (!(p->flags & FR_TEXT_BOS) || !special->add_bos || special->bos < 0) return FR_OK;
    return fr_ids_push(ids, special->bos, p->err);
}

static fr_status add_text(const reader *p, const json_t *text, fr_ids *ids) {
    return fr_tokenizer_encode_watched(
        p->model->tokenizer, json_string_value(text), json_string_length(text),
        p->flags & FR_TEXT_CONTROL ? FR_PARSE_SPECIAL : 0, p->model->watch, ids, p->err);
}

static size_t fewest_of(const reader *p, const json_t *item) {
    if (!fr_json_is_text(item)) return 1;
    return fr_tokenizer_fewest(p->model->tokenizer, json_string_value(item),
                               json_string_length(item));
}

// FR_ECONTEXT: the prompt cannot fit, by its bytes. Ids alone are not refused here: reading them
// takes little time. *fewest: a lower bound of its tokens.
static fr_status check_room(const reader *p, const json_t *from, size_t *fewest) {
    const size_t n_ctx = (size_t)p->model->n_ctx;
    bool texts = !json_is_array(from);
    fr_status st = FR_OK;
    *fewest = texts ? fewest_of(p, from) : 0;
    for (size_t i = 0; i < json_array_size(from) && !st; i++) {
        texts |= fr_json_is_text(json_array_get(from, i));
        *fewest += fewest_of(p, json_array_get(from, i));
        st = go_on(p, i);
    }
    if (st || !n_ctx || *fewest < n_ctx || !texts) return st;
    return fr_fail(p->err, FR_ECONTEXT, "%s: expected less than %zu tokens, found at least %zu",
                   p->path, n_ctx, *fewest);
}

// Ids as they are; where a string comes first, the text begins as one.
static fr_status add_mixed(const reader *p, const json_t *list, fr_ids *ids) {
    fr_status st = FR_OK;
    if (fr_json_is_text(json_array_get(list, 0))) st = begin_text(p, ids);
    for (size_t i = 0; i < json_array_size(list) && !st; i++) {
        const json_t *item = json_array_get(list, i);
        int32_t id;
        if ((st = go_on(p, i))) return st;
        if (fr_json_is_text(item)) {
            st = add_text(p, item, ids);
            continue;
        }
        st = fr_api_token_id(item, p->model->n_vocab, p->path, i, &id, p->err);
        if (!st) st = fr_ids_push(ids, id, p->err);
    }
    return st;
}

static fr_status add_tokens(const reader *p, const json_t *from, fr_ids *ids) {
    if (json_is_array(from)) return add_mixed(p, from, ids);
    const fr_status st = begin_text(p, ids);
    return st ? st : add_text(p, from, ids);
}

fr_status fr_api_tokens(const fr_api_model *model, const json_t *from, const char *path,
                        unsigned flags, fr_ids *ids, fr_error *err) {
    reader p = {.model = model, .flags = flags, .err = err};
    snprintf(p.path, sizeof p.path, "%s", path);
    if (!json_is_array(from) && !fr_json_is_text(from))
        return fr_api_wrong(err, from, "a string, or a list of strings and token ids", "%s", path);
    return add_tokens(&p, from, ids);
}

static fr_status add_prompt(const reader *p, const json_t *prompt, fr_ids *ids, size_t *fewest) {
    const json_t *from = prompt;
    if (json_is_object(prompt) && fr_api_member(prompt, "multimodal_data"))
        return fr_fail(p->err, FR_EARG, "%s.multimodal_data: only text is taken here", p->path);
    if (json_is_object(prompt)) from = fr_api_member(prompt, "prompt_string");
    if (!json_is_array(prompt) && !fr_json_is_text(from))
        return fr_api_wrong(p->err, prompt, "a string, a list of token ids, or a list of these",
                            "%s", p->path);
    fr_status st = check_room(p, from, fewest);
    if (!st) st = add_tokens(p, from, ids);
    if (!st && !ids->n) return fr_fail(p->err, FR_EARG, "%s: expected at least one token", p->path);
    return st;
}

// One prompt, however it is made up: no list, or one with a number in it.
static bool is_one(const json_t *prompt) {
    if (!json_is_array(prompt)) return true;
    for (size_t i = 0; i < json_array_size(prompt); i++) {
        double x;
        if (fr_api_number(json_array_get(prompt, i), false, &x)) return true;
    }
    return false;
}

static fr_status take_prompts(fr_api_request *r, int n, fr_error *err) {
    r->prompt = fr_alloc_array((size_t)n, sizeof *r->prompt);
    if (!r->prompt) return fr_fail(err, FR_ENOMEM, "prompt: no memory for %d of them", n);
    r->n_prompts = n;
    return FR_OK;
}

static fr_status read_prompts(fr_api_request *r, const fr_api_model *model, fr_error *err) {
    const json_t *prompt = fr_api_member(r->root, "prompt");
    const bool one = is_one(prompt);
    const size_t n = one ? 1 : json_array_size(prompt);
    reader p = {model, FR_TEXT_BOS | FR_TEXT_CONTROL, err, "prompt"};
    if (n < 1 || n > FR_API_PROMPTS)
        return fr_fail(err, FR_EARG, "prompt: expected 1 to %d of them, found %zu", FR_API_PROMPTS,
                       n);
    fr_status st = take_prompts(r, (int)n, err);
    for (size_t i = 0; i < n && !st; i++) {
        if (!one) snprintf(p.path, sizeof p.path, "prompt[%zu]", i);
        st = add_prompt(&p, one ? prompt : json_array_get(prompt, i), &r->prompt[i], &r->fewest);
    }
    return st;
}

fr_status fr_api_prompt_text(const fr_api_request *r, const fr_api_model *model, int i,
                             fr_buffer *text, fr_error *err) {
    const json_t *prompt = fr_api_member(r->root, "prompt");
    const fr_ids *ids = &r->prompt[i];
    if (!is_one(prompt)) prompt = json_array_get(prompt, (size_t)i);
    if (json_is_object(prompt)) prompt = fr_api_member(prompt, "prompt_string");
    if (r->kind == FR_API_COMPLETION && fr_json_is_text(prompt))
        return fr_buffer_add(text, json_string_value(prompt), json_string_length(prompt), err);
    for (size_t k = 0; k < ids->n; k++) { // ids may be of rows that the vocabulary has no token for
        size_t n;
        const char *bytes = fr_token_bytes(model->tokenizer, ids->data[k], &n);
        const fr_status st = bytes ? fr_buffer_add(text, bytes, n, err) : FR_OK;
        if (st) return st;
    }
    return FR_OK;
}

// ---------------------------------------------------------------- messages

// Without the tools where they may not be called: a template would offer them.
static json_t *with_tools_or_not(const fr_api_request *r) {
    if (r->tools || !json_object_get(r->root, "tools")) return json_incref(r->root);
    json_t *root = fr_json_copy(r->root);
    if (root) json_object_del(root, "tools");
    return root;
}

static fr_status read_messages(fr_api_request *r, const fr_api_model *model, fr_error *err) {
    fr_chat_text text = {0};
    fr_status st = take_prompts(r, 1, err);
    if (st) return st;
    json_t *root = with_tools_or_not(r);
    if (!root) return fr_fail(err, FR_ENOMEM, "messages: no memory");
    st = fr_api_render(model, root, r->no_thinking, &text, &r->prompt[0], err);
    if (!st && !r->prompt[0].n)
        st = fr_fail(err, FR_EARG, "messages: expected at least one token of the template");
    r->thinks = text.thinks;
    r->fewest = text.fewest;
    fr_chat_text_close(&text);
    json_decref(root);
    return st;
}

// ---------------------------------------------------------------- all

static fr_status read_prediction(fr_api_request *r, const fr_api_model *m, fr_error *err) {
    const json_t *content = json_object_get(json_object_get(r->root, "prediction"), "content");
    fr_buffer text = {0};
    fr_status st = FR_OK;
    if (json_is_string(content))
        st = fr_buffer_add(&text, json_string_value(content), json_string_length(content), err);
    for (size_t i = 0; i < json_array_size(content) && !st; i++) {
        const json_t *part = json_object_get(json_array_get(content, i), "text");
        st = fr_buffer_add(&text, json_string_value(part), json_string_length(part), err);
    }
    if (!st && text.n)
        st = fr_tokenizer_encode_watched(m->tokenizer, text.data, text.n, 0, m->watch,
                                         &r->prediction, err);
    fr_buffer_free(&text);
    return st;
}

static fr_status add_shown(fr_api_request *r, const fr_api_shown *shown, fr_error *err) {
    const size_t n = r->tools ? shown->ids.n : shown->n_thinking;
    fr_status st = FR_OK;
    for (size_t i = 0; i < n && !st; i++)
        st = fr_ids_push(&r->shown, shown->ids.data[i], err);
    return st;
}

// The marks of thinking and, with tools, of calls.
static fr_status read_marks(fr_api_request *r, const fr_api_model *m, fr_error *err) {
    fr_api_shown own = {0};
    if (r->kind != FR_API_CHAT) return FR_OK;
    fr_status st = m->shown ? FR_OK : fr_api_shown_open(&own, m->tokenizer, err);
    if (!st) st = add_shown(r, m->shown ? m->shown : &own, err);
    fr_api_shown_close(&own);
    return st;
}

fr_status fr_api_encode(fr_api_request *r, const fr_api_model *model, fr_error *err) {
    fr_status st =
        r->kind == FR_API_CHAT ? read_messages(r, model, err) : read_prompts(r, model, err);
    if (!st) st = fr_api_read_bias(r, model, err);
    if (!st) st = fr_api_read_stop_tokens(r, model, err);
    if (!st) st = read_marks(r, model, err);
    return st ? st : read_prediction(r, model, err);
}
