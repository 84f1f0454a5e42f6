// items.c — the items of OpenAI's responses as messages of a chat. What an assistant gave in items
// that follow each other (thinking, text, calls) becomes one message again.
#include "api/translate.h"
#include "api/value.h"
#include <string.h>

typedef struct reader {
    json_t *messages;
    const fr_watch *watch;
    fr_error *err;
    size_t item;     // at hand
    size_t answered; // from here on there are results alone: nobody has gone on after them
} reader;

static const json_t *text_member(const reader *r, const json_t *item, const char *name) {
    const json_t *value = fr_api_member(item, name);
    if (fr_json_is_text(value)) return value;
    fr_api_wrong(r->err, value, "a string", "input[%zu].%s", r->item, name);
    return NULL;
}

// The assistant's message that the last items made up; a new one after any other. NULL: no memory,
// which was said.
static json_t *assistant(const reader *r) {
    const size_t n = json_array_size(r->messages);
    json_t *last = json_array_get(r->messages, n ? n - 1 : 0);
    if (n && fr_api_is(json_object_get(last, "role"), "assistant")) return last;
    json_t *message = json_pack("{s:s, s:n}", "role", "assistant", "content");
    return fr_api_append(r->messages, message, r->err) ? NULL : message;
}

// ---------------------------------------------------------------- texts

// The text of a part; NULL: it is something else.
static const json_t *text_of(const json_t *part) {
    static const char *const types[] = {"input_text", "output_text", "text", "summary_text",
                                        "reasoning_text"};
    const json_t *type = json_object_get(part, "type"), *text = json_object_get(part, "text");
    if (fr_api_is(type, "refusal")) text = json_object_get(part, "refusal");
    bool known = fr_api_is(type, "refusal");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        known |= fr_api_is(type, types[i]);
    return known && fr_json_is_text(text) ? text : NULL;
}

typedef fr_status add_fn(json_t *message, const json_t *text, fr_error *err);

// Adds a member of the item, a text or a list of texts, to a message.
static fr_status add_texts(const reader *r, const json_t *item, const char *name, add_fn *add,
                           json_t *message) {
    const json_t *content = fr_api_member(item, name);
    if (fr_json_is_text(content)) return add(message, content, r->err);
    if (!json_is_array(content))
        return fr_api_wrong(r->err, content, "a string or a list of texts", "input[%zu].%s",
                            r->item, name);
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(content) && !st; i++) {
        const json_t *part = json_array_get(content, i), *text = text_of(part);
        if ((st = fr_api_go_on(r->watch, i, r->err))) return st;
        if (!text)
            return fr_api_wrong(r->err, json_object_get(part, "type"), "a text",
                                "input[%zu].%s[%zu].type", r->item, name, i);
        st = add(message, text, r->err);
    }
    return st;
}

static fr_status add_message(const reader *r, const json_t *item) {
    const json_t *role = text_member(r, item, "role");
    json_t *message;
    if (!role) return FR_EARG;
    if (fr_api_is(role, "assistant")) {
        if (!(message = assistant(r))) return FR_ENOMEM;
    } else {
        message = json_pack("{s:O}", "role", role);
        const fr_status st = fr_api_append(r->messages, message, r->err);
        if (st) return st;
    }
    return add_texts(r, item, "content", fr_api_add_part, message);
}

static fr_status add_reasoning(const reader *r, const json_t *item) {
    const json_t *summary = fr_api_member(item, "summary");
    const bool whole = json_array_size(json_object_get(item, "content"));
    // Without text (it is encrypted) it would be a message that says nothing.
    if (!whole && (!summary || (json_is_array(summary) && !json_array_size(summary)))) return FR_OK;
    json_t *message = assistant(r);
    if (!message) return FR_ENOMEM;
    return add_texts(r, item, whole ? "content" : "summary", fr_api_add_thinking, message);
}

// ---------------------------------------------------------------- calls

// Takes the arguments, a JSON text.
static fr_status add_call_of(const reader *r, const json_t *item, const json_t *name,
                             json_t *arguments) {
    const json_t *id = fr_api_member(item, "call_id");
    if (!fr_json_is_text(id)) id = text_member(r, item, "id");
    json_t *message = id ? assistant(r) : NULL;
    if (message) return fr_api_add_call(message, id, name, arguments, r->err);
    json_decref(arguments);
    return r->err->code;
}

static fr_status add_call(const reader *r, const json_t *item) {
    const json_t *id = text_member(r, item, "call_id");
    const json_t *name = id ? text_member(r, item, "name") : NULL;
    const json_t *arguments = name ? text_member(r, item, "arguments") : NULL;
    if (!arguments) return FR_EARG;
    return add_call_of(r, item, name, json_incref((json_t *)(uintptr_t)arguments));
}

// A JSON text of an object, which is taken. NULL: no memory, which was said.
static json_t *dumped(const reader *r, json_t *object) {
    fr_buffer text = {0};
    json_t *out = NULL;
    if (!object)
        fr_fail(r->err, FR_ENOMEM, "no memory for the messages");
    else if (!fr_json_dump(&text, object, r->err))
        out = json_stringn(text.data, text.n);
    fr_buffer_free(&text);
    json_decref(object);
    return out;
}

// {"input": TEXT}, as such a tool is offered.
static fr_status add_custom_call(const reader *r, const json_t *item) {
    const json_t *name = text_member(r, item, "name"),
                 *input = name ? text_member(r, item, "input") : NULL;
    json_t *arguments = input ? dumped(r, json_pack("{s:O}", "input", input)) : NULL;
    return arguments ? add_call_of(r, item, name, arguments) : r->err->code;
}

// A call of a tool that has a kind of item to itself, by the name of that kind.
static fr_status add_own_call(const reader *r, const json_t *item, const char *type,
                              const char *member) {
    const json_t *given = fr_api_member(item, member);
    json_t *name = json_stringn(type, strlen(type) - strlen("_call")),
           *arguments = dumped(r, json_is_object(given) ? json_copy((json_t *)(uintptr_t)given)
                                                        : json_object());
    const fr_status st = arguments && name ? add_call_of(r, item, name, arguments) : r->err->code;
    json_decref(name);
    return st;
}

// ---------------------------------------------------------------- what tools gave

static fr_status add_output_part(const reader *r, const json_t *part, size_t i, json_t *message) {
    const json_t *text = text_of(part);
    if (text) return fr_api_add_part(message, text, r->err);
    if (r->item < r->answered)
        return fr_api_append(json_object_get(message, "content"), fr_api_told_part(part), r->err);
    const char *type = fr_api_text(fr_api_member(part, "type"));
    return fr_fail(r->err, FR_EARG, "input[%zu].output[%zu]: only text is read here, found %.40s",
                   r->item, i, type ? type : "something else");
}

static bool has_text_parts(const json_t *output) {
    const json_t *first = json_array_get(output, 0);
    return fr_api_member(first, "type");
}

static fr_status add_output(const reader *r, const json_t *item) {
    const json_t *id = fr_api_member(item, "call_id"), *output = fr_api_member(item, "output");
    const json_t *inner = fr_api_member(output, "content");
    if (!fr_json_is_text(id) && !(id = text_member(r, item, "call_id"))) return FR_EARG;
    json_t *message = json_pack("{s:s, s:O, s:[]}", "role", "tool", "tool_call_id", id, "content");
    fr_status st = fr_api_append(r->messages, message, r->err);
    if (st) return st;
    if (fr_json_is_text(inner)) output = inner; // older clients: {"content", "success"}
    if (fr_json_is_text(output))
        return fr_api_set(message, "content", json_incref((json_t *)(uintptr_t)output), r->err);
    if (json_is_array(output) && (has_text_parts(output) || !json_array_size(output))) {
        for (size_t i = 0; i < json_array_size(output) && !st; i++)
            if (!(st = fr_api_go_on(r->watch, i, r->err)))
                st = add_output_part(r, json_array_get(output, i), i, message);
        return st;
    }
    if (fr_api_is(fr_api_member(item, "type"), "function_call_output") || !output)
        return fr_api_wrong(r->err, output, "a string or a list of texts", "input[%zu].output",
                            r->item);
    // Of a shell: a list of what commands gave, in a form of its own.
    json_t *told = dumped(r, json_copy((json_t *)(uintptr_t)output));
    return told ? fr_api_set(message, "content", told, r->err) : r->err->code;
}

// ---------------------------------------------------------------- items

typedef fr_status item_fn(const reader *r, const json_t *item);

static fr_status skip(const reader *r, const json_t *item) {
    (void)r, (void)item;
    return FR_OK;
}

static fr_status add_shell(const reader *r, const json_t *item) {
    return add_own_call(r, item, json_string_value(fr_api_member(item, "type")), "action");
}

static fr_status add_patch(const reader *r, const json_t *item) {
    return add_own_call(r, item, json_string_value(fr_api_member(item, "type")), "operation");
}

// What OpenAI's own tools did is told by the message after it; tools that items bring are read
// beside the body's.
static const struct {
    const char *type;
    item_fn *add;
} ITEMS[] = {
    {"message", add_message},
    {"reasoning", add_reasoning},
    {"function_call", add_call},
    {"function_call_output", add_output},
    {"custom_tool_call", add_custom_call},
    {"custom_tool_call_output", add_output},
    {"local_shell_call", add_shell},
    {"local_shell_call_output", add_output},
    {"shell_call", add_shell},
    {"shell_call_output", add_output},
    {"apply_patch_call", add_patch},
    {"apply_patch_call_output", add_output},
    {"additional_tools", skip},
    {"tool_search_call", skip},
    {"tool_search_output", skip},
    {"web_search_call", skip},
    {"file_search_call", skip},
    {"code_interpreter_call", skip},
    {"image_generation_call", skip},
    {"mcp_list_tools", skip},
};

static fr_status add_item(const reader *r, const json_t *item) {
    const json_t *type = fr_api_member(item, "type");
    if (!type) return add_message(r, item);
    for (size_t i = 0; i < sizeof ITEMS / sizeof *ITEMS; i++)
        if (fr_api_is(type, ITEMS[i].type)) return ITEMS[i].add(r, item);
    return fr_api_wrong(r->err, type, "message, reasoning, a call or what it gave",
                        "input[%zu].type", r->item);
}

static bool is_output(const json_t *item) {
    const char *type = fr_api_text(fr_api_member(item, "type"));
    const size_t n = type ? strlen(type) : 0, of = strlen("_output");
    return n > of && !strcmp(type + n - of, "_output");
}

fr_status fr_api_read_items(const json_t *input, json_t *messages, const fr_watch *watch,
                            fr_error *err) {
    reader r = {
        .messages = messages, .watch = watch, .err = err, .answered = json_array_size(input)};
    fr_status st = FR_OK;
    while (r.answered && is_output(json_array_get(input, r.answered - 1)))
        r.answered--;
    for (; r.item < json_array_size(input) && !st; r.item++)
        if (!(st = fr_api_go_on(watch, r.item, err)))
            st = add_item(&r, json_array_get(input, r.item));
    return st ? st : fr_api_join_thinking(messages, err);
}
