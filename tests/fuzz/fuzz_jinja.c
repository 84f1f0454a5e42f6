// fuzz_jinja.c — any bytes as a chat template, and as the texts of a conversation.
//
// The input is cut at bytes 0xff. The first piece is a template; the others are messages, the first
// byte of each choosing the role. It is rendered twice: the second time gives the same.
#include "text/chat/chat.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_MESSAGES = 16, MAX_STEPS = 200000 };
static const char *const roles[] = {"system", "user", "assistant", "tool", "ipython", ""};

static fr_chat_str next_piece(const uint8_t **at, const uint8_t *end) {
    const uint8_t *cut = *at < end ? memchr(*at, 0xff, (size_t)(end - *at)) : NULL;
    const fr_chat_str piece = {(const char *)*at, (size_t)((cut ? cut : end) - *at)};
    *at = cut ? cut + 1 : end;
    return piece;
}

static void read_message(fr_message *m, fr_chat_str text) {
    const char *role = roles[text.bytes ? (unsigned char)text.data[0] % 6 : 0];
    m->role = (fr_chat_str){role, strlen(role)};
    if (text.bytes) m->content = (fr_chat_str){text.data + 1, text.bytes - 1};
}

// Runs cover the text, none is empty, neighbours differ.
static void check(const fr_marked *m) {
    size_t at = 0;
    for (size_t i = 0; i < m->n_runs; i++) {
        if (m->run[i].end <= at || (i && m->run[i].mark == m->run[i - 1].mark)) abort();
        at = m->run[i].end;
    }
    if (at != m->text.n || !m->text.data || m->text.data[m->text.n]) abort();
}

static void render(const fr_chat_template *chat, const fr_chat_request *q) {
    fr_chat_text once = {0}, twice = {0};
    fr_error err = {0};
    const fr_status st = fr_chat_render(chat, q, &once, &err);
    if (st && (once.marked.text.data || once.marked.run || !err.text[0])) abort();
    if (!st) {
        check(&once.marked);
        if (fr_chat_render(chat, q, &twice, &err)) abort();
        const fr_buffer *a = &once.marked.text, *b = &twice.marked.text;
        if (a->n != b->n || memcmp(a->data, b->data, a->n)) abort();
    }
    fr_chat_text_close(&once);
    fr_chat_text_close(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = malloc(size ? size : 1); // exactly: a read past the end is seen
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    const uint8_t *at = (const uint8_t *)copy, *end = at + size;
    fr_chat_template chat;
    fr_message messages[MAX_MESSAGES] = {0};
    fr_error err = {0};
    const fr_chat_str text = next_piece(&at, end);
    fr_chat_request q = {.messages = messages,
                         .add_generation_prompt = size & 1,
                         .max_steps = MAX_STEPS,
                         .bos = {"<s>", 3},
                         .eos = {"</s>", 4}};
    while (q.n_messages < MAX_MESSAGES && (at < end || !q.n_messages))
        read_message(&messages[q.n_messages++], next_piece(&at, end));
    if (!fr_chat_open(&chat, text.data, text.bytes, &err)) {
        render(&chat, &q);
        fr_chat_close(&chat);
    } else if (!err.text[0]) {
        abort();
    }
    free(copy);
    return 0;
}
