// absent.c — what llama-server has and this server has not: a sentence in the place of "not
// found".
#include "serve/server.h"
#include <string.h>

void fr_handle_absent(fr_exchange *x, void *server) {
    static const char *const sentences[][2] = {
        {"/lora-adapters", "adapters (LoRA) are not loaded here"},
        {"/props", "properties do not change while this server runs"},
        {"/slots/", "contexts are not saved, restored or erased here by request"},
        {"/v1/audio/", "sound is not read here: only text is"},
        {"/audio/", "sound is not read here: only text is"},
    };
    const char *says = "embeddings and reranking are not served here: only answers are";
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (!strncmp(fr_exchange_path(x), sentences[i][0], strlen(sentences[i][0])))
            says = sentences[i][1];
    (void)server;
    fr_reply_error(x, 501, "not_supported_error", says);
}

// None are.
void fr_handle_adapters(fr_exchange *x, void *server) {
    (void)server;
    fr_reply_json(x, 200, json_array());
}
