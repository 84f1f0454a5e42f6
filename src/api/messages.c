// messages.c — a conversation to a prompt. What llama-server does before its template sees the
// messages is done here: a last message of the assistant is taken off and put after the prompt.
#define _GNU_SOURCE
#include "json/messages.h"
#include "api/fields.h"
#include "api/fit.h"
#include "api/value.h"
#include <string.h>
#include <time.h>

static bool is_assistant(const json_t *message) {
    const char *role = fr_api_text(fr_api_member(message, "role"));
    return role && !strcmp(role, "assistant");
}

static bool has_calls(const json_t *message) {
    return json_array_size(fr_api_member(message, "tool_calls")) ||
           fr_api_member(message, "function_call");
}

// *out: whether the answer continues the last message.
static fr_status is_continued(const json_t *root, bool *out, fr_error *err) {
    const json_t *messages = fr_api_member(root, "messages");
    const json_t *said = fr_api_member(root, "continue_final_message");
    const size_t n = json_array_size(messages);
    const bool is_last = n && is_assistant(json_array_get(messages, n - 1));
    if (said && !json_is_boolean(said))
        return fr_api_wrong(err, said, "true or false", "continue_final_message");
    *out = is_last && !has_calls(json_array_get(messages, n - 1));
    if (is_last && n > 1 && is_assistant(json_array_get(messages, n - 2)))
        return fr_fail(err, FR_EARG,
                       "messages: expected at most one of the assistant's at the end, found more");
    if (!json_is_true(said)) return FR_OK;
    if (json_is_true(fr_api_member(root, "add_generation_prompt")))
        return fr_fail(err, FR_EARG,
                       "continue_final_message: expected no \"add_generation_prompt\" beside it");
    if (!*out)
        return fr_fail(err, FR_EARG,
                       "continue_final_message: expected a last message of the assistant's, and no "
                       "calls in it");
    return FR_OK;
}

static fr_status add(fr_buffer *text, const json_t *string, fr_error *err) {
    return fr_buffer_add(text, json_string_value(string), json_string_length(string), err);
}

fr_status fr_api_add_content(fr_buffer *text, const json_t *message, const char *between,
                             fr_error *err) {
    const json_t *content = fr_api_member(message, "content");
    fr_status st = FR_OK;
    if (json_is_string(content)) return add(text, content, err);
    for (size_t i = 0; i < json_array_size(content) && !st; i++) {
        if (i) st = fr_buffer_add(text, between, strlen(between), err);
        if (!st) st = add(text, fr_api_member(json_array_get(content, i), "text"), err);
    }
    return st;
}

// What the message thought, as models write it, without the mark at its end.
static fr_status thought_of(const json_t *message, const fr_thinking_form *form, fr_buffer *text,
                            fr_error *err) {
    const json_t *thought = fr_api_member(message, "reasoning_content");
    if (!json_string_length(thought)) return FR_OK;
    fr_status st = fr_buffer_add(text, form->open, strlen(form->open), err);
    if (!st && *json_string_value(thought) != '\n')
        st = fr_buffer_add(text, form->before, strlen(form->before), err);
    return st ? st : add(text, thought, err);
}

static fr_status close_thought(const fr_thinking_form *form, fr_buffer *text, fr_error *err) {
    fr_status st = FR_OK;
    if (text->data[text->n - 1] != '\n')
        st = fr_buffer_add(text, form->before, strlen(form->before), err);
    if (!st) st = fr_buffer_add(text, form->close, strlen(form->close), err);
    return st ? st : fr_buffer_add(text, form->after, strlen(form->after), err);
}

// The beginning of the answer: thinking, which continues if the message has no text yet. form: NULL
// leaves thinking out.
static fr_status answer_of(const json_t *message, const fr_thinking_form *form, fr_buffer *begun,
                           fr_error *err) {
    fr_buffer said = {0};
    fr_status st = fr_api_add_content(&said, message, "\n\n", err);
    if (!st && form) st = thought_of(message, form, begun, err);
    if (!st && begun->n && said.n) st = close_thought(form, begun, err);
    if (!st && said.n) st = fr_buffer_add(begun, said.data, said.n, err);
    fr_buffer_free(&said);
    return st;
}

// A copy without the last message, which becomes the beginning of the answer.
static fr_status take_last(json_t *root, const fr_thinking_form *form, fr_buffer *begun,
                           fr_error *err) {
    json_t *messages = fr_json_copy(json_object_get(root, "messages"));
    const size_t last = json_array_size(messages) - 1;
    fr_status st = answer_of(json_array_get(messages, last), form, begun, err);
    const bool bad = !messages || json_array_remove(messages, last) ||
                     json_object_set(root, "messages", messages) ||
                     json_object_set_new(root, "add_generation_prompt", json_true());
    json_decref(messages);
    return st || !bad ? st : fr_fail(err, FR_ENOMEM, "messages: no memory");
}

// An effort of "none" switches thinking off too.
static bool says_no_thinking(const json_t *root, bool otherwise) {
    const json_t *own = fr_api_member(root, "enable_thinking");
    const json_t *more =
        fr_api_member(fr_api_member(root, "chat_template_kwargs"), "enable_thinking");
    if (more) return json_is_false(more);
    if (own) return json_is_false(own);
    return otherwise || fr_api_is(fr_api_member(root, "reasoning_effort"), "none");
}

// Takes the value. False: no memory.
static bool set_missing(json_t *variables, const char *name, json_t *value) {
    if (!json_object_get(variables, name)) return !json_object_set_new(variables, name, value);
    json_decref(value);
    return true;
}

// The variables that llama-server gives to templates for every request. Some templates read only
// these.
static fr_status set_variables(json_t *root, bool no_thinking, fr_error *err) {
    const json_t *given = json_object_get(root, "chat_template_kwargs");
    const json_t *effort = fr_api_member(root, "reasoning_effort");
    const time_t seconds = time(NULL);
    struct tm now;
    char date[32], datetime[32];
    if (given && !json_is_object(given) && !json_is_null(given)) return FR_OK; // is refused later
    if (effort && !fr_json_is_text(effort))
        return fr_api_wrong(err, effort, "a string", "reasoning_effort");
    json_t *own = json_is_object(given) ? fr_json_copy(given) : json_object();
    localtime_r(&seconds, &now);
    strftime(date, sizeof date, "%d %b %Y", &now);
    strftime(datetime, sizeof datetime, "%b %d %Y", &now);
    bool good = set_missing(own, "enable_thinking", json_boolean(!no_thinking));
    if (effort)
        good &= set_missing(own, "reasoning_effort", json_incref((json_t *)(uintptr_t)effort));
    good &= set_missing(own, "date_string", json_string(date));
    good &= set_missing(own, "datetime", json_string(datetime));
    good &= set_missing(own, "functions", json_string(""));
    const bool set = !json_object_set_new(root, "chat_template_kwargs", own);
    return good && set ? FR_OK : fr_fail(err, FR_ENOMEM, "messages: no memory");
}

static fr_status render(const fr_api_model *m, const json_t *root, bool no_thinking,
                        const fr_buffer *begun, fr_chat_text *text, fr_ids *ids, fr_error *err) {
    fr_json_chat chat = {0};
    fr_error why = {0};
    const fr_chat_template *used = fr_chat_choose(m->chat, fr_json_has_tools(root));
    fr_status st = fr_json_chat_from(&chat, root, &used->takes, m->watch, err);
    const char *blamed = m->chat->program ? "tools" : "messages"; // for what there is none
    chat.request.n_ctx = m->n_ctx;
    chat.request.no_thinking = no_thinking;
    chat.request.begun = (fr_chat_str){begun->data, begun->n};
    if (!st &&
        (st = fr_chat_encode(m->chat, m->tokenizer, &chat.request, true, false, text, ids, &why)))
        fr_fail(err, st, "%s: %s", st == FR_EUNSUP ? blamed : "messages", why.text);
    fr_json_chat_close(&chat);
    return st;
}

fr_status fr_api_fit(json_t *root, const fr_chat_template *chat, fr_error *err) {
    fr_chat_takes takes = chat->takes;
    if (takes.lacks & FR_LACKS_TOOLS) takes.tools = false;
    fr_status st = fr_api_fit_tools(root, &takes, err);
    if (fr_json_has_tools(root)) takes.lacks |= takes.lacks_beside_tools;
    if (!st) st = fr_api_fit_calls(root, &takes, err);
    return st ? st : fr_api_fit_turns(root, &takes, err);
}

// Fits the messages but the last one, if that begins the answer. Messages that are no list are
// refused where they are rendered.
static fr_status prepare(json_t *root, const fr_chat_template *chat, bool continued,
                         bool no_thinking, fr_buffer *begun, fr_error *err) {
    fr_status st = set_variables(root, no_thinking, err);
    if (st || !chat->program || !json_is_array(fr_api_member(root, "messages"))) return st;
    st = fr_api_fit_names(root, chat, err);
    if (!st && continued) st = take_last(root, no_thinking ? NULL : chat->thinking, begun, err);
    return st ? st : fr_api_fit(root, chat, err);
}

fr_status fr_api_render(const fr_api_model *model, const json_t *root, bool no_thinking,
                        fr_chat_text *text, fr_ids *ids, fr_error *err) {
    fr_buffer begun = {0};
    bool continued = false;
    fr_status st = is_continued(root, &continued, err);
    if (st) return st;
    no_thinking = says_no_thinking(root, no_thinking);
    json_t *own = fr_json_copy(root);
    if (!own) return fr_fail(err, FR_ENOMEM, "messages: no memory");
    st = prepare(own, fr_chat_choose(model->chat, fr_json_has_tools(own)), continued, no_thinking,
                 &begun, err);
    if (!st) st = render(model, own, no_thinking, &begun, text, ids, err);
    fr_buffer_free(&begun);
    json_decref(own);
    return st;
}
