// chats.h — conversations from JSON text, and chat templates by their names.
#ifndef FR_TEST_CHATS_H
#define FR_TEST_CHATS_H
#include "json/messages.h"
#include <string.h>

static inline fr_status parse_chat(fr_json_chat *out, const char *json, size_t bytes,
                                   const fr_chat_takes *takes, fr_error *err) {
    fr_error failure = {0};
    *out = (fr_json_chat){0};
    json_t *root = fr_json_load(json, bytes, &failure);
    if (!root) return fr_fail(err, failure.code, "%s", failure.text);
    const fr_status st = fr_json_chat_from(out, root, takes, NULL, err);
    json_decref(root);
    return st;
}

static inline fr_status open_named_chat(fr_chat_template *out, const char *name, fr_error *err) {
    const char *text;
    *out = (fr_chat_template){0};
    const fr_status st = fr_chat_find_named(&text, name, err);
    return st ? st : fr_chat_open(out, text, strlen(text), err);
}

#endif
