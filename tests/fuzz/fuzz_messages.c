// fuzz_messages.c — any bytes as a JSON conversation, rendered by every named template and by ones
// that write all they find.
#include "support/chats.h"
#include "json/messages.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void render(const char *template, const char *json, size_t bytes) {
    fr_chat_template chat;
    fr_json_chat in;
    fr_chat_text out = {0};
    fr_error err = {0};
    if (fr_chat_open(&chat, template, strlen(template), &err)) abort();
    fr_status st = parse_chat(&in, json, bytes, &chat.takes, &err);
    if (!st) {
        in.request.bos = (fr_chat_str){"<s>", 3};
        st = fr_chat_render(&chat, &in.request, &out, &err);
        if (st ? out.marked.text.data != NULL : !out.marked.text.data) abort();
    }
    if (st && !err.text[0]) abort();
    fr_chat_text_close(&out);
    fr_json_chat_close(&in);
    fr_chat_close(&chat);
}

// What is written reads back, and is then written the same.
static void dump_twice(const json_t *value) {
    fr_buffer once = {0}, twice = {0};
    if (!fr_json_dump(&once, value, NULL)) {
        json_t *again = fr_json_load(once.data, once.n, NULL);
        if (!again || fr_json_dump(&twice, again, NULL)) abort();
        if (once.n != twice.n || memcmp(once.data, twice.data, once.n)) abort();
        json_decref(again);
    }
    fr_buffer_free(&once);
    fr_buffer_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = malloc(size ? size : 1);
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    for (int i = 0; fr_chat_name_at(i); i++)
        render(fr_chat_text_named(fr_chat_name_at(i)), copy, size);
    render("{{ messages }}{{ tools }}{{ messages | tojson(indent=2) }}", copy, size);
    render("{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}"
           "{% for c in m.tool_calls %}{{ c.function.arguments }}{% endfor %}{% endfor %}",
           copy, size);
    json_t *value = fr_json_load(copy, size, NULL);
    if (value) dump_twice(value);
    json_decref(value);
    free(copy);
    return 0;
}
