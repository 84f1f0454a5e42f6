// fuzz_answer.c — any text as an answer. In pieces of any size it gives the same parts as in one piece,
// and each part only grows. No byte is looked at as a call more than a few times. Arguments are JSON
// objects.
#include "api/answer.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char TOOLS[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{"
    "\"type\":\"integer\"},\"b\":{\"type\":\"string\"},\"c\":{\"type\":[\"array\",\"null\"]}}}}}]";

static void open_answer(fr_api_answer *a, unsigned form) {
    static const char *const templates[][4] = {
        {NULL, "<tool_call>", "parameters", "<|channel|>"},
        {"<tool_call> <parameter=", "<tool_call> <arg_key>", "<|channel>thought <|tool_call>",
         "<seed:think> <seed:tool_call> <parameter="},
        {"<｜tool▁call▁begin｜>", "<|tool_call_begin|>", "｜DSML｜", "<minimax:tool_call>"},
        {"[THINK]", "<function=", ":opensource", "<TOOLCALL> <tool_calls> <|tool_call|>"}};
    static json_t *tools;
    fr_error err;
    if (!tools) tools = fr_json_load(TOOLS, sizeof TOOLS - 1, &err);
    fr_api_answer_open(a, form & 1, form & 2, form & 4, templates[form / 64 % 4][form / 8 % 4]);
    a->one_call = form & 32;
    a->offered = a->json_calls ? NULL : tools;
}

static void push(fr_api_answer *a, const uint8_t *data, size_t n) {
    const size_t thought = a->thinking.n, said = a->content.n;
    const int calls = a->n_calls;
    fr_error err;
    if (fr_api_answer_push(a, (const char *)data, n, &err)) abort();
    if (a->thinking.n < thought || a->content.n < said || a->n_calls < calls || a->done) abort();
}

static void finish(fr_api_answer *a, size_t size) {
    fr_error err;
    if (fr_api_answer_finish(a, &err) || a->held.n) abort();
    if (a->thinking.n + a->content.n > 3 * size + 2 || a->scanned > 5 * size) abort();
    for (int i = 0; i < a->n_calls; i++) {
        json_t *object = fr_json_load(a->call[i].arguments, strlen(a->call[i].arguments), &err);
        if (!json_is_object(object)) abort();
        json_decref(object);
    }
}

static void take(fr_api_answer *a, const uint8_t *data, size_t size, unsigned form, size_t piece) {
    open_answer(a, form);
    for (size_t at = 0; at < size; at += piece)
        push(a, data + at, size - at < piece ? size - at : piece);
    finish(a, size);
}

static int begins(const fr_buffer *all, const fr_buffer *part) {
    return part->n <= all->n && (!part->n || !memcmp(all->data, part->data, part->n));
}

static int same(const fr_buffer *a, const fr_buffer *b) {
    return a->n == b->n && begins(a, b);
}

// What the beginning of the text has given is the beginning of what the whole gives. The text may also
// end there.
static void check_beginning(const fr_api_answer *whole, const uint8_t *data, size_t size,
                            unsigned form) {
    fr_api_answer so_far;
    open_answer(&so_far, form);
    push(&so_far, data, size);
    if (!begins(&whole->thinking, &so_far.thinking) || !begins(&whole->content, &so_far.content) ||
        whole->n_calls < so_far.n_calls)
        abort();
    for (int i = 0; i < so_far.n_calls; i++)
        if (strcmp(whole->call[i].arguments, so_far.call[i].arguments) != 0) abort();
    finish(&so_far, size);
    fr_api_answer_close(&so_far);
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
    check_beginning(&whole, data + 2, (size - 2) * data[1] / 256, data[0]);
    fr_api_answer_close(&whole);
    fr_api_answer_close(&cut);
    return 0;
}
