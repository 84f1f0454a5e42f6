// Anthropic's messages and OpenAI's responses, whole and as streams.
#define _GNU_SOURCE
#include "serve/dialect.h"
#include "server_world.h"

static void anthropics_messages_are_answered(void **state) {
    (void)state;
    char right[4096], found[4096];
    alone(right, sizeof right, FR_API_CHAT, CHAT "}");
    json_t *root = answer("/v1/messages", CHAT "}");
    const json_t *block = json_array_get(json_object_get(root, "content"), 0);
    assert_string_equal(json_string_value(json_object_get(block, "text")), right);
    assert_string_equal(json_string_value(json_object_get(root, "stop_reason")), "max_tokens");
    const json_t *usage = json_object_get(root, "usage");
    assert_int_equal(json_integer_value(json_object_get(usage, "output_tokens")), 24);
    const json_int_t read = json_integer_value(json_object_get(usage, "input_tokens")) +
                            json_integer_value(json_object_get(usage, "cache_read_input_tokens"));
    json_decref(root);
    root = answer("/v1/messages/count_tokens", CHAT "}");
    assert_int_equal(json_integer_value(json_object_get(root, "input_tokens")), read);
    json_decref(root);
    assert_int_equal(ask("POST", "/v1/messages", CHAT ",\"stream\":true}"), 200);
    assert_int_equal(of_events("message_start", NULL, "type", found, sizeof found), 1);
    assert_int_equal(of_events("content_block_start", NULL, "type", found, sizeof found), 1);
    assert_true(of_events("content_block_delta", "delta", "text", found, sizeof found) >= 1);
    assert_string_equal(found, right);
    assert_int_equal(of_events("message_delta", "delta", "stop_reason", found, sizeof found), 1);
    assert_string_equal(found, "max_tokens");
    assert_int_equal(of_events("message_stop", NULL, "type", found, sizeof found), 1);
    assert_int_equal(ask("POST", "/v1/messages", "{\"messages\":{}}"), 400);
    assert_non_null(
        strstr(reply, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\""));
}

// As llama-server has it: the answer to what the template writes of itself.
static void a_conversation_of_nothing_is_answered(void **state) {
    (void)state;
    char right[4096];
    alone(right, sizeof right, FR_API_COMPLETION,
          "{\"prompt\":\"<|im_start|>assistant\\n\"," SETTINGS "}");
    json_t *root = answer("/v1/chat/completions", "{\"messages\":[]," SETTINGS "}");
    assert_string_equal(text_at(root, "content"), right);
    json_decref(root);
    root = answer("/v1/messages", "{\"messages\":[]," SETTINGS "}");
    const json_t *block = json_array_get(json_object_get(root, "content"), 0);
    assert_string_equal(json_string_value(json_object_get(block, "text")), right);
    json_decref(root);
}

static void a_stop_string_is_told(void **state) {
    (void)state;
    json_t *root = answer("/v1/messages", CHAT ",\"stop_sequences\":[\"~never~\",\"a\"],"
                                               "\"logit_bias\":[[\"a\",100]]}");
    assert_string_equal(json_string_value(json_object_get(root, "stop_reason")), "stop_sequence");
    assert_string_equal(json_string_value(json_object_get(root, "stop_sequence")), "a");
    json_decref(root);
}

// ---------------------------------------------------------------- responses

static void responses_are_answered(void **state) {
    (void)state;
    static const char asked[] = "{\"input\":\"abc abc abc\",\"max_output_tokens\":24,"
                                "\"temperature\":0.9,\"seed\":5,\"ignore_eos\":true";
    char right[4096], found[4096], body[1024];
    alone(right, sizeof right, FR_API_CHAT, CHAT "}");
    snprintf(body, sizeof body, "%s}", asked);
    json_t *root = answer("/v1/responses", body);
    const json_t *item = json_array_get(json_object_get(root, "output"), 0);
    const json_t *block = json_array_get(json_object_get(item, "content"), 0);
    assert_string_equal(json_string_value(json_object_get(block, "text")), right);
    assert_string_equal(json_string_value(json_object_get(root, "status")), "incomplete");
    json_decref(root);
    snprintf(body, sizeof body, "%s,\"stream\":true}", asked);
    assert_int_equal(ask("POST", "/v1/responses", body), 200);
    assert_int_equal(of_events("response.created", NULL, "type", found, sizeof found), 1);
    assert_true(of_events("response.output_text.delta", NULL, "delta", found, sizeof found) >= 1);
    assert_string_equal(found, right);
    assert_int_equal(of_events("response.output_text.done", NULL, "text", found, sizeof found), 1);
    assert_string_equal(found, right);
    assert_int_equal(of_events("response.incomplete", NULL, "type", found, sizeof found), 1);
    expect_error("/v1/responses", "{\"input\":\"a\",\"previous_response_id\":\"x\"}", 400,
                 "invalid_request_error", "previous_response_id");
}

static void responses_repeat_what_was_asked(void **state) {
    (void)state;
    assert_int_equal(ask("POST", "/v1/responses",
                         "{\"input\":\"abc\",\"max_output_tokens\":1,\"metadata\":{\"a\":"
                         "[1234567890123456789,-99999999999999999999]},\"text\":{\"seed\":"
                         "18446744073709551615}}"),
                     200);
    assert_non_null(strstr(reply, "{\"a\":[1234567890123456789,-99999999999999999999]}"));
    assert_non_null(strstr(reply, "{\"seed\":18446744073709551615}"));
    enum { DEEP = 255 }; // with the body's own braces as deep as it may be
    char deep[2 * DEEP + 1] = "", body[1000];
    memset(deep, '[', DEEP);
    memset(deep + DEEP, ']', DEEP);
    snprintf(body, sizeof body, "{\"input\":\"abc\",\"max_output_tokens\":1,\"text\":%s}", deep);
    assert_int_equal(ask("POST", "/v1/responses", body), 200);
    assert_non_null(strstr(reply, deep));
}

// An answer that is a call of these arguments, a JSON text or an object.
static void call_with(fr_api_answer *a, const json_t *arguments) {
    json_t *call = json_pack("{s:s, s:O}", "name", "f", "arguments", arguments);
    char *json = fr_json_compact(call), *said;
    fr_error err;
    assert_true(asprintf(&said, "<tool_call>%s</tool_call>", json) > 0);
    fr_api_answer_open(a, false, false, true, NULL);
    assert_int_equal(fr_api_answer_push(a, said, strlen(said), &err), FR_OK);
    assert_int_equal(fr_api_answer_finish(a, &err), FR_OK);
    free(json), free(said);
    json_decref(call);
}

// In a whole answer of Anthropic's.
static void expect_input(const json_t *arguments, const char *right) {
    fr_choice c = {.copy = {.end = FR_JOB_STOP, .stopped_by = -1}};
    const fr_ask asked = {.server = &server, .choice = &c, .n = 1, .request = {.n = 1}};
    char found[600], *whole;
    call_with(&c.answer, arguments);
    assert_int_equal(c.answer.n_calls, 1);
    assert_string_equal(c.answer.call[0].arguments, right); // as OpenAI's have it
    json_t *document = fr_dialect_anthropic.whole(&asked);
    whole = fr_json_compact(document);
    snprintf(found, sizeof found, "\"name\":\"f\",\"input\":%s}]", right);
    if (!strstr(whole, found)) fail_msg("expected %s, found %s", found, whole);
    free(whole);
    json_decref(document);
    // As a stream it is the same text, in one piece.
    c.thought = c.said = 0;
    c.called = c.n_block = 0;
    json_t *events = json_array(), *event;
    int n_pieces = 0;
    size_t i;
    fr_dialect_anthropic.part(&asked, &(fr_part){.first = true, .last = true}, events);
    json_array_foreach(events, i, event) {
        const json_t *piece = json_object_get(json_object_get(event, "delta"), "partial_json");
        if (!piece) continue;
        n_pieces++;
        assert_string_equal(json_string_value(piece), right);
    }
    assert_int_equal(n_pieces, 1);
    json_decref(events);
    fr_api_answer_close(&c.answer);
}

static void expect_no_call(const json_t *arguments) {
    fr_api_answer a;
    call_with(&a, arguments);
    assert_int_equal(a.n_calls, 0);
    assert_non_null(strstr(a.content.data, "<tool_call>{\"name\":\"f\""));
    fr_api_answer_close(&a);
}

// Whole numbers keep their digits; what is no object, or nested too deep for a connection's stack,
// is no call.
static void calls_have_the_arguments_that_the_model_wrote(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"{\"a\":1234567890123456789}", "{\"a\":1234567890123456789}"},
        {"{\"a\":99999999999999999999}", "{\"a\":99999999999999999999}"},
        {"\"{\\\"a\\\":99999999999999999999}\"", "{\"a\":99999999999999999999}"},
        {"\" \"", "{}"},
        {"null", "{}"},
        {"\"[1]\"", NULL},
        {"\"no JSON\"", NULL}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *arguments = fr_json_load(texts[i][0], strlen(texts[i][0]), NULL);
        if (texts[i][1])
            expect_input(arguments, texts[i][1]);
        else
            expect_no_call(arguments);
        json_decref(arguments);
    }
    enum { DEEP = 2000 };
    char deep[6 * DEEP + 2] = "";
    for (int i = 0; i < DEEP; i++)
        strcpy(deep + 5 * i, "{\"a\":");
    strcpy(deep + 5 * DEEP, "1");
    memset(deep + 5 * DEEP + 1, '}', DEEP);
    json_t *arguments = json_stringn(deep, sizeof deep - 1);
    expect_no_call(arguments);
    json_decref(arguments);
}

static const char *chat_template; // of the model that says it

// A choice whose job has said `text`, in pieces of so many bytes; its parts go to `events` as they
// come where there are any.
static void say(fr_ask *asked, fr_choice *c, const fr_dialect *dialect, const char *words,
                size_t piece, json_t *events) {
    fr_error err;
    *c = (fr_choice){.copy = {.state = FR_JOB_WRITES, .end = FR_JOB_LENGTH, .stopped_by = -1}};
    *asked = (fr_ask){.server = &server, .choice = c, .n = 1, .request = {.n = 1}, .tag = "tag"};
    fr_api_answer_open(&c->answer, true, false, true, chat_template);
    for (size_t at = 0, n; at < strlen(words); at += n) {
        n = strnlen(words + at, piece);
        assert_int_equal(fr_api_answer_push(&c->answer, words + at, n, &err), FR_OK);
        if (events) dialect->part(asked, &(fr_part){.first = !at}, events);
    }
    assert_int_equal(fr_api_answer_finish(&c->answer, &err), FR_OK);
    c->copy.state = FR_JOB_ENDED;
    if (events) dialect->part(asked, &(fr_part){.last = true}, events);
}

static void forget(fr_choice *c) {
    fr_api_answer_close(&c->answer);
    json_decref(c->items);
}

// Text, a call and text again, cut off at the end: as the model wrote them, whole and however the
// stream is cut.
static void expect_blocks(const char *words) {
    static const char *const types[] = {"reasoning", "message", "function_call", "message"};
    const size_t n = strlen(words);
    fr_ask asked;
    fr_choice c;
    say(&asked, &c, &fr_dialect_responses, words, n, NULL);
    json_t *doc = fr_dialect_responses.whole(&asked);
    json_t *right = json_incref(json_object_get(doc, "output"));
    json_decref(doc);
    forget(&c);
    assert_int_equal(json_array_size(right), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *item = json_array_get(right, i);
        const char *status = json_string_value(json_object_get(item, "status"));
        assert_string_equal(json_string_value(json_object_get(item, "type")), types[i]);
        if (i) assert_string_equal(status, i == 3 ? "incomplete" : "completed");
        if (i == 2)
            assert_string_equal(json_string_value(json_object_get(item, "arguments")),
                                "{\"a\":\"b\"}");
    }
    for (size_t piece = 1; piece <= n; piece++) {
        json_t *events = json_array();
        say(&asked, &c, &fr_dialect_responses, words, piece, events);
        const json_t *last = json_array_get(events, json_array_size(events) - 1);
        const json_t *output = json_object_get(json_object_get(last, "response"), "output");
        if (!json_equal(output, right)) fail_msg("%s", json_dumps(output, 0));
        json_decref(events);
        forget(&c);
    }
    json_decref(right);
    say(&asked, &c, &fr_dialect_anthropic, words, n, NULL);
    doc = fr_dialect_anthropic.whole(&asked);
    const json_t *content = json_object_get(doc, "content");
    assert_int_equal(json_array_size(content), 4);
    const json_t *input = json_object_get(json_array_get(content, 2), "input");
    assert_string_equal(json_string_value(json_object_get(input, "a")), "b");
    assert_string_equal(json_string_value(json_object_get(json_array_get(content, 3), "text")),
                        "done so");
    json_decref(doc);
    forget(&c);
}

static void blocks_stand_as_the_model_wrote_them(void **state) {
    (void)state;
    static const char *const models[][2] = {
        {NULL, "<think>hm</think>Now <tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"b\"}}"
               "</tool_call> done so"},
        {"<tool_call> <parameter=", "<think>hm</think>Now <tool_call>\n<function=f>\n<parameter=a>"
                                    "\nb\n</parameter>\n</function>\n</tool_call> done so"},
        {"<|tool_call>", "<|channel>thought\nhm<channel|>Now <|tool_call>call:f{a:<|\"|>b<|\"|>}"
                         "<tool_call|>done so"},
        {NULL, "[THINK]hm[/THINK]Now [TOOL_CALLS]f[ARGS]{\"a\": \"b\"}done so"}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        chat_template = models[i][0];
        expect_blocks(models[i][1]);
    }
    chat_template = NULL;
}

// A custom tool's call has the text that is its input, a namespace's has the namespace.
static void custom_tools_are_called_with_a_text(void **state) {
    (void)state;
    static const char words[] =
        "<tool_call>{\"name\":\"patch\",\"arguments\":{\"input\":\"a\\nb\"}}</tool_call>"
        "<tool_call>{\"name\":\"look\",\"arguments\":{\"x\":1}}</tool_call>";
    json_t *body =
        json_loads("{\"input\":\"hi\",\"tools\":[{\"type\":\"custom\",\"name\":\"patch\"},"
                   "{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":\"function\","
                   "\"name\":\"look\"}]}]}",
                   0, NULL);
    fr_ask asked;
    fr_choice c;
    json_t *events = json_array(), *event;
    size_t i, n_input = 0;
    say(&asked, &c, &fr_dialect_responses, words, sizeof words, NULL);
    asked.body = body;
    fr_dialect_responses.part(&asked, &(fr_part){.first = true, .last = true}, events);
    json_array_foreach(events, i, event) {
        const char *type = json_string_value(json_object_get(event, "type"));
        if (!strcmp(type, "response.custom_tool_call_input.delta")) {
            assert_string_equal(json_string_value(json_object_get(event, "delta")), "a\nb");
            n_input++;
        } else if (!strcmp(type, "response.custom_tool_call_input.done")) {
            assert_string_equal(json_string_value(json_object_get(event, "input")), "a\nb");
            n_input++;
        }
    }
    assert_int_equal(n_input, 2);
    const json_t *first = json_array_get(c.items, 0), *second = json_array_get(c.items, 1);
    assert_string_equal(json_string_value(json_object_get(first, "type")), "custom_tool_call");
    assert_string_equal(json_string_value(json_object_get(first, "input")), "a\nb");
    assert_string_equal(json_string_value(json_object_get(first, "name")), "patch");
    assert_int_equal(json_string_length(json_object_get(first, "call_id")), 9);
    assert_null(json_object_get(first, "arguments"));
    assert_string_equal(json_string_value(json_object_get(second, "type")), "function_call");
    assert_string_equal(json_string_value(json_object_get(second, "namespace")), "n");
    assert_string_equal(json_string_value(json_object_get(second, "arguments")), "{\"x\":1}");
    json_decref(events);
    json_decref(body);
    forget(&c);
}

static json_int_t input_tokens(const char *target, const char *body, const char *member) {
    json_t *root = answer(target, body);
    const json_t *usage = json_object_get(root, "usage");
    const json_int_t n = json_integer_value(json_object_get(usage ? usage : root, member));
    json_decref(root);
    return n;
}

// With a system, parts, a call and what it gave: through each API it has as many tokens.
static void a_conversation_is_the_same_through_all_apis(void **state) {
    (void)state;
    const json_int_t chat =
        input_tokens("/v1/chat/completions/input_tokens",
                     "{\"messages\":[{\"role\":\"system\",\"content\":\"a\"},{\"role\":\"user\","
                     "\"content\":\"b\"},"
                     "{\"role\":\"assistant\",\"content\":\"c\",\"tool_calls\":[{\"id\":\"t\","
                     "\"type\":\"function\","
                     "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\","
                     "\"tool_call_id\":\"t\","
                     "\"content\":\"d\"},{\"role\":\"system\",\"content\":\"e\"}]}",
                     "input_tokens");
    assert_int_equal(
        input_tokens(
            "/v1/messages/count_tokens",
            "{\"system\":[{\"type\":\"text\",\"text\":\"x-anthropic-billing-header: "
            "cch=1;\"},{\"type\":\"text\",\"text\":\"a\"}],\"messages\":[{\"role\":\"user\","
            "\"content\":[{\"type\":\"text\",\"text\":\"b\"}]},{\"role\":\"assistant\",\"content\":"
            "[{\"type\":\"text\",\"text\":\"c\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":"
            "\"f\","
            "\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
            "\"tool_use_id\":\"t\",\"content\":[{\"type\":\"text\",\"text\":\"d\"}]}]},"
            "{\"role\":\"system\",\"content\":\"e\"}]}",
            "input_tokens"),
        chat);
    assert_int_equal(
        input_tokens(
            "/v1/responses",
            "{\"max_output_tokens\":1,\"instructions\":\"a\",\"input\":[{\"role\":\"user\","
            "\"content\":[{\"type\":\"input_text\",\"text\":\"b\"}]},{\"type\":\"message\","
            "\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"c\"}]},"
            "{\"type\":\"function_call\",\"call_id\":\"t\",\"name\":\"f\",\"arguments\":\"{}\"},"
            "{\"type\":\"function_call_output\",\"call_id\":\"t\",\"output\":\"d\"},{\"role\":"
            "\"developer\",\"content\":\"e\"}]}",
            "input_tokens"),
        chat);
}

// llama.cpp's numbers in a stream of OpenAI's: how far the prompt is read, what each piece took.
static void responses_have_llama_servers_numbers(void **state) {
    (void)state;
    char found[4096];
    int n_progress = 0, n_timed = 0;
    bool whole = false;
    assert_int_equal(ask("POST", "/responses",
                         "{\"input\":\"abc abc abc\",\"max_output_tokens\":8,\"stream\":true,"
                         "\"cache_prompt\":false,\"timings_per_token\":true,"
                         "\"return_progress\":true,\"ignore_eos\":true}"),
                     200);
    assert_int_equal(of_events("response.created", NULL, "type", found, sizeof found), 1);
    json_int_t number = 0;
    json_t *event;
    for (char *at = reply; (event = next_event(&at)); json_decref(event)) {
        const char *type = json_string_value(json_object_get(event, "type"));
        const json_t *progress = json_object_get(event, "prompt_progress");
        const json_t *timings = json_object_get(event, "timings");
        assert_int_equal(json_integer_value(json_object_get(event, "sequence_number")), number++);
        if (progress) {
            assert_string_equal(type, "response.in_progress");
            assert_true(json_integer_value(json_object_get(progress, "total")) > 0);
            n_progress++;
        }
        if (timings) assert_non_null(json_object_get(timings, "predicted_per_second"));
        n_timed += timings && !strcmp(type, "response.output_text.delta");
        if (!strcmp(type, "response.incomplete")) whole = timings;
    }
    assert_true(n_progress >= 2 && n_timed >= 1 && whole);
}

// An answer that ends at once, whole and as a stream: clients take the first message's text.
static void a_response_of_nothing_is_an_empty_message(void **state) {
    (void)state;
    char body[256], found[256];
    snprintf(body, sizeof body, "{\"input\":\"abc\",\"logit_bias\":[[%d,100]],\"stream\":false}",
             (int)fr_text_describe(text)->ends[0]);
    json_t *root = answer("/v1/responses", body);
    const json_t *output = json_object_get(root, "output"), *item = json_array_get(output, 0);
    const json_t *part = json_array_get(json_object_get(item, "content"), 0);
    assert_int_equal(json_array_size(output), 1);
    assert_string_equal(json_string_value(json_object_get(item, "type")), "message");
    assert_string_equal(json_string_value(json_object_get(item, "status")), "completed");
    assert_string_equal(json_string_value(json_object_get(part, "text")), "");
    json_decref(root);
    strcpy(strstr(body, "false"), "true}");
    assert_int_equal(ask("POST", "/v1/responses", body), 200);
    static const char *const types[] = {"response.output_item.added", "response.content_part.added",
                                        "response.output_text.done",  "response.content_part.done",
                                        "response.output_item.done",  "response.completed"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        assert_int_equal(of_events(types[i], NULL, "type", found, sizeof found), 1);
    assert_int_equal(of_events("response.output_text.delta", NULL, "type", found, sizeof found), 0);
}

// Clients know by these words that a conversation has to become shorter.
static void anthropics_say_that_a_prompt_is_too_long(void **state) {
    (void)state;
    char body[MOST_BODY], words[80], content[CTX + 64];
    json_t *root = answer("/v1/messages/count_tokens",
                          "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}");
    const int around = (int)json_integer_value(json_object_get(root, "input_tokens"));
    json_decref(root);
    for (int more = -1; more < 3; more++) { // tokens beyond the context; a byte is one at most
        memset(content, 0, sizeof content);
        for (int i = 0; i < CTX + more - around; i++)
            content[i] = (char)('b' + i * 7 % 23);
        snprintf(body, sizeof body,
                 "{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}",
                 content);
        root = answer("/v1/messages/count_tokens", body);
        const int n = (int)json_integer_value(json_object_get(root, "input_tokens"));
        json_decref(root);
        assert_int_equal(n, CTX + more);
        if (n < CTX) {
            json_decref(answer("/v1/messages", body));
            continue;
        }
        snprintf(words, sizeof words, "\"prompt is too long: %d tokens > %d maximum\"", n,
                 n > CTX ? CTX : CTX - 1);
        expect_error("/v1/messages", body, 400, "invalid_request_error", "");
        if (!strstr(reply, words)) fail_msg("expected %s, found %s", words, reply);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anthropics_messages_are_answered),
        cmocka_unit_test(anthropics_say_that_a_prompt_is_too_long),
        cmocka_unit_test(a_conversation_of_nothing_is_answered),
        cmocka_unit_test(a_stop_string_is_told),
        cmocka_unit_test(responses_are_answered),
        cmocka_unit_test(responses_repeat_what_was_asked),
        cmocka_unit_test(calls_have_the_arguments_that_the_model_wrote),
        cmocka_unit_test(blocks_stand_as_the_model_wrote_them),
        cmocka_unit_test(custom_tools_are_called_with_a_text),
        cmocka_unit_test(a_conversation_is_the_same_through_all_apis),
        cmocka_unit_test(responses_have_llama_servers_numbers),
        cmocka_unit_test(a_response_of_nothing_is_an_empty_message)};
    return cmocka_run_group_tests_name("serve/dialects", tests, open_world, close_world);
}
