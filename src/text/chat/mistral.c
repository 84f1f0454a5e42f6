// mistral.c — Mistral v3 and Tekken, with tools.
#include "text/chat/render.h"

// "[INST]" and the like, with the blank that all but the Tekken templates write after it.
static void put_mark(fr_chat_renderer *r, const char *mark) {
    fr_chat_puts(&r->w, mark);
    if (r->chat->variant & FR_CHAT_MISTRAL_SPACE) fr_chat_puts(&r->w, " ");
}

static bool same(fr_chat_str a, fr_chat_str b) {
    return !a.data == !b.data && a.bytes == b.bytes &&
           (!a.bytes || !memcmp(a.data, b.data, a.bytes));
}

// The template compares messages by value: one that repeats the last user message gets tools too.
static bool equals(const fr_message *a, const fr_message *b) {
    return same(a->content, b->content) && same(a->name, b->name);
}

static void put_mistral_tools(fr_chat_renderer *r) {
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

static void check_call_id(fr_chat_renderer *r, int message, fr_chat_str id) {
    size_t characters = 0;
    for (size_t i = 0; i < id.bytes; i++)
        characters += ((unsigned char)id.data[i] & 0xc0) != 0x80;
    if (characters != 9)
        refuse(r, message, "this chat template needs tool call ids of 9 characters");
}

static void put_mistral_calls(fr_chat_renderer *r, int i) {
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

static void put_mistral_user(fr_chat_renderer *r, int i, int first, int last_user) {
    const fr_chat_request *q = r->request;
    const bool at_first = r->chat->variant & FR_CHAT_MISTRAL_SYSTEM_FIRST;
    if (q->n_tools && equals(&q->messages[i], &q->messages[last_user])) put_mistral_tools(r);
    put_mark(r, "[INST]");
    if (first && i == (at_first ? first : q->n_messages - 1)) {
        put(r, content(r, 0));
        fr_chat_puts(&r->w, "\n\n");
    }
    put(r, content(r, i));
    fr_chat_puts(&r->w, "[/INST]");
}

static bool is_tool_result(const fr_chat_renderer *r, int i) {
    return has_role(r, i, "tool") || has_role(r, i, "tool_results");
}

static void put_mistral_message(fr_chat_renderer *r, int i, int first, int last_user) {
    const fr_message *m = &r->request->messages[i];
    const uint32_t variant = r->chat->variant;
    if (has_role(r, i, "user")) {
        put_mistral_user(r, i, first, last_user);
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

void fr_chat_render_mistral(fr_chat_renderer *r) {
    const fr_chat_request *q = r->request;
    const int first = starts_with_system(r);
    put(r, q->bos);
    for (int i = first, place = 0; i < q->n_messages; i++)
        if (!is_tool_result(r, i) && !q->messages[i].n_tool_calls) check_alternation(r, i, place++);
    int last_user = first;
    for (int i = first; i < q->n_messages; i++)
        if (has_role(r, i, "user")) last_user = i;
    for (int i = first; i < q->n_messages && !r->w.status; i++)
        put_mistral_message(r, i, first, last_user);
}
