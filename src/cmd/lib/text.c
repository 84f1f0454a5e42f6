// text.c — prompts to ids.
#include "cmd/lib/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void use(fr_cmd_text *t, const fr_text *text) {
    t->text = text;
    t->gguf = text->gguf;
    t->tokenizer = text->tokenizer;
}

fr_status fr_cmd_text_open(fr_cmd_text *t, const char *path, fr_error *err) {
    *t = (fr_cmd_text){0};
    const fr_status st = fr_text_open(&t->file, path, err);
    if (!st) use(t, t->file);
    return st;
}

void fr_cmd_text_lend(fr_cmd_text *t, const fr_engine *engine) {
    *t = (fr_cmd_text){0};
    use(t, fr_engine_text(engine));
}

void fr_cmd_text_close(fr_cmd_text *t) {
    fr_text_close(t->own);
    fr_text_close(t->file);
    *t = (fr_cmd_text){0};
}

char fr_cmd_template_help[320] = "built-in chat template", fr_cmd_template_names[256];

void fr_cmd_text_help(void) {
    char names[256];
    snprintf(fr_cmd_template_help, sizeof fr_cmd_template_help, "built-in chat template: %s",
             fr_chat_names(names, sizeof names, ", "));
    fr_chat_names(fr_cmd_template_names, sizeof fr_cmd_template_names, "|");
}

static fr_status take_template(fr_cmd_text *t, const char *text, size_t bytes, fr_error *err) {
    const fr_status st = fr_text_open_with(&t->own, t->text, text, bytes, err);
    if (!st) t->text = t->own;
    return st;
}

fr_status fr_cmd_text_template(fr_cmd_text *t, const fr_cmd_args *args, fr_error *err) {
    if (args->chat_template && args->chat_template_file)
        return fr_fail(err, FR_EARG, "--chat-template and --chat-template-file: give one of them");
    if (args->chat_template) {
        const char *text;
        const fr_status st = fr_chat_find_named(&text, args->chat_template, err);
        return st ? st : take_template(t, text, strlen(text), err);
    }
    if (!args->chat_template_file) return fr_text_check_chat(t->text, err);
    fr_buffer bytes;
    fr_status st = fr_cmd_read_file(&bytes, args->chat_template_file, err);
    if (st) return st;
    fr_error why = {0};
    st = take_template(t, bytes.data, bytes.n, &why);
    fr_buffer_free(&bytes);
    return st ? fr_fail(err, st, "%s: %s", args->chat_template_file, why.text) : FR_OK;
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
