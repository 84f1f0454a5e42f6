// Work on a body grows with its length: one that is eight times as long asks for about eight times the
// bytes of memory in all, whatever it consists of.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/request.h"
#include "api/translate.h"
#include "base/alloc.h"
#include "oom/counted.h"
#include "support/chats.h"
#include "support/tiny_model.h"
#include <string.h>

typedef struct shape {
    const char *head, *part, *tail; // the part comes many times, with commas between
    fr_api_translator *translate;
} shape;

#define HI   "{\"role\":\"user\",\"content\":\"hi\"}"
#define TEXT "{\"type\":\"text\",\"text\":\"a b c\"}"
#define CALL                                                                                       \
    "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"
#define TURN "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CALL "]}"
#define GAVE "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"so\"}"
static const shape shapes[] = {
    {"{\"messages\":[", HI, "]}", NULL},
    {"{\"messages\":[", HI "," TURN "," GAVE, "]}", NULL},
    {"{\"messages\":[" HI "," TURN ",", GAVE, "," HI "]}", NULL},
    {"{\"messages\":[", "{\"role\":\"developer\",\"content\":\"be\"}", "," HI "]}", NULL},
    {"{\"messages\":[{\"role\":\"user\",\"content\":[", TEXT, "]}]}", NULL},
    {"{\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":[", TEXT, "]}]}", NULL},
    {"{\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[", CALL,
     "]}," GAVE "]}", NULL},
    {"{\"messages\":[" HI "],\"tools\":[",
     "{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{}}}", "]}", NULL},
    {"{\"prompt\":[65,", "\"a b\",66", "]}", NULL},
    {"{\"prompt\":\"a\",\"prediction\":{\"type\":\"content\",\"content\":[", TEXT, "]}}", NULL},
    {"{\"system\":[", TEXT, "],\"messages\":[" HI "]}", fr_api_from_anthropic},
    {"{\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":[",
     "{\"type\":\"thinking\",\"thinking\":\"aaaaaaaaaaaaaaaa\",\"signature\":\"\"}",
     "," TEXT "]}," HI "]}", fr_api_from_anthropic},
    {"{\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":[",
     "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}", "]}]}",
     fr_api_from_anthropic},
    {"{\"messages\":[{\"role\":\"user\",\"content\":[",
     "{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"so\"}", "]}]}",
     fr_api_from_anthropic},
    {"{\"input\":[", "{\"type\":\"reasoning\",\"summary\":\"aaaaaaaaaaaaaaaa\"}",
     ",{\"role\":\"user\",\"content\":\"hi\"}]}", fr_api_from_responses},
    {"{\"input\":[{\"type\":\"reasoning\",\"content\":[",
     "{\"type\":\"reasoning_text\",\"text\":\"aaaaaaaaaaaaaaaa\"}",
     "]},{\"role\":\"user\",\"content\":\"hi\"}]}", fr_api_from_responses},
    {"{\"input\":[",
     "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"},"
     "{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"so\"}",
     "]}", fr_api_from_responses},
    {"{\"input\":[",
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]}",
     ",{\"role\":\"user\",\"content\":\"hi\"}]}", fr_api_from_responses},
};
static fr_api_model model;

static fr_buffer long_body(const shape *s, int times) {
    fr_buffer text = {0};
    fr_error never;
    fr_buffer_add(&text, s->head, strlen(s->head), &never);
    for (int i = 0; i < times; i++) {
        if (i) fr_buffer_add(&text, ",", 1, &never);
        fr_buffer_add(&text, s->part, strlen(s->part), &never);
    }
    fr_buffer_add(&text, s->tail, strlen(s->tail), &never);
    return text;
}

// Bytes of all allocations of reading a body with so many parts.
static long long bytes_of(const shape *s, int times) {
    const fr_api_defaults usual = fr_api_usual(1);
    fr_api_request r = {0};
    fr_error err = {0};
    fr_buffer text = long_body(s, times);
    counted_fail(0, false);
    json_t *body = fr_json_load(text.data, text.n, &err);
    fr_buffer_free(&text);
    if (s->translate) {
        json_t *own = body;
        body = s->translate(own, NULL, &err);
        json_decref(own);
    }
    fr_status st = body ? fr_api_parse_value(&r, FR_API_ANY, body, &usual, &err) : err.code;
    if (!st) st = fr_api_encode(&r, &model, &err);
    if (st) fail_msg("%s: %s", s->part, err.text);
    fr_api_close(&r);
    return counted_bytes();
}

static void work_grows_with_the_body(void **state) {
    (void)state;
    enum { FEW = 500, TIMES = 8 };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const long long few = bytes_of(&shapes[i], FEW), many = bytes_of(&shapes[i], TIMES * FEW);
        if (many > few * TIMES * 3 / 2)
            fail_msg("%s...%s: %lld bytes, %lld for %d times as many", shapes[i].head,
                     shapes[i].part, few, many, TIMES);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(work_grows_with_the_body)};
    void *file;
    size_t bytes;
    fr_gguf *g;
    fr_tokenizer *tokenizer;
    fr_chat_template chat;
    if (fr_tiny_memory(&(fr_tiny_options){.n_layer = 1, .d = 32}, &file, &bytes, NULL) ||
        fr_gguf_open_memory(&g, file, bytes, "tiny", NULL) ||
        fr_tokenizer_open(&tokenizer, g, NULL) || open_named_chat(&chat, "chatml", NULL))
        return 1;
    model = (fr_api_model){
        .tokenizer = tokenizer, .chat = &chat, .n_vocab = fr_tokenizer_size(tokenizer)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fr_chat_close(&chat);
    fr_tokenizer_close(tokenizer);
    fr_gguf_close(g);
    fr_free(file);
    return failed;
}
