// fuzz_messages.c — any bytes as a JSON conversation, rendered by every family.
#include "json/messages.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void render_all(fr_chat_request *q) {
    fr_chat_template chat;
    fr_chat_text out = {0};
    q->bos = (fr_chat_str){"<s>", 3};
    for (int i = 0; fr_chat_name_at(i); i++) {
        fr_error err = {0};
        if (fr_chat_by_name(&chat, fr_chat_name_at(i), NULL)) abort();
        const fr_status st = fr_chat_render(&chat, q, &out, &err);
        if (st ? out.text.data || !err.text[0] : !out.text.data) abort();
    }
    fr_chat_text_close(&out);
}

// What is written reads back, and is then written the same.
static void dump_twice(const json_t *value) {
    fr_chat_text once = {0}, twice = {0};
    if (!fr_json_dump(&once, value, NULL)) {
        json_t *again = fr_json_load(once.text.data, once.text.n, NULL);
        if (!again || fr_json_dump(&twice, again, NULL)) abort();
        if (once.text.n != twice.text.n || memcmp(once.text.data, twice.text.data, once.text.n))
            abort();
        json_decref(again);
    }
    fr_chat_text_close(&once);
    fr_chat_text_close(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = malloc(size ? size : 1);
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    fr_json_chat chat;
    fr_error err = {0};
    const fr_status st = fr_json_chat_parse(&chat, copy, size, &err);
    if (st && !err.text[0]) abort();
    if (!st) render_all(&chat.request);
    fr_json_chat_close(&chat);
    json_t *value = fr_json_load(copy, size, NULL);
    if (value) dump_twice(value);
    json_decref(value);
    free(copy);
    return 0;
}
