// fuzz_answer.c — any text as an answer, in pieces of any size: the same parts as in one piece.
#include "api/answer.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(fr_api_answer *a, const uint8_t *data, size_t size, unsigned form, size_t piece) {
    static const char *const templates[] = {NULL, "<tool_call>", "parameters", "<|channel|>"};
    fr_error err;
    fr_api_answer_open(a, form & 1, form & 2, form & 4, templates[form / 8 % 4]);
    for (size_t at = 0; at < size; at += piece) {
        const size_t n = size - at < piece ? size - at : piece;
        if (fr_api_answer_push(a, (const char *)data + at, n, &err)) abort();
    }
    if (fr_api_answer_finish(a, &err) || a->held.n) abort();
}

static int same(const fr_buffer *a, const fr_buffer *b) {
    return a->n == b->n && (!a->n || !memcmp(a->data, b->data, a->n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fr_api_answer whole, cut;
    if (size < 2) return 0;
    take(&whole, data + 2, size - 2, data[0], size);
    take(&cut, data + 2, size - 2, data[0], 1 + data[1] % 20);
    if (!same(&whole.thinking, &cut.thinking) || !same(&whole.content, &cut.content)) abort();
    if (whole.n_calls != cut.n_calls) abort();
    if (whole.n_thoughts != cut.n_thoughts ||
        memcmp(whole.thought, cut.thought, sizeof *whole.thought * (size_t)whole.n_thoughts) != 0)
        abort();
    for (int i = 0; i < whole.n_calls; i++)
        if (strcmp(whole.call[i].name, cut.call[i].name) != 0 ||
            strcmp(whole.call[i].arguments, cut.call[i].arguments) != 0)
            abort();
    fr_api_answer_close(&whole);
    fr_api_answer_close(&cut);
    return 0;
}
