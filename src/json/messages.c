// messages.c — makes a template's variables of a JSON conversation that is checked: messages with
// their calls first, then tools, flags and documents.
#include "json/messages.h"
#include "json/scan.h"
#include "json/template_values.h"
#include <string.h>

typedef struct builder {
    fr_jinja_values *v;
    const fr_chat_takes *takes;
    const fr_watch *watch;
    fr_error *err;
} builder;

static void put(const builder *b, fr_jinja_value to, const char *key, fr_jinja_value item) {
    fr_jinja_put(b->v, to, key, strlen(key), item);
}

static fr_jinja_value any(const builder *b, const json_t *value) {
    return fr_json_template_value(b->v, value);
}

static fr_status go_on(const builder *b) {
    return fr_jinja_values_go_on(b->v) ? FR_OK : fr_fail(b->err, FR_EINTR, "interrupted");
}

static bool is_key(const char *key, const char *name) {
    return !strcmp(key, name);
}

// ---- content -------------------------------------------------------------------------------

// The texts of a list of parts, joined by newlines.
static fr_status join_parts(const builder *b, const json_t *parts, fr_jinja_value *out) {
    fr_buffer text = {0};
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(parts) && !st; i++) {
        const json_t *body = json_object_get(json_array_get(parts, i), "text");
        if (i) st = fr_buffer_add(&text, "\n", 1, b->err);
        if (!st)
            st = fr_buffer_add(&text, json_string_value(body), json_string_length(body), b->err);
    }
    if (!st) *out = fr_jinja_string(b->v, text.data ? text.data : "", text.n, FR_MARK_MESSAGE);
    fr_buffer_free(&text);
    return st;
}

static fr_jinja_value as_list(const builder *b, fr_jinja_value text) {
    const fr_jinja_value part = fr_jinja_dict(b->v), parts = fr_jinja_list(b->v);
    put(b, part, "type", fr_jinja_string(b->v, "text", 4, FR_MARK_MESSAGE));
    put(b, part, "text", text);
    fr_jinja_append(b->v, parts, part);
    return parts;
}

// The bit of a role; 0: its content has the form of the user's.
static unsigned list_bit(const char *role) {
    if (!strcmp(role, "system")) return FR_LIST_SYSTEM;
    if (!strcmp(role, "assistant")) return FR_LIST_ASSISTANT;
    return strcmp(role, "tool") ? 0 : FR_LIST_TOOL;
}

// Several parts of the user's stay as they came where the template writes all of them. All else is
// one text, in the form that the role has: it gives the same prompt however it was sent.
static fr_status make_content(const builder *b, const json_t *content, const char *role,
                              bool has_calls, fr_jinja_value *out) {
    const fr_chat_takes *takes = b->takes;
    const unsigned bit = list_bit(role);
    const bool list = bit ? takes->lists & bit : takes->parts && !takes->text;
    const bool none = !content || json_is_null(content);
    const bool parts = !bit && takes->several_parts && json_array_size(content) > 1;
    fr_status st = FR_OK;
    *out = fr_jinja_none();
    if (none && has_calls && takes->null_content) return FR_OK;
    if (parts || fr_json_is_text(content))
        *out = any(b, content);
    else
        st = join_parts(b, content, out);
    if (!st && list && !parts) *out = as_list(b, *out);
    return st;
}

// ---- calls ---------------------------------------------------------------------------------

// Bounds the memory of arguments that are parsed from a string, by the bytes of that string. Else a short
// body could take far more than its own values.
static fr_status check_size(const builder *b, const char *json, size_t bytes) {
    enum { COPIES = 8, MORE = 16 << 20 };
    const fr_json_scan found = fr_json_look(json, bytes, true);
    if (found.depth > FR_JSON_MAX_NESTING || found.memory <= COPIES * bytes + MORE) return FR_OK;
    return fr_fail(
        b->err, FR_EARG,
        "messages: expected arguments of a call whose values take less than %zu MB, found "
        "%zu MB",
        (COPIES * bytes + MORE) >> 20, found.memory >> 20);
}

// The object in a string of arguments, as the API sends what a model wrote. *held NULL: they are no such
// string and are used as they are.
static fr_status arguments_in_string(const builder *b, const json_t *arguments, json_t **held) {
    const char *text = json_string_value(arguments);
    const size_t n = json_string_length(arguments);
    *held = NULL;
    if (!fr_json_is_text(arguments)) return FR_OK;
    const fr_status st = check_size(b, text, n);
    if (st) return st;
    fr_error why = {0};
    *held = fr_json_read(text, n, true, b->watch, &why);
    if (!*held && why.code == FR_ENOMEM) return fr_fail(b->err, FR_ENOMEM, "%s", why.text);
    if (*held && (!json_is_object(*held) || fr_json_check_depth(*held, NULL))) {
        json_decref(*held);
        *held = NULL;
    }
    return FR_OK;
}

// As JSON text, for templates that write arguments as they come.
static fr_status dumped(const builder *b, const json_t *value, fr_jinja_value *out) {
    fr_buffer text = {0};
    const fr_status st = fr_json_dump(&text, value, b->err);
    if (!st) *out = fr_jinja_string(b->v, text.data ? text.data : "", text.n, FR_MARK_MESSAGE);
    fr_buffer_free(&text);
    return st;
}

static fr_status make_arguments(const builder *b, const json_t *given, fr_jinja_value *out) {
    const bool none = !given || json_is_null(given);
    if (none || (fr_json_is_text(given) && !json_string_length(given))) {
        *out = fr_jinja_dict(b->v);
        return FR_OK;
    }
    if (json_is_object(given) && !b->takes->object_arguments && b->takes->text_arguments)
        return dumped(b, given, out);
    json_t *held = NULL;
    const fr_status st = b->takes->text_arguments ? FR_OK : arguments_in_string(b, given, &held);
    if (!st) *out = any(b, held ? held : given);
    json_decref(held);
    return st;
}

static fr_status make_function(const builder *b, const json_t *function, fr_jinja_value out) {
    json_t *o = (json_t *)function;
    fr_status st = FR_OK;
    for (void *it = json_object_iter(o); it && !st; it = json_object_iter_next(o, it)) {
        const char *key = json_object_iter_key(it);
        fr_jinja_value item = fr_jinja_none();
        if (is_key(key, "arguments"))
            st = make_arguments(b, json_object_iter_value(it), &item);
        else if (json_is_null(json_object_iter_value(it)))
            continue;
        else
            item = any(b, json_object_iter_value(it));
        put(b, out, key, item);
    }
    if (!st && !json_object_get(function, "arguments"))
        put(b, out, "arguments", fr_jinja_dict(b->v));
    return st;
}

// Name and arguments stand in its function, or in the call itself.
static fr_status make_call(const builder *b, const json_t *json, fr_jinja_value calls) {
    const json_t *function = json_object_get(json, "function");
    const fr_jinja_value out = fr_jinja_dict(b->v);
    fr_jinja_append(b->v, calls, out);
    if (!json_is_object(function)) return make_function(b, json, out);
    json_t *o = (json_t *)json;
    fr_status st = FR_OK;
    for (void *it = json_object_iter(o); it && !st; it = json_object_iter_next(o, it)) {
        const char *key = json_object_iter_key(it);
        const bool inner = is_key(key, "function");
        if (json_is_null(json_object_iter_value(it))) continue;
        const fr_jinja_value item =
            inner ? fr_jinja_dict(b->v) : any(b, json_object_iter_value(it));
        if (inner) st = make_function(b, function, item);
        put(b, out, key, item);
    }
    return st;
}

static fr_status make_calls(const builder *b, const json_t *calls, fr_jinja_value *out) {
    fr_status st = FR_OK;
    *out = fr_jinja_list(b->v);
    for (size_t i = 0; i < json_array_size(calls) && !st; i++)
        st = make_call(b, json_array_get(calls, i), *out);
    return st;
}

// ---- messages ------------------------------------------------------------------------------

typedef struct head { // what decides on the form of a message's content
    const char *role;
    bool has_calls;
} head;

// Members that are null, and an empty list of calls, are left out, because templates test their
// presence.
static bool is_left_out(const char *key, const json_t *value) {
    if (is_key(key, "content")) return false;
    return json_is_null(value) ||
           (is_key(key, "tool_calls") && json_is_array(value) && !json_array_size(value));
}

static fr_status make_member(const builder *b, const char *key, const json_t *value, const head *of,
                             fr_jinja_value out) {
    fr_jinja_value item = fr_jinja_none();
    fr_status st = FR_OK;
    if (is_left_out(key, value)) return FR_OK;
    if (is_key(key, "role")) {
        const char *role = json_string_value(value);
        const size_t n = json_string_length(value);
        item = fr_jinja_string(b->v, role, n, fr_chat_role_mark(role, n));
    } else if (is_key(key, "content")) {
        st = make_content(b, value, of->role, of->has_calls, &item);
    } else if (is_key(key, "tool_calls")) {
        st = make_calls(b, value, &item);
    } else {
        item = any(b, value);
    }
    put(b, out, key, item);
    return st;
}

static fr_status make_message(const builder *b, const json_t *json, fr_jinja_value messages) {
    const fr_jinja_value out = fr_jinja_dict(b->v);
    const head of = {.role = json_string_value(json_object_get(json, "role")),
                     .has_calls = json_array_size(json_object_get(json, "tool_calls")) > 0};
    json_t *o = (json_t *)json;
    fr_status st = FR_OK;
    for (void *it = json_object_iter(o); it && !st; it = json_object_iter_next(o, it))
        st = make_member(b, json_object_iter_key(it), json_object_iter_value(it), &of, out);
    if (!st && !json_object_get(json, "content")) // as null
        st = make_member(b, "content", NULL, &of, out);
    fr_jinja_append(b->v, messages, out);
    return st;
}

static fr_status make_messages(const builder *b, const json_t *messages) {
    const fr_jinja_value list = fr_jinja_list(b->v);
    fr_status st = fr_json_check_messages(messages, b->err);
    for (size_t i = 0; i < json_array_size(messages) && !st; i++)
        if (!(st = go_on(b))) st = make_message(b, json_array_get(messages, i), list);
    if (!st) fr_jinja_set(b->v, "messages", list);
    return st;
}

// ---- tools, flags, documents -----------------------------------------------------------------

static fr_status make_tools(const builder *b, const json_t *tools, fr_json_chat *out) {
    const size_t n = json_array_size(tools);
    const fr_jinja_value list = fr_jinja_list(b->v);
    const fr_status st = fr_json_check_tools(tools, b->err);
    if (st || !n) return st;
    for (size_t i = 0; i < n; i++)
        fr_jinja_append(b->v, list,
                        fr_json_tool_value(b->v, json_array_get(tools, i),
                                           b->takes->lacks & FR_LACKS_BARE_TOOLS,
                                           b->takes->lacks & FR_LACKS_NO_PROPERTIES));
    out->request.has_tools = true;
    fr_jinja_set(b->v, "tools", list);
    return FR_OK;
}

static fr_status optional_flag(const json_t *root, const char *key, bool *out, fr_error *err) {
    const json_t *value = json_object_get(root, key);
    if (!value || json_is_null(value)) return FR_OK;
    if (!json_is_boolean(value)) return fr_fail(err, FR_EARG, "%s: expected true or false", key);
    *out = json_is_true(value);
    return FR_OK;
}

static fr_status make_variables(const builder *b, const json_t *root, fr_chat_request *request) {
    json_t *more = json_object_get(root, "chat_template_kwargs");
    const json_t *variable = json_object_get(more, "enable_thinking");
    bool thinking = true;
    const fr_status st = optional_flag(root, "enable_thinking", &thinking, b->err);
    if (st) return st;
    request->no_thinking = variable ? json_is_false(variable) : !thinking;
    if (!thinking) fr_jinja_set(b->v, "enable_thinking", fr_jinja_bool(false));
    if (!more || json_is_null(more)) return FR_OK;
    if (!json_is_object(more))
        return fr_fail(b->err, FR_EARG, "chat_template_kwargs: expected an object");
    for (void *it = json_object_iter(more); it; it = json_object_iter_next(more, it))
        fr_jinja_set(b->v, json_object_iter_key(it), any(b, json_object_iter_value(it)));
    return FR_OK;
}

// The body's own, or the variable of that name, which goes first.
static fr_status make_documents(const builder *b, const json_t *root) {
    const json_t *more = json_object_get(root, "chat_template_kwargs");
    const json_t *own = json_object_get(root, "documents");
    const json_t *variable = json_object_get(more, "documents");
    const json_t *used = variable && !json_is_null(variable) ? variable : own;
    fr_status st = fr_json_check_documents(own, "documents", b->err);
    if (!st) st = fr_json_check_documents(variable, "chat_template_kwargs.documents", b->err);
    if (!st) fr_jinja_set(b->v, "documents", used ? any(b, used) : fr_jinja_none());
    return st;
}

// ---- all -----------------------------------------------------------------------------------

// Of what a template finds: other members are not read here.
static fr_status check_depths(const json_t *root, fr_error *err) {
    static const char *const members[] = {"messages", "tools", "documents", "chat_template_kwargs"};
    fr_status st = json_is_object(root) ? FR_OK : fr_json_check_depth(root, err);
    for (size_t i = 0; i < sizeof members / sizeof *members && !st; i++)
        st = fr_json_check_depth(json_object_get(root, members[i]), err);
    return st;
}

bool fr_json_has_tools(const json_t *root) {
    return json_array_size(json_object_get(root, "tools")) > 0;
}

fr_status fr_json_chat_from(fr_json_chat *out, const json_t *root, const fr_chat_takes *takes,
                            const fr_watch *watch, fr_error *err) {
    *out = (fr_json_chat){.request = {.add_generation_prompt = true, .watch = watch}};
    fr_status st = check_depths(root, err);
    if (!st) st = fr_jinja_values_open(&out->request.values, err);
    if (st) return st;
    fr_jinja_values_watch(out->request.values, watch);
    const builder b = {out->request.values, takes, watch, err};
    if (!json_is_array(root) && !json_is_object(root))
        return fr_fail(err, FR_EARG, "messages: expected a list, or an object with \"messages\"");
    if (json_is_object(root)) st = make_variables(&b, root, &out->request);
    fr_jinja_set(b.v, "tools", takes->no_tools_as_list ? fr_jinja_list(b.v) : fr_jinja_none());
    if (!st) st = make_documents(&b, root);
    if (!st) st = make_messages(&b, json_is_array(root) ? root : json_object_get(root, "messages"));
    if (!st && json_is_object(root)) st = make_tools(&b, json_object_get(root, "tools"), out);
    if (!st && json_is_object(root))
        st = optional_flag(root, "add_generation_prompt", &out->request.add_generation_prompt, err);
    return st ? st : go_on(&b);
}

void fr_json_chat_close(fr_json_chat *chat) {
    fr_jinja_values_close(chat->request.values);
    *chat = (fr_json_chat){0};
}
