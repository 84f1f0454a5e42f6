// test_messages.c — conversations in the form of the OpenAI API.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/messages.h"

static fr_json_chat parsed(const char *json) {
    fr_json_chat chat;
    fr_error err = {0};
    if (fr_json_chat_parse(&chat, json, strlen(json), &err)) fail_msg("%s: %s", json, err.text);
    return chat;
}

static void assert_str(fr_chat_str s, const char *expected) {
    assert_non_null(s.data);
    assert_string_equal(s.data, expected); // copies end in NUL
    assert_int_equal(s.bytes, strlen(expected));
}

static void messages_alone_ask_for_an_answer(void **state) {
    (void)state;
    fr_json_chat chat = parsed("[{\"role\":\"user\",\"content\":\"Hi\"}]");
    assert_int_equal(chat.request.n_messages, 1);
    assert_str(chat.request.messages[0].role, "user");
    assert_str(chat.request.messages[0].content, "Hi");
    assert_true(chat.request.add_generation_prompt);
    fr_json_chat_close(&chat);
    fr_json_chat_close(&chat);
}

static void messages_keep_nul_and_empty_content(void **state) {
    (void)state;
    fr_json_chat chat = parsed("{\"messages\":[{\"role\":\"user\",\"content\":\"a\\u0000b\"},"
                               "{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"user\","
                               "\"content\":null}],\"add_generation_prompt\":false}");
    const fr_message *m = chat.request.messages;
    assert_int_equal(m[0].content.bytes, 3);
    assert_memory_equal(m[0].content.data, "a\0b", 3);
    assert_non_null(m[1].content.data);
    assert_int_equal(m[1].content.bytes, 0);
    assert_null(m[2].content.data);
    assert_false(chat.request.add_generation_prompt);
    fr_json_chat_close(&chat);
}

static void messages_join_text_parts_by_newlines(void **state) {
    (void)state;
    fr_json_chat chat =
        parsed("[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
               "{\"type\":\"text\",\"text\":\"b\"}]},"
               "{\"role\":\"user\",\"content\":[]}]");
    assert_str(chat.request.messages[0].content, "a\nb");
    assert_str(chat.request.messages[1].content, "");
    fr_json_chat_close(&chat);
}

static void calls_take_arguments_as_object_or_string(void **state) {
    (void)state;
    fr_json_chat chat =
        parsed("[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
               "{\"id\":\"i\",\"type\":\"function\",\"function\":{\"arguments\":\"{\\\"b\\\":1,"
               "\\\"a\\\":[2.50]}\",\"name\":\"f\"}},"
               "{\"name\":\"g\",\"arguments\":{\"x\":\"é\"}},"
               "{\"function\":{\"name\":\"h\",\"arguments\":\"not JSON\"}},"
               "{\"function\":{\"name\":\"k\"}}]}]");
    const fr_message *m = chat.request.messages;
    assert_int_equal(m->n_tool_calls, 4);
    assert_str(m->tool_calls[0].id, "i");
    assert_str(m->tool_calls[0].name, "f");
    assert_str(m->tool_calls[0].arguments, "{\"b\": 1, \"a\": [2.5]}");
    assert_str(m->tool_calls[0].arguments_text, "{\"b\":1,\"a\":[2.50]}");
    assert_str(m->tool_calls[0].function,
               "{\"arguments\": {\"b\": 1, \"a\": [2.5]}, \"name\": \"f\"}");
    assert_str(m->tool_calls[1].arguments, "{\"x\": \"é\"}");
    assert_null(m->tool_calls[1].arguments_text.data);
    assert_str(m->tool_calls[2].arguments, "\"not JSON\"");
    assert_str(m->tool_calls[3].arguments, "{}");
    fr_json_chat_close(&chat);
}

static void tools_keep_order_and_fields(void **state) {
    (void)state;
    fr_json_chat chat =
        parsed("{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":[{\"type\":"
               "\"function\",\"function\":{\"name\":\"f\",\"max\":12345678901234567890,"
               "\"description\":\"\\\"q\\\"\"}}]}");
    const fr_tool *tool = chat.request.tools;
    assert_int_equal(chat.request.n_tools, 1);
    assert_str(tool->json, "{\"type\": \"function\", \"function\": {\"name\": \"f\", \"max\": "
                           "12345678901234567890, \"description\": \"\\\"q\\\"\"}}");
    assert_int_equal(tool->n_fields, 3);
    assert_str(tool->fields[1].key, "max");
    assert_false(tool->fields[1].is_string);
    assert_str(tool->fields[1].value, "12345678901234567890");
    assert_true(tool->fields[2].is_string);
    assert_str(tool->fields[2].value, "\"q\"");
    fr_json_chat_close(&chat);
}

static const struct {
    const char *json, *says;
} refused[] = {
    {"7", "expected a list"},
    {"[]", "at least one"},
    {"{}", "\"messages\""},
    {"[3]", "message 1: expected an object"},
    {"[{\"content\":\"x\"}]", "message 1: \"role\""},
    {"[{\"role\":12345678901234567890123,\"content\":\"x\"}]", "message 1: \"role\""},
    {"[{\"role\":\"user\",\"content\":4}]", "message 1: \"content\""},
    {"[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]", "message 1, content part 1"},
    {"[{\"role\":\"user\",\"content\":\"\",\"tool_calls\":{}}]", "\"tool_calls\""},
    {"[{\"role\":\"assistant\",\"tool_calls\":[1]}]", "message 1, tool call 1: expected an object"},
    {"[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{}}]}]", "\"name\""},
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":{}}", "\"tools\""},
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":[[]]}", "tool 1"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"add_generation_prompt\":1}",
     "add_generation_prompt"},
    {"[{\"role\":\"user\",\"role\":\"user\"}]", "duplicate"},
};

static void wrong_shapes_say_where(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        fr_json_chat chat;
        fr_error err = {0};
        const char *json = refused[i].json;
        assert_int_equal(fr_json_chat_parse(&chat, json, strlen(json), &err), FR_EARG);
        if (!strstr(err.text, refused[i].says))
            fail_msg("%s: expected \"%s\" in \"%s\"", json, refused[i].says, err.text);
        fr_json_chat_close(&chat);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_alone_ask_for_an_answer),
        cmocka_unit_test(messages_keep_nul_and_empty_content),
        cmocka_unit_test(messages_join_text_parts_by_newlines),
        cmocka_unit_test(calls_take_arguments_as_object_or_string),
        cmocka_unit_test(tools_keep_order_and_fields),
        cmocka_unit_test(wrong_shapes_say_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
