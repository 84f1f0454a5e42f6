// test_chat_golden.c — recorded prompts of common templates. chat_golden.jsonl holds, line by line, a
// template, the name of a built-in one, or both (else the line before's), a request, and what Jinja2
// 3.1 made of it with trim_blocks and lstrip_blocks, <s> and </s>; null where the template refuses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/chats.h"
#include "json/messages.h"

typedef struct templates { // of the lines that follow; {0}: none
    fr_chat_template written, named;
} templates;

static void close_templates(templates *t) {
    fr_chat_close(&t->written);
    fr_chat_close(&t->named);
}

static void choose_templates(const json_t *row, templates *t) {
    const json_t *text = json_object_get(row, "template"), *name = json_object_get(row, "name");
    fr_error err = {0};
    if (!text && !name) return;
    close_templates(t);
    if (text && fr_chat_open(&t->written, json_string_value(text), json_string_length(text), &err))
        fail_msg("%s", err.text);
    if (name && open_named_chat(&t->named, json_string_value(name), &err)) fail_msg("%s", err.text);
}

static void check_row(const json_t *row, const fr_chat_template *chat, int line) {
    const json_t *prompt = json_object_get(row, "prompt");
    fr_json_chat in;
    fr_chat_text out = {0};
    fr_error err = {0};
    if (!chat->program) return;
    assert_int_equal(fr_json_chat_from(&in, row, &chat->takes, NULL, &err), FR_OK);
    in.request.bos = (fr_chat_str){"<s>", 3};
    in.request.eos = (fr_chat_str){"</s>", 4};
    const fr_status st = fr_chat_render(chat, &in.request, &out, &err);
    const fr_buffer *text = &out.marked.text;
    const bool same = json_is_null(prompt)
                          ? st == FR_EARG
                          : !st && text->n == json_string_length(prompt) &&
                                !memcmp(text->data, json_string_value(prompt), text->n);
    if (!same)
        fail_msg("line %d: expected %s, found %s", line,
                 json_is_null(prompt) ? "a refusal" : json_string_value(prompt),
                 st ? err.text : text->data);
    if (!st) assert_int_equal(out.has_bos, !strncmp(text->data, "<s>", 3));
    fr_chat_text_close(&out);
    fr_json_chat_close(&in);
}

static void chat_renders_what_jinja_renders(void **state) {
    (void)state;
    FILE *f = fopen(FR_SOURCE_DIR "/tests/json/chat_golden.jsonl", "rb");
    static char line[1 << 16];
    templates t = {0};
    int n = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *row = fr_json_load(line, strlen(line), NULL);
        assert_non_null(row);
        choose_templates(row, &t);
        n++;
        check_row(row, &t.written, n);
        check_row(row, &t.named, n);
        json_decref(row);
    }
    close_templates(&t);
    fclose(f);
    assert_true(n > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chat_renders_what_jinja_renders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
