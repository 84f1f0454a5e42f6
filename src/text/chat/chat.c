// chat.c — opening a template, and rendering a conversation by it.
#include "text/chat/chat.h"
#include "text/chat/probe.h"
#include <string.h>

fr_status fr_chat_open(fr_chat_template *out, const char *text, size_t bytes, fr_error *err) {
    *out = (fr_chat_template){0};
    if (!text || !bytes)
        return fr_fail(err, FR_EUNSUP,
                       "the model has no chat template: use --raw, --chat-template with the name "
                       "of one, or --chat-template-file");
    fr_status st = fr_jinja_open(&out->program, text, bytes, err);
    out->thinking = fr_thinking_form_of(text, bytes);
    if (!st) st = fr_chat_probe(out, err);
    if (st) fr_chat_close(out);
    return st;
}

void fr_chat_close(fr_chat_template *chat) {
    fr_jinja_close(chat->program);
    *chat = (fr_chat_template){0};
}

const fr_chat_template *fr_chat_choose(const fr_chat_template *chat, bool has_tools) {
    return has_tools && chat->for_tools ? chat->for_tools : chat;
}

void fr_chat_text_close(fr_chat_text *text) {
    fr_marked_free(&text->marked);
    *text = (fr_chat_text){0};
}

fr_mark fr_chat_role_mark(const char *role, size_t bytes) {
    static const char *const known[] = {"system",   "user",  "assistant", "tool",    "developer",
                                        "function", "model", "ipython",   "chatbot", "observation"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == bytes && !memcmp(role, known[i], bytes)) return FR_MARK_TEMPLATE;
    return FR_MARK_MESSAGE;
}

// ---- rendering

static fr_jinja_value text_value(fr_jinja_values *v, fr_chat_str s, fr_mark mark) {
    return s.data ? fr_jinja_string(v, s.data, s.bytes, mark) : fr_jinja_none();
}

static void put(fr_jinja_values *v, fr_jinja_value to, const char *key, fr_jinja_value item) {
    fr_jinja_put(v, to, key, strlen(key), item);
}

static fr_jinja_value message_value(fr_jinja_values *v, const fr_message *m,
                                    const fr_chat_takes *takes) {
    const fr_jinja_value out = fr_jinja_dict(v);
    const fr_chat_str role = {m->role.data ? m->role.data : "", m->role.bytes};
    fr_jinja_value content = text_value(v, m->content, FR_MARK_MESSAGE);
    if (m->content.data && takes->parts && !takes->text) {
        const fr_jinja_value part = fr_jinja_dict(v), parts = fr_jinja_list(v);
        put(v, part, "type", fr_jinja_string(v, "text", 4, FR_MARK_TEMPLATE));
        put(v, part, "text", content);
        fr_jinja_append(v, parts, part);
        content = parts;
    }
    put(v, out, "role", text_value(v, role, fr_chat_role_mark(role.data, role.bytes)));
    put(v, out, "content", content);
    return out;
}

static void set_messages(fr_jinja_values *v, const fr_chat_request *q, const fr_chat_takes *takes) {
    const fr_jinja_value list = fr_jinja_list(v);
    for (int i = 0; i < q->n_messages; i++)
        fr_jinja_append(v, list, message_value(v, &q->messages[i], takes));
    fr_jinja_set(v, "messages", list);
    fr_jinja_set(v, "tools", fr_jinja_none());
    fr_jinja_set(v, "documents", fr_jinja_none());
}

static fr_chat_str or_empty(fr_chat_str s) {
    return s.data ? s : (fr_chat_str){"", 0};
}

static bool begins_with(const fr_marked *m, fr_chat_str bos) {
    return bos.bytes && m->n_runs && m->run[0].mark == FR_MARK_TEMPLATE &&
           m->run[0].end >= bos.bytes && !memcmp(m->text.data, bos.data, bos.bytes);
}

static fr_status render(const fr_chat_template *chat, const fr_chat_request *q, fr_jinja_values *v,
                        fr_chat_text *out, fr_error *err) {
    fr_jinja_set(v, "bos_token", text_value(v, or_empty(q->bos), FR_MARK_TEMPLATE));
    fr_jinja_set(v, "eos_token", text_value(v, or_empty(q->eos), FR_MARK_TEMPLATE));
    fr_jinja_set(v, "add_generation_prompt", fr_jinja_bool(q->add_generation_prompt));
    const fr_jinja_options options = {.now = q->now, .max_steps = q->max_steps, .watch = q->watch};
    const fr_status st = fr_jinja_render(chat->program, v, &options, &out->marked, err);
    if (!st) out->has_bos = begins_with(&out->marked, q->bos);
    return st;
}

fr_status fr_chat_render(const fr_chat_template *chat, const fr_chat_request *q, fr_chat_text *out,
                         fr_error *err) {
    fr_chat_text_close(out);
    chat = fr_chat_choose(chat, q->has_tools);
    if (!chat->program) return fr_fail(err, FR_EUNSUP, "no chat template");
    if (!q->values && q->n_messages < 1)
        return fr_fail(err, FR_EARG, "a conversation needs at least one message");
    if (q->has_tools && !chat->takes.tools)
        return fr_fail(err, FR_EUNSUP, "this chat template knows no tools");
    if (!q->messages) return render(chat, q, q->values, out, err);
    fr_jinja_values *v;
    fr_status st = fr_jinja_values_open(&v, err);
    if (st) return st;
    set_messages(v, q, &chat->takes);
    st = render(chat, q, v, out, err);
    fr_jinja_values_close(v);
    return st;
}
