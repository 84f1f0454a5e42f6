// api_world.h — the small model and the template that bodies are read with: a tokenizer of a tiny model,
// and ChatML.
#ifndef FR_TESTS_API_API_WORLD_H
#define FR_TESTS_API_API_WORLD_H
#include "api/request.h"
#include "api/translate.h"
#include "base/alloc.h"
#include "support/chats.h"
#include "support/tiny_model.h"

static void *world_file;
static fr_gguf *world_gguf;
static fr_tokenizer *tokenizer;
static fr_chat_template chat;
static fr_api_model model; // of these two, without a bound of tokens
static fr_error err;

static int open_world(void **state) {
    (void)state;
    size_t bytes;
    const fr_tiny_options tiny = {.n_layer = 1, .d = 32};
    if (fr_tiny_memory(&tiny, &world_file, &bytes, &err)) return -1;
    if (fr_gguf_open_memory(&world_gguf, world_file, bytes, "tiny", &err)) return -1;
    if (fr_tokenizer_open(&tokenizer, world_gguf, &err)) return -1;
    if (open_named_chat(&chat, "chatml", &err)) return -1;
    model = (fr_api_model){
        .tokenizer = tokenizer, .chat = &chat, .n_vocab = fr_tokenizer_size(tokenizer)};
    return 0;
}

static int close_world(void **state) {
    (void)state;
    fr_chat_close(&chat);
    fr_tokenizer_close(tokenizer);
    fr_gguf_close(world_gguf);
    fr_free(world_file);
    return 0;
}

#endif
