// items.c — the items of OpenAI's responses as messages of a chat. Items of the assistant that
// follow each other (thinking, text, calls) become one message.
#include "api/translate.h"
#include "api/value.h"
#include <string.h>

typedef struct reader {
    json_t *messages;
    const fr_watch *watch;
    fr_error *err;
    size_t item;    // the number of the current item
    size_t results; // where the results begin that no other item follows
} reader;

static const json_t *text_member(const reader *r, const json_t *item, const char *name) {
    const json_t *value = fr_api_member(item, name);
    if (fr_json_is_text(value)) return value;
    fr_api_wrong(r->err, value, "a string", "input[%zu].%s", r->item, name);
    return NULL;
}

// The last message if it is the assistant's, else a new one. NULL: FR_ENOMEM, in r->err.
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
    // Without text (it is encrypted) it would be an empty message.
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

// The value as JSON, in a string. FR_EARG: it is nested too deep; FR_ENOMEM.
static fr_status dump(const reader *r, const json_t *value, json_t **out) {
    fr_buffer text = {0};
    fr_status st = fr_json_dump(&text, value, r->err);
    *out = st ? NULL : json_stringn(text.data, text.n);
    if (!st && !*out) st = fr_fail(r->err, FR_ENOMEM, "no memory for the messages");
    fr_buffer_free(&text);
    return st;
}

// {"input": TEXT}, as such a tool is offered.
static fr_status add_custom_call(const reader *r, const json_t *item) {
    const json_t *name = text_member(r, item, "name"),
                 *input = name ? text_member(r, item, "input") : NULL;
    if (!input) return FR_EARG;
    json_t *object = json_pack("{s:O}", "input", input), *arguments;
    fr_status st = object ? dump(r, object, &arguments)
                          : fr_fail(r->err, FR_ENOMEM, "no memory for the messages");
    json_decref(object);
    return st ? st : add_call_of(r, item, name, arguments);
}

// A call of a tool that has a kind of item to itself. The tool has the name of that kind.
static fr_status add_own_call(const reader *r, const json_t *item, const char *member) {
    const json_t *type = fr_api_member(item, "type"), *given = fr_api_member(item, member);
    json_t *name =
        json_stringn(json_string_value(type), json_string_length(type) - strlen("_call"));
    json_t *arguments = json_string("{}");
    fr_status st =
        name && arguments ? FR_OK : fr_fail(r->err, FR_ENOMEM, "no memory for the messages");
    if (!st && json_is_object(given)) {
        json_decref(arguments);
        st = dump(r, given, &arguments);
    }
    if (!st) st = add_call_of(r, item, name, json_incref(arguments));
    json_decref(arguments);
    json_decref(name);
    return st;
}

// ---------------------------------------------------------------- results

static fr_status add_output_part(const reader *r, const json_t *part, size_t i, json_t *message) {
    const json_t *text = text_of(part);
    if (text) return fr_api_add_part(message, text, r->err);
    if (r->item < r->results)
        return fr_api_append(json_object_get(message, "content"), fr_api_left_out_part(part),
                             r->err);
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
    // A shell's output is a list of another form.
    json_t *text;
    st = dump(r, output, &text);
    return st ? st : fr_api_set(message, "content", text, r->err);
}

// ---------------------------------------------------------------- items

typedef fr_status item_fn(const reader *r, const json_t *item);

static fr_status skip(const reader *r, const json_t *item) {
    (void)r, (void)item;
    return FR_OK;
}

static fr_status add_shell(const reader *r, const json_t *item) {
    return add_own_call(r, item, "action");
}

static fr_status add_patch(const reader *r, const json_t *item) {
    return add_own_call(r, item, "operation");
}

// Items of tools that OpenAI runs are skipped, because the message after them has their results.
// Items that define tools are read with the body's own tools (response_tools.c).
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
        .messages = messages, .watch = watch, .err = err, .results = json_array_size(input)};
    fr_status st = FR_OK;
    while (r.results && is_output(json_array_get(input, r.results - 1)))
        r.results--;
    for (; r.item < json_array_size(input) && !st; r.item++)
        if (!(st = fr_api_go_on(watch, r.item, err)))
            st = add_item(&r, json_array_get(input, r.item));
    return st ? st : fr_api_join_thinking(messages, err);
}
