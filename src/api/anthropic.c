// anthropic.c — Anthropic's messages as a chat request. A message of blocks becomes one of text
// parts, thinking and calls; what tools gave goes before it, as messages of its own.
#include "api/translate.h"
#include "api/value.h"

typedef struct reader {
    json_t *messages;
    const fr_watch *watch;
    fr_error *err;
    size_t message, block; // at hand
} reader;

// A member of the block at hand that has to be a string; NULL: it is none, which was said.
static const json_t *text_member(const reader *r, const json_t *block, const char *name) {
    const json_t *value = fr_api_member(block, name);
    if (fr_json_is_text(value)) return value;
    fr_api_wrong(r->err, value, "a string", "messages[%zu].content[%zu].%s", r->message, r->block,
                 name);
    return NULL;
}

static fr_status refuse_block(const reader *r, const json_t *type) {
    return fr_api_wrong(r->err, type, "text, thinking, tool_use or tool_result",
                        "messages[%zu].content[%zu].type", r->message, r->block);
}

static fr_status add_use(const reader *r, const json_t *block, json_t *message) {
    const json_t *id = text_member(r, block, "id"),
                 *name = id ? text_member(r, block, "name") : NULL;
    json_t *input = json_object_get(block, "input");
    fr_buffer text = {0};
    if (!name) return FR_EARG;
    if (!json_is_object(input))
        return fr_api_wrong(r->err, input, "an object", "messages[%zu].content[%zu].input",
                            r->message, r->block);
    fr_status st = fr_json_dump(&text, input, r->err);
    if (!st) st = fr_api_add_call(message, id, name, json_stringn(text.data, text.n), r->err);
    fr_buffer_free(&text);
    return st;
}

// What a tool gave: nothing, a text, or a list of texts.
static fr_status add_result(const reader *r, const json_t *block) {
    const json_t *id = text_member(r, block, "tool_use_id");
    json_t *content = json_object_get(block, "content");
    if (!id) return FR_EARG;
    const bool none = !content || json_is_null(content);
    return fr_api_append(r->messages,
                         json_pack("{s:s, s:O, s:o}", "role", "tool", "tool_call_id", id, "content",
                                   none ? json_string("") : json_incref(content)),
                         r->err);
}

static fr_status add_block(const reader *r, const json_t *block, json_t *message) {
    const json_t *type = fr_api_member(block, "type"), *text;
    if (fr_api_is(type, "tool_use")) return add_use(r, block, message);
    if (fr_api_is(type, "tool_result")) return add_result(r, block);
    if (fr_api_is(type, "redacted_thinking")) return FR_OK; // nobody here can read it
    const bool thinks = fr_api_is(type, "thinking");
    if (!thinks && !fr_api_is(type, "text")) return refuse_block(r, type);
    if (!(text = text_member(r, block, thinks ? "thinking" : "text"))) return FR_EARG;
    return thinks ? fr_api_add_thinking(message, text, r->err)
                  : fr_api_add_part(message, text, r->err);
}

static fr_status add_blocks(reader *r, const json_t *blocks, json_t *message) {
    fr_status st = FR_OK;
    for (r->block = 0; r->block < json_array_size(blocks) && !st; r->block++)
        if (!(st = fr_api_go_on(r->watch, r->block, r->err)))
            st = add_block(r, json_array_get(blocks, r->block), message);
    if (st || json_object_get(message, "content")) return st;
    return json_object_size(message) > 1 || !json_array_size(blocks)
               ? fr_api_set(message, "content", json_null(), r->err)
               : FR_OK;
}

static fr_status add_message(reader *r, const json_t *given) {
    const json_t *role = fr_api_member(given, "role");
    json_t *content = json_object_get(given, "content");
    if (!fr_api_is(role, "user") && !fr_api_is(role, "assistant"))
        return fr_api_wrong(r->err, role, "user or assistant", "messages[%zu].role", r->message);
    if (!fr_json_is_text(content) && !json_is_array(content))
        return fr_api_wrong(r->err, content, "a string or a list of blocks",
                            "messages[%zu].content", r->message);
    json_t *message = json_pack("{s:O}", "role", role);
    if (!message) return fr_fail(r->err, FR_ENOMEM, "no memory for the messages");
    fr_status st = json_is_array(content)
                       ? add_blocks(r, content, message)
                       : fr_api_set(message, "content", json_incref(content), r->err);
    // One of results alone is none itself.
    if (!st && json_object_get(message, "content"))
        st = fr_api_append(r->messages, json_incref(message), r->err);
    json_decref(message);
    return st;
}

static fr_status add_system(const reader *r, json_t *system) {
    if (!system || json_is_null(system)) return FR_OK;
    if (!fr_json_is_text(system) && !json_is_array(system))
        return fr_api_wrong(r->err, system, "a string or a list of texts", "system");
    for (size_t i = 0; i < json_array_size(system); i++) {
        const json_t *block = json_array_get(system, i);
        if (!fr_api_is(json_object_get(block, "type"), "text") ||
            !fr_json_is_text(json_object_get(block, "text")))
            return fr_api_wrong(r->err, block, "{\"type\": \"text\", \"text\": ...}", "system[%zu]",
                                i);
    }
    json_t *message = json_pack("{s:s}", "role", "system");
    fr_status st = message ? FR_OK : fr_fail(r->err, FR_ENOMEM, "no memory for the messages");
    if (!st && json_is_string(system))
        st = fr_api_set(message, "content", json_incref(system), r->err);
    for (size_t i = 0; i < json_array_size(system) && !st; i++)
        st = fr_api_add_part(message, json_object_get(json_array_get(system, i), "text"), r->err);
    if (!st && json_object_get(message, "content"))
        st = fr_api_append(r->messages, json_incref(message), r->err);
    json_decref(message);
    return st;
}

static fr_status read_messages(json_t *root, const json_t *body, const fr_watch *watch,
                               fr_error *err) {
    const json_t *given = fr_api_member(body, "messages");
    reader r = {.messages = json_array(), .watch = watch, .err = err};
    fr_status st = fr_api_set(root, "messages", r.messages, err);
    if (st) return st;
    if (!json_is_array(given)) return fr_api_wrong(err, given, "a list", "messages");
    st = add_system(&r, json_object_get(body, "system"));
    for (; r.message < json_array_size(given) && !st; r.message++)
        if (!(st = fr_api_go_on(watch, r.message, err)))
            st = add_message(&r, json_array_get(given, r.message));
    return st ? st : fr_api_join_thinking(r.messages, err);
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

static fr_status read_all(json_t *root, const json_t *body, const fr_watch *watch, fr_error *err) {
    json_t *stop = json_object_get(body, "stop_sequences");
    json_t *user = json_object_get(json_object_get(body, "metadata"), "user_id");
    fr_status st = read_messages(root, body, watch, err);
    if (!st) st = fr_api_read_tools(root, body, "custom", true, "input_schema", err);
    if (!st) st = read_tool_choice(root, body, err);
    if (!st) st = read_thinking(root, body, err);
    if (!st && stop) st = fr_api_set(root, "stop", json_incref(stop), err);
    if (!st && user) st = fr_api_set(root, "user", json_incref(user), err);
    return st;
}

// Messages are counted otherwise: the system's is one more, those of results are others.
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
