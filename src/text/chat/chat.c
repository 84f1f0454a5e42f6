// chat.c — the turns of the table, and the choice of the renderer.
#include "text/chat/chat.h"
#include "text/chat/render.h"

static const char *const *turn_texts(const fr_chat_turns *t, const fr_chat_renderer *r, int i) {
    if (has_role(r, i, "user")) return t->user;
    if (has_role(r, i, "assistant")) return t->assistant;
    if (has_role(r, i, "system")) return t->system;
    return NULL;
}

// Message i, with `prefix` (absent: none) in front of its content.
static void put_turn(fr_chat_renderer *r, const fr_chat_turns *t, int i, fr_chat_str prefix) {
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

static void render_turns(fr_chat_renderer *r) {
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

static void render_kind(fr_chat_renderer *r) {
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
        fr_chat_render_llama2(r);
        break;
    case FR_CHAT_LLAMA31:
        fr_chat_render_llama31(r);
        break;
    case FR_CHAT_MISTRAL:
        fr_chat_render_mistral(r);
        break;
    case FR_CHAT_QWEN2:
        fr_chat_render_qwen2(r);
        break;
    case FR_CHAT_QWEN3:
        fr_chat_render_qwen3(r);
        break;
    case FR_CHAT_NONE:
        r->w.status = fr_fail(r->w.err, FR_EUNSUP,
                              "the model has no chat template: use --raw or "
                              "--chat-template NAME");
    }
}

fr_status fr_chat_render(const fr_chat_template *chat, const fr_chat_request *request,
                         fr_chat_text *out, fr_error *err) {
    fr_chat_renderer r = {{out, err, FR_OK}, chat, request};
    fr_chat_text_close(out);
    if (request->n_messages < 1)
        return fr_fail(err, FR_EARG, "messages: expected at least one, found none");
    r.w.status = fr_chat_text_add(out, "", 0, err); // an empty prompt has a NUL too
    if (!r.w.status) render_kind(&r);
    if (r.w.status) {
        fr_chat_text_close(out);
        return r.w.status;
    }
    const fr_chat_str bos = request->bos;
    out->has_bos =
        bos.bytes && out->text.n >= bos.bytes && !memcmp(out->text.data, bos.data, bos.bytes);
    return FR_OK;
}
