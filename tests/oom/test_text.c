// Memory that cannot be had while a model's text side opens, and while it encodes and renders: a
// status with a sentence or the same ids as ever, everything given back.
#include "oom/counted.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct outcome {
    int n_text, n_chat, n_json; // ids
} outcome;

static fr_status use(const fr_text *t, outcome *out, fr_error *err) {
    static const char text[] = "the wind and\xFF▁the sea"; // two things are cleaned
    static const char json[] = "[{\"role\":\"user\",\"content\":\"the wind\"}]";
    static const fr_chat_message m[] = {{"user", "the wind"}, {"assistant", "the sea"}};
    fr_encoded *a = NULL, *b = NULL, *c = NULL, *d = NULL;
    fr_status st = fr_text_tokenize(t, text, strlen(text), FR_TEXT_BOS, &a, err);
    if (!st) st = fr_text_detokenize(t, a->ids, a->n_ids, &b, err);
    if (!st) st = fr_text_chat(t, m, 2, FR_TEXT_BOS, &c, err);
    if (!st) st = fr_text_chat_json(t, json, strlen(json), FR_TEXT_CONTROL, &d, err);
    if (!st) *out = (outcome){a->n_ids, c->n_ids, d->n_ids};
    fr_encoded_free(a);
    fr_encoded_free(b);
    fr_encoded_free(c);
    fr_encoded_free(d);
    return st;
}

static fr_status live(const char *path, outcome *out, fr_error *err) {
    const char *own = fr_chat_text_named("chatml");
    fr_text *file = NULL, *with = NULL;
    fr_status st = fr_text_open(&file, path, err);
    if (!st) st = fr_text_open_with(&with, file, own, strlen(own), err);
    if (!st) st = use(with, out, err);
    fr_text_close(with);
    fr_text_close(file);
    return st;
}

static void is_an_error_or_the_same(const fr_tiny_options *tiny) {
    char path[] = "oom-text-XXXXXX";
    fr_error err = {0};
    outcome truth, o;
    int refused = 0, n = 1;
    close(mkstemp(path));
    if (fr_tiny_write(tiny, path, &err) || live(path, &truth, &err)) fail_msg("%s", err.text);
    for (;; n++) {
        const long before = counted_live();
        err = (fr_error){0};
        counted_fail(n, false);
        const fr_status st = live(path, &o, &err);
        const int failures = counted_failures();
        counted_fail(0, false);
        assert_int_equal(counted_live(), before);
        if (st && (!failures || !err.text[0])) fail_msg("call %d: %d, '%s'", n, st, err.text);
        if (!st) assert_memory_equal(&o, &truth, sizeof o);
        refused += st != FR_OK;
        if (!failures) break;
    }
    unlink(path);
    print_message("%d calls, %d refusals\n", n, refused);
    assert_true(refused > 20);
}

static void text_without_memory_is_an_error_or_the_same(void **state) {
    (void)state;
    is_an_error_or_the_same(&(fr_tiny_options){0});
    is_an_error_or_the_same(&(fr_tiny_options){.spm = true});
    is_an_error_or_the_same(&(fr_tiny_options){.pre = "gemma4"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_without_memory_is_an_error_or_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
