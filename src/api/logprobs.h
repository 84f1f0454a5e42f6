// logprobs.h — log probabilities of a text's tokens as the APIs write them. Every token has its
// own, the one that ends an answer too. NULL: no memory.
#ifndef FR_API_LOGPROBS_H
#define FR_API_LOGPROBS_H
#include "text/tokenizer.h"
#include "json/value.h"

typedef struct fr_api_scored {
    const fr_tokenizer *tokenizer;
    const int32_t *token;     // [n]
    const fr_logprobs *score; // [n]; token 0 has none if `unscored`
    int n, n_top;             // n_top: of the likeliest, to be listed
    int offset;               // characters of the text in front of them
    const fr_buffer *echoed;  // what the prompt's tokens stand for, where the first n_echoed of
    int n_echoed;             // these are of a prompt
    bool unscored;            // the first has nothing before it
    bool drawn;               // of what is drawn from: "prob", "top_probs" in lists of entries
} fr_api_scored;

// Characters of an answer of these tokens.
int fr_api_characters(const fr_tokenizer *t, const int32_t *token, int n);
// Characters of a text: bytes that do not continue one.
int fr_api_text_characters(const char *text, size_t bytes);

// {"content": [{"token", "logprob", "bytes", "top_logprobs": [...]}...], "refusal": null}
json_t *fr_api_chat_logprobs(const fr_api_scored *s);
// {"tokens", "token_logprobs", "top_logprobs": [{TEXT: logprob...}...], "text_offset"}; the token
// itself is always among the likeliest, offsets count characters.
json_t *fr_api_text_logprobs(const fr_api_scored *s);
// The same of an answer that begins with its prompt, whose first token has none; prompt->echoed is
// the prompt's text.
json_t *fr_api_echoed_logprobs(const fr_api_scored *prompt, const fr_api_scored *answer);
// llama.cpp's [{"id", "token", "bytes", "logprob", "top_logprobs": [...]}...]; of what is drawn from
// "prob" and "top_probs", probabilities.
json_t *fr_api_llama_logprobs(const fr_api_scored *s);

#endif
