// qwen.c — Qwen 2.5 and Qwen 3: ChatML with tools, and with thinking.
#include "text/chat/render.h"

static void put_qwen_tools(fr_chat_renderer *r, const char *heading) {
    const bool two =
        r->chat->kind == FR_CHAT_QWEN2 && (r->chat->variant & FR_CHAT_QWEN_DOUBLE_BRACES);
    fr_chat_puts(&r->w, heading);
    fr_chat_puts(&r->w, "You may call one or more functions to assist with the user query.\n\n"
                        "You are provided with function signatures within <tools></tools> XML "
                        "tags:\n<tools>");
    for (int i = 0; i < r->request->n_tools; i++) {
        fr_chat_puts(&r->w, "\n");
        put(r, r->request->tools[i].json);
    }
    fr_chat_puts(&r->w,
                 "\n</tools>\n\nFor each function call, return a json object with function "
                 "name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n");
    fr_chat_puts(&r->w, two ? "{{" : "{");
    fr_chat_puts(&r->w, "\"name\": <function-name>, \"arguments\": <args-json-object>");
    fr_chat_puts(&r->w, two ? "}}" : "}");
    fr_chat_puts(&r->w, "\n</tool_call><|im_end|>\n");
}

static void put_chatml(fr_chat_renderer *r, fr_chat_str role, fr_chat_str text) {
    fr_chat_puts(&r->w, "<|im_start|>");
    put(r, role);
    fr_chat_puts(&r->w, "\n");
    put(r, text);
    fr_chat_puts(&r->w, "<|im_end|>\n");
}

// Results in a row share one user turn.
static void put_qwen_result(fr_chat_renderer *r, int i) {
    const int last = r->request->n_messages - 1;
    if (i == 0 || !has_role(r, i - 1, "tool")) fr_chat_puts(&r->w, "<|im_start|>user");
    fr_chat_puts(&r->w, "\n<tool_response>\n");
    put(r, content(r, i));
    fr_chat_puts(&r->w, "\n</tool_response>");
    if (i == last || !has_role(r, i + 1, "tool")) fr_chat_puts(&r->w, "<|im_end|>\n");
}

static void put_qwen_call(fr_chat_renderer *r, const fr_tool_call *call, fr_chat_str arguments) {
    fr_chat_puts(&r->w, "<tool_call>\n{\"name\": \"");
    put(r, call->name);
    fr_chat_puts(&r->w, "\", \"arguments\": ");
    put(r, arguments);
    fr_chat_puts(&r->w, "}\n</tool_call>");
}

static void put_qwen2_message(fr_chat_renderer *r, int i) {
    const fr_message *m = &r->request->messages[i];
    const bool assistant = has_role(r, i, "assistant");
    if (assistant && m->n_tool_calls) {
        fr_chat_puts(&r->w, "<|im_start|>assistant");
        if (m->content.bytes) fr_chat_puts(&r->w, "\n");
        put(r, m->content);
        for (int k = 0; k < m->n_tool_calls; k++) {
            fr_chat_puts(&r->w, "\n");
            put_qwen_call(r, &m->tool_calls[k], m->tool_calls[k].arguments);
        }
        fr_chat_puts(&r->w, "<|im_end|>\n");
    } else if (assistant || has_role(r, i, "user") || (i && has_role(r, i, "system"))) {
        put_chatml(r, m->role, content(r, i));
    } else if (has_role(r, i, "tool")) {
        put_qwen_result(r, i);
    }
}

void fr_chat_render_qwen2(fr_chat_renderer *r) {
    const fr_chat_request *q = r->request;
    fr_chat_puts(&r->w, "<|im_start|>system\n");
    if (starts_with_system(r))
        put(r, content(r, 0));
    else
        fr_chat_puts(&r->w, r->chat->system);
    if (q->n_tools)
        put_qwen_tools(r, "\n\n# Tools\n\n");
    else
        fr_chat_puts(&r->w, "<|im_end|>\n");
    for (int i = 0; i < q->n_messages && !r->w.status; i++)
        put_qwen2_message(r, i);
    if (q->add_generation_prompt) fr_chat_puts(&r->w, "<|im_start|>assistant\n");
}

static fr_chat_str strip_newlines(fr_chat_str s, bool left, bool right) {
    while (left && s.bytes && s.data[0] == '\n')
        s.data++, s.bytes--;
    while (right && s.bytes && s.data[s.bytes - 1] == '\n')
        s.bytes--;
    return s;
}

// The first (or last) place of `part` in s; NULL: nowhere.
static const char *place_of(fr_chat_str s, const char *part, bool last) {
    const size_t n = strlen(part);
    const char *found = NULL;
    for (size_t i = 0; i + n <= s.bytes && (last || !found); i++)
        if (!memcmp(s.data + i, part, n)) found = s.data + i;
    return found;
}

// Parts an answer that has its thinking inside: text before the first </think> is the thinking,
// what follows the last one is the answer.
static void split_thinking(fr_chat_str *text, fr_chat_str *thinking) {
    const char *const end = text->data + text->bytes, *first = place_of(*text, "</think>", false);
    if (!first) return;
    *thinking =
        strip_newlines((fr_chat_str){text->data, (size_t)(first - text->data)}, false, true);
    const char *begin = place_of(*thinking, "<think>", true);
    if (begin) {
        begin += 7;
        thinking->bytes -= (size_t)(begin - thinking->data);
        thinking->data = begin;
    }
    *thinking = strip_newlines(*thinking, true, false);
    const char *answer = place_of(*text, "</think>", true) + 8;
    *text = strip_newlines((fr_chat_str){answer, (size_t)(end - answer)}, true, false);
}

// The last message that a person wrote, tool results sent as user messages not counted.
static int last_query(fr_chat_renderer *r) {
    const int n = r->request->n_messages;
    for (int i = n - 1; i >= 0; i--) {
        if (!has_role(r, i, "user")) continue;
        const fr_chat_str s = content(r, i);
        const bool result = s.bytes >= 16 && !memcmp(s.data, "<tool_response>", 15) &&
                            !memcmp(s.data + s.bytes - 16, "</tool_response>", 16);
        if (!result) return i;
    }
    return n - 1;
}

static void put_qwen3_answer(fr_chat_renderer *r, int i, int query) {
    const fr_message *m = &r->request->messages[i];
    fr_chat_str text = m->content.data || m->n_tool_calls ? m->content : content(r, i);
    fr_chat_str thinking = m->reasoning.data ? m->reasoning : FR_CHAT_NOTHING;
    if (!text.data) text = FR_CHAT_NOTHING;
    if (!m->reasoning.data) split_thinking(&text, &thinking);
    fr_chat_puts(&r->w, "<|im_start|>assistant\n");
    if (i > query && (i == r->request->n_messages - 1 || thinking.bytes)) {
        fr_chat_puts(&r->w, "<think>\n");
        put(r, strip_newlines(thinking, true, true));
        fr_chat_puts(&r->w, "\n</think>\n\n");
        put(r, strip_newlines(text, true, false));
    } else {
        put(r, text);
    }
    for (int k = 0; k < m->n_tool_calls; k++) {
        const fr_tool_call *call = &m->tool_calls[k];
        if (k || text.bytes) fr_chat_puts(&r->w, "\n");
        put_qwen_call(r, call, call->arguments_text.data ? call->arguments_text : call->arguments);
    }
    fr_chat_puts(&r->w, "<|im_end|>\n");
}

void fr_chat_render_qwen3(fr_chat_renderer *r) {
    const fr_chat_request *q = r->request;
    const bool system = starts_with_system(r);
    if (q->n_tools) {
        fr_chat_puts(&r->w, "<|im_start|>system\n");
        if (system) put(r, content(r, 0));
        put_qwen_tools(r, system ? "\n\n# Tools\n\n" : "# Tools\n\n");
    } else if (system) {
        put_chatml(r, q->messages[0].role, content(r, 0));
    }
    const int query = last_query(r);
    for (int i = 0; i < q->n_messages && !r->w.status; i++) {
        if (has_role(r, i, "user") || (i && has_role(r, i, "system")))
            put_chatml(r, q->messages[i].role, content(r, i));
        else if (has_role(r, i, "assistant"))
            put_qwen3_answer(r, i, query);
        else if (has_role(r, i, "tool"))
            put_qwen_result(r, i);
    }
    if (q->add_generation_prompt) fr_chat_puts(&r->w, "<|im_start|>assistant\n");
    if (q->add_generation_prompt && q->no_thinking) fr_chat_puts(&r->w, "<think>\n\n</think>\n\n");
}
