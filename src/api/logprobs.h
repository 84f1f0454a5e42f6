// logprobs.h — log probabilities of a text's tokens in the forms of the APIs. Every token has its
// own, including the token that ends an answer. All functions return NULL if memory runs out.
#ifndef FR_API_LOGPROBS_H
#define FR_API_LOGPROBS_H
#include "text/tokenizer.h"
#include "json/value.h"

typedef struct fr_api_scored {
    const fr_tokenizer *tokenizer;
    const int32_t *token;     // [n]
    const fr_logprobs *score; // [n]; token 0 has none if `unscored`
    int n, n_top;             // n_top: how many of the likeliest tokens are listed
    int offset;               // characters of the text before these tokens
    const fr_buffer *echoed;  // text of the prompt, if the first tokens are the prompt's
    int n_echoed;             // number of these
    bool unscored;            // token 0 has no log probability, because none is before it
    bool drawn;               // after sampling: "prob", "top_probs" in lists of entries
} fr_api_scored;

// The number of characters of an answer with these tokens.
int fr_api_characters(const fr_tokenizer *t, const int32_t *token, int n);
// The number of characters of a text: bytes that do not continue a character.
int fr_api_text_characters(const char *text, size_t bytes);

// {"content": [{"token", "logprob", "bytes", "top_logprobs": [...]}...], "refusal": null}
json_t *fr_api_chat_logprobs(const fr_api_scored *s);
// {"tokens", "token_logprobs", "top_logprobs": [{TEXT: logprob...}...], "text_offset"}; the token
// itself is always listed; offsets count characters.
json_t *fr_api_text_logprobs(const fr_api_scored *s);
// The same for an answer that begins with its prompt. The prompt's first token has no log
// probability; prompt->echoed is the prompt's text.
json_t *fr_api_echoed_logprobs(const fr_api_scored *prompt, const fr_api_scored *answer);
// llama.cpp's [{"id", "token", "bytes", "logprob", "top_logprobs": [...]}...]. After sampling
// (`drawn`) the members are "prob" and "top_probs", probabilities.
json_t *fr_api_llama_logprobs(const fr_api_scored *s);

#endif
