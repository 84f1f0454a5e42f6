// server.h — what all endpoints share: the model, the scheduler, and the defaults of requests.
#ifndef FR_SERVE_SERVER_H
#define FR_SERVE_SERVER_H
#include "api/request.h"
#include "serve/http.h"
#include "serve/preparer.h"
#include "serve/scheduler.h"
#include <stdatomic.h>
#include <time.h>

typedef struct fr_server {
    fr_engine *engine;
    const fr_text *text; // the engine's, or the same with the user's template
    fr_scheduler *scheduler;
    fr_preparer *preparer;
    fr_api_model api;
    fr_api_defaults defaults;
    const char *name;           // the model's name in answers
    const char *aliases, *tags; // comma-separated further names and tags; NULL: none
    const char *path;           // of its file, for GET /props alone
    const char *const *drafters;
    double timeout;  // seconds of a request; 0: none
    bool seed_given; // requests without a seed get the default seed, not a drawn one
    int n_ctx, n_slots;
    size_t context_bytes;      // of each context's keys and values
    bool metrics, slots, page; // endpoints that are served; slots: /activity too; page: "/"
    bool verbose;              // answers have llama.cpp's "__verbose"
    bool json_log, quiet;
    time_t created;
    double silence;         // seconds without text until a stream sends a sign of life; 0: 5
    atomic_bool ready;      // accepts requests
    atomic_bool said_twice; // the warning about a doubled beginning was logged
} fr_server;

extern const fr_http_route fr_server_routes[];

// ---- replies  [reply.c]
// Replies with a document and drops its reference; NULL: replies that memory ran out.
void fr_reply_json(fr_exchange *x, int status, json_t *document);
// The option `error` of fr_http_options: OpenAI's shape, or Anthropic's on its paths.
void fr_reply_error(fr_exchange *x, int status, const char *type, const char *message);
// Replies with an error of the library. A wrong request is 400; a text that is too long is 400 with
// a type of its own; lack of memory, and work that was not begun or was cut off (FR_EINTR), are
// 503. If the client has hung up, it is 499.
void fr_reply_fault(fr_exchange *x, const fr_error *err);
// Replies that a prompt of n_prompt tokens fills a context; at_least: it was not read to its end.
void fr_reply_too_long(fr_exchange *x, const char *field, size_t n_prompt, bool at_least,
                       int n_ctx);
json_t *fr_error_json(const fr_exchange *x, const fr_error *err); // the error's body
const char *fr_error_type(const fr_error *err);                   // its "type"
// The option `log`: a line on stderr.
void fr_reply_log(void *user, const fr_exchange *x, double seconds);
// Logs a warning to stderr, unless the server is quiet.
void fr_log_warning(const fr_server *s, const char *sentence);

// ---- a request's work  [prepare.c]
typedef struct fr_handling { // the arguments of most handlers
    const fr_server *server;
    fr_exchange *x;
} fr_handling;

// Runs the work of a request as its body's size requires (preparer.h). The work may reply. False:
// it failed, and the error was replied.
bool fr_prepare(const fr_server *s, fr_exchange *x, fr_prepare_fn *run, void *user);
// The same for the end of an answer, to which --timeout does not apply.
bool fr_prepare_end(const fr_server *s, fr_exchange *x, fr_prepare_fn *run, void *user);
// Parses the body as a JSON object, which the caller owns, and frees the body's text. Memory is
// held for the object and, until the exchange settles, for a prompt made from it. NULL: FR_EARG,
// FR_EINTR, FR_ENOMEM.
json_t *fr_read_body(fr_exchange *x, const fr_watch *watch, fr_error *err);
// The same if ids are made of the object and it is needed only until the exchange settles.
json_t *fr_read_values(fr_exchange *x, const fr_watch *watch, fr_error *err);
// Seconds left of --timeout, more than 0; 0: there is no limit.
double fr_seconds_left(const fr_server *s, const fr_exchange *x);

// ---- handlers, by file
fr_http_handler fr_handle_chat, fr_handle_completions, fr_handle_completion, fr_handle_messages,
    fr_handle_responses; // [generate.c]
fr_http_handler fr_handle_models, fr_handle_model, fr_handle_health, fr_handle_ready,
    fr_handle_props;                                 // [about.c]
fr_http_handler fr_handle_slots, fr_handle_activity; // [activity.c]
fr_http_handler fr_handle_tokenize, fr_handle_detokenize, fr_handle_template, fr_handle_tokenizer,
    fr_handle_count, fr_handle_count_tokens, fr_handle_count_input; // [tokens.c]
fr_http_handler fr_handle_page;                                     // [page/page.c]
fr_http_handler fr_handle_infill;                                   // [infill.c]
fr_http_handler fr_handle_absent, fr_handle_adapters;               // [absent.c]
fr_http_handler fr_handle_metrics;                                  // [metrics.c]
// Appends one number in Prometheus' text form, "PREFIX:NAME".  [metrics.c]
void fr_metric_add(fr_buffer *out, const char *prefix, const char *name, const char *type,
                   const char *help, double value);
void fr_add_llama_metrics(const fr_scheduler_state *state, fr_buffer *out); // [llama_metrics.c]

#endif
