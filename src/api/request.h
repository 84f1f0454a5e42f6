// request.h — makes engine requests of a request's body (OpenAI's chat and text completions,
// llama.cpp's /completion).
//
// There are two steps, so that errors are reported before a model is needed. fr_api_parse reads the
// fields; fr_api_encode makes ids of the prompts. An error's sentence begins with the path of the
// wrong field, up to the first ": ".
#ifndef FR_API_REQUEST_H
#define FR_API_REQUEST_H
#include "api/shown.h"
#include "text/chat/chat.h"
#include "text/tokenizer.h"
#include "json/value.h"

typedef enum fr_api_kind {
    FR_API_ANY,        // for fr_api_parse: chosen by the body's "messages" or "prompt"
    FR_API_CHAT,       // /v1/chat/completions
    FR_API_COMPLETION, // /v1/completions, /completion
} fr_api_kind;

// The API's values: a 0 means 0.
typedef struct fr_api_sampling {
    float temperature, top_p, min_p, repeat_penalty, frequency_penalty, presence_penalty;
    int top_k;         // 0 and below: off
    int repeat_last_n; // -1: the whole context
    uint64_t seed;     // of choice 0 of every prompt
} fr_api_sampling;

// Defaults for fields that a body leaves out.
typedef struct fr_api_defaults {
    fr_api_sampling sampling;
    int n_predict; // -1: until the end token or the context's end
    bool ignore_eos;
    bool no_thinking; // templates get this setting, and thinking that they begin is closed
} fr_api_defaults;
fr_api_defaults fr_api_usual(uint64_t seed); // llama-server's

enum { FR_API_CHOICES = 128, FR_API_PROMPTS = 256, FR_API_STOPS = 256 };
typedef struct fr_api_request {
    json_t *root; // owned; strings here belong to it
    fr_api_kind kind;
    const char *model, *user, *drafter; // NULL: not given
    fr_api_sampling sampling;
    bool seed_given;
    int n_predict, n;   // n: choices of each prompt
    const char **stop;  // NULL-terminated, or NULL
    fr_ids stop_tokens; // tokens that end the text (vLLM's stop_token_ids)
    int indent;         // llama.cpp's n_indent: the text ends at a line that is indented by less
    float line_ms;      // its t_max_predict_ms: the text ends after this time, at a line break
    bool ignore_eos, echo, stream, include_usage;
    bool logprobs;       // log probabilities in the API's form
    int top_logprobs;    // ... with so many of the likeliest tokens
    int n_probs;         // llama.cpp's; 0: not wanted
    bool post_sampling;  // probabilities after sampling settings, not the model's own
    bool tools;          // there are tools, and calls in the answer are parsed
    bool several_calls;  // ... as many as there are; else one
    bool keeps_thinking; // thinking stays in the content
    bool cache_prompt, timings_per_token, return_tokens, return_progress;
    bool return_drafted; // pieces of the answer with their places in drafts
    bool verbose;        // llama.cpp's "__verbose" beside the answer
    bool no_thinking;    // as in fr_api_defaults
    int id_slot;         // -1: any

    // Results of fr_api_encode.
    fr_ids *prompt; // [n_prompts]
    int n_prompts;
    fr_ids shown;      // control tokens that are part of the text: marks of thinking and calls
    fr_ids prediction; // the answer that the client expects; empty: not given
    bool thinks;       // the prompt has begun thinking, as some templates do
    size_t fewest;     // after FR_ECONTEXT: a lower bound of the prompt's tokens
    fr_logit_bias *bias;
    size_t n_bias, cap_bias;
} fr_api_request;

// Reads the fields. *r is overwritten; close it whether or not this succeeds. FR_EARG: the body is
// no JSON object, or a field is wrong or cannot be honoured; FR_ENOMEM.
fr_status fr_api_parse(fr_api_request *r, fr_api_kind kind, const char *json, size_t bytes,
                       const fr_api_defaults *defaults, fr_error *err);
// The same for a parsed body, whose reference is taken in any case.
fr_status fr_api_parse_value(fr_api_request *r, fr_api_kind kind, json_t *body,
                             const fr_api_defaults *defaults, fr_error *err);

typedef struct fr_api_model { // the parts of a model that encode text
    const fr_tokenizer *tokenizer;
    const fr_chat_template *chat; // may be {0} if no messages are encoded
    int n_vocab;                  // ids are below it
    int n_ctx; // a prompt with at least so many tokens, by its bytes alone, is refused; 0: none is
    const fr_watch *watch;     // polled for whether the result is still wanted; NULL: it is
    const fr_api_shown *shown; // the tokenizer's; NULL: they are found for each request
} fr_api_model;
// After a parse: makes ids of prompts, of messages through the template, of bias and prediction.
// Control tokens are read in prompts, as in llama.cpp, not in messages. FR_EARG; FR_EUNSUP: the
// template does not support such messages; FR_ECONTEXT: a prompt has more bytes than n_ctx tokens
// can have; FR_EINTR; FR_ENOMEM.
fr_status fr_api_encode(fr_api_request *r, const fr_api_model *model, fr_error *err);
void fr_api_close(fr_api_request *r); // {0} is fine

// Appends the ids of a string, or of a mixed list of strings and ids; prompts may have both forms.
// flags: FR_TEXT_BOS, FR_TEXT_CONTROL. FR_EARG: the value at `path` is neither; FR_EINTR;
// FR_ENOMEM.
fr_status fr_api_tokens(const fr_api_model *model, const json_t *from, const char *path,
                        unsigned flags, fr_ids *ids, fr_error *err);

// Renders a conversation as a prompt, like llama-server: its text, and its ids, which are appended
// (ids NULL: not wanted). If the last message is the assistant's, the answer begins with it: with
// its thinking, unless that is switched off, and with its text. "continue_final_message" states the
// same, and excludes "add_generation_prompt". The role "developer" is "system". `no_thinking`
// applies if the body lacks "enable_thinking". Errors of fr_api_encode.  [messages.c]
fr_status fr_api_render(const fr_api_model *model, const json_t *root, bool no_thinking,
                        fr_chat_text *text, fr_ids *ids, fr_error *err);

// Appends the text of prompt i: a string as received, ids as the tokens are written. FR_ENOMEM.
fr_status fr_api_prompt_text(const fr_api_request *r, const fr_api_model *model, int i,
                             fr_buffer *text, fr_error *err);

// After an encode. Choices are counted prompt by prompt: choice i is number i % n of prompt i / n.
int fr_api_choices(const fr_api_request *r);
// The engine's request for choice i; borrows from *r and *sampling. Its seed is seed + i % n, so
// that an answer does not depend on the other prompts.
void fr_api_ask(const fr_api_request *r, int choice, fr_request *request, fr_sampling *sampling);

#endif
