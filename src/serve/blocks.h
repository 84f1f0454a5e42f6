// blocks.h — a chat's answer as blocks in the order in which the model wrote them: thinking,
// text, calls. Anthropic's messages and OpenAI's responses are such lists, whole and as streams.
#ifndef FR_SERVE_BLOCKS_H
#define FR_SERVE_BLOCKS_H
#include "serve/dialect.h"

typedef struct fr_blocks { // an API's events for blocks; each function appends to a list of events
    void (*open)(const fr_ask *ask, fr_choice *c, json_t *events);
    void (*add)(const fr_ask *ask, fr_choice *c, json_t *text, json_t *events); // takes the text
    void (*close)(const fr_ask *ask, fr_choice *c, json_t *events);
    bool never_empty; // an empty answer is one block with an empty text
} fr_blocks;

// Appends the events for everything that was not sent yet; `last` also closes the open block.
// Within the calls above c->block, c->n_block and c->call identify the block.
void fr_blocks_send(const fr_ask *ask, fr_choice *c, const fr_blocks *words, bool last,
                    json_t *events);
// The text of the open block, so far.
json_t *fr_blocks_text(const fr_choice *c);
// Whether no other block follows the open one in the answer so far.
bool fr_blocks_are_sent(const fr_choice *c);

#endif
