// ask.h — one request body in progress: its choices, each a job.
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
    fr_job_copy copy; // of the job's results; answers are built from it
    // Chat only: the parsed text; bytes of the text that were parsed; bytes of thinking and of
    // content that were sent; number of calls that were sent.
    fr_api_answer answer;
    size_t parsed, thought, said;
    int called;
    // Chat with pieces only: the pieces in the API's form; the stream removes those that it sends.
    // n_pieces: how many of the job's pieces were added.
    json_t *pieces;
    size_t n_pieces;
    // Text completion with log probabilities only: characters before token n_counted, including the
    // prompt's if the prompt is echoed.
    int n_counted, characters;
    // Stream in blocks only (blocks.h): the kind of the open block, its number, and where it begins
    // in the answer's text; for a call, the call's number.
    fr_block_kind block;
    int n_block, call, n_events;
    size_t begin;
    json_t *items; // the closed blocks, for APIs that repeat them at the end
} fr_choice;

typedef struct fr_ask {
    fr_server *server;
    json_t *body; // as received
    fr_api_request request;
    fr_choice *choice; // [n]
    int n;
    bool submitted;
    char address[FR_CLIENT_NAME]; // of the client
    char id[40];
    const char *tag; // the id without its prefix (fr_ask_options.id_prefix)
    time_t created;
} fr_ask;

typedef struct fr_ask_options {
    fr_api_kind kind;
    const char *id_prefix;
    fr_api_translator *translate; // makes a chat request of the body; NULL: the body is one
    const fr_api_own_name *own;   // names of its fields before the translation
} fr_ask_options;

// Parses the body (takes the reference), makes ids of its prompts and queues all choices. *out NULL
// with FR_OK: the queue is full, and the reply says so.
fr_status fr_ask_open(fr_ask **out, fr_server *server, fr_exchange *x,
                      const fr_ask_options *options, json_t *body, const fr_watch *watch,
                      fr_error *err);
// Cancels the jobs that have not ended, and waits for their ends.
void fr_ask_close(fr_ask *ask);
// Waits until all choices have ended. False: the client has hung up.
bool fr_ask_wait(fr_ask *ask, fr_exchange *x);
// Parses the text of a chat's choice as far as it was generated. FR_ENOMEM; the error with which
// the choice failed; FR_EINTR: the choice ended before it began, or the server is ending and cut it
// off.
fr_status fr_ask_parse(const fr_ask *ask, fr_choice *c, fr_error *err);

// Reads a body as fr_ask_open does, but queues nothing. Its prompts may have any length if n_ctx
// (as in fr_api_model) is 0. Close *r in any case.
fr_status fr_ask_read(fr_api_request *r, const fr_server *server, const fr_ask_options *options,
                      const json_t *body, int n_ctx, const fr_watch *watch, fr_error *err);

// ---- parts of answers, built from the copies of their jobs  [ask_parts.c]
const char *fr_ask_finish(const fr_choice *c); // "stop", "length", "tool_calls"
// The stop string that ended the choice, or NULL.
const char *fr_ask_stop_string(const fr_choice *c);
json_t *fr_ask_usage(const fr_ask *ask);                   // of all choices
int fr_ask_thought(const fr_ask *ask, const fr_choice *c); // tokens of thinking
json_t *fr_ask_timings(const fr_choice *c);                // llama.cpp's
void fr_ask_add_seed(const fr_ask *ask, json_t *doc);
// Adds llama.cpp's "prompt_progress" and "timings" to an event while a prompt is read.
void fr_ask_add_progress(json_t *doc, const fr_choice *c, int n_read);
// Appends the text of a choice's prompt.
void fr_ask_add_prompt(const fr_ask *ask, const fr_choice *c, fr_buffer *text);
// Log probabilities of the tokens generated so far, from token `from` on, in the API's shape. null
// if the request does not want them. In a stream `from` only grows.
json_t *fr_ask_logprobs(const fr_ask *ask, fr_choice *c, int from);

#endif
