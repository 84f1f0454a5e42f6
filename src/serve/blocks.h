// blocks.h — a chat's answer as blocks, one behind the other as the model wrote them: thinking,
// text, calls. Anthropic's messages and OpenAI's responses are such lists, whole and as streams.
#ifndef FR_SERVE_BLOCKS_H
#define FR_SERVE_BLOCKS_H
#include "serve/dialect.h"

typedef struct fr_blocks { // how an API words them; each appends to a list of events
    void (*open)(const fr_ask *ask, fr_choice *c, json_t *events);
    void (*add)(const fr_ask *ask, fr_choice *c, json_t *text, json_t *events); // takes the text
    void (*close)(const fr_ask *ask, fr_choice *c, json_t *events);
    bool never_empty; // an answer of nothing is a block of text without any
} fr_blocks;

// What the choice has beyond what was sent; `last` closes what is open. Within the calls above
// c->block, c->n_block and c->call say which block it is.
void fr_blocks_send(const fr_ask *ask, fr_choice *c, const fr_blocks *words, bool last,
                    json_t *events);
// The text of the block at hand, so far.
json_t *fr_blocks_text(const fr_choice *c);
// Whether no other block follows the one at hand, as far as the answer is known.
bool fr_blocks_are_sent(const fr_choice *c);

#endif
