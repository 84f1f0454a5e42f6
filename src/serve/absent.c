// absent.c — what llama-server has and this server has not: a sentence in the place of "not found".
#include "serve/server.h"

void fr_handle_absent(fr_exchange *x, void *server) {
    (void)server;
    fr_reply_error(x, 501, "not_supported_error",
                   "embeddings and reranking are not served here: only answers are");
}
