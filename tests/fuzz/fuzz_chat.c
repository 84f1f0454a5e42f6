// fuzz_chat.c — any bytes as a chat template, and as the texts of a conversation.
//
// The input is cut at bytes 0xff. The first piece is a template, or, where that is of no family,
// its first byte picks one by name; the others are messages, the first byte of each choosing the
// role.
#include "text/chat/chat.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_MESSAGES = 16 };
static const char *const roles[] = {"system", "user", "assistant", "tool", "ipython", ""};

static fr_chat_str next_piece(const uint8_t **at, const uint8_t *end) {
    const uint8_t *cut = *at < end ? memchr(*at, 0xff, (size_t)(end - *at)) : NULL;
    const fr_chat_str piece = {(const char *)*at, (size_t)((cut ? cut : end) - *at)};
    *at = cut ? cut + 1 : end;
    return piece;
}

static void choose(fr_chat_template *chat, fr_chat_str text) {
    fr_error err = {0};
    if (!fr_chat_detect(chat, text.data, text.bytes, &err)) return;
    if (!err.text[0] || chat->kind != FR_CHAT_NONE) abort();
    int n = 0;
    while (fr_chat_name_at(n))
        n++;
    const int pick = text.bytes ? (unsigned char)text.data[0] % n : 0;
    if (fr_chat_by_name(chat, fr_chat_name_at(pick), NULL)) abort();
    if (text.bytes > 1) chat->variant ^= text.data[1] & 1 && chat->kind != FR_CHAT_TURNS;
}

static void read_message(fr_message *m, fr_chat_str text, const fr_tool_call *calls) {
    const unsigned char how = text.bytes ? (unsigned char)text.data[0] : 0;
    const char *role = roles[how % 6];
    m->role = (fr_chat_str){role, strlen(role)};
    m->tool_call_id = (fr_chat_str){"123456789", 9};
    if (how & 64) m->tool_calls = calls, m->n_tool_calls = how & 32 ? 2 : 1;
    if (text.bytes) m->content = (fr_chat_str){text.data + 1, text.bytes - 1};
    if (how & 128) m->reasoning = m->content;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = malloc(size ? size : 1); // exactly: a read past the end is seen
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    const uint8_t *at = (const uint8_t *)copy, *end = at + size;
    fr_chat_template chat;
    fr_message messages[MAX_MESSAGES] = {0};
    const fr_chat_str first = next_piece(&at, end), json = next_piece(&at, end);
    const fr_tool_call call = {json, json, json, json, {"123456789", 9}}, calls[2] = {call, call};
    const fr_tool_field fields[2] = {{json, json, true}, {{"return", 6}, json, false}};
    const fr_tool tools[2] = {{json, fields, 2}, {json, fields, 1}};
    fr_chat_request q = {.messages = messages,
                         .tools = tools,
                         .n_tools = json.bytes > 4 ? 2 : 0,
                         .add_generation_prompt = size & 1,
                         .no_thinking = size & 2,
                         .bos = {"<s>", 3},
                         .eos = {"</s>", 4}};
    fr_chat_text out = {0};
    fr_error err = {0};
    choose(&chat, first);
    while (q.n_messages < MAX_MESSAGES && at < end)
        read_message(&messages[q.n_messages++], next_piece(&at, end), calls);
    const fr_status st = fr_chat_render(&chat, &q, &out, &err);
    if (st ? out.text.data || !err.text[0] : !out.text.data || out.text.data[out.text.n]) abort();
    fr_chat_text_close(&out);
    free(copy);
    return 0;
}
