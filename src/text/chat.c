// chat.c — one renderer a kind; each follows its template from top to bottom.
#include "text/chat.h"
#include "text/chat_family.h"
#include "text/chat_text.h"

typedef struct render {
    fr_chat_writer w;
    const fr_chat_template *chat;
    const fr_chat_request *request;
} render;

#define NOTHING ((fr_chat_str){"", 0})

static void put(render *r, fr_chat_str s) {
    fr_chat_put(&r->w, s);
}

// The texts of tables: eos is a mark in them.
static void puts_marked(render *r, const char *s) {
    for (const char *mark; (mark = strchr(s, FR_CHAT_EOS[0])); s = mark + 1) {
        put(r, (fr_chat_str){s, (size_t)(mark - s)});
        put(r, r->request->eos);
    }
    fr_chat_puts(&r->w, s);
}

static void refuse(render *r, int message, const char *why) {
    if (r->w.status) return;
    const fr_chat_str role = r->request->messages[message].role;
    r->w.status =
        fr_fail(r->w.err, FR_EARG, "message %d (%.*s): %s", message + 1,
                (int)(role.bytes < 40 ? role.bytes : 40), role.bytes ? role.data : "", why);
}

static bool has_role(const render *r, int i, const char *role) {
    return fr_chat_is(r->request->messages[i].role, role);
}

static bool starts_with_system(const render *r) {
    return has_role(r, 0, "system");
}

// A message's content where the template cannot do without.
static fr_chat_str content(render *r, int i) {
    const fr_chat_str s = r->request->messages[i].content;
    if (s.data) return s;
    refuse(r, i, "it has no content, which this chat template needs");
    return NOTHING;
}

static fr_chat_str strip(fr_chat_str s) {
    return fr_chat_lstrip(fr_chat_rstrip(s));
}

static void put_json_string(render *r, fr_chat_str s) {
    if (!r->w.status)
        r->w.status = fr_chat_text_add_json_string(r->w.out, s.data, s.bytes, r->w.err);
}

// user, anything else, user, … counted from message `first`, the `place`-th of its conversation.
static void check_alternation(render *r, int i, int place) {
    if (has_role(r, i, "user") != (place % 2 == 0))
        refuse(r, i, "this chat template needs the roles user and assistant in turn");
}

// ---- turns ---------------------------------------------------------------------------------

static const char *const *turn_texts(const fr_chat_turns *t, const render *r, int i) {
    if (has_role(r, i, "user")) return t->user;
    if (has_role(r, i, "assistant")) return t->assistant;
    if (has_role(r, i, "system")) return t->system;
    return NULL;
}

// Message i, with `prefix` (absent: none) in front of its content.
static void put_turn(render *r, const fr_chat_turns *t, int i, fr_chat_str prefix) {
    const fr_message *m = &r->request->messages[i];
    const char *const *texts = turn_texts(t, r, i);
    const bool named = texts && texts[0];
    if (!named && !t->other[0]) {
        if (t->rules & FR_CHAT_KNOWN_ROLES) refuse(r, i, "this chat template has no such role");
        return;
    }
    if ((t->rules & FR_CHAT_SYSTEM_IF_TEXT) && texts == t->system && !m->content.bytes) return;
    const fr_chat_str text = content(r, i);
    if (named) {
        puts_marked(r, texts[0]);
    } else {
        const bool model = (t->rules & FR_CHAT_MODEL_ROLE) && has_role(r, i, "assistant");
        puts_marked(r, t->other[0]);
        put(r, model ? (fr_chat_str){"model", 5} : m->role);
        puts_marked(r, t->other[1]);
    }
    put(r, prefix);
    if (prefix.data) fr_chat_puts(&r->w, "\n\n");
    put(r, t->rules & FR_CHAT_TRIM ? strip(text) : text);
    puts_marked(r, named ? texts[1] : t->other[2]);
}

static void render_turns(render *r) {
    const fr_chat_turns *t = &fr_chat_turns_table[r->chat->variant];
    const fr_chat_request *q = r->request;
    fr_chat_str prefix = {0};
    int first = 0;
    if (t->rules & FR_CHAT_BOS) put(r, q->bos);
    if (starts_with_system(r)) {
        if (t->rules & FR_CHAT_NO_SYSTEM) refuse(r, 0, "this chat template has no such role");
        if (t->rules & FR_CHAT_SYSTEM_PREFIX) {
            prefix = content(r, 0);
            first = 1;
        }
    } else if (r->chat->system[0] && t->fallback[0]) {
        puts_marked(r, t->fallback[0]);
        fr_chat_puts(&r->w, r->chat->system);
        puts_marked(r, t->fallback[1]);
    }
    for (int i = first; i < q->n_messages && !r->w.status; i++) {
        if (t->rules & FR_CHAT_ALTERNATE) check_alternation(r, i, i - first);
        put_turn(r, t, i, prefix);
        prefix = (fr_chat_str){0};
    }
    const bool answered = (t->rules & FR_CHAT_PROMPT_NOT_AFTER) && q->n_messages > 0 &&
                          has_role(r, q->n_messages - 1, "assistant");
    const bool asked = q->add_generation_prompt || (t->rules & FR_CHAT_ALWAYS_PROMPT);
    const char *end = asked ? t->prompt : t->no_prompt;
    if (end && !answered) puts_marked(r, end);
}

// ---- Llama-2 -------------------------------------------------------------------------------

// The stripped content of the first user turn, which holds the system message.
static void put_llama2_first(render *r, fr_chat_str system, fr_chat_str text) {
    text = fr_chat_rstrip(text);
    fr_chat_puts(&r->w, "<<SYS>>\n");
    put(r, system);
    fr_chat_puts(&r->w, text.bytes ? "\n<</SYS>>\n\n" : "\n<</SYS>>");
    put(r, text);
}

static void render_llama2(render *r) {
    const fr_chat_request *q = r->request;
    const int first = starts_with_system(r);
    const fr_chat_str system = first ? content(r, 0) : NOTHING;
    for (int i = first; i < q->n_messages && !r->w.status; i++) {
        check_alternation(r, i, i - first);
        const fr_chat_str text = content(r, i);
        if (has_role(r, i, "user")) {
            put(r, q->bos);
            fr_chat_puts(&r->w, "[INST] ");
            if (first && i == first)
                put_llama2_first(r, system, text);
            else
                put(r, strip(text));
            fr_chat_puts(&r->w, " [/INST]");
        } else if (has_role(r, i, "system") && (r->chat->variant & FR_CHAT_LLAMA2_SYS_TURN)) {
            fr_chat_puts(&r->w, "<<SYS>>\n");
            put(r, strip(text));
            fr_chat_puts(&r->w, "\n<</SYS>>\n\n");
        } else if (has_role(r, i, "assistant")) {
            fr_chat_puts(&r->w, " ");
            put(r, strip(text));
            fr_chat_puts(&r->w, " ");
            put(r, q->eos);
        }
    }
}

// ---- Llama-3.1 -----------------------------------------------------------------------------

#define LLAMA3_HEADER(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"

// JSON as json.dumps writes it with indent=4, from the same JSON in one line (", " and ": ").
static void put_indented(render *r, fr_chat_str json) {
    static const char blanks[] = "                                                            ";
    int depth = 0;
    bool string = false;
    size_t begin = 0;
    for (size_t i = 0; i < json.bytes && !r->w.status; i++) {
        const char c = json.data[i];
        if (string) {
            if (c == '\\') i++;
            if (c == '"') string = false;
            continue;
        }
        if (c == '"') string = true;
        const bool open = c == '{' || c == '[', close = c == '}' || c == ']';
        if (open && i + 1 < json.bytes && (json.data[i + 1] == '}' || json.data[i + 1] == ']')) {
            i++; // an empty container stays as it is
            continue;
        }
        if (!open && !close && c != ',') continue;
        depth += open - close;
        const size_t end = close ? i : i + 1;
        put(r, (fr_chat_str){json.data + begin, end - begin});
        fr_chat_puts(&r->w, "\n");
        for (int left = 4 * depth; left > 0; left -= (int)sizeof blanks - 1)
            put(r, (fr_chat_str){blanks,
                                 (size_t)left < sizeof blanks ? (size_t)left : sizeof blanks - 1});
        if (c == ',' && i + 1 < json.bytes && json.data[i + 1] == ' ') i++;
        begin = close ? i : i + 1;
    }
    if (begin < json.bytes) put(r, (fr_chat_str){json.data + begin, json.bytes - begin});
}

static void put_llama31_message(render *r, int i) {
    const fr_message *m = &r->request->messages[i];
    if (m->n_tool_calls > 1) {
        refuse(r, i, "this chat template supports one tool call at a time");
    } else if (m->n_tool_calls == 1) {
        fr_chat_puts(&r->w, LLAMA3_HEADER("assistant") "{\"name\": \"");
        put(r, m->tool_calls[0].name);
        fr_chat_puts(&r->w, "\", \"parameters\": ");
        put(r, m->tool_calls[0].arguments);
        fr_chat_puts(&r->w, "}<|eot_id|>");
    } else if (has_role(r, i, "tool") || has_role(r, i, "ipython")) {
        fr_chat_puts(&r->w, LLAMA3_HEADER("ipython"));
        put_json_string(r, content(r, i));
        fr_chat_puts(&r->w, "<|eot_id|>");
    } else {
        fr_chat_puts(&r->w, "<|start_header_id|>");
        put(r, m->role);
        fr_chat_puts(&r->w, "<|end_header_id|>\n\n");
        put(r, strip(content(r, i)));
        fr_chat_puts(&r->w, "<|eot_id|>");
    }
}

static void put_llama31_tools(render *r, int user) {
    const fr_chat_request *q = r->request;
    if (user >= q->n_messages) {
        refuse(r, q->n_messages - 1,
               "this chat template puts tools into the first user message, "
               "and there is none");
        return;
    }
    fr_chat_puts(
        &r->w,
        LLAMA3_HEADER(
            "user") "Given the following functions, please respond with a JSON for a function call "
                    "with its proper arguments that best answers the given prompt.\n\n"
                    "Respond in the format {\"name\": function name, \"parameters\": dictionary of "
                    "argument name and its value}.Do not use variables.\n\n");
    for (int i = 0; i < q->n_tools; i++) {
        put_indented(r, q->tools[i].json);
        fr_chat_puts(&r->w, "\n\n");
    }
    put(r, strip(content(r, user)));
    fr_chat_puts(&r->w, "<|eot_id|>");
}

static void render_llama31(render *r) {
    const fr_chat_request *q = r->request;
    const bool asks = r->chat->variant & FR_CHAT_LLAMA31_DATE;
    int first = starts_with_system(r);
    put(r, q->bos);
    fr_chat_puts(&r->w, LLAMA3_HEADER("system"));
    if (q->n_tools) fr_chat_puts(&r->w, "Environment: ipython\n");
    fr_chat_puts(&r->w, "Cutting Knowledge Date: December 2023\nToday Date: ");
    put(r, asks && q->date.data ? q->date : (fr_chat_str){"26 Jul 2024", 11});
    fr_chat_puts(&r->w, "\n\n");
    if (first) put(r, strip(content(r, 0)));
    fr_chat_puts(&r->w, "<|eot_id|>");
    if (q->n_tools) put_llama31_tools(r, first++);
    for (int i = first; i < q->n_messages && !r->w.status; i++)
        put_llama31_message(r, i);
    if (q->add_generation_prompt) fr_chat_puts(&r->w, LLAMA3_HEADER("assistant"));
}

// ---- Mistral v3 ----------------------------------------------------------------------------

// "[INST]" and the like, with the blank that all but the Tekken templates write after it.
static void put_mark(render *r, const char *mark) {
    fr_chat_puts(&r->w, mark);
    if (r->chat->variant & FR_CHAT_MISTRAL_SPACE) fr_chat_puts(&r->w, " ");
}

static bool same(fr_chat_str a, fr_chat_str b) {
    return !a.data == !b.data && a.bytes == b.bytes &&
           (!a.bytes || !memcmp(a.data, b.data, a.bytes));
}

// The template compares messages by value: one that repeats the last user message gets tools too.
static bool equals_last_user(const render *r, int i) {
    const fr_message *m = r->request->messages, *last = NULL;
    for (int k = 0; k < r->request->n_messages; k++)
        if (has_role(r, k, "user")) last = &m[k];
    return last && same(m[i].content, last->content) && same(m[i].name, last->name);
}

static void put_mistral_tools(render *r) {
    const fr_chat_request *q = r->request;
    put_mark(r, "[AVAILABLE_TOOLS]");
    for (int i = 0; i < q->n_tools && !r->w.status; i++) {
        const fr_tool *tool = &q->tools[i];
        bool comma = false;
        if (!tool->n_fields)
            r->w.status = fr_fail(r->w.err, FR_EARG, "tool %d: it has no function", i + 1);
        fr_chat_puts(&r->w, i ? ", " : "[");
        fr_chat_puts(&r->w, "{\"type\": \"function\", \"function\": {");
        for (int k = 0; k < tool->n_fields; k++) {
            const fr_tool_field *f = &tool->fields[k];
            if (fr_chat_is(f->key, "return")) continue;
            fr_chat_puts(&r->w, comma ? ", \"" : "\"");
            put(r, f->key);
            fr_chat_puts(&r->w, f->is_string ? "\": \"" : "\": ");
            put(r, f->value); // a string goes in as it is, unescaped, in this template
            if (f->is_string) fr_chat_puts(&r->w, "\"");
            comma = true;
        }
        fr_chat_puts(&r->w, "}}");
    }
    fr_chat_puts(&r->w, "][/AVAILABLE_TOOLS]");
}

static void check_call_id(render *r, int message, fr_chat_str id) {
    size_t characters = 0;
    for (size_t i = 0; i < id.bytes; i++)
        characters += ((unsigned char)id.data[i] & 0xc0) != 0x80;
    if (characters != 9)
        refuse(r, message, "this chat template needs tool call ids of 9 characters");
}

static void put_mistral_calls(render *r, int i) {
    const fr_message *m = &r->request->messages[i];
    put_mark(r, "[TOOL_CALLS]");
    for (int k = 0; k < m->n_tool_calls; k++) {
        const fr_tool_call *call = &m->tool_calls[k];
        check_call_id(r, i, call->id);
        fr_chat_puts(&r->w, k ? ", " : "[");
        put(r, (fr_chat_str){call->function.data,
                             call->function.bytes ? call->function.bytes - 1 : 0});
        fr_chat_puts(&r->w, ", \"id\": \"");
        put(r, call->id);
        fr_chat_puts(&r->w, "\"}");
    }
    fr_chat_puts(&r->w, "]");
    put(r, r->request->eos);
}

static void put_mistral_user(render *r, int i, int first) {
    const fr_chat_request *q = r->request;
    const bool at_first = r->chat->variant & FR_CHAT_MISTRAL_SYSTEM_FIRST;
    if (q->n_tools && equals_last_user(r, i)) put_mistral_tools(r);
    put_mark(r, "[INST]");
    if (first && i == (at_first ? first : q->n_messages - 1)) {
        put(r, content(r, 0));
        fr_chat_puts(&r->w, "\n\n");
    }
    put(r, content(r, i));
    fr_chat_puts(&r->w, "[/INST]");
}

static bool is_tool_result(const render *r, int i) {
    return has_role(r, i, "tool") || has_role(r, i, "tool_results");
}

static void put_mistral_message(render *r, int i, int first) {
    const fr_message *m = &r->request->messages[i];
    const uint32_t variant = r->chat->variant;
    if (has_role(r, i, "user")) {
        put_mistral_user(r, i, first);
    } else if (m->n_tool_calls) {
        put_mistral_calls(r, i);
    } else if (has_role(r, i, "assistant")) {
        const fr_chat_str text = content(r, i);
        if (variant & FR_CHAT_MISTRAL_ASSISTANT_SPACE) fr_chat_puts(&r->w, " ");
        put(r, variant & FR_CHAT_MISTRAL_ASSISTANT_TRIM ? strip(text) : text);
        put(r, r->request->eos);
    } else if (is_tool_result(r, i)) {
        check_call_id(r, i, m->tool_call_id);
        put_mark(r, "[TOOL_RESULTS]");
        fr_chat_puts(&r->w, "{\"content\": ");
        put(r, content(r, i));
        fr_chat_puts(&r->w, ", \"call_id\": \"");
        put(r, m->tool_call_id);
        fr_chat_puts(&r->w, "\"}[/TOOL_RESULTS]");
    } else {
        refuse(r, i, "this chat template has no such role");
    }
}

static void render_mistral(render *r) {
    const fr_chat_request *q = r->request;
    const int first = starts_with_system(r);
    put(r, q->bos);
    for (int i = first, place = 0; i < q->n_messages; i++)
        if (!is_tool_result(r, i) && !q->messages[i].n_tool_calls) check_alternation(r, i, place++);
    for (int i = first; i < q->n_messages && !r->w.status; i++)
        put_mistral_message(r, i, first);
}

// ---- Qwen ----------------------------------------------------------------------------------

static void put_qwen_tools(render *r, const char *heading) {
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

static void put_chatml(render *r, fr_chat_str role, fr_chat_str text) {
    fr_chat_puts(&r->w, "<|im_start|>");
    put(r, role);
    fr_chat_puts(&r->w, "\n");
    put(r, text);
    fr_chat_puts(&r->w, "<|im_end|>\n");
}

// Results in a row share one user turn.
static void put_qwen_result(render *r, int i) {
    const int last = r->request->n_messages - 1;
    if (i == 0 || !has_role(r, i - 1, "tool")) fr_chat_puts(&r->w, "<|im_start|>user");
    fr_chat_puts(&r->w, "\n<tool_response>\n");
    put(r, content(r, i));
    fr_chat_puts(&r->w, "\n</tool_response>");
    if (i == last || !has_role(r, i + 1, "tool")) fr_chat_puts(&r->w, "<|im_end|>\n");
}

static void put_qwen_call(render *r, const fr_tool_call *call, fr_chat_str arguments) {
    fr_chat_puts(&r->w, "<tool_call>\n{\"name\": \"");
    put(r, call->name);
    fr_chat_puts(&r->w, "\", \"arguments\": ");
    put(r, arguments);
    fr_chat_puts(&r->w, "}\n</tool_call>");
}

static void put_qwen2_message(render *r, int i) {
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

static void render_qwen2(render *r) {
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
static int last_query(render *r) {
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

static void put_qwen3_answer(render *r, int i, int query) {
    const fr_message *m = &r->request->messages[i];
    fr_chat_str text = m->content.data || m->n_tool_calls ? m->content : content(r, i);
    fr_chat_str thinking = m->reasoning.data ? m->reasoning : NOTHING;
    if (!text.data) text = NOTHING;
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

static void render_qwen3(render *r) {
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

// ---- all -----------------------------------------------------------------------------------

static void render_kind(render *r) {
    const fr_chat_kind kind = r->chat->kind;
    const bool no_tools = kind == FR_CHAT_TURNS || kind == FR_CHAT_LLAMA2;
    if (r->request->n_tools && no_tools) {
        r->w.status = fr_fail(r->w.err, FR_EUNSUP, "tools: the chat template (%s) knows none",
                              fr_chat_name(r->chat));
        return;
    }
    switch (kind) {
    case FR_CHAT_TURNS:
        render_turns(r);
        break;
    case FR_CHAT_LLAMA2:
        render_llama2(r);
        break;
    case FR_CHAT_LLAMA31:
        render_llama31(r);
        break;
    case FR_CHAT_MISTRAL:
        render_mistral(r);
        break;
    case FR_CHAT_QWEN2:
        render_qwen2(r);
        break;
    case FR_CHAT_QWEN3:
        render_qwen3(r);
        break;
    case FR_CHAT_NONE:
        r->w.status = fr_fail(r->w.err, FR_EUNSUP,
                              "the model has no chat template: use --raw or "
                              "--chat-template NAME");
    }
}

fr_status fr_chat_render(const fr_chat_template *chat, const fr_chat_request *request,
                         fr_chat_text *out, fr_error *err) {
    render r = {{out, err, FR_OK}, chat, request};
    fr_chat_text_close(out);
    if (request->n_messages < 1)
        return fr_fail(err, FR_EARG, "messages: expected at least one, found none");
    render_kind(&r);
    if (r.w.status) {
        fr_chat_text_close(out);
        return r.w.status;
    }
    const fr_chat_str bos = request->bos;
    out->has_bos = bos.bytes && out->bytes >= bos.bytes && !memcmp(out->data, bos.data, bos.bytes);
    return FR_OK;
}
