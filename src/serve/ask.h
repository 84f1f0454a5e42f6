// ask.h — the answers that one body asks for: its choices, each a job.
#ifndef FR_SERVE_ASK_H
#define FR_SERVE_ASK_H
#include "api/answer.h"
#include "api/translate.h"
#include "serve/job_copy.h"
#include "serve/server.h"

typedef enum fr_block_kind {
    FR_BLOCK_NONE,
    FR_BLOCK_THINKING,
    FR_BLOCK_TEXT,
    FR_BLOCK_CALL
} fr_block_kind;

typedef struct fr_choice {
    fr_request request;
    fr_sampling sampling;
    fr_job job;
    fr_job_copy copy; // of the job; answers are built from it
    // Of a chat: its parsed text, and how much of that was sent: bytes of the text parsed,
    // bytes of thinking and of content sent, calls sent.
    fr_api_answer answer;
    size_t parsed, thought, said;
    int called;
    // Of a chat that wants them: the pieces in the API's form, from which the stream removes what
    // it sends; n_pieces: how many of the job's pieces were added.
    json_t *pieces;
    size_t n_pieces;
    // Of a text completion with log probabilities: characters in front of its token n_counted, the
    // prompt's among them where that is echoed.
    int n_counted, characters;
    // Of a stream in blocks (blocks.h): the kind of the open block, its number, and where it begins
    // in the answer's text; for a call, the call's number.
    fr_block_kind block;
    int n_block, call, n_events;
    size_t begin;
    json_t *items; // ... the closed blocks, for APIs that repeat them at the end
} fr_choice;

typedef struct fr_ask {
    fr_server *server;
    json_t *body; // as it came
    fr_api_request request;
    fr_choice *choice; // [n]
    int n;
    bool submitted;
    char address[FR_CLIENT_NAME]; // the client's
    char id[40];
    const char *tag; // the id after what all ids of its kind begin with
    time_t created;
} fr_ask;

typedef struct fr_ask_options {
    fr_api_kind kind;
    const char *id_prefix;
    fr_api_translator *translate; // the body into one of the chat API; NULL: it is one
    const fr_api_own_name *own;   // ... and what its fields were called
} fr_ask_options;

// Reads the body, whose reference is taken, makes ids of it and queues all choices. *out NULL and
// FR_OK: there is no room for it, which was replied.
fr_status fr_ask_open(fr_ask **out, fr_server *server, fr_exchange *x,
                      const fr_ask_options *options, json_t *body, const fr_watch *watch,
                      fr_error *err);
// Cancels what is not at its end, and waits for it.
void fr_ask_close(fr_ask *ask);
// Waits until all choices have ended. False: the other side has hung up.
bool fr_ask_wait(fr_ask *ask, fr_exchange *x);
// Takes the text of a chat's choice apart, as far as it has come. FR_ENOMEM; what the choice failed
// with; FR_EINTR: it ended before it began, or was cut off by a server that ends.
fr_status fr_ask_parse(const fr_ask *ask, fr_choice *c, fr_error *err);

// Reads a body as fr_ask_open does, but asks for nothing: its prompts may be of any length, unless
// n_ctx (as fr_api_model has it) is given. Close *r in any case.
fr_status fr_ask_read(fr_api_request *r, const fr_server *server, const fr_ask_options *options,
                      const json_t *body, int n_ctx, const fr_watch *watch, fr_error *err);

// ---- parts of answers, made of the copies of their jobs  [ask_parts.c]
const char *fr_ask_finish(const fr_choice *c); // "stop", "length", "tool_calls"
// The stop string that ended it; NULL: none did.
const char *fr_ask_stop_string(const fr_choice *c);
json_t *fr_ask_usage(const fr_ask *ask);                   // of all choices
int fr_ask_thought(const fr_ask *ask, const fr_choice *c); // tokens of thinking
json_t *fr_ask_timings(const fr_choice *c);                // llama.cpp's
void fr_ask_add_seed(const fr_ask *ask, json_t *doc);
// Adds llama.cpp's "prompt_progress" and "timings" to an event while a prompt is read.
void fr_ask_add_progress(json_t *doc, const fr_choice *c, int n_read);
// Appends the text of a choice's prompt.
void fr_ask_add_prompt(const fr_ask *ask, const fr_choice *c, fr_buffer *text);
// Log probabilities of the tokens that have come, from `from` on, in the API's shape; null where
// they are not wanted. In a stream `from` only grows.
json_t *fr_ask_logprobs(const fr_ask *ask, fr_choice *c, int from);

#endif
