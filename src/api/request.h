// request.h — the body of a request (OpenAI's chat and text completions, llama.cpp's /completion)
// as what the engine is asked for.
//
// Two steps, so that what is wrong is said before a model is needed: fr_api_parse reads the fields,
// fr_api_encode makes ids of the prompts. A sentence begins with the path of the field that is
// wrong, up to the first ": ".
#ifndef FR_API_REQUEST_H
#define FR_API_REQUEST_H
#include "text/chat/chat.h"
#include "text/tokenizer.h"
#include "json/value.h"

typedef enum fr_api_kind {
    FR_API_ANY,        // to parse: by what the body has, "messages" or "prompt"
    FR_API_CHAT,       // /v1/chat/completions
    FR_API_COMPLETION, // /v1/completions, /completion
} fr_api_kind;

// As the API has them: a 0 means 0.
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
    bool no_thinking; // templates are told so, and thinking that they begin is closed
} fr_api_defaults;
fr_api_defaults fr_api_usual(uint64_t seed); // llama-server's

enum { FR_API_CHOICES = 128, FR_API_PROMPTS = 256, FR_API_STOPS = 256 };
typedef struct fr_api_request {
    json_t *root; // owned; strings here are its
    fr_api_kind kind;
    const char *model, *user, *drafter; // NULL: not said
    fr_api_sampling sampling;
    bool seed_given;
    int n_predict, n;   // n: choices of each prompt
    const char **stop;  // NULL-terminated, or NULL
    fr_ids stop_tokens; // that end the text, as vLLM's stop_token_ids do
    int indent;         // llama.cpp's n_indent: the text ends at a line that is indented by less
    float line_ms;      // its t_max_predict_ms: after so long it ends, once it has a line break
    bool ignore_eos, echo, stream, include_usage;
    bool logprobs;       // as the API that was asked has them
    int top_logprobs;    // ... with so many of the likeliest tokens
    int n_probs;         // llama.cpp's; 0: not wanted
    bool post_sampling;  // all of them of what is drawn from, not the model's own
    bool tools;          // there are some, and calls in the answer are to be parsed
    bool several_calls;  // ... as many as there are; else one
    bool keeps_thinking; // it stays in the content
    bool cache_prompt, timings_per_token, return_tokens, return_progress;
    bool return_drafted; // pieces of the answer with their places in drafts
    bool verbose;        // llama.cpp's "__verbose" beside the answer
    bool no_thinking;    // the default's
    int id_slot;         // -1: any

    // Of fr_api_encode.
    fr_ids *prompt; // [n_prompts]
    int n_prompts;
    fr_ids shown;      // control tokens that are part of the text: marks of thinking and calls
    fr_ids prediction; // what the client expects to be answered; none: not said
    bool thinks;       // the prompt has begun thinking, as some templates do
    size_t fewest;     // lower bound of the tokens of a prompt that is FR_ECONTEXT
    fr_logit_bias *bias;
    size_t n_bias, cap_bias;
} fr_api_request;

// Reads the fields. *r is overwritten; close it whether or not this succeeds. FR_EARG: the body is
// no JSON object, or a field is wrong or cannot be honoured; FR_ENOMEM.
fr_status fr_api_parse(fr_api_request *r, fr_api_kind kind, const char *json, size_t bytes,
                       const fr_api_defaults *defaults, fr_error *err);
// The same of a body that was read; its reference is taken in any case.
fr_status fr_api_parse_value(fr_api_request *r, fr_api_kind kind, json_t *body,
                             const fr_api_defaults *defaults, fr_error *err);

typedef struct fr_api_model { // what text is read with
    const fr_tokenizer *tokenizer;
    const fr_chat_template *chat; // may be {0} where no messages come
    int n_vocab;                  // ids are below it
    int n_ctx; // a prompt that has as many tokens, by its bytes alone, is refused; 0: none is
    const fr_watch *watch; // asked whether the result is still wanted; NULL: it is
} fr_api_model;
// After a parse: prompts to ids, messages by the template, bias and prediction. Control tokens are
// read in prompts, as llama.cpp does, not in messages. FR_EARG, FR_EUNSUP: the template takes no
// such messages; FR_ECONTEXT: a prompt has more bytes than n_ctx tokens can stand for; FR_EINTR;
// FR_ENOMEM.
fr_status fr_api_encode(fr_api_request *r, const fr_api_model *model, fr_error *err);
void fr_api_close(fr_api_request *r); // {0} is fine

// Appends the ids of a string, or of a list of strings and ids in one, as prompts may be. flags:
// FR_TEXT_BOS, FR_TEXT_CONTROL. FR_EARG: what stands at `path` is neither; FR_EINTR; FR_ENOMEM.
fr_status fr_api_tokens(const fr_api_model *model, const json_t *from, const char *path,
                        unsigned flags, fr_ids *ids, fr_error *err);

// A conversation as a prompt, as llama-server makes it: its text, and the ids, which are appended
// (NULL: not wanted).
// A last message of the assistant is what the answer begins with ("continue_final_message" says so
// too, beside which there is no "add_generation_prompt"): its thinking, unless that is switched off,
// and its text. The role "developer" is "system".
// `no_thinking` counts where the body does not say "enable_thinking". Errors of fr_api_encode.  [messages.c]
fr_status fr_api_render(const fr_api_model *model, const json_t *root, bool no_thinking,
                        fr_chat_text *text, fr_ids *ids, fr_error *err);

// Appends what prompt i reads as: a string as it came, ids as the tokens are written. FR_ENOMEM.
fr_status fr_api_prompt_text(const fr_api_request *r, const fr_api_model *model, int i,
                             fr_buffer *text, fr_error *err);

// After an encode. Choices are counted prompt by prompt: choice i is number i % n of prompt i / n.
int fr_api_choices(const fr_api_request *r);
// What the engine is asked for choice i; borrows from *r and *sampling. It draws with seed + i % n,
// so that an answer does not depend on the prompts beside it.
void fr_api_ask(const fr_api_request *r, int choice, fr_request *request, fr_sampling *sampling);

#endif
