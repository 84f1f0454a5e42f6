// Answers in OpenAI's forms, whole and as streams: those of the same request alone, whatever
// drafts.
#define _GNU_SOURCE
#include "server_world.h"

static void answers_are_those_of_one_alone_whole_and_streamed(void **state) {
    (void)state;
    static const struct {
        const char *target, *body;
        fr_api_kind kind;
    } asked[] = {{"/v1/chat/completions", CHAT, FR_API_CHAT},
                 {"/v1/completions", TEXT, FR_API_COMPLETION}};
    char right[4096], found[4096], body[1024];
    for (int i = 0; i < 2; i++) {
        const bool chat = asked[i].kind == FR_API_CHAT;
        snprintf(body, sizeof body, "%s}", asked[i].body);
        alone(right, sizeof right, asked[i].kind, body);
        for (int d = 0; drafters[d]; d++) {
            snprintf(body, sizeof body, "%s,\"drafter\":\"%s\"}", asked[i].body, drafters[d]);
            json_t *root = answer(asked[i].target, body);
            assert_string_equal(text_at(root, chat ? "content" : "text"), right);
            assert_int_equal(json_integer_value(json_object_get(root, "seed")), 5);
            const json_t *usage = json_object_get(root, "usage");
            assert_int_equal(json_integer_value(json_object_get(usage, "completion_tokens")), 24);
            assert_true(json_is_integer(json_object_get(
                json_object_get(usage, "completion_tokens_details"), "reasoning_tokens")));
            json_decref(root);
            snprintf(body, sizeof body,
                     "%s,\"stream\":true,\"stream_options\":{\"include_usage\":true},"
                     "\"drafter\":\"%s\"}",
                     asked[i].body, drafters[d]);
            assert_int_equal(ask("POST", asked[i].target, body), 200);
            streamed_text(found, sizeof found, chat);
            assert_string_equal(found, right);
            assert_non_null(strstr(reply, "\"usage\":{"));
            assert_non_null(strstr(reply, "data: [DONE]"));
        }
    }
}

// Adds the pieces of a choice end to end; how many were drafted. Depths of a pass count from 1.
static int add_pieces(const json_t *choice, char *out, size_t room, int *n) {
    int drafted = 0, before = 0;
    size_t i;
    json_t *piece;
    json_array_foreach(json_object_get(choice, "pieces"), i, piece) {
        const int depth = (int)json_integer_value(json_object_get(piece, "drafted"));
        const char *who = json_string_value(json_object_get(piece, "drafter"));
        strncat(out, json_string_value(json_object_get(piece, "content")), room - strlen(out) - 1);
        if (depth ? !who || strcmp(who, "prompt-lookup") : who != NULL)
            fail_msg("a token of depth %d is of %s", depth, who ? who : "nobody");
        if (depth > 0 && depth != before + 1)
            fail_msg("a token of depth %d behind %d", depth, before);
        drafted += depth > 0;
        before = depth;
        (*n)++;
    }
    return drafted;
}

static void pieces_are_the_answer_and_change_nothing(void **state) {
    (void)state;
    static const char *const settings[] = {"\"temperature\":0", "\"temperature\":0.9",
                                           "\"temperature\":0,\"logit_bias\":[[\"a\",100]]"};
    char right[4096], found[4096], body[1024];
    for (int i = 0; i < 6; i++) {
        const char *drafter = drafters[i / 3];
        char asked[512];
        snprintf(asked, sizeof asked,
                 "{\"messages\":[{\"role\":\"user\",\"content\":\"abc abc "
                 "abc\"}],\"max_tokens\":64,\"seed\":5,\"ignore_eos\":true,%s",
                 settings[i % 3]);
        snprintf(body, sizeof body, "%s}", asked);
        alone(right, sizeof right, FR_API_CHAT, body);
        snprintf(body, sizeof body, "%s,\"drafter\":\"%s\",\"return_drafted\":true}", asked,
                 drafter);
        json_t *root = answer("/v1/chat/completions", body);
        const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
        const json_t *timings = json_object_get(root, "timings");
        int n = 0;
        found[0] = 0;
        const int of_this = add_pieces(choice, found, sizeof found, &n);
        assert_string_equal(text_at(root, "content"), right);
        assert_string_equal(found, right);
        assert_true(n > 1 && n <= 64);
        if (!strcmp(drafter, "none")) assert_int_equal(of_this, 0);
        if (i == 2) assert_true(of_this > 20); // "aaa..."
        assert_true(of_this <= json_integer_value(json_object_get(timings, "draft_n_accepted")));
        json_decref(root);
        snprintf(body, sizeof body,
                 "%s,\"drafter\":\"%s\",\"return_drafted\":true,\"stream\":true}", asked, drafter);
        assert_int_equal(ask("POST", "/v1/chat/completions", body), 200);
        streamed_text(found, sizeof found, true);
        assert_string_equal(found, right);
        int again = 0, m = 0;
        found[0] = 0;
        json_t *event;
        for (char *at = reply; (event = next_event(&at)); json_decref(event)) {
            again += add_pieces(json_array_get(json_object_get(event, "choices"), 0), found,
                                sizeof found, &m);
        }
        assert_string_equal(found, right);
        assert_true(m == n);
        if (!strcmp(drafter, "none")) assert_int_equal(again, 0);
        if (i == 2) assert_true(again > 20);
    }
    json_t *root = answer("/v1/chat/completions", CHAT "}");
    assert_null(json_object_get(json_array_get(json_object_get(root, "choices"), 0), "pieces"));
    json_decref(root);
    expect_error("/v1/chat/completions", CHAT ",\"return_drafted\":1}", 400,
                 "invalid_request_error", "return_drafted: ");
}

static void choices_and_prompts_are_answered_in_order(void **state) {
    (void)state;
    json_t *root = answer("/v1/completions",
                          "{\"prompt\":[\"abc\",\"xyz xyz\"],\"n\":3,\"max_tokens\":5,\"seed\":1}");
    const json_t *choices = json_object_get(root, "choices");
    assert_int_equal(json_array_size(choices), 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(
            json_integer_value(json_object_get(json_array_get(choices, (size_t)i), "index")), i);
    json_decref(root);
    root = answer("/v1/completions", "{\"prompt\":\"abcdef\",\"max_tokens\":0,\"echo\":true,"
                                     "\"logprobs\":1}");
    assert_string_equal(text_at(root, "text"), "abcdef");
    const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    const json_t *scores = json_object_get(json_object_get(choice, "logprobs"), "token_logprobs");
    assert_true(json_array_size(scores) > 1 && json_is_null(json_array_get(scores, 0)));
    assert_true(json_real_value(json_array_get(scores, 1)) < 0);
    json_decref(root);
}

// ---------------------------------------------------------------- streams as OpenAI's

static void every_chunk_has_what_openais_have(void **state) {
    (void)state;
    enum { N = 2, TOKENS = 9 };
    int ends[N] = {0}, scored[N] = {0}, n = 0, usages = 0;
    assert_int_equal(
        ask("POST", "/v1/chat/completions",
            "{\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}],\"n\":2,\"max_tokens\":9,"
            "\"seed\":3,\"ignore_eos\":true,\"stream\":true,\"logprobs\":true,\"top_logprobs\":2,"
            "\"stream_options\":{\"include_usage\":true}}"),
        200);
    char *at = reply;
    for (json_t *event; (event = next_event(&at)); json_decref(event), n++) {
        const json_t *usage = json_object_get(event, "usage");
        const json_t *choices = json_object_get(event, "choices");
        assert_true(usage && choices && usages == 0); // that one is the last
        if (!json_is_null(usage)) {
            assert_int_equal(json_array_size(choices), 0);
            assert_int_equal(json_integer_value(json_object_get(usage, "completion_tokens")),
                             N * TOKENS);
            usages++;
            continue;
        }
        assert_int_equal(json_array_size(choices), 1);
        const json_t *choice = json_array_get(choices, 0);
        const json_int_t i = json_integer_value(json_object_get(choice, "index"));
        const json_t *finish = json_object_get(choice, "finish_reason");
        const json_t *logprobs = json_object_get(choice, "logprobs");
        assert_true(i >= 0 && i < N && finish && logprobs && !ends[i]);
        scored[i] += (int)json_array_size(json_object_get(logprobs, "content"));
        if (json_is_null(finish)) continue;
        assert_string_equal(json_string_value(finish), "length");
        assert_int_equal(json_integer_value(json_object_get(event, "seed")), 3);
        assert_int_equal(json_object_size(json_object_get(choice, "delta")), 0);
        ends[i]++;
    }
    assert_true(n > 2 * N && usages == 1);
    for (int i = 0; i < N; i++)
        assert_true(ends[i] == 1 && scored[i] == TOKENS);
    assert_non_null(strstr(reply, "data: [DONE]"));
    assert_int_equal(ask("POST", "/v1/chat/completions", CHAT ",\"stream\":true}"), 200);
    assert_null(strstr(reply, "\"usage\"")); // as nobody asked
}

// In its first event, so that a stream which is cut can be asked for again.
static void every_stream_tells_its_seed(void **state) {
    (void)state;
    static const char *const of[][2] = {
        {"/v1/chat/completions", "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]"},
        {"/v1/completions", "\"prompt\":\"a\""},
        {"/completion", "\"prompt\":\"a\""},
        {"/v1/responses", "\"input\":\"a\""},
        {"/v1/messages", "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]"},
        {"/v1/chat/completions",
         "\"return_progress\":true,\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]"},
        {"/v1/completions", "\"return_progress\":true,\"prompt\":\"abc\""},
        {"/completion", "\"return_progress\":true,\"prompt\":\"abc\""},
    };
    char body[256];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        snprintf(body, sizeof body, "{%s,\"max_tokens\":4,\"seed\":7531,\"stream\":true}",
                 of[i][1]);
        assert_int_equal(ask("POST", of[i][0], body), 200);
        const char *first = strstr(reply, "data: "), *seed = strstr(reply, "\"seed\":7531");
        const char *second = first ? strstr(first + 1, "data: ") : NULL;
        if (!seed || !second || seed > second) fail_msg("%s: %s", of[i][0], reply);
    }
}

// Where each token stands in the text that is given back: control tokens of the prompt are in it.
static void offsets_are_places_in_the_text(void **state) {
    (void)state;
    json_t *root = answer("/v1/completions",
                          "{\"prompt\":\"<s>a\xc3\xa9 </s>b\",\"max_tokens\":4,\"temperature\":0,"
                          "\"ignore_eos\":true,\"echo\":true,\"logprobs\":1}");
    const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    const json_t *tokens = json_object_get(json_object_get(choice, "logprobs"), "tokens");
    const json_t *at = json_object_get(json_object_get(choice, "logprobs"), "text_offset");
    const char *said = json_string_value(json_object_get(choice, "text"));
    const size_t n = (size_t)json_integer_value(
        json_object_get(json_object_get(root, "usage"), "prompt_tokens"));
    assert_true(n >= 7 && json_array_size(at) == n + 4);
    assert_int_equal(json_integer_value(json_array_get(at, n)), 11); // <s>aé </s>b is as long
    for (size_t i = 0; i < n; i++) {
        const char *token = json_string_value(json_array_get(tokens, i)), *place = said;
        if (strchr(token, '\xef')) continue; // a part of a character
        for (json_int_t k = json_integer_value(json_array_get(at, i)); k > 0 && *place; k--)
            for (place++; ((unsigned char)*place & 0xc0) == 0x80;)
                place++;
        if (strncmp(place, token, strlen(token)))
            fail_msg("token %zu, '%s', at '%s' of '%s'", i, token, place, said);
    }
    json_decref(root);
}

// Offsets of tokens count from the text's beginning, also in later chunks.
static void pieces_of_text_have_the_offsets_of_the_whole(void **state) {
    (void)state;
    static const char *const more[] = {"", ",\"echo\":true"};
    char body[512];
    for (int k = 0; k < 2; k++) {
        snprintf(body, sizeof body, TEXT ",\"logprobs\":1%s}", more[k]);
        json_t *root = answer("/v1/completions", body), *all = json_array(), *event;
        const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
        const json_t *right = json_object_get(json_object_get(choice, "logprobs"), "text_offset");
        snprintf(body, sizeof body, TEXT ",\"logprobs\":1,\"stream\":true%s}", more[k]);
        assert_int_equal(ask("POST", "/v1/completions", body), 200);
        for (char *at = reply; (event = next_event(&at)); json_decref(event)) {
            choice = json_array_get(json_object_get(event, "choices"), 0);
            json_array_extend(all,
                              json_object_get(json_object_get(choice, "logprobs"), "text_offset"));
        }
        assert_true(json_array_size(right) >= 24 && json_equal(all, right));
        json_decref(all);
        json_decref(root);
    }
}

// A fault of the model's is the last event, and no [DONE] behind it.
static void an_error_ends_a_stream(void **state) {
    (void)state;
    static const struct {
        const char *target, *body, *begins;
    } asked[] = {
        {"/v1/chat/completions", CHAT ",\"stream\":true}", "data: {\"error\":{\"code\":500,"},
        {"/v1/messages", CHAT ",\"stream\":true}",
         "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\","},
        {"/responses", "{\"input\":\"abc\",\"stream\":true}",
         "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\""}};
    float *norm = (float *)(uintptr_t)engine->model.output_norm.w;
    const float right = norm[0];
    norm[0] = NAN;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        assert_int_equal(ask("POST", asked[i].target, asked[i].body), 200);
        const char *at = strstr(reply, asked[i].begins);
        if (!at) fail_msg("expected %s, found %s", asked[i].begins, reply);
        assert_null(strstr(at + strlen(asked[i].begins), "data: "));
        assert_null(strstr(reply, "[DONE]"));
    }
    norm[0] = right;
    assert_int_equal(ask("POST", "/v1/chat/completions", CHAT "}"), 200);
}

// A request that is late before its answer begins gets an error, and not an empty answer. A stream
// has not begun by then either.
static void what_never_began_is_no_answer(void **state) {
    (void)state;
    static const struct {
        const char *target, *body, *says;
    } asked[] = {{"/v1/chat/completions", CHAT, "\"unavailable_error\""},
                 {"/v1/completions", TEXT, "\"unavailable_error\""},
                 {"/completion", TEXT ",\"return_progress\":true", "\"unavailable_error\""},
                 {"/v1/messages", CHAT, "\"overloaded_error\""},
                 {"/v1/responses", "{\"input\":\"abc\"", "\"unavailable_error\""}};
    char body[512];
    server.timeout = 1e-9;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        for (int streams = 0; streams < 2; streams++) {
            snprintf(body, sizeof body, "%s%s}", asked[i].body, streams ? ",\"stream\":true" : "");
            assert_int_equal(ask("POST", asked[i].target, body), 503);
            assert_non_null(strstr(reply, "Retry-After: 1\r\n"));
            assert_non_null(strstr(reply, asked[i].says));
            assert_non_null(strstr(reply, "no answer could be begun within"));
        }
    server.timeout = 0;
    json_decref(answer("/v1/completions", TEXT "}"));
}

// Numbers of a stream's timings, which count along to those of the whole. So many events have none.
static void expect_timings(const char *target, const char *body, int n_without) {
    double tokens = 0, passes = 0, accepted = 0;
    int n = 0, n_events = 0;
    assert_int_equal(ask("POST", target, body), 200);
    json_t *event;
    for (char *at = reply; (event = next_event(&at)); json_decref(event)) {
        const json_t *t = json_object_get(event, "timings");
        if (t) {
            const double now[] = {json_number_value(json_object_get(t, "predicted_n")),
                                  json_number_value(json_object_get(t, "passes")),
                                  json_number_value(json_object_get(t, "draft_n_accepted"))};
            assert_true(now[0] >= tokens && now[1] >= passes && now[2] >= accepted);
            // The prompt's pass, which is not counted, gave the first token.
            assert_true(now[1] + now[2] + 1 >= now[0]);
            tokens = now[0], passes = now[1], accepted = now[2];
            n++;
        }
        n_events++;
    }
    assert_true(n > 0 && tokens == 24 && passes > 0);
    assert_int_equal(n_events - n, n_without);
}

static void timings_count_along(void **state) {
    (void)state;
    const char *const more = ",\"stream\":true,\"timings_per_token\":true}";
    char body[512];
    snprintf(body, sizeof body, "%s%s", CHAT, more);
    expect_timings("/v1/chat/completions", body, 1); // the role
    snprintf(body, sizeof body, "%s%s", TEXT, more);
    expect_timings("/v1/completions", body, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_one_alone_whole_and_streamed),
        cmocka_unit_test(pieces_are_the_answer_and_change_nothing),
        cmocka_unit_test(choices_and_prompts_are_answered_in_order),
        cmocka_unit_test(every_chunk_has_what_openais_have),
        cmocka_unit_test(every_stream_tells_its_seed),
        cmocka_unit_test(offsets_are_places_in_the_text),
        cmocka_unit_test(pieces_of_text_have_the_offsets_of_the_whole),
        cmocka_unit_test(an_error_ends_a_stream),
        cmocka_unit_test(what_never_began_is_no_answer),
        cmocka_unit_test(timings_count_along)};
    return cmocka_run_group_tests_name("serve/answers", tests, open_world, close_world);
}
