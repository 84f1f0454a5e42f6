// ask.h — the answers that one body asks for: its choices, each a job.
#ifndef FR_SERVE_ASK_H
#define FR_SERVE_ASK_H
#include "api/answer.h"
#include "serve/server.h"

typedef struct fr_choice {
    fr_request request;
    fr_sampling sampling;
    fr_job job;
    fr_api_answer answer; // of a chat: its text taken apart,
    size_t thought, said; // ... and how much of it was sent
    int called;
    bool submitted;
} fr_choice;

typedef struct fr_ask {
    fr_server *server;
    fr_api_request request;
    fr_choice *choice; // [n]
    int n;
    char id[40];
    time_t created;
} fr_ask;

// Reads the body [bytes], makes ids of it and queues all choices. NULL: that cannot be done, which
// was replied.
fr_ask *fr_ask_open(fr_server *server, fr_exchange *x, fr_api_kind kind, const char *id_prefix,
                    const char *body, size_t bytes);
// Cancels what is not at its end, and waits for it.
void fr_ask_close(fr_ask *ask);
// Waits until all choices have ended. False: the other side has hung up.
bool fr_ask_wait(fr_ask *ask, fr_exchange *x);
// The error of a choice that failed; NULL: none did. After the wait.
const fr_error *fr_ask_fault(const fr_ask *ask);

// ---- parts of answers; choices have ended, or are locked
const char *fr_ask_finish(const fr_choice *c); // "stop", "length", "tool_calls"
json_t *fr_ask_usage(const fr_ask *ask);       // of all choices
json_t *fr_ask_timings(const fr_choice *c);    // llama.cpp's
// Adds llama.cpp's "prompt_progress" and "timings" to an event while a prompt is read.
void fr_ask_add_progress(json_t *doc, const fr_choice *c, int n_read);
// Log probabilities of the tokens [from, job->n_tokens) in the API's shape; null where they are not
// wanted.
json_t *fr_ask_logprobs(const fr_ask *ask, const fr_choice *c, int from);

#endif
