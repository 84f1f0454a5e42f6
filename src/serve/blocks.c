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

static void send_text(const sender *s, fr_block_kind kind, const fr_buffer *text, size_t *sent) {
    if (text->n == *sent) return;
    enter(s, kind, *sent);
    s->words->add(s->ask, s->c, fr_json_text(text->data + *sent, text->n - *sent), s->events);
    *sent = text->n;
}

void fr_blocks_send(const fr_ask *ask, fr_choice *c, const fr_blocks *words, bool last,
                    json_t *events) {
    const sender s = {ask, c, words, events};
    send_text(&s, FR_BLOCK_THINKING, &c->answer.thinking, &c->thought);
    send_text(&s, FR_BLOCK_TEXT, &c->answer.content, &c->said);
    for (; c->called < c->answer.n_calls; c->called++) {
        c->call = c->called;
        enter(&s, FR_BLOCK_CALL, 0);
        words->add(ask, c, json_string(c->answer.call[c->call].arguments), events);
        leave(&s);
    }
    if (last) leave(&s);
}

json_t *fr_blocks_text(const fr_choice *c) {
    const fr_buffer *text =
        c->block == FR_BLOCK_THINKING ? &c->answer.thinking : &c->answer.content;
    return fr_json_text(text->data + c->begin, text->n - c->begin);
}
