// responses.c — OpenAI's responses as a chat request. What an assistant gave in items one behind the
// other (thinking, text, calls) becomes one message again.
#include "api/translate.h"
#include "api/value.h"

typedef struct reader {
    json_t *messages;
    const fr_watch *watch;
    fr_error *err;
    size_t item; // at hand
} reader;

// ---------------------------------------------------------------- items

static const json_t *text_member(const reader *r, const json_t *item, const char *name) {
    const json_t *value = fr_api_member(item, name);
    if (fr_json_is_text(value)) return value;
    fr_api_wrong(r->err, value, "a string", "input[%zu].%s", r->item, name);
    return NULL;
}

// The assistant's message that the last items made up; a new one behind any other. NULL: no memory,
// which was said.
static json_t *assistant(const reader *r) {
    const size_t n = json_array_size(r->messages);
    json_t *last = json_array_get(r->messages, n ? n - 1 : 0);
    if (n && fr_api_is(json_object_get(last, "role"), "assistant")) return last;
    json_t *message = json_pack("{s:s, s:n}", "role", "assistant", "content");
    return fr_api_append(r->messages, message, r->err) ? NULL : message;
}

static bool is_text_part(const json_t *part) {
    static const char *const types[] = {"input_text", "output_text", "text", "summary_text",
                                        "reasoning_text"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (fr_api_is(json_object_get(part, "type"), types[i]))
            return fr_json_is_text(json_object_get(part, "text"));
    return false;
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
        const json_t *part = json_array_get(content, i);
        if ((st = fr_api_go_on(r->watch, i, r->err))) return st;
        if (!is_text_part(part))
            return fr_api_wrong(r->err, json_object_get(part, "type"), "a text",
                                "input[%zu].%s[%zu].type", r->item, name, i);
        st = add(message, json_object_get(part, "text"), r->err);
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

static fr_status add_call(const reader *r, const json_t *item) {
    const json_t *id = text_member(r, item, "call_id");
    const json_t *name = id ? text_member(r, item, "name") : NULL;
    const json_t *arguments = name ? text_member(r, item, "arguments") : NULL;
    if (!arguments) return FR_EARG;
    json_t *message = assistant(r);
    if (!message) return FR_ENOMEM;
    return fr_api_add_call(message, id, name, json_incref((json_t *)arguments), r->err);
}

static fr_status add_output(const reader *r, const json_t *item) {
    const json_t *id = text_member(r, item, "call_id");
    if (!id) return FR_EARG;
    json_t *message = json_pack("{s:s, s:O}", "role", "tool", "tool_call_id", id);
    const fr_status st = fr_api_append(r->messages, message, r->err);
    return st ? st : add_texts(r, item, "output", fr_api_add_part, message);
}

static fr_status add_item(const reader *r, const json_t *item) {
    const json_t *type = fr_api_member(item, "type");
    if (!type || fr_api_is(type, "message")) return add_message(r, item);
    if (fr_api_is(type, "reasoning")) return add_reasoning(r, item);
    if (fr_api_is(type, "function_call")) return add_call(r, item);
    if (fr_api_is(type, "function_call_output")) return add_output(r, item);
    return fr_api_wrong(r->err, type, "message, reasoning, function_call or function_call_output",
                        "input[%zu].type", r->item);
}

static fr_status read_input(json_t *root, const json_t *body, const fr_watch *watch,
                            fr_error *err) {
    const json_t *input = fr_api_member(body, "input");
    const json_t *instructions = fr_api_member(body, "instructions");
    reader r = {.messages = json_array(), .watch = watch, .err = err};
    fr_status st = fr_api_set(root, "messages", r.messages, err);
    if (st) return st;
    if (instructions && !fr_json_is_text(instructions))
        return fr_api_wrong(err, instructions, "a string", "instructions");
    if (!fr_json_is_text(input) && !json_array_size(input))
        return fr_api_wrong(err, input, "a string or a list of at least one item", "input");
    if (instructions)
        st = fr_api_append(r.messages,
                           json_pack("{s:s, s:O}", "role", "system", "content", instructions), err);
    if (!st && json_is_string(input))
        st = fr_api_append(r.messages, json_pack("{s:s, s:O}", "role", "user", "content", input),
                           err);
    for (; r.item < json_array_size(input) && !st; r.item++)
        if (!(st = fr_api_go_on(watch, r.item, err)))
            st = add_item(&r, json_array_get(input, r.item));
    return st ? st : fr_api_join_thinking(r.messages, err);
}

// ---------------------------------------------------------------- settings

static fr_status read_reasoning(json_t *root, const json_t *body, fr_error *err) {
    const json_t *effort = fr_api_member(fr_api_member(body, "reasoning"), "effort");
    if (!effort) return FR_OK;
    if (!fr_json_is_text(effort)) return fr_api_wrong(err, effort, "a string", "reasoning.effort");
    return fr_api_set(root, "reasoning_effort", json_incref((json_t *)effort), err);
}

static fr_status refuse_logprobs(const json_t *body, fr_error *err) {
    size_t i;
    const json_t *what, *top = fr_api_member(body, "top_logprobs");
    json_array_foreach(json_object_get(body, "include"), i, what) {
        if (fr_api_is(what, "message.output_text.logprobs"))
            return fr_fail(err, FR_EARG,
                           "include[%zu]: log probabilities are not told by this API: leave it out",
                           i);
    }
    if (top && json_number_value(top) != 0)
        return fr_fail(err, FR_EARG,
                       "top_logprobs: log probabilities are not told by this API: leave it out");
    return FR_OK;
}

// What needs an answer of before, which nothing here keeps, or a form that cannot be promised.
static fr_status refuse(const json_t *body, fr_error *err) {
    static const char *const kept[] = {"previous_response_id", "conversation", "prompt"};
    const json_t *format = fr_api_member(fr_api_member(body, "text"), "format");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (fr_api_member(body, kept[i]))
            return fr_fail(err, FR_EARG, "%s: nothing is kept here: send all of it as input",
                           kept[i]);
    if (json_is_true(json_object_get(body, "background")))
        return fr_fail(err, FR_EARG, "background: answers are not kept here: leave it out");
    if (format && !fr_api_is(fr_api_member(format, "type"), "text"))
        return fr_fail(err, FR_EARG,
                       "text.format.type: answers cannot be constrained here: expected text");
    return refuse_logprobs(body, err);
}

static fr_status read_all(json_t *root, const json_t *body, const fr_watch *watch, fr_error *err) {
    json_t *most = json_object_get(body, "max_output_tokens");
    fr_status st = refuse(body, err);
    if (!st) st = read_input(root, body, watch, err);
    if (!st) st = fr_api_read_tools(root, body, "function", false, "parameters", err);
    if (!st) st = read_reasoning(root, body, err);
    if (!st && most) st = fr_api_set(root, "max_tokens", json_incref(most), err);
    return st;
}

const fr_api_own_name fr_api_own_of_responses[] = {
    {"messages", "input", true}, {"max_tokens", "max_output_tokens", false}, {0}};

json_t *fr_api_from_responses(const json_t *body, const fr_watch *watch, fr_error *err) {
    static const char *const own[] = {
        "input",   "instructions",   "max_output_tokens", "tools",        "text", "reasoning",
        "include", "stream_options", "top_logprobs",      "conversation", NULL};
    json_t *root = fr_api_copy_but(body, own, err);
    if (root && !read_all(root, body, watch, err)) return root;
    json_decref(root);
    return NULL;
}
