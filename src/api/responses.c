// responses.c — OpenAI's responses as a chat request: all of the body but its items and tools.
#include "api/translate.h"
#include "api/value.h"

static fr_status read_input(json_t *root, const json_t *body, const fr_watch *watch,
                            fr_error *err) {
    const json_t *input = fr_api_member(body, "input");
    const json_t *instructions = fr_api_member(body, "instructions");
    json_t *messages = json_array();
    fr_status st = fr_api_set(root, "messages", messages, err);
    if (st) return st;
    if (instructions && !fr_json_is_text(instructions))
        return fr_api_wrong(err, instructions, "a string", "instructions");
    if (!fr_json_is_text(input) && !json_array_size(input))
        return fr_api_wrong(err, input, "a string or a list of at least one item", "input");
    if (instructions)
        st = fr_api_append(messages,
                           json_pack("{s:s, s:O}", "role", "system", "content", instructions), err);
    if (!st && json_is_string(input))
        st =
            fr_api_append(messages, json_pack("{s:s, s:O}", "role", "user", "content", input), err);
    return st ? st : fr_api_read_items(input, messages, watch, err);
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
    if (!st) st = fr_api_read_response_tools(root, body, err);
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
