// render.h — what the renderers of the kinds share. Private to text/.
//
// A renderer follows its template from top to bottom and writes; the first failure stays in
// r->w.status, nothing is written after it, and loops over messages end by it.
#ifndef FR_TEXT_CHAT_RENDER_H
#define FR_TEXT_CHAT_RENDER_H
#include "text/chat/family.h"
#include "text/chat/text.h"

typedef struct fr_chat_renderer {
    fr_chat_writer w;
    const fr_chat_template *chat;
    const fr_chat_request *request;
} fr_chat_renderer;

#define FR_CHAT_NOTHING ((fr_chat_str){"", 0})

static inline void put(fr_chat_renderer *r, fr_chat_str s) {
    fr_chat_put(&r->w, s);
}

// The texts of tables: eos is a mark in them.
static inline void puts_marked(fr_chat_renderer *r, const char *s) {
    for (const char *mark; (mark = strchr(s, FR_CHAT_EOS[0])); s = mark + 1) {
        put(r, (fr_chat_str){s, (size_t)(mark - s)});
        put(r, r->request->eos);
    }
    fr_chat_puts(&r->w, s);
}

static inline void refuse(fr_chat_renderer *r, int message, const char *why) {
    if (r->w.status) return;
    const fr_chat_str role = r->request->messages[message].role;
    r->w.status =
        fr_fail(r->w.err, FR_EARG, "message %d (%.*s): %s", message + 1,
                (int)(role.bytes < 40 ? role.bytes : 40), role.bytes ? role.data : "", why);
}

static inline bool has_role(const fr_chat_renderer *r, int i, const char *role) {
    return fr_chat_is(r->request->messages[i].role, role);
}

static inline bool starts_with_system(const fr_chat_renderer *r) {
    return has_role(r, 0, "system");
}

// A message's content where the template cannot do without.
static inline fr_chat_str content(fr_chat_renderer *r, int i) {
    const fr_chat_str s = r->request->messages[i].content;
    if (s.data) return s;
    refuse(r, i, "it has no content, which this chat template needs");
    return FR_CHAT_NOTHING;
}

static inline fr_chat_str strip(fr_chat_str s) {
    return fr_chat_lstrip(fr_chat_rstrip(s));
}

static inline void put_json_string(fr_chat_renderer *r, fr_chat_str s) {
    if (!r->w.status)
        r->w.status = fr_chat_text_add_json_string(r->w.out, s.data, s.bytes, r->w.err);
}

// user, anything else, user, … counted from message `first`, the `place`-th of its conversation.
static inline void check_alternation(fr_chat_renderer *r, int i, int place) {
    if (has_role(r, i, "user") != (place % 2 == 0))
        refuse(r, i, "this chat template needs the roles user and assistant in turn");
}

// One a kind.
void fr_chat_render_llama2(fr_chat_renderer *r);
void fr_chat_render_llama31(fr_chat_renderer *r);
void fr_chat_render_mistral(fr_chat_renderer *r);
void fr_chat_render_qwen2(fr_chat_renderer *r);
void fr_chat_render_qwen3(fr_chat_renderer *r);

#endif
