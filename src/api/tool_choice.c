// tool_choice.c — the tools that a chat offers: all, none, or those that are allowed. A call
// cannot be forced.
#include "api/fields.h"
#include "api/value.h"
#include <string.h>

// All have to be functions with a name. Tools that OpenAI would run are not.
static fr_status check_tools(const json_t *tools, fr_error *err) {
    if (tools && !json_is_array(tools)) return fr_api_wrong(err, tools, "a list", "tools");
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i), *type = fr_api_member(tool, "type");
        const json_t *name = fr_api_member(fr_api_member(tool, "function"), "name");
        if (!json_is_object(tool)) return fr_api_wrong(err, tool, "an object", "tools[%zu]", i);
        if (type && !fr_api_is(type, "function"))
            return fr_api_wrong(err, type, "function", "tools[%zu].type", i);
        if (!fr_json_is_text(name) || !json_string_length(name))
            return fr_api_wrong(err, name, "a name", "tools[%zu].function.name", i);
    }
    return FR_OK;
}

static fr_status no_memory(fr_error *err) {
    return fr_fail(err, FR_ENOMEM, "no memory for the tools");
}

// The name of an allowed tool: beside its type, or in the member that has the type's name. NULL: it
// has none, as tools of other kinds.
static const json_t *allowed_name(const json_t *allowed) {
    const char *type = fr_api_text(fr_api_member(allowed, "type"));
    const json_t *name = fr_api_member(allowed, "name");
    return name || !type ? name : fr_api_member(fr_api_member(allowed, type), "name");
}

// Collects the names of the list as keys, with their places in it.
static fr_status read_allowed(json_t *names, const json_t *list, fr_error *err) {
    if (!json_is_array(list)) return fr_api_wrong(err, list, "a list", "tool_choice.tools");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *allowed = json_array_get(list, i), *name = allowed_name(allowed);
        if (!json_is_object(allowed))
            return fr_api_wrong(err, allowed, "an object", "tool_choice.tools[%zu]", i);
        if (!name) continue;
        if (!fr_json_is_text(name))
            return fr_api_wrong(err, name, "a string", "tool_choice.tools[%zu].name", i);
        if (json_object_setn_new(names, json_string_value(name), json_string_length(name),
                                 json_integer((json_int_t)i)))
            return no_memory(err);
    }
    return FR_OK;
}

// Appends the tools whose names are listed to `kept`. FR_EARG: a name is no tool's.
static fr_status keep_allowed(json_t *kept, const json_t *tools, json_t *names, fr_error *err) {
    json_t *seen = json_object();
    fr_status st = seen ? FR_OK : no_memory(err);
    for (size_t i = 0; i < json_array_size(tools) && !st; i++) {
        json_t *tool = json_array_get(tools, i);
        const json_t *name = json_object_get(json_object_get(tool, "function"), "name");
        const char *text = json_string_value(name);
        const size_t n = json_string_length(name);
        if (!json_object_getn(names, text, n)) continue;
        if (json_array_append(kept, tool) || json_object_setn_new(seen, text, n, json_true()))
            st = no_memory(err);
    }
    const char *name;
    json_t *at;
    json_object_foreach(names, name, at) {
        if (st || json_object_get(seen, name)) continue;
        st = fr_fail(err, FR_EARG,
                     "tool_choice.tools[%d].name: expected one of the tools, found "
                     "\"%.60s\"",
                     (int)json_integer_value(at), name);
    }
    json_decref(seen);
    return st;
}

// The body stays as it came: the request gets a copy with other tools.
static fr_status allow(fr_api_request *r, const json_t *list, fr_error *err) {
    json_t *names = json_object(), *kept = json_array(), *root = fr_json_copy(r->root);
    fr_status st = names && kept && root ? read_allowed(names, list, err) : no_memory(err);
    if (!st) st = keep_allowed(kept, fr_api_member(r->root, "tools"), names, err);
    if (!st && json_object_set(root, "tools", kept)) st = no_memory(err);
    if (!st) {
        json_decref(r->root);
        r->root = json_incref(root);
        r->tools = json_array_size(kept) > 0;
    }
    json_decref(names);
    json_decref(kept);
    json_decref(root);
    return st;
}

static fr_status cannot_force(fr_error *err) {
    return fr_fail(err, FR_EARG,
                   "tool_choice: a call cannot be forced here: expected auto or none");
}

// {"type": "allowed_tools", "mode", "tools"}, or the last two in a member "allowed_tools".
static fr_status read_list(fr_api_request *r, const json_t *choice, fr_error *err) {
    const json_t *nested = fr_api_member(choice, "allowed_tools");
    const json_t *from = json_is_object(nested) ? nested : choice;
    const json_t *mode = fr_api_member(from, "mode");
    if (fr_api_is(mode, "required")) return cannot_force(err);
    if (mode && !fr_api_is(mode, "auto"))
        return fr_api_wrong(err, mode, "auto", "tool_choice.mode");
    return allow(r, fr_api_member(from, "tools"), err);
}

fr_status fr_api_read_tools(fr_api_request *r, fr_error *err) {
    const json_t *tools = fr_api_member(r->root, "tools");
    const json_t *choice = fr_api_member(r->root, "tool_choice");
    const json_t *type = json_is_object(choice) ? fr_api_member(choice, "type") : choice;
    if (r->kind != FR_API_CHAT) return FR_OK;
    const fr_status st = check_tools(tools, err);
    if (st) return st;
    r->tools = json_array_size(tools) > 0;
    if (!choice || fr_api_is(type, "auto")) return FR_OK;
    if (fr_api_is(type, "none")) {
        r->tools = false;
        return FR_OK;
    }
    if (json_is_object(choice) && fr_api_is(type, "allowed_tools"))
        return read_list(r, choice, err);
    if (fr_api_is(type, "required") || json_is_object(choice)) return cannot_force(err);
    return fr_api_wrong(err, choice, "auto or none", "tool_choice");
}
