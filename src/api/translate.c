// translate.c — what both translators make: parts, thinking, calls, tools.
#include "api/translate.h"
#include "api/value.h"
#include <stdio.h>
#include <string.h>

static fr_status no_memory(fr_error *err) {
    return fr_fail(err, FR_ENOMEM, "no memory for the request");
}

fr_status fr_api_set(json_t *object, const char *name, json_t *value, fr_error *err) {
    return json_object_set_new(object, name, value) ? no_memory(err) : FR_OK;
}

fr_status fr_api_append(json_t *list, json_t *value, fr_error *err) {
    return json_array_append_new(list, value) ? no_memory(err) : FR_OK;
}

// Whether the body has what the path begins with.
static bool has(const json_t *body, const char *path) {
    return json_object_getn(body, path, strcspn(path, "."));
}

void fr_api_name_own(const fr_api_own_name *names, const json_t *body, fr_error *err) {
    const fr_error said = *err;
    const size_t n = strcspn(said.text, ".[:");
    for (; names && names->chat; names++) {
        if (n != strlen(names->chat) || strncmp(said.text, names->chat, n)) continue;
        if (!has(body, names->own)) continue;
        const size_t from = names->whole ? strcspn(said.text, ":") : n;
        fr_fail(err, said.code, "%s%s", names->own, said.text + from);
        return;
    }
}

static bool is_listed(const char *name, const char *const *names) {
    for (; *names; names++)
        if (!strcmp(*names, name)) return true;
    return false;
}

json_t *fr_api_copy_but(const json_t *body, const char *const *names, fr_error *err) {
    json_t *copy = json_object(), *from = (json_t *)body;
    fr_status st = copy ? FR_OK : no_memory(err);
    for (void *it = json_object_iter(from); it && !st; it = json_object_iter_next(from, it)) {
        const char *name = json_object_iter_key(it);
        if (!is_listed(name, names))
            st = fr_api_set(copy, name, json_incref(json_object_iter_value(it)), err);
    }
    if (!st) return copy;
    json_decref(copy);
    return NULL;
}

// The list at a member, which begins empty. NULL: no memory.
static json_t *list_at(json_t *object, const char *name) {
    json_t *list = json_object_get(object, name);
    if (json_is_array(list)) return list;
    return json_object_set_new(object, name, json_array()) ? NULL : json_object_get(object, name);
}

fr_status fr_api_add_part(json_t *message, const json_t *text, fr_error *err) {
    return fr_api_append(list_at(message, "content"),
                         json_pack("{s:s, s:O}", "type", "text", "text", text), err);
}

fr_status fr_api_add_thinking(json_t *message, const json_t *text, fr_error *err) {
    return fr_api_append(list_at(message, "reasoning_content"), json_incref((json_t *)text), err);
}

static fr_status join_thinking(json_t *message, fr_error *err) {
    const json_t *texts = json_object_get(message, "reasoning_content");
    fr_buffer all = {0};
    fr_status st = FR_OK;
    if (!json_is_array(texts)) return FR_OK;
    for (size_t i = 0; i < json_array_size(texts) && !st; i++) {
        const json_t *text = json_array_get(texts, i);
        st = fr_buffer_add(&all, json_string_value(text), json_string_length(text), err);
    }
    if (!st)
        st = fr_api_set(message, "reasoning_content", json_stringn(all.data ? all.data : "", all.n),
                        err);
    fr_buffer_free(&all);
    return st;
}

fr_status fr_api_join_thinking(json_t *messages, fr_error *err) {
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(messages) && !st; i++)
        st = join_thinking(json_array_get(messages, i), err);
    return st;
}

fr_status fr_api_add_call(json_t *message, const json_t *id, const json_t *name, json_t *arguments,
                          fr_error *err) {
    json_t *call = json_pack("{s:O, s:s, s:{s:O, s:o}}", "id", id, "type", "function", "function",
                             "name", name, "arguments", arguments);
    return fr_api_append(list_at(message, "tool_calls"), call, err);
}

json_t *fr_api_left_out_part(const json_t *part) {
    const char *type = fr_api_text(fr_api_member(part, "type"));
    char text[96];
    snprintf(text, sizeof text, "[%.40s: left out, since only text is read here]",
             type ? type : "a part");
    return json_pack("{s:s, s:o}", "type", "text", "text", fr_json_string(text)); // may be cut
}

fr_status fr_api_add_tool(json_t *tools, const json_t *name, json_t *about, json_t *parameters,
                          fr_error *err) {
    json_t *function = json_pack("{s:O, s:O*, s:O*}", "name", name, "description", about,
                                 "parameters", parameters);
    return fr_api_append(tools, json_pack("{s:s, s:o}", "type", "function", "function", function),
                         err);
}

fr_status fr_api_set_variable(json_t *root, const char *name, json_t *value, fr_error *err) {
    const json_t *given = json_object_get(root, "chat_template_kwargs");
    json_t *variables = json_is_object(given) ? fr_json_copy(given) : json_object();
    if (!variables || (!json_object_get(variables, name) &&
                       json_object_set_new(variables, name, json_incref(value)))) {
        json_decref(variables);
        json_decref(value);
        return no_memory(err);
    }
    json_decref(value);
    return fr_api_set(root, "chat_template_kwargs", variables, err);
}
