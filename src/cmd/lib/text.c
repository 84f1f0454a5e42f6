// text.c — prompts to ids.
#include "cmd/lib/text.h"
#include "json/value.h"
#include <stdlib.h>
#include <string.h>

fr_status fr_cmd_text_open(fr_cmd_text *t, const char *path, fr_error *err) {
    *t = (fr_cmd_text){0};
    fr_status st = fr_gguf_open(&t->gguf, path, err);
    if (st) return st;
    return fr_tokenizer_open(&t->tokenizer, t->gguf, err);
}

void fr_cmd_text_lend(fr_cmd_text *t, const fr_engine *engine) {
    *t = (fr_cmd_text){.gguf = engine->gguf, .tokenizer = engine->tokenizer, .lent = true};
}

void fr_cmd_text_close(fr_cmd_text *t) {
    fr_chat_close(&t->chat);
    if (!t->lent) {
        fr_tokenizer_close(t->tokenizer);
        fr_gguf_close(t->gguf);
    }
    *t = (fr_cmd_text){0};
}

fr_status fr_cmd_text_template(fr_cmd_text *t, const fr_cmd_args *args, fr_error *err) {
    if (args->chat_template && args->chat_template_file)
        return fr_fail(err, FR_EARG, "--chat-template and --chat-template-file: give one of them");
    if (args->chat_template) return fr_chat_open_named(&t->chat, args->chat_template, err);
    if (args->chat_template_file) {
        fr_buffer bytes;
        fr_status st = fr_cmd_read_file(&bytes, args->chat_template_file, err);
        if (st) return st;
        fr_error why = {0};
        st = fr_chat_open(&t->chat, bytes.data ? bytes.data : "{##}", bytes.n ? bytes.n : 4, &why);
        fr_buffer_free(&bytes);
        return st ? fr_fail(err, st, "%s: %s", args->chat_template_file, why.text) : FR_OK;
    }
    fr_gguf_str text = {"", 0};
    const fr_status st = fr_gguf_opt_str(t->gguf, "tokenizer.chat_template", &text, err);
    return st ? st : fr_chat_open(&t->chat, text.bytes ? text.data : NULL, text.bytes, err);
}

static fr_chat_str token_text(const fr_cmd_text *t, int32_t id) {
    fr_chat_str s = {0};
    if (id >= 0) s.data = fr_token_bytes(t->tokenizer, id, &s.bytes);
    return s;
}

static fr_status add_bos(const fr_cmd_text *t, fr_ids *ids, fr_error *err) {
    const fr_special_ids *special = fr_tokenizer_special(t->tokenizer);
    if (!special->add_bos || special->bos < 0) return FR_OK;
    return fr_ids_push(ids, special->bos, err);
}

fr_status fr_cmd_text_chat(const fr_cmd_text *t, fr_chat_request *request, bool bos,
                           fr_chat_text *rendered, fr_ids *ids, fr_error *err) {
    const fr_special_ids *special = fr_tokenizer_special(t->tokenizer);
    request->bos = token_text(t, special->bos);
    request->eos = token_text(t, special->eos);
    const time_t seconds = time(NULL);
    struct tm now;
    request->now = localtime_r(&seconds, &now);
    fr_status st = fr_chat_render(&t->chat, request, rendered, err);
    request->now = NULL;
    if (st) return st;
    if (bos && !rendered->has_bos && (st = add_bos(t, ids, err))) return st;
    return fr_tokenizer_encode_marked(t->tokenizer, &rendered->marked, NULL, ids, err);
}

fr_status fr_cmd_text_plain(const fr_cmd_text *t, const char *text, size_t bytes, unsigned flags,
                            bool bos, fr_ids *ids, fr_error *err) {
    const fr_status st = bos ? add_bos(t, ids, err) : FR_OK;
    if (st) return st;
    return fr_tokenizer_encode_watched(t->tokenizer, text, bytes, flags, &fr_cmd_watch, ids, err);
}

json_t *fr_cmd_json_text(const char *text, size_t bytes) {
    return fr_json_text(text, bytes);
}

json_t *fr_cmd_json_ids(const int32_t *ids, size_t n) {
    json_t *array = json_array();
    for (size_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, json_integer(ids[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

fr_status fr_cmd_ids_from_json(fr_ids *ids, const json_t *array, fr_error *err) {
    if (!json_is_array(array)) return fr_fail(err, FR_EDATA, "\"ids\": expected an array of ids");
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        const json_int_t id = json_integer_value(item);
        if (!json_is_integer(item) || id < 0 || id > INT32_MAX)
            return fr_fail(err, FR_EDATA, "\"ids\"[%zu]: expected a token id", i);
        const fr_status st = fr_ids_push(ids, (int32_t)id, err);
        if (st) return st;
    }
    return FR_OK;
}
