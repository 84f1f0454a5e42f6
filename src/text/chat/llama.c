// llama.c — Llama-2, whose system message is inside the first user turn, and Llama-3.1 with
// tools.
#include "text/chat/render.h"

// The stripped content of the first user turn, which holds the system message.
static void put_llama2_first(fr_chat_renderer *r, fr_chat_str system, fr_chat_str text) {
    text = fr_chat_rstrip(text);
    fr_chat_puts(&r->w, "<<SYS>>\n");
    put(r, system);
    fr_chat_puts(&r->w, text.bytes ? "\n<</SYS>>\n\n" : "\n<</SYS>>");
    put(r, text);
}

void fr_chat_render_llama2(fr_chat_renderer *r) {
    const fr_chat_request *q = r->request;
    const int first = starts_with_system(r);
    const fr_chat_str system = first ? content(r, 0) : FR_CHAT_NOTHING;
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

#define LLAMA3_HEADER(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"

// JSON as json.dumps writes it with indent=4, from the same JSON in one line (", " and ": ").
static void put_indented(fr_chat_renderer *r, fr_chat_str json) {
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

static void put_llama31_message(fr_chat_renderer *r, int i) {
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

static void put_llama31_tools(fr_chat_renderer *r, int user) {
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

void fr_chat_render_llama31(fr_chat_renderer *r) {
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
