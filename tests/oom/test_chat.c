// Memory that cannot be had while a template is opened and a conversation rendered: a status with a
// sentence, everything given back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "oom/counted.h"
#include "support/chats.h"
#include "json/messages.h"

static const char template[] =
    "{% macro f(x, y=2) %}[{{ x }}{{ y }}]{% endmacro %}{% set ns = namespace(s='') %}"
    "{% for m in messages %}{% set ns.s = ns.s + m.role + m.content | upper %}"
    "{{ '<|' + m.role + '|>' + m.content }}{{ f(loop.index) }}{% for i in range(2000) %}"
    "{% set ns.s = ns.s ~ 'some more text ' %}{% endfor %}{% endfor %}{{ messages | "
    "tojson(indent=2) }}"
    "{{ ns.s | length }}{{ tools }}";
static const char conversation[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":"
    "[{\"type\":\"text\",\"text\":\"a\"}],\"tool_calls\":[{\"function\":{\"name\":\"f\","
    "\"arguments\":\"{\\\"x\\\":1}\"}}]}],\"tools\":[{\"type\":\"function\"}]}";

static fr_status live(fr_error *err) {
    fr_chat_template chat;
    fr_json_chat in = {0};
    fr_chat_text out = {0};
    fr_status st = fr_chat_open(&chat, template, sizeof template - 1, err);
    if (!st) st = parse_chat(&in, conversation, strlen(conversation), &chat.takes, err);
    if (!st) st = fr_chat_render(&chat, &in.request, &out, err);
    if (!st) assert_non_null(strstr(out.marked.text.data, "<|user|>Hi[12]"));
    fr_chat_text_close(&out);
    fr_json_chat_close(&in);
    fr_chat_close(&chat);
    return st;
}

static void rendering_gives_everything_back(void **state) {
    (void)state;
    int refused = 0, n = 1;
    for (;; n++) {
        const long before = counted_live();
        fr_error err = {0};
        counted_fail(n, false);
        const fr_status st = live(&err);
        const int failures = counted_failures();
        counted_fail(0, false);
        assert_int_equal(counted_live(), before);
        refused += st != FR_OK;
        if (st && st != FR_ENOMEM) fail_msg("call %d: %s", n, err.text);
        if (st) assert_true(err.text[0]);
        if (!failures) break;
    }
    print_message("%d calls, %d refusals\n", n, refused);
    assert_true(refused > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rendering_gives_everything_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
