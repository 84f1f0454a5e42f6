// fuzz_request.c — any bytes as the body of a request: what the engine can be asked for comes out,
// or a sentence.
#include "api/request.h"
#include "api/translate.h"
#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "support/chats.h"
#include "support/tiny_model.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fr_tokenizer *tokenizer;
static fr_chat_template chat;

static void open_model(void) {
    void *file;
    size_t bytes;
    fr_gguf *g;
    if (fr_tiny_memory(&(fr_tiny_options){.n_layer = 1, .d = 32}, &file, &bytes, NULL)) abort();
    if (fr_gguf_open_memory(&g, file, bytes, "tiny", NULL)) abort();
    if (fr_tokenizer_open(&tokenizer, g, NULL)) abort();
    if (open_named_chat(&chat, "chatml", NULL)) abort();
    fr_gguf_close(g);
    fr_free(file);
}

// Whatever was taken is in the engine's ranges.
static void check(const fr_api_request *r, const fr_api_model *model) {
    const int n = fr_api_choices(r);
    if (n < 1 || n > FR_API_CHOICES * FR_API_PROMPTS) abort();
    for (int i = 0; i < n; i += r->n) {
        fr_request q;
        fr_sampling sampling;
        fr_api_ask(r, i, &q, &sampling);
        if (q.n_prompt < 1 || q.n_predict < -1 || q.top_logprobs > FR_TOP_LOGPROBS) abort();
        for (int k = 0; k < q.n_prompt; k++)
            if (q.prompt[k] < 0 || q.prompt[k] >= model->n_vocab) abort();
        for (int k = 0; q.stop && q.stop[k]; k++)
            if (!*q.stop[k]) abort();
        if (fr_sampler_check(q.sampling, model->n_vocab, NULL)) abort();
    }
}

// Takes the body.
static void read_value(fr_api_kind kind, json_t *body) {
    const fr_api_model model = {
        .tokenizer = tokenizer, .chat = &chat, .n_vocab = fr_tokenizer_size(tokenizer)};
    const fr_api_defaults usual = fr_api_usual(1);
    fr_api_request r;
    fr_buffer text = {0};
    fr_error err = {0};
    fr_status st = fr_api_parse_value(&r, kind, body, &usual, &err);
    if (!st) st = fr_api_encode(&r, &model, &err);
    if (!st) check(&r, &model);
    if (!st) st = fr_api_prompt_text(&r, &model, r.n_prompts - 1, &text, &err);
    if (st && !err.text[0]) abort();
    fr_buffer_free(&text);
    fr_api_close(&r);
}

// The body of another API, where it is one.
static void read_other(fr_api_translator *translate, const json_t *body) {
    fr_error err = {0};
    json_t *root = translate(body, NULL, &err);
    if (root)
        read_value(FR_API_CHAT, root);
    else if (!err.text[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!tokenizer) open_model();
    json_t *body = fr_json_load(size ? (const char *)data : "", size, NULL);
    for (int kind = FR_API_ANY; body && kind <= FR_API_COMPLETION; kind++)
        read_value((fr_api_kind)kind, json_incref(body));
    if (json_is_object(body)) {
        read_other(fr_api_from_anthropic, body);
        read_other(fr_api_from_responses, body);
    }
    json_decref(body);
    return 0;
}
