// thought.c — which tokens of a text are thinking: those that begin within it.
#include "api/answer.h"
#include "text/stream.h"

static bool is_listed(const fr_ids *ids, int32_t token) {
    for (size_t i = 0; i < ids->n; i++)
        if (ids->data[i] == token) return true;
    return false;
}

// Bytes that the token adds to the text.
static size_t add(fr_stream *s, const char *bytes, size_t n) {
    enum { SOME = 16 };
    char out[FR_STREAM_ROOM(SOME)];
    size_t added = 0;
    for (size_t at = 0; at < n; at += SOME)
        added += fr_stream_push(s, bytes + at, n - at < SOME ? n - at : SOME, out);
    return added;
}

static bool is_within(const fr_api_answer *a, size_t at) {
    for (int i = 0; i < a->n_thoughts; i++)
        if (at >= a->thought[i].from && at < a->thought[i].to) return true;
    return false;
}

int fr_api_thought_tokens(const fr_api_answer *a, const fr_tokenizer *t, const fr_ids *shown,
                          const int32_t *tokens, int n) {
    fr_stream s = {0};
    size_t at = 0, bytes;
    int thought = 0;
    for (int i = 0; i < n && a->n_thoughts; i++) {
        const char *text = is_listed(shown, tokens[i]) ? fr_token_bytes(t, tokens[i], &bytes)
                                                       : fr_token_shown(t, tokens[i], &bytes);
        thought += is_within(a, at);
        at += add(&s, text, bytes);
    }
    return thought;
}
