// Bodies of Anthropic's messages and OpenAI's responses as chat requests: what becomes what, and
// what is refused with which sentence.
#include "api/fit.h"
#include "api/translate.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct pair {
    const char *from, *to;
} pair;

static void check_all(fr_api_translator *translate, const pair *pairs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fr_error err = {0};
        json_t *body = json_loads(pairs[i].from, 0, NULL),
               *right = json_loads(pairs[i].to, 0, NULL);
        assert_true(body && right);
        json_t *found = translate(body, NULL, &err);
        if (!found) fail_msg("%s: %s", pairs[i].from, err.text);
        char *text = json_dumps(found, JSON_COMPACT);
        if (!json_equal(found, right)) fail_msg("expected %s, found %s", pairs[i].to, text);
        free(text);
        json_decref(found);
        json_decref(right);
        json_decref(body);
    }
}

static void refuse_all(fr_api_translator *translate, const pair *pairs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fr_error err = {0};
        json_t *body = json_loads(pairs[i].from, 0, NULL);
        assert_non_null(body);
        if (translate(body, NULL, &err)) fail_msg("%s: expected an error", pairs[i].from);
        assert_int_equal(err.code, FR_EARG);
        if (strncmp(err.text, pairs[i].to, strlen(pairs[i].to)))
            fail_msg("expected %s, found %s", pairs[i].to, err.text);
        json_decref(body);
    }
}

#define N(list) (sizeof(list) / sizeof *(list))
#define HI      "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define PART(s) "{\"type\":\"text\",\"text\":\"" s "\"}"
#define CALL    "{\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
// A call and what it gave.
#define ASKED(given)                                                                               \
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\","    \
    "\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"   \
    "\"t1\",\"content\":" given "}]}"
#define ASKED_CHAT(given)                                                                          \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CALL                               \
    "\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":" given "}"
#define RESULT(id, given)   "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":" given "}"
#define LEFT_OUT(type)      PART("[" type ": left out, since only text is read here]")
#define SAYS(role, content) "{\"role\":\"" role "\",\"content\":" content "}"
#define LETTERS             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" // 39
#define TWO(a, b)           "{\"messages\":[" a "," b "]}"            // messages
#define SCHEMA              "{\"type\":\"object\"}"
#define FUNCTION            "{\"name\":\"f\",\"description\":\"d\",\"parameters\":" SCHEMA "}"

static void anthropics_messages_are_chats(void **state) {
    (void)state;
    static const pair pairs[] = {
        {"{\"max_tokens\":5,\"seed\":3," HI "}", "{\"max_tokens\":5,\"seed\":3," HI "}"},
        {"{\"system\":\"be kind\"," HI
         ",\"stop_sequences\":[\"x\"],\"metadata\":{\"user_id\":\"u\"}}",
         "{\"messages\":[{\"role\":\"system\",\"content\":\"be kind\"},{\"role\":\"user\","
         "\"content\":\"hi\"}],\"stop\":[\"x\"],\"user\":\"u\"}"},
        {"{\"messages\":[]}", "{\"messages\":[]}"},
        {"{\"system\":\"be kind\",\"messages\":[]}",
         "{\"messages\":[{\"role\":\"system\",\"content\":\"be kind\"}]}"},
        {"{\"system\":[" PART("a") "," PART("b") "]," HI "}",
         "{\"messages\":[{\"role\":\"system\",\"content\":[" PART("a") "," PART(
             "b") "]},{\"role\":\"user\",\"content\":\"hi\"}]}"},
        // An answer with thinking and a call, then what the tool gave and a word behind it.
        {"{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
         "\"hm\",\"signature\":\"\"}," PART(
             "so") ",{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{\"a\":1}}]},"
                   "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
                   "\"t1\","
                   "\"content\":\"42\"}," PART("go on") "]}]}",
         "{\"messages\":[{\"role\":\"assistant\",\"reasoning_content\":\"hm\",\"content\":[" PART(
             "so") "],\"tool_calls\":[" CALL "\"{\\\"a\\\": 1}\"}}]},{\"role\":\"tool\","
                   "\"tool_call_id\":\"t1\",\"content\":\"42\"},{\"role\":\"user\",\"content\":["
                   "" PART("go on") "]}]}"},
        // A message of results alone is none itself; a call alone has no content.
        {"{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\","
         "\"name\":\"f\",\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
         "\"tool_use_id\":\"t1\"}]}]}",
         "{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CALL
         "\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":\"\"}]}"},
        {"{" HI ",\"tools\":[{\"name\":\"f\",\"description\":\"d\",\"input_schema\":" SCHEMA
         "}],\"tool_choice\":{\"type\":\"none\"},\"thinking\":{\"type\":\"disabled\"}}",
         "{" HI ",\"tools\":[{\"type\":\"function\",\"function\":" FUNCTION
         "}],\"tool_choice\":\"none\",\"chat_template_kwargs\":{\"enable_thinking\":false}}"},
    };
    check_all(fr_api_from_anthropic, pairs, N(pairs));
}

// Systems between the messages, texts of documents, and pictures in results that something follows.
static void anthropics_other_blocks_become_text(void **state) {
    (void)state;
    static const pair pairs[] = {
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"system\",\"content\":"
         "\"b\"},"
         "{\"role\":\"system\",\"content\":[" PART("c") "]}]}",
         "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"system\",\"content\":"
         "\"b\"},"
         "{\"role\":\"system\",\"content\":[" PART("c") "]}]}"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"title\":\"t\","
         "\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":\"d\"}},{\"type\":"
         "\"search_result\",\"source\":\"u\",\"title\":\"v\",\"content\":[" PART("w") "]}]}]}",
         "{\"messages\":[{\"role\":\"user\",\"content\":[" PART("t\\nd") "," PART(
             "v\\nu\\nw") "]}]}"},
        {TWO(ASKED("[" PART("a") ",{\"type\":\"image\"},{\"type\":\"tool_reference\",\"tool_name\":"
                                 "\"g\"}]"),
             SAYS("assistant", "\"b\"")),
         TWO(ASKED_CHAT("[" PART("a") "," LEFT_OUT("image") "," PART("g") "]"),
             SAYS("assistant", "\"b\""))},
        // A name that is cut within a character.
        {TWO(ASKED("[{\"type\":\"" LETTERS "\xC3\xA9\"}]"), SAYS("assistant", "\"b\"")),
         TWO(ASKED_CHAT("[" LEFT_OUT(LETTERS "\xEF\xBF\xBD") "]"), SAYS("assistant", "\"b\""))},
        // A text of the user's after it, in the same message.
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
         "\"t1\",\"content\":[{\"type\":\"image\"}]}," PART("go on") "]}]}",
         TWO(RESULT("t1", "[" LEFT_OUT("image") "]"), SAYS("user", "[" PART("go on") "]"))},
        // The result of a tool that Anthropic ran stands in the assistant's message.
        {"{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"server_tool_use\",\"id\":"
         "\"t1\",\"name\":\"f\",\"input\":{}},{\"type\":\"web_search_tool_result\",\"tool_use_id\":"
         "\"t1\",\"content\":[{\"url\":\"u\"}]}," PART("so") "]}]}",
         TWO(ASKED_CHAT("\"[{\\\"url\\\": \\\"u\\\"}]\""), SAYS("assistant", "[" PART("so") "]"))},
        {"{" HI ",\"output_config\":{\"effort\":\"low\"}}",
         "{" HI ",\"output_config\":{\"effort\":\"low\"},\"reasoning_effort\":\"low\"}"},
    };
    check_all(fr_api_from_anthropic, pairs, N(pairs));
}

// Their schemas are published: a request has their names alone.
static void tools_that_the_client_runs_are_functions(void **state) {
    (void)state;
    static const struct {
        const char *type, *name, *parameter;
    } tools[] = {{"bash_20250124", "bash", "command"},
                 {"text_editor_20250728", "str_replace_based_edit_tool", "old_str"},
                 {"text_editor_20241022", "str_replace_editor", "insert_line"},
                 {"memory_20250818", "memory", "new_path"}};
    for (size_t i = 0; i < N(tools); i++) {
        fr_error err = {0};
        json_t *body = json_pack("{s:[], s:[{s:s, s:s}]}", "messages", "tools", "type",
                                 tools[i].type, "name", tools[i].name);
        json_t *found = fr_api_from_anthropic(body, NULL, &err);
        if (!found) fail_msg("%s: %s", tools[i].type, err.text);
        const json_t *tool = json_array_get(json_object_get(found, "tools"), 0),
                     *function = json_object_get(tool, "function"),
                     *parameters = json_object_get(function, "parameters");
        assert_string_equal(json_string_value(json_object_get(tool, "type")), "function");
        assert_string_equal(json_string_value(json_object_get(function, "name")), tools[i].name);
        assert_true(json_string_length(json_object_get(function, "description")) > 0);
        assert_true(json_is_object(
            json_object_get(json_object_get(parameters, "properties"), tools[i].parameter)));
        json_decref(found);
        json_decref(body);
    }
}

static void anthropics_wrong_messages_are_said(void **state) {
    (void)state;
    static const pair pairs[] = {
        {"{}", "messages: "},
        {"{\"messages\":{}}", "messages: "},
        {"{\"messages\":[{\"content\":\"a\"}]}", "messages[0].role: "},
        {"{\"messages\":[{\"role\":\"user\",\"content\":7}]}", "messages[0].content: "},
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]}]}",
         "messages[0].content[0].type: "},
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]}",
         "messages[0].content[0].text: "},
        {"{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\","
         "\"name\":\"f\",\"input\":\"x\"}]}]}",
         "messages[0].content[0].input: "},
        {"{\"messages\":[" ASKED("[{\"type\":\"image\",\"source\":{}}]") "]}",
         "messages[1].content[0].content[0]: only text is read here, found image"},
        {"{\"messages\":[" ASKED("[" PART("a") ",{\"type\":\"document\",\"source\":{\"type\":"
                                               "\"base64\"}}]") "]}",
         "messages[1].content[0].content[1]: only text is read here, found document"},
        {"{\"messages\":[" ASKED("7") "]}", "messages[1].content[0].content: "},
        {"{\"messages\":[{\"role\":\"system\",\"content\":[{\"type\":\"tool_use\"}]}]}",
         "messages[0].content[0].type: "},
        {"{\"messages\":[{\"role\":\"tool\",\"content\":\"a\"}]}", "messages[0].role: "},
        {"{\"system\":5," HI "}", "system: "},
        {"{\"system\":[\"a\"]," HI "}", "system[0]: "},
        {"{" HI ",\"tools\":[{\"type\":\"web_search_20250305\"}]}", "tools[0].type: "},
        {"{" HI ",\"tools\":[{\"type\":\"computer_20250124\",\"name\":\"computer\"}]}",
         "tools[0].type: "},
        {"{" HI ",\"tools\":[{\"type\":\"bash_\",\"name\":\"bash\"}]}", "tools[0].type: "},
        {"{" HI ",\"tools\":[{}]}", "tools[0].name: "},
        {"{" HI ",\"tools\":[{\"type\":\"bash_20250124\"}]}", "tools[0].name: expected a string"},
        {"{" HI ",\"output_config\":{\"effort\":3}}", "output_config.effort: "},
        {"{" HI ",\"tool_choice\":{\"type\":\"any\"}}", "tool_choice.type: "},
        {"{" HI ",\"thinking\":{\"type\":\"much\"}}", "thinking.type: "},
    };
    refuse_all(fr_api_from_anthropic, pairs, N(pairs));
}

static void responses_are_chats(void **state) {
    (void)state;
    static const pair pairs[] = {
        {"{\"input\":\"hi\",\"max_output_tokens\":5,\"temperature\":0,\"store\":false}",
         "{" HI ",\"max_tokens\":5,\"temperature\":0,\"store\":false}"},
        {"{\"instructions\":\"be kind\",\"input\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
         "{\"messages\":[{\"role\":\"system\",\"content\":\"be kind\"},{\"role\":\"user\","
         "\"content\":[" PART("hi") "]}]}"},
        {"{\"input\":[{\"role\":\"developer\",\"content\":[{\"type\":\"input_text\",\"text\":\"a\"}"
         "]}]}",
         "{\"messages\":[{\"role\":\"developer\",\"content\":[" PART("a") "]}]}"},
        // Encrypted reasoning says nothing here.
        {"{\"input\":[{\"role\":\"user\",\"content\":\"a\"},{\"type\":\"reasoning\",\"summary\":[],"
         "\"encrypted_content\":\"x\"},{\"role\":\"user\",\"content\":\"b\"}]}",
         "{\"messages\":[{\"role\":\"user\",\"content\":[" PART(
             "a") "]},{\"role\":\"user\",\"content\":[" PART("b") "]}]}"},
        // One answer in four items, then what the tool gave.
        {"{\"input\":[{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":"
         "\"reasoning_text\",\"text\":\"hm\"}]},{\"type\":\"message\",\"role\":\"assistant\","
         "\"content\":[{\"type\":\"output_text\",\"text\":\"so\"}]},{\"type\":\"function_call\","
         "\"call_id\":\"t1\",\"name\":\"f\",\"arguments\":\"{}\"},{\"type\":"
         "\"function_call_output\",\"call_id\":\"t1\",\"output\":\"42\"}]}",
         "{\"messages\":[{\"role\":\"assistant\",\"reasoning_content\":\"hm\",\"content\":[" PART(
             "so") "],\"tool_calls\":[" CALL
                   "\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"t1\","
                   "\"content\":\"42\"}]}"},
        {"{\"input\":\"hi\",\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"description\":\"d\","
         "\"parameters\":" SCHEMA "}],\"reasoning\":{\"effort\":\"none\"}}",
         "{" HI ",\"tools\":[{\"type\":\"function\",\"function\":" FUNCTION
         "}],\"reasoning_effort\":\"none\"}"},
    };
    check_all(fr_api_from_responses, pairs, N(pairs));
}

#define CUSTOM                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\",\"description\":"         \
    "\"The whole input, as a text.\"}},\"required\":[\"input\"]}"

// Custom tools become functions of one text, namespaces are opened, OpenAI's own are left out.
static void tools_of_responses_are_functions(void **state) {
    (void)state;
    static const pair pairs[] = {
        {"{\"input\":\"hi\",\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{}},{"
         "\"type\":"
         "\"custom\",\"name\":\"g\",\"description\":\"x\",\"format\":{\"type\":\"grammar\","
         "\"syntax\":"
         "\"lark\",\"definition\":\"start: "
         "x\"}},{\"type\":\"web_search\",\"external_web_access\":false},"
         "{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":\"function\",\"name\":\"h\"}]"
         "}]}",
         "{" HI
         ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{}}},"
         "{\"type\":\"function\",\"function\":{\"name\":\"g\",\"description\":\"x\\n\\nThe input "
         "is a text "
         "of this grammar (lark):\\nstart: x\",\"parameters\":" CUSTOM "}},{\"type\":\"function\","
         "\"function\":{\"name\":\"h\"}}]}"},
        {"{\"input\":\"hi\",\"tools\":[{\"type\":\"local_shell\"},{\"type\":\"image_generation\"}]"
         "}",
         "{" HI "}"},
        {"{\"input\":[{\"role\":\"user\",\"content\":\"a\"},{\"type\":\"additional_tools\","
         "\"tools\":"
         "[{\"type\":\"function\",\"name\":\"f\"}]}]}",
         "{\"messages\":[{\"role\":\"user\",\"content\":[" PART(
             "a") "]}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]}"},
    };
    check_all(fr_api_from_responses, pairs, N(pairs));
}

// Calls of other kinds than functions, and what they gave.
static void calls_of_all_kinds_are_calls(void **state) {
    (void)state;
    static const pair pairs[] = {
        {"{\"input\":[{\"type\":\"custom_tool_call\",\"call_id\":\"t1\",\"name\":\"f\",\"input\":"
         "\"x\\ny\"}"
         ",{\"type\":\"custom_tool_call_output\",\"call_id\":\"t1\",\"output\":\"42\"}]}",
         "{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CALL
         "\"{\\\"input\\\": "
         "\\\"x\\\\ny\\\"}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":"
         "\"42\"}]}"},
        {"{\"input\":[{\"type\":\"local_shell_call\",\"call_id\":\"t1\",\"action\":{\"type\":"
         "\"exec\"}},"
         "{\"type\":\"web_search_call\",\"id\":\"w\"},{\"type\":\"local_shell_call_output\",\"call_"
         "id\":"
         "\"t1\",\"output\":\"42\"}]}",
         "{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"t1\","
         "\"type\":"
         "\"function\",\"function\":{\"name\":\"local_shell\",\"arguments\":\"{\\\"type\\\": "
         "\\\"exec\\\"}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":\"42\"}]}"},
        // A picture in a result that something follows, a refusal, and an output of older clients.
        {"{\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":[{\"type\":"
         "\"input_text\",\"text\":\"b\"},{\"type\":\"input_image\"}]},{\"role\":\"assistant\","
         "\"content\":"
         "[{\"type\":\"refusal\",\"refusal\":\"no\"}]},{\"type\":\"function_call_output\",\"call_"
         "id\":"
         "\"c\",\"output\":{\"content\":\"d\",\"success\":false}}]}",
         TWO(RESULT("a", "[" PART("b") "," LEFT_OUT("input_image") "]"),
             SAYS("assistant", "[" PART("no") "]") "," RESULT("c", "\"d\""))},
    };
    check_all(fr_api_from_responses, pairs, N(pairs));
}

#define SPACE(tool) "{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[" tool "]}"

static void wrong_responses_are_said(void **state) {
    (void)state;
    static const pair pairs[] = {
        {"{}", "input: "},
        {"{\"input\":[]}", "input: "},
        {"{\"input\":\"a\",\"instructions\":3}", "instructions: "},
        {"{\"input\":[{\"type\":\"item_reference\",\"id\":\"x\"}]}", "input[0].type: "},
        {"{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\"}]}]}",
         "input[0].content[0].type: "},
        {"{\"input\":[{\"type\":\"function_call\",\"call_id\":\"a\"}]}", "input[0].name: "},
        {"{\"input\":\"a\",\"previous_response_id\":\"resp_1\"}", "previous_response_id: "},
        {"{\"input\":\"a\",\"include\":[\"reasoning.encrypted_content\","
         "\"message.output_text.logprobs\"]}",
         "include[1]: log probabilities"},
        {"{\"input\":\"a\",\"top_logprobs\":2}", "top_logprobs: log probabilities"},
        {"{\"input\":\"a\",\"background\":true}", "background: "},
        {"{\"input\":\"a\",\"text\":{\"format\":{\"type\":\"json_schema\"}}}",
         "text.format.type: "},
        {"{\"input\":\"a\",\"tools\":[{\"name\":\"f\"}]}", "tools[0].type: "},
        {"{\"input\":\"a\",\"tools\":[{\"type\":\"web_search\"},{\"type\":\"custom\"}]}",
         "tools[1].name: "},
        {"{\"input\":\"a\",\"tools\":[" SPACE(SPACE(SPACE(SPACE(SPACE("{}"))))) "]}",
         "tools: expected at most 4 namespaces"},
        {"{\"input\":[{\"type\":\"compaction\",\"encrypted_content\":\"x\"}]}", "input[0].type: "},
        {"{\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":[{\"type\":"
         "\"input_image\"}]}]}",
         "input[0].output[0]: only text is read here, found input_image"},
        {"{\"input\":[{\"type\":\"custom_tool_call\",\"call_id\":\"a\",\"name\":\"f\"}]}",
         "input[0].input: "},
    };
    refuse_all(fr_api_from_responses, pairs, N(pairs));
}

static void errors_name_the_bodys_own_fields(void **state) {
    (void)state;
    static const struct {
        const fr_api_own_name *names;
        const char *body, *said, *right;
    } cases[] = {
        {fr_api_own_of_responses, "{\"max_output_tokens\":\"5\"}", "max_tokens: expected a number",
         "max_output_tokens: expected a number"},
        {fr_api_own_of_responses, "{\"max_tokens\":\"5\"}", "max_tokens: expected a number",
         "max_tokens: expected a number"},
        {fr_api_own_of_responses, "{\"input\":\"a\"}", "messages[2].role: expected a string",
         "input: expected a string"},
        {fr_api_own_of_responses, "{\"input\":\"a\"}", "max_tokens_of: no", "max_tokens_of: no"},
        {fr_api_own_of_anthropic, "{\"stop_sequences\":[]}", "stop[1]: no",
         "stop_sequences[1]: no"},
        {fr_api_own_of_anthropic, "{\"metadata\":{}}", "user: no", "metadata.user_id: no"},
        {NULL, "{\"input\":\"a\"}", "messages: no", "messages: no"},
    };
    for (size_t i = 0; i < N(cases); i++) {
        fr_error err = {0};
        json_t *body = json_loads(cases[i].body, 0, NULL);
        assert_non_null(body);
        fr_fail(&err, FR_EARG, "%s", cases[i].said);
        fr_api_name_own(cases[i].names, body, &err);
        assert_string_equal(err.text, cases[i].right);
        assert_int_equal(err.code, FR_EARG);
        json_decref(body);
    }
}

// For a template that knows no tools.
static void tools_become_text(void **state) {
    (void)state;
    const fr_chat_takes none = {.text = true};
    static const char given[] =
        "{\"tools\":[{\"type\":\"function\",\"function\":" FUNCTION
        "}],\"messages\":[{\"role\":\"system\",\"content\":\"be "
        "kind\"},{\"role\":\"user\",\"content\":"
        "\"hi\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CALL
        "\"{\\\"a\\\":1}\"}}," CALL
        "{\"b\":2}}}]},{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":["
        "" PART("4") "," PART("2") "]}]}";
    static const char *const right[][2] = {
        {"system", NULL},
        {"user", "hi"},
        {"assistant", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n</tool_call>\n"
                      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 2}}\n</tool_call>"},
        {"user", "<tool_response>\n4\n2\n</tool_response>"}};
    fr_error err = {0};
    json_t *root = json_loads(given, 0, NULL);
    assert_non_null(root);
    if (fr_api_fit_tools(root, &none, &err)) fail_msg("%s", err.text);
    assert_null(json_object_get(root, "tools"));
    const json_t *messages = json_object_get(root, "messages");
    assert_int_equal(json_array_size(messages), N(right));
    for (size_t i = 0; i < N(right); i++) {
        const json_t *message = json_array_get(messages, i);
        const char *text = json_string_value(json_object_get(message, "content"));
        assert_string_equal(json_string_value(json_object_get(message, "role")), right[i][0]);
        if (right[i][1]) assert_string_equal(text, right[i][1]);
        if (i) continue;
        assert_int_equal(strncmp(text, "be kind\n\n", 9), 0);
        assert_non_null(
            strstr(text, "\n{\"name\": \"f\", \"description\": \"d\", \"parameters\": "));
    }
    json_decref(root);
    // Results in a row, and what the user says after them, are one message.
    static const char several[] =
        "{\"messages\":[{\"role\":\"tool\",\"content\":\"1\"},{\"role\":\"tool\",\"content\":"
        "\"2\"},{\"role\":\"user\",\"content\":\"and?\"},{\"role\":\"user\",\"content\":\"well?\"},"
        "{\"role\":\"tool\",\"content\":\"3\"},{\"role\":\"assistant\",\"content\":\"so\"},"
        "{\"role\":\"tool\",\"content\":\"4\"}]}";
    static const char *const joined[] = {
        "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>\nand?", "well?",
        "<tool_response>\n3\n</tool_response>", "so", "<tool_response>\n4\n</tool_response>"};
    root = json_loads(several, 0, NULL);
    if (fr_api_fit_tools(root, &none, &err)) fail_msg("%s", err.text);
    assert_int_equal(json_array_size(json_object_get(root, "messages")), N(joined));
    for (size_t i = 0; i < N(joined); i++)
        assert_string_equal(json_string_value(json_object_get(
                                json_array_get(json_object_get(root, "messages"), i), "content")),
                            joined[i]);
    json_decref(root);
    static const char empty[] = "{" HI ",\"tools\":[]}";
    json_t *as_is = json_loads(empty, 0, NULL);
    assert_int_equal(fr_api_fit_tools(as_is, &none, &err), FR_OK);
    assert_int_equal(json_array_size(json_object_get(as_is, "messages")), 1);
    json_decref(as_is);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(anthropics_messages_are_chats),
                                       cmocka_unit_test(anthropics_other_blocks_become_text),
                                       cmocka_unit_test(tools_that_the_client_runs_are_functions),
                                       cmocka_unit_test(anthropics_wrong_messages_are_said),
                                       cmocka_unit_test(responses_are_chats),
                                       cmocka_unit_test(errors_name_the_bodys_own_fields),
                                       cmocka_unit_test(tools_of_responses_are_functions),
                                       cmocka_unit_test(calls_of_all_kinds_are_calls),
                                       cmocka_unit_test(wrong_responses_are_said),
                                       cmocka_unit_test(tools_become_text)};
    return cmocka_run_group_tests_name("api/translate", tests, NULL, NULL);
}
