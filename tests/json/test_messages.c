// test_messages.c — conversations in the form of the OpenAI API, as a template finds them: these
// templates write their variables as JSON.
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

static const fr_chat_takes usual = {
    .text = true, .object_arguments = true, .null_content = true, .tools = true};

static void expect(const char *template, const char *json, const fr_chat_takes *takes,
                   const char *expected) {
    fr_chat_template chat;
    fr_json_chat in;
    fr_chat_text out = {0};
    fr_error err = {0};
    assert_int_equal(fr_chat_open(&chat, template, strlen(template), &err), FR_OK);
    if (parse_chat(&in, json, strlen(json), takes, &err)) fail_msg("%s: %s", json, err.text);
    if (fr_chat_render(&chat, &in.request, &out, &err)) fail_msg("%s: %s", json, err.text);
    assert_string_equal(out.marked.text.data, expected);
    fr_chat_text_close(&out);
    fr_json_chat_close(&in);
    fr_json_chat_close(&in);
    fr_chat_close(&chat);
}

#define MESSAGES "{{ messages | tojson }}"

static void messages_alone_ask_for_an_answer(void **state) {
    (void)state;
    expect(MESSAGES "{{ add_generation_prompt }}{{ tools }}",
           "[{\"role\":\"user\",\"content\":\"Hi\"}]", &usual,
           "[{\"role\": \"user\", \"content\": \"Hi\"}]TrueNone");
    expect(
        "{{ add_generation_prompt }}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"add_generation_prompt\":false}",
        &usual, "False");
}

// Null content is empty, as llama-server has it, and so is none: most templates put strings together.
static void members_keep_their_order_and_types(void **state) {
    (void)state;
    expect(MESSAGES,
           "[{\"content\":\"a\\u0000b\",\"role\":\"user\",\"name\":\"n\",\"x\":[1.50,"
           "12345678901234567890]},{\"role\":\"user\",\"content\":null},{\"role\":\"user\"}]",
           &usual,
           "[{\"content\": \"a\\u0000b\", \"role\": \"user\", \"name\": \"n\", \"x\": [1.5, "
           "12345678901234567890]}, {\"role\": \"user\", \"content\": \"\"}, {\"role\": \"user\", "
           "\"content\": \"\"}]");
}

// Templates ask whether a member is there: one that is null is not, nor are calls of which none is.
static void null_members_are_left_out(void **state) {
    (void)state;
    expect(
        MESSAGES,
        "[{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":null,\"reasoning_content\":null,"
        "\"refusal\":null},{\"role\":\"assistant\",\"content\":\"b\",\"tool_calls\":[]}]",
        &usual,
        "[{\"role\": \"assistant\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": "
        "\"b\"}]");
    expect("{{ messages[0].tool_calls | tojson }}",
           "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":null,\"function\":{"
           "\"name\":"
           "\"f\",\"arguments\":null,\"x\":null}}]}]",
           &usual, "[{\"function\": {\"name\": \"f\", \"arguments\": {}}}]");
}

// A role's content is a list where its texts are left out of strings, and else a string.
static void content_is_in_the_form_that_a_role_has(void **state) {
    (void)state;
    static const char two[] =
        "[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
        "{\"type\":\"text\",\"text\":\"b\"}]},{\"role\":\"user\",\"content\":"
        "[{\"type\":\"text\",\"text\":\"c\"}]},{\"role\":\"tool\",\"content\":"
        "\"d\"}]";
    const fr_chat_takes both = {.text = true, .parts = true},
                        lists = {.text = true, .lists = FR_LIST_SYSTEM | FR_LIST_TOOL};
    expect("{% for m in messages %}{{ m.content | tojson }}{% endfor %}", two, &both,
           "\"a\\nb\"\"c\"\"d\"");
    expect("{% for m in messages %}{{ m.content | tojson }}{% endfor %}", two, &lists,
           "[{\"type\": \"text\", \"text\": \"a\\nb\"}]\"c\""
           "[{\"type\": \"text\", \"text\": \"d\"}]");
}

// Of tools the template finds what it needs, and of what is null nothing.
static void tools_have_what_a_template_needs(void **state) {
    (void)state;
    const fr_chat_takes bare = {.text = true, .lacks = FR_LACKS_BARE_TOOLS},
                        empty = {.text = true, .lacks = FR_LACKS_NO_PROPERTIES};
    static const char tools[] =
        "{\"messages\":[],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"
        "\"f\",\"description\":null}},{\"function\":{\"name\":\"g\","
        "\"parameters\":{\"x\":1}}}]}";
    expect("{{ tools | tojson }}", tools, &usual,
           "[{\"type\": \"function\", \"function\": {\"name\": \"f\"}}, {\"function\": {\"name\": "
           "\"g\", "
           "\"parameters\": {\"x\": 1}}}]");
    expect("{{ tools | tojson }}", tools, &bare,
           "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"description\": \"\", "
           "\"parameters\": "
           "{\"type\": \"object\", \"properties\": {}}}}, {\"function\": {\"name\": \"g\", "
           "\"parameters\": "
           "{\"x\": 1}, \"description\": \"\"}}]");
    expect("{{ tools | tojson }}", tools, &empty,
           "[{\"type\": \"function\", \"function\": {\"name\": \"f\"}}, {\"function\": {\"name\": "
           "\"g\", "
           "\"parameters\": {\"x\": 1, \"type\": \"object\", \"properties\": {}}}}]");
}

#define PARTS                                                                                      \
    "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\","      \
    "\"text\":\"b\"}]}]"

static void text_parts_are_joined_where_strings_are_taken(void **state) {
    (void)state;
    const fr_chat_takes both = {.text = true, .parts = true, .several_parts = true},
                        one = {.text = true, .parts = true}, parts = {.parts = true};
    expect(MESSAGES, PARTS, &usual, "[{\"role\": \"user\", \"content\": \"a\\nb\"}]");
    expect("{{ messages[0].content | length }}", PARTS, &both, "2");
    expect(MESSAGES, PARTS, &one, "[{\"role\": \"user\", \"content\": \"a\\nb\"}]");
    expect(MESSAGES, PARTS, &parts,
           "[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"a\\nb\"}]}]");
    expect(MESSAGES, "[]", &usual, "[]");
    expect(MESSAGES, "[{\"role\":\"user\",\"content\":\"a\"}]", &parts,
           "[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}]}]");
    expect(MESSAGES, "[{\"role\":\"user\",\"content\":[]}]", &usual,
           "[{\"role\": \"user\", \"content\": \"\"}]");
}

#define ARGUMENTS "{{ messages[0].tool_calls[0].function.arguments | tojson }}"
#define CALL(arguments)                                                                            \
    "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"i\",\"type\":"            \
    "\"function\","                                                                                \
    "\"function\":{\"name\":\"f\",\"arguments\":" arguments "}}]}]"
#define IN_TEXT "\"{\\\"b\\\":1,\\\"a\\\":[2.50]}\""

static void calls_take_arguments_as_object_or_string(void **state) {
    (void)state;
    const fr_chat_takes text = {.text = true, .text_arguments = true, .null_content = true};
    const fr_chat_takes both = {.text = true, .text_arguments = true, .object_arguments = true};
    expect(ARGUMENTS, CALL("{\"x\":\"é\"}"), &usual, "{\"x\": \"é\"}");
    expect(ARGUMENTS, CALL(IN_TEXT), &usual, "{\"b\": 1, \"a\": [2.5]}");
    expect(ARGUMENTS, CALL(IN_TEXT), &text, IN_TEXT);
    expect(ARGUMENTS, CALL(IN_TEXT), &both, IN_TEXT);
    expect(ARGUMENTS, CALL("{\"b\":1}"), &text, "\"{\\\"b\\\": 1}\"");
    expect(ARGUMENTS, CALL("{\"b\":1}"), &both, "{\"b\": 1}");
    expect(ARGUMENTS, CALL("\"not JSON\""), &usual, "\"not JSON\"");
    expect(ARGUMENTS, CALL("\"{\\\"a\\\": \\\"x\\ny\\\"}\""), &usual, "{\"a\": \"x\\ny\"}");
    expect("{{ messages[0].content }}", CALL("{}"), &usual, "None");
    expect("{{ messages[0].content }}|", CALL("{}"), &both, "|"); // null is not taken: it is empty
    expect(
        "{{ messages[0].tool_calls | tojson }}",
        "[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"k\"}},{\"name\":\"g\","
        "\"arguments\":{}}]}]",
        &usual,
        "[{\"function\": {\"name\": \"k\", \"arguments\": {}}}, {\"name\": \"g\", \"arguments\": "
        "{}}]");
}

// A string of a megabyte that would become fifty is refused before it is parsed.
static void arguments_take_no_more_than_text_does(void **state) {
    (void)state;
    enum { LISTS = 350000 };
    fr_buffer b = {0};
    fr_json_chat chat;
    fr_error err = {0};
    static const char before[] = "[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":"
                                 "\"f\",\"arguments\":\"{\\\"a\\\":[",
                      after[] = "0]}\"}}]}]";
    assert_int_equal(fr_buffer_add(&b, before, sizeof before - 1, &err), FR_OK);
    for (int i = 0; i < LISTS; i++)
        assert_int_equal(fr_buffer_add(&b, "[],", 3, &err), FR_OK);
    assert_int_equal(fr_buffer_add(&b, after, sizeof after - 1, &err), FR_OK);
    assert_int_equal(parse_chat(&chat, b.data, b.n, &usual, &err), FR_EARG);
    assert_non_null(strstr(err.text, "arguments of a call"));
    fr_json_chat_close(&chat);
    fr_buffer_free(&b);
}

static void tools_and_variables_reach_the_template(void **state) {
    (void)state;
    expect(
        "{{ tools | tojson }}{{ enable_thinking }}{{ effort }}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":[{\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"max\":12345678901234567890}}],"
        "\"enable_thinking\":false,\"chat_template_kwargs\":{\"effort\":\"low\"}}",
        &usual,
        "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"max\": 12345678901234567890}}]"
        "Falselow");
}

#define DOCUMENTS     "{{ documents | tojson }}"
#define WITH(members) "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}]," members "}"

// As transformers has it: a variable of the name goes before the argument.
static void documents_reach_the_template(void **state) {
    (void)state;
    expect(DOCUMENTS, WITH("\"documents\":[{\"text\":\"D\",\"n\":1}]"), &usual,
           "[{\"text\": \"D\", \"n\": 1}]");
    expect(DOCUMENTS "{{ q }}",
           WITH("\"chat_template_kwargs\":{\"documents\":[{\"text\":\"E\"}],\"q\":2}"), &usual,
           "[{\"text\": \"E\"}]2");
    expect(DOCUMENTS, WITH("\"documents\":[{\"a\":1}],\"chat_template_kwargs\":{\"documents\":[]}"),
           &usual, "[]");
    expect(DOCUMENTS,
           WITH("\"documents\":[{\"a\":1}],\"chat_template_kwargs\":{\"documents\":null}"), &usual,
           "[{\"a\": 1}]");
    expect(DOCUMENTS, WITH("\"documents\":null"), &usual, "null");
    expect(DOCUMENTS, "[]", &usual, "null");
}

static const struct {
    const char *json, *says;
} refused[] = {
    {"7", "expected a list"},
    {"5", "messages: expected a list"},
    {"{\"messages\":{}}", "messages: expected a list"},
    {"{}", "messages: expected"},
    {"[3]", "messages[0]: expected an object"},
    {"[{\"content\":\"x\"}]", "messages[0].role: expected a string"},
    {"[{\"role\":12345678901234567890123,\"content\":\"x\"}]",
     "messages[0].role: expected a string"},
    {"[{\"role\":\"user\",\"content\":4}]", "messages[0].content: expected"},
    {"[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]",
     "messages[0].content[0]: expected"},
    {"[{\"role\":\"user\",\"content\":\"\",\"tool_calls\":{}}]",
     "messages[0].tool_calls: expected a list"},
    {"[{\"role\":\"assistant\",\"tool_calls\":[1]}]",
     "messages[0].tool_calls[0]: expected an object"},
    {"[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{}}]}]",
     "messages[0].tool_calls[0].function.name: expected a string"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":{}}",
     "tools: expected a list"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":[[]]}",
     "tools[0]: expected an object"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"add_generation_prompt\":1}",
     "add_generation_prompt"},
    {"{\"messages\":[{\"role\":\"user\"}],\"chat_template_kwargs\":[]}", "chat_template_kwargs"},
    {WITH("\"documents\":{}"), "documents: expected a list"},
    {WITH("\"documents\":[{},\"x\"]"), "documents[1]: expected an object"},
    {WITH("\"chat_template_kwargs\":{\"documents\":\"x\"}"),
     "chat_template_kwargs.documents: expected a list"},
    {WITH("\"chat_template_kwargs\":{\"documents\":[1]}"),
     "chat_template_kwargs.documents[0]: expected an object"},
};

static void wrong_shapes_say_where(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        fr_json_chat chat;
        fr_error err = {0};
        const char *json = refused[i].json;
        assert_int_equal(parse_chat(&chat, json, strlen(json), &usual, &err), FR_EARG);
        if (!strstr(err.text, refused[i].says))
            fail_msg("%s: expected \"%s\" in \"%s\"", json, refused[i].says, err.text);
        fr_json_chat_close(&chat);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_alone_ask_for_an_answer),
        cmocka_unit_test(members_keep_their_order_and_types),
        cmocka_unit_test(null_members_are_left_out),
        cmocka_unit_test(content_is_in_the_form_that_a_role_has),
        cmocka_unit_test(tools_have_what_a_template_needs),
        cmocka_unit_test(text_parts_are_joined_where_strings_are_taken),
        cmocka_unit_test(calls_take_arguments_as_object_or_string),
        cmocka_unit_test(arguments_take_no_more_than_text_does),
        cmocka_unit_test(tools_and_variables_reach_the_template),
        cmocka_unit_test(documents_reach_the_template),
        cmocka_unit_test(wrong_shapes_say_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
