// The server over HTTP on a tiny model: what its endpoints answer, whole and as streams, to right
// and wrong requests; and that answers are those of the same request alone.
#define _GNU_SOURCE
#include "engine/engine.h"
#include "engine/text.h"
#include "serve/dialect.h"
#include "serve/page/page.h"
#include "serve/server.h"
#include "support/tiny_model.h"
#include <arpa/inet.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 256, MOST_BODY = 4096 };

static char path[64], reply[1 << 20];
static fr_engine *engine;
static fr_text *text;
static fr_server server;
static fr_http *http;
static const char *const drafters[] = {"prompt-lookup", "none", NULL};
static const char *const keys[] = {"sesame", NULL};

static atomic_int n_logged;
static void count_log(void *user, const fr_exchange *x, double seconds) {
    if (strncmp(fr_exchange_path(x), "/\x1b", 2) != 0) return; // of other tests
    fr_reply_log(user, x, seconds);
    atomic_fetch_add(&n_logged, 1);
}

static int open_world(void **state) {
    static const fr_tiny_options tiny = {.type = FR_TYPE_Q8_0, .n_ctx = 512, .head_dim = 32};
    const fr_engine_options o = {.size = sizeof o, .threads = 2};
    const char *chatml = fr_chat_text_named("chatml");
    fr_error err;
    (void)state;
    snprintf(path, sizeof path, "server-%d.gguf", (int)getpid());
    if (fr_tiny_write(&tiny, path, &err) || fr_engine_open(&engine, path, &o, &err)) return -1;
    if (fr_text_open_with(&text, fr_engine_text(engine), chatml, strlen(chatml), &err)) return -1;
    server = (fr_server){.engine = engine,
                         .text = text,
                         .api = {engine->tokenizer, &text->chat, engine->model.config.n_vocab},
                         .defaults = fr_api_usual(0),
                         .name = "tiny",
                         .aliases = "tiny, other/name",
                         .path = path,
                         .drafters = drafters,
                         .n_ctx = CTX,
                         .n_slots = 2,
                         .context_bytes = 1000,
                         .slots = true,
                         .page = true};
    const fr_scheduler_options so = {
        .drafters = drafters, .n_ctx = CTX, .n_slots = 2, .n_queue = 8};
    if (fr_scheduler_open(&server.scheduler, engine, &so, &err)) return -1;
    atomic_store(&server.ready, true);
    const fr_http_options ho = {.host = "127.0.0.1",
                                .routes = fr_server_routes,
                                .user = &server,
                                .keys = keys,
                                .cors = "http://page.example",
                                .connections = 16,
                                .body_bytes = MOST_BODY,
                                .request_seconds = 5,
                                .idle_seconds = 5,
                                .log = count_log,
                                .error = fr_reply_error};
    return fr_http_open(&http, &ho, &err);
}

static int close_world(void **state) {
    (void)state;
    fr_http_close(http);
    fr_scheduler_close(server.scheduler);
    fr_text_close(text);
    fr_engine_close(engine);
    unlink(path);
    return 0;
}

// ---------------------------------------------------------------- a client

static int dial(void) {
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)fr_http_port(http)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0 && !connect(fd, (const struct sockaddr *)&to, sizeof to));
    return fd;
}

// Sends bytes, reads to the end; the status. What came is in `reply`.
static int exchange(const char *bytes, size_t n) {
    const int fd = dial();
    size_t got = 0;
    ssize_t m;
    int status = 0;
    for (size_t sent = 0; sent < n; sent += (size_t)m)
        if ((m = send(fd, bytes + sent, n - sent, MSG_NOSIGNAL)) <= 0) break;
    while (got + 1 < sizeof reply && (m = recv(fd, reply + got, sizeof reply - 1 - got, 0)) > 0)
        got += (size_t)m;
    reply[got] = 0;
    close(fd);
    sscanf(reply, "HTTP/1.1 %d", &status);
    return status;
}

static int ask_with(const char *method, const char *target, const char *headers, const char *body) {
    char *all;
    const int n = asprintf(&all,
                           "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: "
                           "%zu\r\n\r\n%s",
                           method, target, headers, strlen(body), body);
    const int status = exchange(all, (size_t)n);
    free(all);
    return status;
}

static int ask(const char *method, const char *target, const char *body) {
    return ask_with(method, target, "Authorization: Bearer sesame\r\n", body);
}

static json_t *document(void) {
    const char *body = strstr(reply, "\r\n\r\n");
    json_t *root = body ? json_loads(body + 4, 0, NULL) : NULL;
    if (!root) fail_msg("expected a JSON body, found %s", reply);
    return root;
}

static json_t *answer(const char *target, const char *body) {
    const int status = ask("POST", target, body);
    if (status != 200) fail_msg("%s: status %d: %s", target, status, reply);
    return document();
}

static void expect_error(const char *target, const char *body, int status, const char *type,
                         const char *says) {
    assert_int_equal(ask("POST", target, body), status);
    json_t *root = document(), *error = json_object_get(root, "error");
    assert_string_equal(json_string_value(json_object_get(error, "type")), type);
    if (!strstr(json_string_value(json_object_get(error, "message")), says)) fail_msg("%s", reply);
    json_decref(root);
}

static const char *text_at(const json_t *root, const char *member) { // of the first choice
    const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    const json_t *message = json_object_get(choice, "message");
    return json_string_value(json_object_get(message ? message : choice, member));
}

// All pieces of a stream's first choice, end to end; the chunks of HTTP are taken off.
static void streamed_text(char *out, size_t room, bool chat) {
    out[0] = 0;
    for (char *at = strstr(reply, "data: {"); at; at = strstr(at + 1, "data: {")) {
        json_t *event = json_loads(at + 6, JSON_DISABLE_EOF_CHECK, NULL);
        const json_t *choice = json_array_get(json_object_get(event, "choices"), 0);
        const json_t *from = chat ? json_object_get(choice, "delta") : choice;
        const char *piece = json_string_value(json_object_get(from, chat ? "content" : "text"));
        if (piece) strncat(out, piece, room - strlen(out) - 1);
        json_decref(event);
    }
}

// ---------------------------------------------------------------- answers

#define SETTINGS "\"max_tokens\":24,\"temperature\":0.9,\"seed\":5,\"ignore_eos\":true"
#define CHAT     "{\"messages\":[{\"role\":\"user\",\"content\":\"abc abc abc\"}]," SETTINGS
#define TEXT     "{\"prompt\":\"abc abc abc\"," SETTINGS

// The text of plain decoding alone for what the body asks.
static void alone(char *out, size_t room, fr_api_kind kind, const char *body) {
    const fr_api_defaults defaults = fr_api_usual(0);
    const fr_session_options o = {.size = sizeof o, .n_ctx = CTX, .drafter = "none"};
    fr_api_request r;
    fr_request q;
    fr_sampling sampling;
    fr_session *s;
    const fr_result *result;
    fr_error err;
    if (fr_api_parse(&r, kind, body, strlen(body), &defaults, &err) ||
        fr_api_encode(&r, &server.api, &err) || fr_session_open(&s, engine, &o, &err))
        fail_msg("%s", err.text);
    fr_api_ask(&r, 0, &q, &sampling);
    if (fr_session_generate(s, &q, &result, &err)) fail_msg("%s", err.text);
    snprintf(out, room, "%s", result->text);
    fr_session_close(s);
    fr_api_close(&r);
}

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
        assert_true(of_this <= json_integer_value(json_object_get(timings, "draft_n_accepted")));
        json_decref(root);
        snprintf(body, sizeof body,
                 "%s,\"drafter\":\"%s\",\"return_drafted\":true,\"stream\":true}", asked, drafter);
        assert_int_equal(ask("POST", "/v1/chat/completions", body), 200);
        streamed_text(found, sizeof found, true);
        assert_string_equal(found, right);
        int again = 0, m = 0;
        found[0] = 0;
        for (char *at = strstr(reply, "data: {"); at; at = strstr(at + 1, "data: {")) {
            json_t *event = json_loads(at + 6, JSON_DISABLE_EOF_CHECK, NULL);
            again += add_pieces(json_array_get(json_object_get(event, "choices"), 0), found,
                                sizeof found, &m);
            json_decref(event);
        }
        assert_string_equal(found, right);
        assert_true(m == n);
        if (!strcmp(drafter, "none")) assert_int_equal(again, 0);
    }
    json_t *root = answer("/v1/chat/completions", CHAT "}");
    assert_null(json_object_get(json_array_get(json_object_get(root, "choices"), 0), "pieces"));
    json_decref(root);
    expect_error("/v1/chat/completions", CHAT ",\"return_drafted\":1}", 400,
                 "invalid_request_error", "return_drafted: ");
}

static void llamas_completion_says_how_it_ended(void **state) {
    (void)state;
    json_t *root =
        answer("/completion", "{\"prompt\":\"abc\",\"n_predict\":7,\"temperature\":0,"
                              "\"ignore_eos\":true,\"return_tokens\":true,\"n_probs\":2}");
    assert_string_equal(json_string_value(json_object_get(root, "stop_type")), "limit");
    assert_int_equal(json_array_size(json_object_get(root, "tokens")), 7);
    assert_int_equal(json_array_size(json_object_get(root, "completion_probabilities")), 7);
    assert_int_equal(json_integer_value(json_object_get(root, "tokens_predicted")), 7);
    assert_true(json_is_object(json_object_get(root, "timings")));
    json_decref(root);
    assert_int_equal(
        ask("POST", "/completion", "{\"prompt\":\"abc\",\"n_predict\":7,\"stream\":true}"), 200);
    assert_non_null(strstr(reply, "\"stop\":true"));
    assert_null(strstr(reply, "[DONE]"));
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

// The next event of the reply behind *at; NULL: there is none.
static json_t *next_event(char **at) {
    if (!(*at = strstr(*at, "data: {"))) return NULL;
    *at += 6;
    return json_loads(*at, JSON_DISABLE_EOF_CHECK, NULL);
}

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

static void every_stream_tells_its_seed(void **state) {
    (void)state;
    static const char *const of[][2] = {
        {"/v1/chat/completions", "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]"},
        {"/v1/completions", "\"prompt\":\"a\""},
        {"/completion", "\"prompt\":\"a\""},
        {"/v1/responses", "\"input\":\"a\""},
        {"/v1/messages", "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]"},
    };
    char body[256];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        snprintf(body, sizeof body, "{%s,\"max_tokens\":4,\"seed\":7531,\"stream\":true}",
                 of[i][1]);
        assert_int_equal(ask("POST", of[i][0], body), 200);
        if (!strstr(reply, "\"seed\":7531")) fail_msg("%s: %s", of[i][0], reply);
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
    float *norm = (float *)(uintptr_t)engine->model.output_norm;
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

// Whose time is over while he waits is told so, and not that his answer is empty.
static void what_never_began_is_no_answer(void **state) {
    (void)state;
    static const struct {
        const char *target, *body, *begins;
    } asked[] = {
        {"/v1/chat/completions", CHAT, "data: {\"error\":{\"code\":503,"},
        {"/v1/completions", TEXT, "data: {\"error\":{\"code\":503,"},
        {"/completion", TEXT ",\"return_progress\":true", "data: {\"error\":{\"code\":503,"},
        {"/v1/messages", CHAT,
         "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","},
        {"/v1/responses", "{\"input\":\"abc\"",
         "event: error\ndata: {\"type\":\"error\",\"code\":\"unavailable_error\","}};
    char body[512];
    server.timeout = 1e-9;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        snprintf(body, sizeof body, "%s}", asked[i].body);
        assert_int_equal(ask("POST", asked[i].target, body), 503);
        assert_non_null(strstr(reply, "Retry-After: 1\r\n"));
        snprintf(body, sizeof body, "%s,\"stream\":true}", asked[i].body);
        assert_int_equal(ask("POST", asked[i].target, body), 200);
        const char *at = strstr(reply, "data: {"), *right = strstr(asked[i].begins, "data: {");
        if (!at || strncmp(at, right, strlen(right)) || !strstr(reply, asked[i].begins) ||
            strstr(at + 1, "data: "))
            fail_msg("expected %s, found %s", asked[i].begins, reply);
    }
    server.timeout = 0;
    json_decref(answer("/v1/completions", TEXT "}"));
}

// All values of a member of the events of one type, end to end; how many events there were.
static int of_events(const char *type, const char *inner, const char *member, char *out,
                     size_t room) {
    char line[80];
    int n = 0;
    out[0] = 0;
    snprintf(line, sizeof line, "event: %s\ndata: ", type);
    for (char *at = strstr(reply, line); at; at = strstr(at + 1, line), n++) {
        json_t *event = json_loads(at + strlen(line), JSON_DISABLE_EOF_CHECK, NULL);
        assert_string_equal(json_string_value(json_object_get(event, "type")), type);
        const json_t *from = inner ? json_object_get(event, inner) : event;
        const char *piece = json_string_value(json_object_get(from, member));
        if (piece) strncat(out, piece, room - strlen(out) - 1);
        json_decref(event);
    }
    return n;
}

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
    char right[4096], body[1024];
    alone(right, sizeof right, FR_API_CHAT, CHAT "}");
    const char stop[2] = {right[strcspn(right, "abcdefghijklmnopqrstuvwxyz 0123456789")]};
    if (!*stop) skip();
    snprintf(body, sizeof body, CHAT ",\"stop_sequences\":[\"~never~\",\"%s\"]}", stop);
    json_t *root = answer("/v1/messages", body);
    assert_string_equal(json_string_value(json_object_get(root, "stop_reason")), "stop_sequence");
    assert_string_equal(json_string_value(json_object_get(root, "stop_sequence")), stop);
    json_decref(root);
}

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

// A call of these arguments, a JSON text or an object, in a whole answer of Anthropic's.
static void expect_input(const json_t *arguments, const char *right) {
    fr_choice c = {.job = {.end = FR_JOB_STOP, .stopped_by = -1}};
    const fr_ask asked = {.server = &server, .choice = &c, .n = 1, .request = {.n = 1}};
    json_t *call = json_pack("{s:s, s:O}", "name", "f", "arguments", arguments);
    char *json = fr_json_compact(call), *said, found[600], *whole;
    fr_error err;
    assert_true(asprintf(&said, "<tool_call>%s</tool_call>", json) > 0);
    fr_api_answer_open(&c.answer, false, false, true, NULL);
    assert_int_equal(fr_api_answer_push(&c.answer, said, strlen(said), &err), FR_OK);
    assert_int_equal(fr_api_answer_finish(&c.answer, &err), FR_OK);
    assert_int_equal(c.answer.n_calls, 1);
    json_t *document = fr_dialect_anthropic.whole(&asked);
    whole = fr_json_compact(document);
    snprintf(found, sizeof found, "\"name\":\"f\",\"input\":%s}]", right);
    if (!strstr(whole, found)) fail_msg("expected %s, found %s", found, whole);
    free(json), free(said), free(whole);
    json_decref(document);
    // As a stream it is the same text, in one piece.
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
    json_decref(call);
    fr_api_answer_close(&c.answer);
}

// Whole numbers keep their digits; what is no object, or nested too deep for a connection's stack,
// becomes an empty one.
static void calls_have_the_arguments_that_the_model_wrote(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"{\"a\":1234567890123456789}", "{\"a\":1234567890123456789}"},
        {"{\"a\":99999999999999999999}", "{\"a\":99999999999999999999}"},
        {"\"{\\\"a\\\":99999999999999999999}\"", "{\"a\":99999999999999999999}"},
        {"\"[1]\"", "{}"},
        {"\"no JSON\"", "{}"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *arguments = fr_json_load(texts[i][0], strlen(texts[i][0]), NULL);
        expect_input(arguments, texts[i][1]);
        json_decref(arguments);
    }
    enum { DEEP = 2000 };
    char deep[6 * DEEP + 2] = "";
    for (int i = 0; i < DEEP; i++)
        strcpy(deep + 5 * i, "{\"a\":");
    strcpy(deep + 5 * DEEP, "1");
    memset(deep + 5 * DEEP + 1, '}', DEEP);
    json_t *arguments = json_stringn(deep, sizeof deep - 1);
    expect_input(arguments, "{}");
    json_decref(arguments);
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
    for (char *at = strstr(reply, "data: {"); at; at = strstr(at + 1, "data: {")) {
        json_t *event = json_loads(at + 6, JSON_DISABLE_EOF_CHECK, NULL);
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
        json_decref(event);
    }
    assert_true(n_progress >= 2 && n_timed >= 1 && whole);
}

// ---------------------------------------------------------------- other endpoints

// Its levels fill more of the stack than anything else that a connection does.
static void an_endless_template_is_refused(void **state) {
    (void)state;
    static const char endless[] = "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}"
                                  "{% for m in messages %}{{ f(0) }}{% endfor %}";
    const fr_text *const was = server.text;
    fr_text *deep;
    fr_error err;
    assert_int_equal(
        fr_text_open_with(&deep, fr_engine_text(engine), endless, strlen(endless), &err), FR_OK);
    server.text = deep, server.api.chat = &deep->chat;
    assert_int_equal(ask("POST", "/v1/chat/completions", CHAT "}"), 400);
    assert_non_null(strstr(reply, "nested deeper than 2000 levels"));
    server.text = was, server.api.chat = &text->chat;
    fr_text_close(deep);
}

static void texts_and_tokens_go_both_ways(void **state) {
    (void)state;
    json_t *root = answer("/tokenize", "{\"content\":\"abc abc\"}");
    char *ids = json_dumps(json_object_get(root, "tokens"), JSON_COMPACT), body[512];
    json_decref(root);
    snprintf(body, sizeof body, "{\"tokens\":%s}", ids);
    free(ids);
    root = answer("/detokenize", body);
    assert_string_equal(json_string_value(json_object_get(root, "content")), "abc abc");
    json_decref(root);
    root = answer("/apply-template", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    assert_non_null(strstr(json_string_value(json_object_get(root, "prompt")), "user\nhi"));
    json_decref(root);
    static const char *const gets[] = {"/v1/models",
                                       "/v1/models/tiny",
                                       "/v1/models/t%69ny",
                                       "/health",
                                       "/ready",
                                       "/props",
                                       "/slots",
                                       "/tokenizer_info",
                                       "/v1/models/other/name",
                                       "/v1/models/other%2Fname"};
    for (size_t i = 0; i < sizeof gets / sizeof *gets; i++) {
        assert_int_equal(ask("GET", gets[i], ""), 200);
        json_decref(document());
    }
    assert_int_equal(ask("GET", "/v1/models/tin", ""), 404);
    assert_int_equal(ask("GET", "/v1/models/other", ""), 404);
    assert_int_equal(ask("GET", "/metrics", ""), 501); // not asked for
    server.metrics = true;
    assert_int_equal(ask("GET", "/metrics", ""), 200);
    assert_non_null(strstr(reply, "\nforerun:generation_tokens_total "));
    const char *real = strstr(reply, "\nforerun:pass_seconds_total ");
    const char *predicted = strstr(reply, "\nforerun:pass_predicted_seconds_total ");
    assert_true(real && strtod(real + 28, NULL) > 0);
    assert_true(predicted && strtod(predicted + 38, NULL) > 0);
}

// Numbers of a stream's timings, which count along to those of the whole. So many events have none.
static void expect_timings(const char *target, const char *body, int n_without) {
    double tokens = 0, passes = 0, accepted = 0;
    int n = 0, n_events = 0;
    assert_int_equal(ask("POST", target, body), 200);
    for (char *at = strstr(reply, "data: {"); at; at = strstr(at + 1, "data: {")) {
        json_t *event = json_loads(at + 6, JSON_DISABLE_EOF_CHECK, NULL);
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
        json_decref(event);
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

static void what_is_at_work_is_told(void **state) {
    (void)state;
    assert_true(fr_scheduler_idle(server.scheduler, 30));
    json_decref(answer("/v1/completions", TEXT "}"));
    assert_int_equal(ask("GET", "/slots", ""), 200);
    json_t *slots = document();
    assert_int_equal(ask("GET", "/activity", ""), 200);
    json_t *root = document(), *passes = json_object_get(root, "passes");
    const json_t *memory = json_object_get(root, "memory"), *last = json_object_get(passes, "last");
    assert_true(json_equal(json_object_get(root, "slots"), slots));
    assert_int_equal(json_integer_value(json_object_get(root, "running")), 0);
    assert_int_equal(json_integer_value(json_object_get(root, "waiting")), 0);
    assert_int_equal(json_integer_value(json_object_get(root, "most")), 2);
    const double n = json_number_value(json_object_get(passes, "passes"));
    assert_true(n > 0 && json_number_value(json_object_get(passes, "rows")) >= n);
    assert_true(json_number_value(json_object_get(passes, "tokens")) >= 24);
    assert_int_equal(json_integer_value(json_object_get(last, "texts")), 1);
    assert_true(json_integer_value(json_object_get(last, "rows")) >= 1);
    assert_int_equal(json_integer_value(json_object_get(memory, "contexts")),
                     (json_int_t)(server.context_bytes * json_array_size(slots)));
    assert_true(json_integer_value(json_object_get(memory, "resident")) > 1 << 20);
    json_decref(root);
    json_decref(slots);
    assert_int_equal(ask_with("GET", "/activity", "", ""), 401);
    server.slots = false;
    assert_int_equal(ask("GET", "/activity", ""), 501);
    assert_int_equal(ask("GET", "/slots", ""), 501);
    server.slots = true;
}

static void wrong_requests_are_said(void **state) {
    (void)state;
    static const char invalid[] = "invalid_request_error";
    expect_error("/v1/chat/completions", "{", 400, invalid, "");
    expect_error("/v1/chat/completions", "[]", 400, invalid, "object");
    expect_error("/v1/chat/completions", "{\"messages\":5}", 400, invalid, "messages");
    expect_error("/v1/completions", "{\"prompt\":\"a\",\"temperature\":-1}", 400, invalid,
                 "temperature: ");
    expect_error("/v1/completions", TEXT ",\"drafter\":\"eagle:/etc/passwd\"}", 400, invalid,
                 "drafter: ");
    expect_error("/v1/chat/completions", CHAT ",\"response_format\":{\"type\":\"json_object\"}}",
                 400, invalid, "response_format");
    expect_error("/detokenize", "{\"tokens\":[\"a\"]}", 400, invalid, "tokens[0]");
    expect_error("/detokenize", "{\"tokens\":[1,4294967301]}", 400, invalid, "tokens[1]");
    expect_error("/detokenize", "{\"tokens\":[-1]}", 400, invalid, "tokens[0]");
    expect_error("/detokenize", "{\"tokens\":[1,999999]}", 400, invalid, "tokens[1]: expected");
    expect_error("/detokenize", "{\"tokens\":\"abc\"}", 400, invalid, "tokens: expected a list");
    expect_error("/v1/embeddings", "{\"input\":\"a\"}", 501, "not_supported_error", "embeddings");
    expect_error("/rerank", "{}", 501, "not_supported_error", "reranking");
    expect_error("/infill", "{\"input_prefix\":\"a\",\"input_suffix\":\"b\"}", 501,
                 "not_supported_error", "middle");
    // Two are at work at a time, eight may wait.
    expect_error("/v1/completions", TEXT ",\"n\":11}", 400, invalid, "n: expected at most 10");
    expect_error("/v1/completions",
                 "{\"prompt\":[\"a\",\"b\",\"c\",\"d\"],\"n\":3,\"max_tokens\":1}", 400, invalid,
                 "prompt: expected at most 10");
    expect_error("/v1/messages", CHAT ",\"n\":2}", 400, invalid, "n: ");
    expect_error("/v1/responses", "{\"input\":\"a\",\"n_cmpl\":2}", 400, invalid, "n: ");
    expect_error("/v1/messages/count_tokens", CHAT ",\"n\":2}", 400, invalid, "n: ");
    char deep[4200] = "{\"input\":\"a\",\"max_output_tokens\":1,\"text\":";
    const size_t head = strlen(deep);
    memset(deep + head, '[', 2000);
    memset(deep + head + 2000, ']', 2000);
    strcpy(deep + head + 4000, "}");
    expect_error("/v1/responses", deep, 400, invalid, "nested deeper");
    expect_error("/nothing", "{}", 404, "not_found_error", "");
    expect_error("/health", "{}", 405, invalid, "method");
    char body[MOST_BODY + 200], prompt[1200];
    memset(prompt, 'a', sizeof prompt);
    for (size_t i = 0; i < sizeof prompt; i += 3)
        prompt[i] = (char)('b' + i % 20);
    snprintf(body, sizeof body, "{\"prompt\":\"%.*s\"}", (int)sizeof prompt, prompt);
    expect_error("/v1/completions", body, 400, "exceed_context_size_error", "context");
    memset(body, ' ', sizeof body - 1);
    body[sizeof body - 1] = 0;
    expect_error("/v1/completions", body, 413, invalid, "larger");
}

// By the client's own field, where the body was translated.
static void wrong_fields_are_called_as_the_client_does(void **state) {
    (void)state;
    static const char invalid[] = "invalid_request_error";
    expect_error("/v1/responses", "{\"input\":\"a\",\"max_output_tokens\":\"5\"}", 400, invalid,
                 "max_output_tokens: expected");
    assert_non_null(strstr(reply, "\"param\":\"max_output_tokens\""));
    expect_error("/v1/responses", "{\"input\":\"a\",\"max_tokens\":\"5\"}", 400, invalid,
                 "max_tokens: expected");
    expect_error("/v1/messages", "{\"messages\":[],\"stop_sequences\":5}", 400, invalid,
                 "stop_sequences: expected");
    expect_error("/v1/messages", "{\"messages\":[],\"stop_sequences\":[\"a\",7]}", 400, invalid,
                 "stop_sequences[1]: expected");
    expect_error("/v1/messages", "{\"messages\":[],\"metadata\":{\"user_id\":5}}", 400, invalid,
                 "metadata.user_id: expected");
    expect_error("/v1/messages",
                 "{\"messages\":[],\"output_config\":{\"format\":{\"type\":\"json_schema\"}}}", 400,
                 invalid, "output_config.format: answers cannot be constrained");
    expect_error("/v1/messages", "{\"messages\":[],\"output_format\":{\"type\":\"json_schema\"}}",
                 400, invalid, "output_format: answers cannot be constrained");
    char body[1400] = "{\"input\":\"";
    for (int i = 0; i < 300; i++)
        strcat(body, "a b ");
    strcat(body, "\"}");
    expect_error("/v1/responses", body, 400, "exceed_context_size_error", "input: ");
    assert_non_null(strstr(reply, "\"param\":\"input\""));
}

static void keys_and_origins_are_looked_at(void **state) {
    (void)state;
    assert_int_equal(ask_with("GET", "/props", "", ""), 401);
    assert_non_null(strstr(reply, "WWW-Authenticate: Bearer"));
    assert_int_equal(ask_with("GET", "/props", "Authorization: Bearer sesamE\r\n", ""), 401);
    assert_int_equal(ask_with("GET", "/props", "Authorization: Bearer sesame2\r\n", ""), 401);
    assert_int_equal(ask_with("GET", "/props", "X-Api-Key: sesame\r\n", ""), 200);
    assert_int_equal(ask_with("GET", "/health", "", ""), 200);
    assert_int_equal(ask_with("OPTIONS", "/props", "Origin: http://page.example\r\n", ""), 200);
    assert_non_null(strstr(reply, "Access-Control-Allow-Origin: http://page.example"));
    assert_int_equal(ask_with("OPTIONS", "/props",
                              "Origin: http://page.example\r\n"
                              "Access-Control-Request-Headers: authorization,x-stainless-os\r\n",
                              ""),
                     200);
    assert_non_null(strstr(reply, "Access-Control-Allow-Headers: authorization,x-stainless-os"));
    assert_int_equal(ask_with("OPTIONS", "/props", "Origin: http://page\r\n", ""), 200);
    assert_null(strstr(reply, "Access-Control-Allow-Origin"));
}

// What the headers decide is said before a long body comes; a short one is read and not looked at.
static void a_body_is_not_waited_for_in_vain(void **state) {
    (void)state;
    static const char key[] = "Authorization: Bearer sesame\r\n";
    static const char chunks[] = "Transfer-Encoding: chunked",
                      large[] = "Content-Length: 5000000000";
    static const struct {
        const char *line, *key, *body;
        int status;
    } asked[] = {
        {"POST /v1/completions", "", large, 401}, {"POST /v1/completions", "", chunks, 401},
        {"GET /health", "", large, 413},          {"POST /v1/completions", key, large, 413},
        {"POST /nothing", key, chunks, 404},      {"POST /health", key, chunks, 405}};
    char request[400];
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const int n = snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: x\r\n%s%s\r\n\r\n",
                               asked[i].line, asked[i].key, asked[i].body);
        assert_int_equal(exchange(request, (size_t)n), asked[i].status);
        assert_non_null(strcasestr(reply, "Connection: close\r\n"));
        if (asked[i].status == 405) assert_non_null(strstr(reply, "Allow: GET, HEAD\r\n"));
    }
    static const char two[] = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                              "\r\n{}GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_int_equal(exchange(two, sizeof two - 1), 401);
    assert_non_null(strstr(reply, "HTTP/1.1 200 OK"));
    assert_int_equal(ask("GET", "/completion", ""), 405);
    assert_non_null(strstr(reply, "Allow: POST\r\n"));
}

static void expect_page(const char *target, const char *type, const char *begins) {
    char line[80];
    assert_int_equal(ask_with("GET", target, "", ""), 200); // without a key
    snprintf(line, sizeof line, "Content-Type: %s; charset=utf-8\r\n", type);
    if (!strstr(reply, line)) fail_msg("%s: expected %s, found %.400s", target, line, reply);
    assert_non_null(strstr(reply, "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(reply, "Cache-Control: no-cache"));
    const char *policy = strstr(reply, "Content-Security-Policy: ");
    assert_non_null(policy);
    const size_t length = strcspn(policy, "\r");
    const char *const rules[] = {"default-src 'none';", "script-src 'self';",
                                 "style-src 'self';",   "base-uri 'none';",
                                 "form-action 'none';", "frame-ancestors 'none'"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        assert_non_null(memmem(policy, length, rules[i], strlen(rules[i])));
    assert_null(memmem(policy, length, "unsafe", 6));
    const char *body = strstr(reply, "\r\n\r\n") + 4;
    if (strncmp(body, begins, strlen(begins)) != 0) fail_msg("%s: %.80s", target, body);
}

// What the page itself must not have: its policy would refuse it.
static void is_plain_page(void) {
    static const char *const never[] = {"<script>",   "<style",      " style=", " onclick",
                                        "src=\"http", "href=\"http", "//cdn"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(reply, never[i])) fail_msg("the page has %s", never[i]);
}

static void the_page_comes_to_everybody(void **state) {
    (void)state;
    expect_page("/", "text/html", "<!doctype html>");
    is_plain_page();
    for (const fr_page_file *f = fr_page_files; f->name; f++) {
        const char *end = strrchr(f->name, '.');
        char target[64], begins[64];
        if (!strcmp(end, ".html")) continue;
        snprintf(target, sizeof target, "/page/%s", f->name);
        snprintf(begins, sizeof begins, "%s %s", strcmp(end, ".css") ? "//" : "/*", f->name);
        expect_page(target, strcmp(end, ".css") ? "text/javascript" : "text/css", begins);
    }
    expect_page("/page/main.js", "text/javascript", "// main.js");
    char tag[40] = "", known[96];
    sscanf(strstr(reply, "ETag: "), "ETag: %39s", tag);
    snprintf(known, sizeof known, "If-None-Match: %s\r\n", tag);
    assert_int_equal(ask_with("GET", "/page/main.js", known, ""), 304);
    assert_null(strstr(reply, "main.js"));
    assert_int_equal(ask_with("GET", "/page/base.css", known, ""), 200);
    assert_int_equal(ask_with("GET", "/page/main.js", "If-None-Match: \"0\"\r\n", ""), 200);
    assert_int_equal(ask_with("HEAD", "/", "", ""), 200);
    assert_non_null(strstr(reply, "Content-Type: text/html"));
    assert_null(strstr(reply, "<html"));
    expect_error("/", "{}", 405, "invalid_request_error", "method");
    static const char *const none[] = {"/page.html", "/page/",         "/page/page.html",
                                       "/page",      "/page/main.js/", "/page/../page.c"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(ask("GET", none[i], ""), 404);
    server.page = false;
    static const char *const off[] = {"/", "/page/base.css", "/page/main.js"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        assert_int_equal(ask("GET", off[i], ""), 404);
        assert_int_equal(ask_with("HEAD", off[i], "", ""), 404);
    }
    server.page = true;
}

// Asks with stderr in a file; what is logged.
static void log_of(const char *method, const char *target, char *line, size_t room) {
    char name[] = "log-XXXXXX";
    const int log = mkstemp(name), usual = dup(STDERR_FILENO), before = atomic_load(&n_logged);
    assert_true(log >= 0 && usual >= 0);
    dup2(log, STDERR_FILENO);
    ask(method, target, "");
    for (int i = 0; i < 1000 && atomic_load(&n_logged) == before; i++)
        usleep(10000);
    dup2(usual, STDERR_FILENO);
    const ssize_t n = pread(log, line, room - 1, 0);
    line[n > 0 ? n : 0] = 0;
    close(log), close(usual);
    unlink(name);
}

// Whatever the client sends: whole, of some length, and no news to a terminal.
static void a_line_is_logged_for_each_exchange(void **state) {
    (void)state;
    char target[3000] = "/\x1b[2J\x7f\xff", line[4096];
    memset(target + strlen(target), 'x', sizeof target - strlen(target) - 1);
    log_of("G\xffT\x1b", target, line, sizeof line);
    assert_non_null(strstr(line, " G\xffT? /?[2J?\xffxxx"));
    assert_non_null(strstr(line, "xxx 404 "));
    assert_true(strlen(line) < 700 && strchr(line, '\n') == line + strlen(line) - 1);
    server.json_log = true;
    log_of("G\xffT\x1b", target, line, sizeof line);
    server.json_log = false;
    json_t *root = json_loads(line, 0, NULL);
    if (!root) fail_msg("found '%s'", line);
    assert_string_equal(json_string_value(json_object_get(root, "method")), "G\xef\xbf\xbdT?");
    assert_int_equal(json_integer_value(json_object_get(root, "status")), 404);
    assert_int_equal(strlen(json_string_value(json_object_get(root, "path"))), 499 + 2);
    json_decref(root);
}

static void what_is_no_http_ends_alone(void **state) {
    (void)state;
    static const char
        junk[] = "\x01\x02\xff junk\r\n\r\n",
        cut[] = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000000\r\n\r\n{";
    char headers[60000];
    const int fd = dial(); // says nothing, meanwhile
    exchange(junk, sizeof junk);
    memset(headers, 'x', sizeof headers);
    memcpy(headers, "GET /health HTTP/1.1\r\nX: ", 25);
    exchange(headers, sizeof headers);
    const int half = dial();
    assert_true(send(half, cut, sizeof cut - 1, MSG_NOSIGNAL) > 0);
    close(half);
    assert_int_equal(ask("GET", "/health", ""), 200);
    close(fd);
}

static uint64_t n_cancelled(void) {
    return fr_scheduler_look(server.scheduler).counters.ended[FR_JOB_CANCELLED];
}

// Who hangs up is not answered on: the place is free again.
static void who_hangs_up_is_forgotten(void **state) {
    (void)state;
    static const char body[] =
        "{\"prompt\":\"abc\",\"max_tokens\":-1,\"ignore_eos\":true,\"stream\":true}";
    char request[400];
    const uint64_t before = n_cancelled();
    const int n =
        snprintf(request, sizeof request,
                 "POST /v1/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sesame\r\n"
                 "Content-Length: %zu\r\n\r\n%s",
                 sizeof body - 1, body);
    for (int i = 0; i < 6; i++) {
        const int fd = dial();
        assert_true(send(fd, request, (size_t)n, MSG_NOSIGNAL) > 0);
        if (i % 2) recv(fd, reply, 50, 0);
        close(fd);
    }
    for (int i = 0; i < 3000 && n_cancelled() == before; i++)
        usleep(10000);
    assert_true(n_cancelled() > before);
    assert_true(fr_scheduler_idle(server.scheduler, 30));
    assert_int_equal(ask("POST", "/v1/completions", TEXT "}"), 200);
}

// ---------------------------------------------------------------- llama-server's own

// What llama-server's clients find beside the answer, and what they leave out of it.
static void answers_have_what_llama_servers_have(void **state) {
    (void)state;
    json_t *root = answer("/completion", TEXT ",\"response_fields\":[\"content\","
                                              "\"generation_settings/n_predict\"]}");
    assert_int_equal(json_object_size(root), 2);
    assert_int_equal(json_integer_value(json_object_get(root, "generation_settings/n_predict")),
                     24);
    json_decref(root);
    root = answer("/completion", TEXT "}");
    const json_t *bias =
        json_object_get(json_object_get(root, "generation_settings"), "logit_bias");
    assert_int_equal(json_array_size(bias), fr_text_describe(text)->n_ends); // "ignore_eos"
    assert_true(json_is_null(json_object_get(json_array_get(bias, 0), "bias")));
    json_decref(root);
    root = answer("/v1/chat/completions", CHAT ",\"verbose\":true}");
    const json_t *prompt = json_object_get(json_object_get(root, "__verbose"), "prompt");
    assert_non_null(strstr(json_string_value(prompt), "abc abc abc"));
    json_decref(root);
}

// One event a token where their probabilities are asked for, whatever a pass gave, and however many
// passes there were since the last event.
static void streams_of_probabilities_go_by_token(void **state) {
    (void)state;
    int n = 0;
    assert_int_equal(
        ask("POST", "/completion",
            "{\"prompt\":\"abc aaaaaaaaaaaa\",\"n_predict\":24,\"n_probs\":2,\"stream\":"
            "true,\"ignore_eos\":true,\"temperature\":0,\"logit_bias\":[[\"a\",100]]}"),
        200);
    for (char *at = strstr(reply, "data: {"); at; at = strstr(at + 1, "data: {")) {
        json_t *event = json_loads(at + 6, JSON_DISABLE_EOF_CHECK, NULL);
        const json_t *tokens = json_object_get(event, "tokens");
        const json_t *scored = json_object_get(event, "completion_probabilities");
        if (json_is_false(json_object_get(event, "stop"))) {
            assert_string_equal(json_string_value(json_object_get(event, "content")), "a");
            assert_int_equal(json_array_size(tokens), 1);
            assert_int_equal(json_array_size(scored), 1);
            n++;
        }
        json_decref(event);
    }
    assert_int_equal(n, 24);
}

// Tokens in all documents; the last one's id.
static int tokens_of(const char *documents, json_int_t *id) {
    int n = 0;
    for (const char *at = documents; at && (at = strchr(at, '{')); at = strchr(at, '\n')) {
        json_t *doc = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
        const json_t *tokens = json_object_get(doc, "tokens");
        const size_t scored = json_array_size(json_object_get(doc, "completion_probabilities"));
        assert_int_equal(json_array_size(tokens), scored);
        if (scored) *id = json_integer_value(json_array_get(tokens, scored - 1));
        n += (int)scored;
        json_decref(doc);
    }
    return n;
}

// An answer that is its end token alone, which has no text.
static void streams_have_the_end_token_of_the_whole(void **state) {
    (void)state;
    char body[256];
    json_int_t end = -1, id = -1;
    const char *form = "{\"prompt\":\"abc\",\"n_predict\":60,\"n_probs\":1,\"seed\":%d,"
                       "\"temperature\":2,\"return_tokens\":true}";
    for (int seed = 0; seed < 200 && end < 0; seed++) {
        snprintf(body, sizeof body, form, seed);
        assert_int_equal(ask("POST", "/completion", body), 200);
        if (strstr(reply, "\"stop_type\":\"eos\"")) tokens_of(strstr(reply, "\r\n\r\n"), &end);
    }
    assert_true(end >= 0);
    form = "{\"prompt\":\"abc\",\"logit_bias\":[[%d,100]],\"n_probs\":1,\"return_tokens\":true,"
           "\"stream\":%s}";
    for (int stream = 0; stream < 2; stream++) {
        snprintf(body, sizeof body, form, (int)end, stream ? "true" : "false");
        assert_int_equal(ask("POST", "/completion", body), 200);
        assert_int_equal(tokens_of(strstr(reply, "\r\n\r\n"), &id), 1);
        assert_int_equal(id, end);
    }
}

// The first says what was known, the last that all is read.
static void expect_progress(const char *target) {
    json_int_t first = -1, last = -1, total = 0, cache = -1;
    assert_int_equal(ask("POST", target,
                         "{\"prompt\":\"abc abc abc abc\",\"max_tokens\":2,\"stream\":true,"
                         "\"cache_prompt\":false,\"return_progress\":true}"),
                     200);
    for (char *at = strstr(reply, "\"prompt_progress\":"); at;
         at = strstr(at + 1, "\"prompt_progress\":")) {
        json_t *how = json_loads(at + 18, JSON_DISABLE_EOF_CHECK, NULL);
        last = json_integer_value(json_object_get(how, "processed"));
        total = json_integer_value(json_object_get(how, "total"));
        cache = json_integer_value(json_object_get(how, "cache"));
        if (first < 0) first = last;
        json_decref(how);
    }
    assert_true(first == cache && last == total && total > 1);
}

static void progress_of_a_prompt_is_told(void **state) {
    (void)state;
    expect_progress("/completion");
    expect_progress("/v1/completions");
}

// The prompt of an answer at /infill.
static void infilled(char out[1024], int digits, int zs, const char *more) {
    char body[1024] = "{\"input_prefix\":\"";
    for (int i = 0; i < digits; i++)
        body[strlen(body) + 1] = 0, body[strlen(body)] = (char)('0' + i % 10);
    strcat(body, "\",\"prompt\":\"--\",\"input_suffix\":\"");
    for (int i = 0; i < zs; i++)
        body[strlen(body) + 1] = 0, body[strlen(body)] = 'z';
    strcat(body, "\",\"n_predict\":4");
    strcat(body, more);
    json_t *root = answer("/infill", body);
    snprintf(out, 1024, "%s", json_string_value(json_object_get(root, "prompt")));
    assert_true(json_integer_value(json_object_get(root, "tokens_evaluated")) <= CTX - 4);
    json_decref(root);
}

// 246 tokens have room beside the line at the gap, four marks and the answer. What is cut from the
// beginning of a part goes by 64 tokens.
static void what_does_not_fit_around_a_gap_is_left_out(void **state) {
    char prompt[1024], right[1024];
    const fr_text_info was = text->info;
    (void)state;
    text->info.fim_prefix = 'P', text->info.fim_suffix = 'S', text->info.fim_middle = 'M';
    infilled(prompt, 20, 3, "}");
    assert_string_equal(prompt, "P01234567890123456789--SzzzM");
    infilled(prompt, 300, 200, "}");
    snprintf(right, sizeof right, "P%.172s--S",
             "8901234567890123456789012345678901234567890123456789"
             "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
             "567890123456789012345678901234567890123456789");
    assert_memory_equal(prompt, right, strlen(right));
    assert_int_equal(strspn(prompt + strlen(right), "z"), 246 - 172);
    assert_string_equal(prompt + strlen(right) + 246 - 172, "M");
    infilled(prompt, 300, 0,
             ",\"input_extra\":[{\"text\":\"one\"},{\"text\":\"qqqqqqqqqqqqqqqqqqqqqq"
             "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
             "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq\"}]}");
    assert_null(strstr(prompt, "one"));
    assert_int_equal(strspn(prompt, "q"), strchr(prompt, 'P') - prompt);
    assert_true(strspn(prompt, "q") > 50);
    assert_non_null(strstr(prompt, "456789--SM"));
    text->info = was;
}

static void a_prompt_that_is_too_long_is_counted(void **state) {
    (void)state;
    char body[1400] = "{\"prompt\":\"";
    for (int i = 0; i < 300; i++)
        strcat(body, "a b ");
    strcat(body, "\"}");
    assert_int_equal(ask("POST", "/completion", body), 400);
    json_t *root = document(), *error = json_object_get(root, "error");
    assert_int_equal(json_integer_value(json_object_get(error, "n_ctx")), CTX);
    assert_true(json_integer_value(json_object_get(error, "n_prompt_tokens")) >= CTX);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_one_alone_whole_and_streamed),
        cmocka_unit_test(pieces_are_the_answer_and_change_nothing),
        cmocka_unit_test(llamas_completion_says_how_it_ended),
        cmocka_unit_test(anthropics_messages_are_answered),
        cmocka_unit_test(a_conversation_of_nothing_is_answered),
        cmocka_unit_test(a_stop_string_is_told),
        cmocka_unit_test(every_chunk_has_what_openais_have),
        cmocka_unit_test(every_stream_tells_its_seed),
        cmocka_unit_test(offsets_are_places_in_the_text),
        cmocka_unit_test(pieces_of_text_have_the_offsets_of_the_whole),
        cmocka_unit_test(an_error_ends_a_stream),
        cmocka_unit_test(what_never_began_is_no_answer),
        cmocka_unit_test(responses_are_answered),
        cmocka_unit_test(responses_repeat_what_was_asked),
        cmocka_unit_test(calls_have_the_arguments_that_the_model_wrote),
        cmocka_unit_test(responses_have_llama_servers_numbers),
        cmocka_unit_test(choices_and_prompts_are_answered_in_order),
        cmocka_unit_test(an_endless_template_is_refused),
        cmocka_unit_test(texts_and_tokens_go_both_ways),
        cmocka_unit_test(timings_count_along),
        cmocka_unit_test(what_is_at_work_is_told),
        cmocka_unit_test(wrong_requests_are_said),
        cmocka_unit_test(wrong_fields_are_called_as_the_client_does),
        cmocka_unit_test(keys_and_origins_are_looked_at),
        cmocka_unit_test(a_body_is_not_waited_for_in_vain),
        cmocka_unit_test(the_page_comes_to_everybody),
        cmocka_unit_test(a_line_is_logged_for_each_exchange),
        cmocka_unit_test(what_is_no_http_ends_alone),
        cmocka_unit_test(who_hangs_up_is_forgotten),
        cmocka_unit_test(answers_have_what_llama_servers_have),
        cmocka_unit_test(streams_of_probabilities_go_by_token),
        cmocka_unit_test(streams_have_the_end_token_of_the_whole),
        cmocka_unit_test(progress_of_a_prompt_is_told),
        cmocka_unit_test(a_prompt_that_is_too_long_is_counted),
        cmocka_unit_test(what_does_not_fit_around_a_gap_is_left_out)};
    return cmocka_run_group_tests_name("serve/server", tests, open_world, close_world);
}
