// dialect.h — how an API words the answers that an ask gives. All of it is built from copies of
// the jobs' results (job_copy.h), with no job locked.
#ifndef FR_SERVE_DIALECT_H
#define FR_SERVE_DIALECT_H
#include "serve/ask.h"

typedef struct fr_part { // what is new of a choice
    int index;           // of the choice
    const char *text;
    size_t bytes;
    int from;         // its first token
    bool first, last; // no part came before; the choice has ended
} fr_part;

typedef struct fr_dialect {
    fr_ask_options ask;
    bool says_done;    // streams end with [DONE]
    bool names_events; // each has a line with its "type"
    json_t *(*whole)(const fr_ask *ask);
    // These append events to a list, in time that is linear in what is new.
    // What a stream of a choice begins with, in front of its first part or of the first `alive`, or
    // already when a context takes the job (begins_at_once); NULL: nothing.
    void (*begin)(const fr_ask *ask, int index, json_t *events);
    bool begins_at_once;
    // What is new of a choice.
    void (*part)(const fr_ask *ask, const fr_part *p, json_t *events);
    // So many tokens of a prompt are read; NULL: there is no such event.
    void (*progress)(const fr_ask *ask, int index, int n_read, json_t *events);
    // Nothing is new for long: an event that clients take for a sign of life.
    void (*alive)(const fr_ask *ask, int index, json_t *events);
    // The event that a choice has failed, the last one; NULL: that of the error's document.
    json_t *(*fault)(const fr_ask *ask, int index, const fr_error *err);
    // The event behind the last part, or NULL: usage, where it was asked for.
    json_t *(*end)(const fr_ask *ask);
} fr_dialect;

extern const fr_dialect fr_dialect_chat, fr_dialect_text; // [openai.c]
extern const fr_dialect fr_dialect_llama;                 // [llama.c]
extern const fr_dialect fr_dialect_anthropic;             // [anthropic.c]
extern const fr_dialect fr_dialect_responses;             // [responses.c]

// The last of a list of events, borrowed; NULL: it has none.
static inline json_t *fr_last_event(const json_t *events) {
    return json_array_get(events, json_array_size(events) - 1);
}

// A choice that has ended, as /completion gives it.  [llama.c]
json_t *fr_llama_document(const fr_ask *ask, int index);

// Makes jobs of a body, as fr_ask_open does.
typedef fr_status fr_ask_fn(fr_ask **out, fr_server *server, fr_exchange *x,
                            const fr_dialect *dialect, const fr_watch *watch, fr_error *err);
// Answers the body that `open` reads, whole or as a stream.  [generate.c]
void fr_generate(fr_server *server, fr_exchange *x, const fr_dialect *dialect, fr_ask_fn *open);

#endif
