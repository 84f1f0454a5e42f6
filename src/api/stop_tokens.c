// stop_tokens.c — vLLM's stop_token_ids: tokens that end a text, besides the model's own.
#include "api/fields.h"
#include "api/value.h"
#include <stdio.h>

fr_status fr_api_read_stop_tokens(fr_api_request *r, const fr_api_model *model, fr_error *err) {
    static const char path[] = "stop_token_ids";
    const json_t *given = fr_api_member(r->root, path);
    char expected[64];
    if (!given) return FR_OK;
    if (json_is_array(given) && json_array_size(given) <= FR_API_STOPS)
        return fr_api_token_ids(given, model->n_vocab, path, &r->stop_tokens, err);
    snprintf(expected, sizeof expected, "a list of at most %d token ids", FR_API_STOPS);
    return fr_api_wrong(err, given, expected, "%s", path);
}
