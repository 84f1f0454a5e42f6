#include "serve/repeated.h"
#include <stdlib.h>
#include <string.h>

// Subtracts the bytes of a value from the limit; false: the rest is too small.
static bool takes(const json_t *value, size_t *room) {
    char *text = fr_json_fits(value, *room) ? fr_json_compact(value) : NULL;
    if (text) *room -= strlen(text);
    free(text);
    return text;
}

void fr_repeat_asked(const json_t *body, json_t *doc) {
    const struct {
        const char *name;
        json_t *otherwise;
    } members[] = {
        {"max_output_tokens", json_null()},
        {"parallel_tool_calls", json_true()},
        {"previous_response_id", json_null()},
        {"truncation", json_string("disabled")},
        {"user", json_null()},
        {"reasoning", json_pack("{s:n, s:n}", "effort", "summary")},
        {"text", json_pack("{s:{s:s}}", "format", "type", "text")},
        {"tool_choice", json_string("auto")},
        {"metadata", json_object()},
        {"instructions", json_null()},
        {"tools", json_array()},
    };
    size_t room = FR_REPEATED_BYTES;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *asked = json_object_get(body, members[i].name);
        const bool repeats = asked && !json_is_null(asked) && takes(asked, &room);
        json_object_set(doc, members[i].name, repeats ? asked : members[i].otherwise);
        json_decref(members[i].otherwise);
    }
}
