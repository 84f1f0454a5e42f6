// anthropic.c — Anthropic's messages as a chat request: all of the body but its messages' blocks.
#include "api/translate.h"
#include "api/value.h"

static fr_status add_system(json_t *messages, json_t *system, fr_error *err) {
    if (!system || json_is_null(system)) return FR_OK;
    if (!fr_json_is_text(system) && !json_is_array(system))
        return fr_api_wrong(err, system, "a string or a list of texts", "system");
    for (size_t i = 0; i < json_array_size(system); i++) {
        const json_t *block = json_array_get(system, i);
        if (!fr_api_is(json_object_get(block, "type"), "text") ||
            !fr_json_is_text(json_object_get(block, "text")))
            return fr_api_wrong(err, block, "{\"type\": \"text\", \"text\": ...}", "system[%zu]",
                                i);
    }
    json_t *message = json_pack("{s:s}", "role", "system");
    fr_status st = message ? FR_OK : fr_fail(err, FR_ENOMEM, "no memory for the messages");
    if (!st && json_is_string(system))
        st = fr_api_set(message, "content", json_incref(system), err);
    for (size_t i = 0; i < json_array_size(system) && !st; i++)
        st = fr_api_add_part(message, json_object_get(json_array_get(system, i), "text"), err);
    if (!st && json_object_get(message, "content"))
        st = fr_api_append(messages, json_incref(message), err);
    json_decref(message);
    return st;
}

static fr_status read_messages(json_t *root, const json_t *body, const fr_watch *watch,
                               fr_error *err) {
    const json_t *given = fr_api_member(body, "messages");
    json_t *messages = json_array();
    fr_status st = fr_api_set(root, "messages", messages, err);
    if (st) return st;
    if (!json_is_array(given)) return fr_api_wrong(err, given, "a list", "messages");
    st = add_system(messages, json_object_get(body, "system"), err);
    return st ? st : fr_api_read_blocks(given, messages, watch, err);
}

static fr_status add_tool(json_t *tools, const json_t *tool, size_t i, fr_error *err) {
    const json_t *type = fr_api_member(tool, "type"), *name = fr_api_member(tool, "name");
    const bool custom = !type || fr_api_is(type, "custom");
    if (!custom && !fr_api_is_client_tool(type))
        return fr_api_wrong(
            err, type, "custom, or a dated bash_, text_editor_ or memory_: tools are the client's",
            "tools[%zu].type", i);
    if (!fr_json_is_text(name)) return fr_api_wrong(err, name, "a string", "tools[%zu].name", i);
    if (!custom) return fr_api_add_client_tool(tools, type, name, err);
    return fr_api_add_tool(tools, name, json_object_get(tool, "description"),
                           json_object_get(tool, "input_schema"), err);
}

static fr_status read_tools(json_t *root, const json_t *body, fr_error *err) {
    const json_t *given = fr_api_member(body, "tools");
    if (!given) return FR_OK;
    if (!json_is_array(given)) return fr_api_wrong(err, given, "a list", "tools");
    json_t *tools = json_array();
    fr_status st = fr_api_set(root, "tools", tools, err);
    for (size_t i = 0; i < json_array_size(given) && !st; i++)
        st = add_tool(tools, json_array_get(given, i), i, err);
    return st;
}

static fr_status read_tool_choice(json_t *root, const json_t *body, fr_error *err) {
    const json_t *given = fr_api_member(body, "tool_choice"), *type = fr_api_member(given, "type");
    if (!given) return FR_OK;
    if (fr_api_is(type, "any") || fr_api_is(type, "tool"))
        return fr_fail(err, FR_EARG,
                       "tool_choice.type: a call cannot be forced here: expected auto or none");
    if (!fr_api_is(type, "auto") && !fr_api_is(type, "none"))
        return fr_api_wrong(err, type, "auto or none", "tool_choice.type");
    const json_t *one = fr_api_member(given, "disable_parallel_tool_use");
    if (one && !json_is_boolean(one))
        return fr_api_wrong(err, one, "true or false", "tool_choice.disable_parallel_tool_use");
    const fr_status st =
        one ? fr_api_set(root, "parallel_tool_calls", json_boolean(json_is_false(one)), err)
            : FR_OK;
    return st ? st : fr_api_set(root, "tool_choice", json_incref((json_t *)type), err);
}

static fr_status read_thinking(json_t *root, const json_t *body, fr_error *err) {
    const json_t *given = fr_api_member(body, "thinking"), *type = fr_api_member(given, "type");
    if (!given) return FR_OK;
    if (!fr_api_is(type, "enabled") && !fr_api_is(type, "disabled") && !fr_api_is(type, "adaptive"))
        return fr_api_wrong(err, type, "enabled, disabled or adaptive", "thinking.type");
    return fr_api_set_variable(root, "enable_thinking", json_boolean(!fr_api_is(type, "disabled")),
                               err);
}

// Templates have another name for the effort.
static fr_status read_effort(json_t *root, const json_t *body, fr_error *err) {
    const json_t *effort = fr_api_member(fr_api_member(body, "output_config"), "effort");
    if (!effort || fr_api_member(body, "reasoning_effort")) return FR_OK;
    if (!fr_json_is_text(effort))
        return fr_api_wrong(err, effort, "a string", "output_config.effort");
    return fr_api_set(root, "reasoning_effort", json_incref((json_t *)(uintptr_t)effort), err);
}

static fr_status read_all(json_t *root, const json_t *body, const fr_watch *watch, fr_error *err) {
    json_t *stop = json_object_get(body, "stop_sequences");
    json_t *user = json_object_get(json_object_get(body, "metadata"), "user_id");
    fr_status st = read_messages(root, body, watch, err);
    if (!st) st = read_tools(root, body, err);
    if (!st) st = read_tool_choice(root, body, err);
    if (!st) st = read_thinking(root, body, err);
    if (!st) st = read_effort(root, body, err);
    if (!st && stop) st = fr_api_set(root, "stop", json_incref(stop), err);
    if (!st && user) st = fr_api_set(root, "user", json_incref(user), err);
    return st;
}

// Messages have other numbers here: the system's is one more, and results become messages.
const fr_api_own_name fr_api_own_of_anthropic[] = {{"messages", "messages", true},
                                                   {"stop", "stop_sequences", false},
                                                   {"user", "metadata.user_id", false},
                                                   {0}};

json_t *fr_api_from_anthropic(const json_t *body, const fr_watch *watch, fr_error *err) {
    static const char *const own[] = {"messages",    "system",   "stop_sequences", "tools",
                                      "tool_choice", "thinking", "metadata",       NULL};
    json_t *root = fr_api_copy_but(body, own, err);
    if (root && !read_all(root, body, watch, err)) return root;
    json_decref(root);
    return NULL;
}
