// talk.c — a conversation in memory.
#include "cmd/lib/talk.h"
#include <stdlib.h>
#include <string.h>

fr_status fr_talk_add(fr_talk *t, const char *role, const char *text, size_t bytes, fr_error *err) {
    if (t->n == t->cap) {
        const int cap = t->cap ? 2 * t->cap : 8;
        fr_message *more = realloc(t->messages, (size_t)cap * sizeof *more);
        if (!more) return fr_fail(err, FR_ENOMEM, "conversation: no memory");
        t->messages = more;
        t->cap = cap;
    }
    char *copy = malloc(bytes + 1);
    if (!copy) return fr_fail(err, FR_ENOMEM, "conversation: no memory for %zu bytes", bytes);
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    t->messages[t->n++] = (fr_message){.role = {role, strlen(role)}, .content = {copy, bytes}};
    return FR_OK;
}

void fr_talk_drop(fr_talk *t, int n) {
    while (t->n > n)
        free((void *)(uintptr_t)t->messages[--t->n].content.data);
}

void fr_talk_free(fr_talk *t) {
    fr_talk_drop(t, 0);
    free(t->messages);
    *t = (fr_talk){0};
}

fr_status fr_talk_encode(const fr_talk *t, const fr_cmd_text *text, bool opened, fr_ids *ids,
                         fr_error *err) {
    fr_chat_request request = {
        .messages = t->messages, .n_messages = t->n, .add_generation_prompt = opened};
    fr_chat_text rendered = {0};
    ids->n = 0;
    fr_error why = {0};
    const fr_status st = fr_text_render(text->text, &request, FR_TEXT_BOS, &rendered, ids, &why);
    fr_chat_text_close(&rendered);
    // A conversation that the template refuses is no mistake of the command line.
    return st ? fr_fail(err, st == FR_EARG ? FR_EDATA : st, "%s", why.text) : FR_OK;
}
