// Memory that cannot be had while the body of a request is read: a status with a sentence,
// everything given back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/request.h"
#include "base/alloc.h"
#include "oom/counted.h"
#include "support/chats.h"
#include "support/tiny_model.h"
#include <string.h>

static const char *const bodies[] = {
    "{\"prompt\":[\"a b\",[65,66],{\"prompt_string\":\"c\"}],\"stop\":[\"x\",\"y\"],\"logit_bias\":"
    "{\"65\":1,\"xy\":2},\"seed\":18446744073709551614,\"prediction\":{\"type\":\"content\","
    "\"content\":\"the end\"}}",
    "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}],"
    "\"tools\":"
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],\"tool_choice\":\"none\",\"logit_"
    "bias\":[[65,1],[\"z\",false]]}"};
static fr_api_model model;

static fr_status live(const char *body, fr_error *err) {
    const fr_api_defaults usual = fr_api_usual(1);
    fr_api_request r;
    fr_buffer text = {0};
    fr_status st = fr_api_parse(&r, FR_API_ANY, body, strlen(body), &usual, err);
    if (!st) st = fr_api_encode(&r, &model, err);
    if (!st) st = fr_api_prompt_text(&r, &model, 0, &text, err);
    fr_buffer_free(&text);
    fr_api_close(&r);
    return st;
}

static void reading_gives_everything_back(void **state) {
    (void)state;
    void *file;
    size_t bytes;
    fr_gguf *g;
    fr_tokenizer *tokenizer;
    fr_chat_template chat;
    int refused = 0;
    assert_int_equal(fr_tiny_memory(&(fr_tiny_options){.n_layer = 1, .d = 32}, &file, &bytes, NULL),
                     FR_OK);
    assert_int_equal(fr_gguf_open_memory(&g, file, bytes, "tiny", NULL), FR_OK);
    assert_int_equal(fr_tokenizer_open(&tokenizer, g, NULL), FR_OK);
    assert_int_equal(open_named_chat(&chat, "chatml", NULL), FR_OK);
    model = (fr_api_model){
        .tokenizer = tokenizer, .chat = &chat, .n_vocab = fr_tokenizer_size(tokenizer)};
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++)
        for (int n = 1;; n++) {
            const long before = counted_live();
            fr_error err = {0};
            counted_fail(n, false);
            const fr_status st = live(bodies[b], &err);
            const int failures = counted_failures();
            counted_fail(0, false);
            assert_int_equal(counted_live(), before);
            refused += st != FR_OK;
            if (st && st != FR_ENOMEM) fail_msg("body %zu, call %d: %s", b, n, err.text);
            if (st) assert_true(err.text[0]);
            if (!failures) break;
        }
    print_message("%d refusals\n", refused);
    assert_true(refused > 20);
    fr_chat_close(&chat);
    fr_tokenizer_close(tokenizer);
    fr_gguf_close(g);
    fr_free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reading_gives_everything_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
