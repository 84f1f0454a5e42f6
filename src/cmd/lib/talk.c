// talk.c — a conversation in memory.
#include "cmd/lib/talk.h"
#include "json/value.h"
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

bool fr_talk_has_system(const fr_talk *t) {
    return t->n && t->messages[0].role.bytes == 6 && !memcmp(t->messages[0].role.data, "system", 6);
}

fr_status fr_talk_set_system(fr_talk *t, const char *text, size_t bytes, fr_error *err) {
    const bool had = fr_talk_has_system(t);
    if (bytes) {
        const fr_status st = fr_talk_add(t, "system", text, bytes, err);
        if (st) return st;
        const fr_message said = t->messages[t->n - 1];
        memmove(t->messages + 1, t->messages, (size_t)(t->n - 1) * sizeof said);
        t->messages[0] = said;
    }
    if (!had) return FR_OK;
    const int old = bytes ? 1 : 0;
    free((void *)(uintptr_t)t->messages[old].content.data);
    t->n--;
    memmove(t->messages + old, t->messages + old + 1, (size_t)(t->n - old) * sizeof *t->messages);
    return FR_OK;
}

void fr_talk_free(fr_talk *t) {
    fr_talk_drop(t, 0);
    free(t->messages);
    json_decref(t->variables);
    *t = (fr_talk){0};
}

// ---------------------------------------------------------------- the template's variables

static fr_status read_variables(json_t **out, const char *text, fr_error *err) {
    fr_error why = {0};
    *out = text ? fr_json_load(text, strlen(text), &why) : json_object();
    if (!*out && !text) return fr_fail(err, FR_ENOMEM, "template's variables: no memory");
    if (!*out) return fr_fail(err, why.code, "--chat-template-kwargs: %s", why.text);
    if (json_is_object(*out)) return FR_OK;
    json_decref(*out);
    *out = NULL;
    return fr_fail(err, FR_EARG,
                   "--chat-template-kwargs %.40s: expected a JSON object, as "
                   "'{\"enable_thinking\": false}'",
                   text);
}

fr_status fr_talk_take_options(fr_talk *t, const fr_cmd_args *args, fr_error *err) {
    if (!args->chat_template_kwargs && args->reasoning == FR_REASONING_AUTO) return FR_OK;
    const fr_status st = read_variables(&t->variables, args->chat_template_kwargs, err);
    if (st) return st;
    const bool thinks = args->reasoning == FR_REASONING_ON;
    if (args->reasoning != FR_REASONING_AUTO &&
        json_object_set_new(t->variables, "enable_thinking", json_boolean(thinks)))
        return fr_fail(err, FR_ENOMEM, "template's variables: no memory");
    return FR_OK;
}

// Puts them over the conversation's own. Own variables that are no object stay for the reader, which
// refuses them.
static bool set_variables(json_t *root, json_t *variables) {
    json_t *own = json_object_get(root, "chat_template_kwargs");
    if (own && !json_is_null(own) && !json_is_object(own)) return true;
    json_t *all = json_is_object(own) ? fr_json_copy(own) : json_object();
    if (!json_object_update(all, variables))
        return !json_object_set_new(root, "chat_template_kwargs", all);
    json_decref(all);
    return false;
}

json_t *fr_talk_add_options(const fr_talk *t, json_t *conversation) {
    if (!t->variables || !(json_is_array(conversation) || json_is_object(conversation)))
        return conversation;
    json_t *root = json_is_array(conversation) ? json_pack("{s:O}", "messages", conversation)
                                               : fr_json_copy(conversation);
    json_decref(conversation);
    if (root && set_variables(root, t->variables)) return root;
    json_decref(root);
    return NULL;
}

// ---------------------------------------------------------------- the prompt

// As JSON, in the form of the OpenAI API. NULL: no memory.
static json_t *conversation_of(const fr_talk *t, bool opened) {
    json_t *messages = json_array();
    for (int i = 0; messages && i < t->n; i++) {
        const fr_message *m = &t->messages[i];
        json_t *message =
            json_pack("{s:s%, s:o}", "role", m->role.data, m->role.bytes, "content",
                      fr_json_text(m->content.data ? m->content.data : "", m->content.bytes));
        if (json_array_append_new(messages, message)) {
            json_decref(messages);
            messages = NULL;
        }
    }
    return json_pack("{s:o, s:b}", "messages", messages, "add_generation_prompt", opened);
}

fr_status fr_talk_encode_json(const fr_cmd_text *text, const json_t *conversation, fr_ids *ids,
                              fr_error *err) {
    fr_chat_text rendered = {0};
    fr_error why = {0};
    ids->n = 0;
    const fr_status st =
        fr_text_render_json(text->text, conversation, FR_TEXT_BOS, &rendered, ids, &why);
    fr_chat_text_close(&rendered);
    // A conversation that the template refuses is no mistake of the command line.
    return st ? fr_fail(err, st == FR_EARG ? FR_EDATA : st, "%s", why.text) : FR_OK;
}

fr_status fr_talk_encode(const fr_talk *t, const fr_cmd_text *text, bool opened, fr_ids *ids,
                         fr_error *err) {
    json_t *plain = conversation_of(t, opened),
           *root = plain ? fr_talk_add_options(t, plain) : NULL;
    if (!root) return fr_fail(err, FR_ENOMEM, "conversation: no memory");
    const fr_status st = fr_talk_encode_json(text, root, ids, err);
    json_decref(root);
    return st;
}
