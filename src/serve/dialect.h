// dialect.h — the form of an API's answers. They are built from copies of the jobs' results
// (job_copy.h), with no job locked.
#ifndef FR_SERVE_DIALECT_H
#define FR_SERVE_DIALECT_H
#include "serve/ask.h"

typedef struct fr_part { // the new text of a choice
    int index;           // of the choice
    const char *text;
    size_t bytes;
    int from;         // its first token
    bool first, last; // it is the first part; the choice has ended
} fr_part;

typedef struct fr_dialect {
    fr_ask_options ask;
    bool says_done;    // streams end with [DONE]
    bool names_events; // each event has a line with its "type"
    json_t *(*whole)(const fr_ask *ask);
    // These append events to a list, in time that is linear in what is new.
    // The beginning of a choice's stream, before its first part or first `alive`. With
    // begins_at_once it is sent as soon as a context runs the job. NULL: nothing.
    void (*begin)(const fr_ask *ask, int index, json_t *events);
    bool begins_at_once;
    // New text of a choice.
    void (*part)(const fr_ask *ask, const fr_part *p, json_t *events);
    // n_read tokens of a prompt are read. NULL: the API has no such event.
    void (*progress)(const fr_ask *ask, int index, int n_read, json_t *events);
    // A sign of life after a long time without new text.
    void (*alive)(const fr_ask *ask, int index, json_t *events);
    // The last event of a choice that failed. NULL: the error's document is the event.
    json_t *(*fault)(const fr_ask *ask, int index, const fr_error *err);
    // The event after the last part: usage, if the request wants it. Or NULL.
    json_t *(*end)(const fr_ask *ask);
} fr_dialect;

extern const fr_dialect fr_dialect_chat, fr_dialect_text; // [openai.c]
extern const fr_dialect fr_dialect_llama;                 // [llama.c]
extern const fr_dialect fr_dialect_anthropic;             // [anthropic.c]
extern const fr_dialect fr_dialect_responses;             // [responses.c]

// The last event of a list, borrowed; NULL: the list is empty.
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
