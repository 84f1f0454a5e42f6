// Work on a long body ends with FR_EINTR soon after its result is not wanted any more, at any step, and
// leaks nothing (sanitizers see that). A prompt that cannot fit is not tokenized.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api_world.h"
#include "support/asked.h"
#include <string.h>

// `head`, then `times` parts with commas between, then `tail`. To be freed.
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
    fr_api_model watched = model;
    watched.watch = watch;
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
    if (!st) st = fr_api_encode(&r, &watched, &err);
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

// What is encoded, of a model with room for so many tokens.
static fr_status encode(fr_api_request *r, const char *json, size_t n, int n_ctx,
                        const fr_watch *watch) {
    const fr_api_defaults usual = fr_api_usual(1);
    fr_api_model small = model;
    small.n_ctx = n_ctx;
    small.watch = watch;
    if (fr_api_parse(r, FR_API_ANY, json, n, &usual, &err)) fail_msg("%.80s: %s", json, err.text);
    return fr_api_encode(r, &small, &err);
}

// The tokenizer would ask once for every word.
static void what_cannot_fit_is_not_tokenized(void **state) {
    static const struct {
        const char *head, *part, *tail;
        int most; // questions, of the JSON and the template
    } refused[] = {
        {"{\"prompt\":\"", "hello world ", "\"}", 0},
        {"{\"prompt\":[65,\"", "hello world ", "\"]}", 0},
        {"{\"prompt\":[\"a\",\"", "hello world ", "\"]}", 5},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"", "hello world ", "\"}]}", 30},
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"",
         "hello world ", "\"}]}]}", 30},
    };
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        enum { WORDS = 20000, CTX = 100 };
        asked all = {.most = INT_MAX};
        const fr_watch watch = ASKED(&all);
        fr_api_request r;
        fr_buffer text = repeated(refused[i].head, refused[i].part, WORDS, refused[i].tail);
        assert_int_equal(encode(&r, text.data, text.n, CTX, &watch), FR_ECONTEXT);
        assert_true(r.fewest >= WORDS * strlen(refused[i].part) / fr_token_longest(tokenizer));
        assert_true(r.fewest < text.n);
        assert_non_null(strstr(err.text, "found at least "));
        if (all.n > refused[i].most) fail_msg("case %zu: asked %d times", i, all.n);
        fr_api_close(&r);
        fr_buffer_free(&text);
    }
}

// A long list is looked at, and asked about, even if it cannot fit.
static void a_list_that_cannot_fit_can_be_left(void **state) {
    (void)state;
    fr_api_request r;
    fr_buffer text = repeated("{\"prompt\":[65,", "\"a\"", 20000, "]}");
    asked some = {.most = 2};
    const fr_watch watch = ASKED(&some);
    assert_int_equal(encode(&r, text.data, text.n, 100, &watch), FR_EINTR);
    assert_int_equal(some.n, 3);
    fr_api_close(&r);
    fr_buffer_free(&text);
}

// Ids may be too many: they take little time.
static void what_may_fit_is_read(void **state) {
    (void)state;
    static const char *const taken[] = {"{\"prompt\":[65,65,65,65,65,65,65,65]}",
                                        "{\"prompt\":\"a\"}"};
    fr_api_request r;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        if (encode(&r, taken[i], strlen(taken[i]), 5, NULL)) fail_msg("%s: %s", taken[i], err.text);
        fr_api_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_question_may_be_the_last),
                                       cmocka_unit_test(what_cannot_fit_is_not_tokenized),
                                       cmocka_unit_test(a_list_that_cannot_fit_can_be_left),
                                       cmocka_unit_test(what_may_fit_is_read)};
    return cmocka_run_group_tests(tests, open_world, close_world);
}
