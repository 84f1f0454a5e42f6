// stop_tokens.c — vLLM's stop_token_ids: tokens that end a text, besides the model's own.
#include "api/fields.h"
#include "api/value.h"
#include <stdio.h>

fr_status fr_api_read_stop_tokens(fr_api_request *r, const fr_api_model *model, fr_error *err) {
    const json_t *given = fr_api_member(r->root, "stop_token_ids");
    char expected[64];
    fr_status st = FR_OK;
    if (!given) return FR_OK;
    if (!json_is_array(given) || json_array_size(given) > FR_API_STOPS) {
        snprintf(expected, sizeof expected, "a list of at most %d token ids", FR_API_STOPS);
        return fr_api_wrong(err, given, expected, "stop_token_ids");
    }
    snprintf(expected, sizeof expected, "a token id below %d", model->n_vocab);
    for (size_t i = 0; i < json_array_size(given) && !st; i++) {
        const json_t *id = json_array_get(given, i);
        double x;
        if (!fr_api_number(id, true, &x) || !(x >= 0 && x < model->n_vocab))
            return fr_api_wrong(err, id, expected, "stop_token_ids[%zu]", i);
        st = fr_ids_push(&r->stop_tokens, (int32_t)x, err);
    }
    return st;
}
