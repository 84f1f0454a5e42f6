// response_tools.c — tools of OpenAI's responses as functions. A custom tool, which takes any
// text, becomes a function of one text. Tools that OpenAI would run are left out.
#include "api/translate.h"
#include "api/value.h"
#include <string.h>

#define CUSTOM_INPUT                                                                               \
    "{\"type\": \"object\", \"properties\": {\"input\": {\"type\": \"string\", \"description\": "  \
    "\"The whole input, as a text.\"}}, \"required\": [\"input\"]}"

enum { MAX_NESTED = 4 }; // namespaces inside one another

typedef struct reader {
    json_t *tools;
    fr_error *err;
    const char *list; // path of the current list
} reader;

// Appends the grammar of a custom tool's input.
static fr_status add_format(fr_buffer *text, const json_t *format, fr_error *err) {
    const json_t *syntax = fr_api_member(format, "syntax"),
                 *is = fr_api_member(format, "definition");
    fr_status st = FR_OK;
    if (!fr_json_is_text(is)) return FR_OK;
    if (text->n) st = fr_buffer_add(text, "\n\n", 2, err);
    if (!st) st = fr_buffer_add(text, "The input is a text of this grammar", 35, err);
    if (!st && fr_json_is_text(syntax)) {
        st = fr_buffer_add(text, " (", 2, err);
        if (!st)
            st = fr_buffer_add(text, json_string_value(syntax), json_string_length(syntax), err);
        if (!st) st = fr_buffer_add(text, ")", 1, err);
    }
    if (!st) st = fr_buffer_add(text, ":\n", 2, err);
    return st ? st : fr_buffer_add(text, json_string_value(is), json_string_length(is), err);
}

static fr_status add_custom(const reader *r, const json_t *tool, const json_t *name) {
    const json_t *given = fr_api_member(tool, "description");
    fr_buffer text = {0};
    fr_status st = FR_OK;
    if (fr_json_is_text(given))
        st = fr_buffer_add(&text, json_string_value(given), json_string_length(given), r->err);
    if (!st) st = add_format(&text, fr_api_member(tool, "format"), r->err);
    json_t *about = text.n ? json_stringn(text.data, text.n) : NULL,
           *input = fr_json_load(CUSTOM_INPUT, sizeof CUSTOM_INPUT - 1, NULL);
    if (!st)
        st = input && (about || !text.n) ? fr_api_add_tool(r->tools, name, about, input, r->err)
                                         : fr_fail(r->err, FR_ENOMEM, "no memory for the tools");
    json_decref(about);
    json_decref(input);
    fr_buffer_free(&text);
    return st;
}

static fr_status add_tools(const reader *r, const json_t *given, int depth);

static fr_status add_tool(const reader *r, const json_t *tool, size_t i, int depth) {
    const json_t *type = fr_api_member(tool, "type"), *name = fr_api_member(tool, "name");
    const bool custom = fr_api_is(type, "custom"), function = fr_api_is(type, "function");
    if (!fr_json_is_text(type))
        return fr_api_wrong(r->err, type, "a string", "%s[%zu].type", r->list, i);
    if (fr_api_is(type, "namespace")) return add_tools(r, fr_api_member(tool, "tools"), depth + 1);
    if (!custom && !function) return FR_OK; // OpenAI's own
    if (!fr_json_is_text(name))
        return fr_api_wrong(r->err, name, "a string", "%s[%zu].name", r->list, i);
    if (custom) return add_custom(r, tool, name);
    return fr_api_add_tool(r->tools, name, json_object_get(tool, "description"),
                           json_object_get(tool, "parameters"), r->err);
}

static fr_status add_tools(const reader *r, const json_t *given, int depth) {
    fr_status st = FR_OK;
    if (!given) return FR_OK;
    if (!json_is_array(given)) return fr_api_wrong(r->err, given, "a list", "%s", r->list);
    if (depth > MAX_NESTED)
        return fr_fail(r->err, FR_EARG, "%s: expected at most %d namespaces inside one another",
                       r->list, MAX_NESTED);
    for (size_t i = 0; i < json_array_size(given) && !st; i++)
        st = add_tool(r, json_array_get(given, i), i, depth);
    return st;
}

// Items that bring tools in the middle of a conversation.
static bool brings_tools(const json_t *item) {
    const json_t *type = fr_api_member(item, "type");
    return fr_api_is(type, "additional_tools") || fr_api_is(type, "tool_search_output");
}

fr_status fr_api_read_response_tools(json_t *root, const json_t *body, fr_error *err) {
    const json_t *input = fr_api_member(body, "input");
    reader r = {.tools = json_array(), .err = err, .list = "tools"};
    fr_status st = r.tools ? add_tools(&r, fr_api_member(body, "tools"), 0)
                           : fr_fail(err, FR_ENOMEM, "no memory for the tools");
    r.list = "input: tools";
    for (size_t i = 0; i < json_array_size(input) && !st; i++)
        if (brings_tools(json_array_get(input, i)))
            st = add_tools(&r, fr_api_member(json_array_get(input, i), "tools"), 0);
    if (!st && json_array_size(r.tools)) st = fr_api_set(root, "tools", json_incref(r.tools), err);
    json_decref(r.tools);
    return st;
}

// ---------------------------------------------------------------- in answers

// The tool of that name; *space: the name of the namespace that it is in.
static const json_t *find(const json_t *tools, const char *name, const json_t **space, int depth) {
    for (size_t i = 0; i < json_array_size(tools) && depth <= MAX_NESTED; i++) {
        const json_t *tool = json_array_get(tools, i);
        if (!fr_api_is(fr_api_member(tool, "type"), "namespace")) {
            if (fr_api_is(fr_api_member(tool, "name"), name)) return tool;
            continue;
        }
        const json_t *inner = find(fr_api_member(tool, "tools"), name, space, depth + 1);
        if (inner && !*space) *space = fr_api_member(tool, "name");
        if (inner) return inner;
    }
    return NULL;
}

const json_t *fr_api_response_tool(const json_t *body, const char *name, const json_t **space) {
    const json_t *input = fr_api_member(body, "input"), *tool;
    *space = NULL;
    tool = find(fr_api_member(body, "tools"), name, space, 0);
    for (size_t i = 0; i < json_array_size(input) && !tool; i++)
        if (brings_tools(json_array_get(input, i)))
            tool = find(fr_api_member(json_array_get(input, i), "tools"), name, space, 0);
    return tool;
}
