// Work on a long body ends soon after it is not wanted any more, whatever it is at: with FR_EINTR, and
// nothing is left behind (sanitizers see that). A prompt that has no chance to fit is not read at all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/request.h"
#include "api/translate.h"
#include "base/alloc.h"
#include "support/asked.h"
#include "support/chats.h"
#include "support/tiny_model.h"
#include <string.h>

static void *file;
static fr_gguf *gguf;
static fr_tokenizer *tokenizer;
static fr_chat_template chat;
static fr_error err;

static int set_up(void **state) {
    (void)state;
    size_t bytes;
    if (fr_tiny_memory(&(fr_tiny_options){.n_layer = 1, .d = 32}, &file, &bytes, &err)) return -1;
    if (fr_gguf_open_memory(&gguf, file, bytes, "tiny", &err)) return -1;
    if (fr_tokenizer_open(&tokenizer, gguf, &err)) return -1;
    return open_named_chat(&chat, "chatml", &err);
}

static int tear_down(void **state) {
    (void)state;
    fr_chat_close(&chat);
    fr_tokenizer_close(tokenizer);
    fr_gguf_close(gguf);
    fr_free(file);
    return 0;
}

// HEAD, then the part so many times with commas between, then TAIL; to be freed.
static fr_buffer repeated(const char *head, const char *part, int times, const char *tail) {
    fr_buffer text = {0};
    fr_error never;
    fr_buffer_add(&text, head, strlen(head), &never);
    for (int i = 0; i < times; i++) {
        if (i) fr_buffer_add(&text, ",", 1, &never);
        fr_buffer_add(&text, part, strlen(part), &never);
    }
    fr_buffer_add(&text, tail, strlen(tail), &never);
    return text;
}

typedef struct long_body {
    const char *head, *part;
    int times;
    const char *tail;
    fr_api_translator *translate;
} long_body;

#define USER(content) "{\"role\":\"user\",\"content\":" content "}"
static const long_body bodies[] = {
    {"{\"messages\":[", USER("\"hi\""), 2000, "]}", NULL},
    {"{\"messages\":[{\"role\":\"user\",\"content\":[", "{\"type\":\"text\",\"text\":\"hi\"}", 3000,
     "]}]}", NULL},
    {"{\"messages\":[" USER("\"hi\"") "],\"documents\":[", "{\"a\":[1,2,{\"b\":0}]}", 20000, "]}",
     NULL},
    {"{\"prompt\":[65,", "\"hello world, and so on\"", 2000, "]}", NULL},
    {"{\"prompt\":[65,\"a\",", "66", 100000, "]}", NULL},
    {"{\"prompt\":\"a\",\"prediction\":{\"type\":\"content\",\"content\":[",
     "{\"type\":\"text\",\"text\":\"hello world\"}", 2000, "]}}", NULL},
    {"{\"prompt\":\"a\",\"logit_bias\":[", "[\"ab\",1]", 100, "]}", NULL},
    {"{\"messages\":[{\"role\":\"assistant\",\"content\":[",
     "{\"type\":\"thinking\",\"thinking\":\"a b c d e f\",\"signature\":\"\"}", 3000, "]}]}",
     fr_api_from_anthropic},
    {"{\"messages\":[", USER("[{\"type\":\"text\",\"text\":\"hi\"}]"), 2000, "]}",
     fr_api_from_anthropic},
    {"{\"input\":[", "{\"type\":\"reasoning\",\"summary\":\"hm\"}", 3000, "]}",
     fr_api_from_responses},
    {"{\"input\":[{\"role\":\"user\",\"content\":[", "{\"type\":\"input_text\",\"text\":\"hi\"}",
     3000, "]}]}", fr_api_from_responses},
};

// All that is done with a body before it is a job.
static fr_status read_body(const long_body *b, const fr_watch *watch) {
    const fr_api_model model = {.tokenizer = tokenizer,
                                .chat = &chat,
                                .n_vocab = fr_tokenizer_size(tokenizer),
                                .watch = watch};
    const fr_api_defaults usual = fr_api_usual(1);
    fr_api_request r = {0};
    fr_buffer text = repeated(b->head, b->part, b->times, b->tail);
    err = (fr_error){0};
    json_t *body = fr_json_load_watched(text.data, text.n, watch, &err);
    fr_buffer_free(&text);
    if (body && b->translate) {
        json_t *own = body;
        body = b->translate(own, watch, &err);
        json_decref(own);
    }
    if (!body) return err.code;
    fr_status st = fr_api_parse_value(&r, FR_API_ANY, body, &usual, &err);
    if (!st) st = fr_api_encode(&r, &model, &err);
    fr_api_close(&r);
    return st;
}

static void every_question_may_be_the_last(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        asked all = {.most = INT_MAX};
        const fr_watch on = ASKED(&all);
        const fr_status whole = read_body(&bodies[i], &on);
        if (whole) fail_msg("body %zu: %s", i, err.text);
        assert_true(all.n > 10);
        const int step = all.n / 12 + 1;
        for (int n = 0; n < all.n; n += step) {
            asked some = {.most = n};
            const fr_watch off = ASKED(&some);
            const fr_status st = read_body(&bodies[i], &off);
            if (st != FR_EINTR || some.n != n + 1)
                fail_msg("body %zu, question %d of %d: status %d after %d", i, n, all.n, st,
                         some.n);
        }
    }
}

// Tokens are made by the tokenizer, which asks for every word.
static void what_cannot_fit_is_not_tokenized(void **state) {
    static const struct {
        const char *head, *part, *tail;
        int least_asked; // of the JSON, the template
    } refused[] = {
        {"{\"prompt\":\"", "hello world ", "\"}", 0},
        {"{\"prompt\":[65,\"", "hello world ", "\"]}", 0},
        {"{\"prompt\":[\"a\",\"", "hello world ", "\"]}", 5},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"", "hello world ", "\"}]}", 30},
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"",
         "hello world ", "\"}]}]}", 30},
    };
    (void)state;
    const fr_api_defaults usual = fr_api_usual(1);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        enum { WORDS = 20000, CTX = 100 };
        asked all = {.most = INT_MAX};
        const fr_watch watch = ASKED(&all);
        const fr_api_model model = {.tokenizer = tokenizer,
                                    .chat = &chat,
                                    .n_vocab = fr_tokenizer_size(tokenizer),
                                    .n_ctx = CTX,
                                    .watch = &watch};
        fr_api_request r;
        fr_buffer text = repeated(refused[i].head, refused[i].part, WORDS, refused[i].tail);
        assert_int_equal(fr_api_parse(&r, FR_API_ANY, text.data, text.n, &usual, &err), FR_OK);
        assert_int_equal(fr_api_encode(&r, &model, &err), FR_ECONTEXT);
        assert_true(r.fewest >= WORDS * strlen(refused[i].part) / fr_token_longest(tokenizer));
        assert_true(r.fewest < text.n);
        assert_non_null(strstr(err.text, "found at least "));
        if (all.n > refused[i].least_asked) fail_msg("case %zu: asked %d times", i, all.n);
        fr_api_close(&r);
        fr_buffer_free(&text);
    }
}

// What may just fit is read, and so are ids, which are soon counted.
static void what_may_fit_is_read(void **state) {
    (void)state;
    const fr_api_defaults usual = fr_api_usual(1);
    fr_api_model model = {
        .tokenizer = tokenizer, .chat = &chat, .n_vocab = fr_tokenizer_size(tokenizer), .n_ctx = 5};
    static const char *const taken[] = {"{\"prompt\":[65,65,65,65,65,65,65,65]}",
                                        "{\"prompt\":\"a\"}"};
    fr_api_request r;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        assert_int_equal(fr_api_parse(&r, FR_API_ANY, taken[i], strlen(taken[i]), &usual, &err),
                         FR_OK);
        if (fr_api_encode(&r, &model, &err)) fail_msg("%s: %s", taken[i], err.text);
        fr_api_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_question_may_be_the_last),
                                       cmocka_unit_test(what_cannot_fit_is_not_tokenized),
                                       cmocka_unit_test(what_may_fit_is_read)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
