#include "serve/blocks.h"

typedef struct sender {
    const fr_ask *ask;
    fr_choice *c;
    const fr_blocks *words;
    json_t *events;
} sender;

static void leave(const sender *s) {
    if (s->c->block == FR_BLOCK_NONE) return;
    s->words->close(s->ask, s->c, s->events);
    s->c->block = FR_BLOCK_NONE;
    s->c->n_block++;
}

static void enter(const sender *s, fr_block_kind kind, size_t begin) {
    if (s->c->block == kind) return;
    leave(s);
    s->c->block = kind;
    s->c->begin = begin;
    s->words->open(s->ask, s->c, s->events);
}

// Sends the text up to `to`. *sent is set before `add`, which reads it as the end of the block's
// text.
static void send_text(const sender *s, fr_block_kind kind, const fr_buffer *text, size_t *sent,
                      size_t to) {
    const size_t from = *sent;
    if (to <= from) return;
    enter(s, kind, from);
    *sent = to;
    s->words->add(s->ask, s->c, fr_json_text(text->data + from, to - from), s->events);
}

static void send_texts(const sender *s, size_t thinking, size_t content) {
    fr_choice *c = s->c;
    send_text(s, FR_BLOCK_THINKING, &c->answer.thinking, &c->thought, thinking);
    send_text(s, FR_BLOCK_TEXT, &c->answer.content, &c->said, content);
}

void fr_blocks_send(const fr_ask *ask, fr_choice *c, const fr_blocks *words, bool last,
                    json_t *events) {
    const sender s = {ask, c, words, events};
    for (; c->called < c->answer.n_calls; c->called++) {
        const fr_api_call *call = &c->answer.call[c->called];
        send_texts(&s, call->thinking, call->content);
        c->call = c->called;
        enter(&s, FR_BLOCK_CALL, 0);
        words->add(ask, c, json_string(call->arguments), events);
        leave(&s);
    }
    send_texts(&s, c->answer.thinking.n, c->answer.content.n);
    if (last && words->never_empty && !c->n_block && c->block == FR_BLOCK_NONE)
        enter(&s, FR_BLOCK_TEXT, 0);
    if (last) leave(&s);
}

json_t *fr_blocks_text(const fr_choice *c) {
    const bool thinks = c->block == FR_BLOCK_THINKING;
    const fr_buffer *text = thinks ? &c->answer.thinking : &c->answer.content;
    const size_t n = (thinks ? c->thought : c->said) - c->begin;
    return fr_json_text(n ? text->data + c->begin : "", n);
}

bool fr_blocks_are_sent(const fr_choice *c) {
    const fr_api_answer *a = &c->answer;
    return c->thought == a->thinking.n && c->said == a->content.n && c->called == a->n_calls;
}
