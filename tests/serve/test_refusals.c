// Wrong requests, wrong keys, and clients that are none or go away.
#define _GNU_SOURCE
#include "server_world.h"
#include <sys/socket.h>
#include <unistd.h>

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
    expect_error("/tokenize", "{\"content\":7}", 400, invalid, "content: expected a string");
    expect_error("/tokenize", "{\"content\":[\"a\",-1]}", 400, invalid, "content[1]: expected");
    expect_error("/tokenize", "{\"content\":\"a\",\"add_special\":\"yes\"}", 400, invalid,
                 "add_special: expected true or false");
    expect_error("/tokenize", "{\"prompt\":\"a\",\"add_special_tokens\":1}", 400, invalid,
                 "add_special_tokens: expected true or false");
    expect_error("/tokenize", "{\"content\":\"a\",\"parse_special\":0}", 400, invalid,
                 "parse_special: expected true or false");
    expect_error("/tokenize", "{\"content\":\"a\",\"with_pieces\":1}", 400, invalid,
                 "with_pieces: expected true or false");
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
    const uint64_t before = n_cancelled();
    for (int i = 0; i < 6; i++) {
        const int fd =
            start("/v1/completions",
                  "{\"prompt\":\"abc\",\"max_tokens\":-1,\"ignore_eos\":true,\"stream\":true}");
        if (i % 2) recv(fd, reply, 50, 0);
        close(fd);
    }
    for (int i = 0; i < 3000 && n_cancelled() == before; i++)
        usleep(10000);
    assert_true(n_cancelled() > before);
    assert_true(fr_scheduler_idle(server.scheduler, 30));
    assert_int_equal(ask("POST", "/v1/completions", TEXT "}"), 200);
}

// Two are at work and eight may wait: further requests get a 503. So does one that asks for three
// answers and finds room for two, of which none is made.
static void who_finds_the_queue_full_comes_again(void **state) {
    (void)state;
    enum { WORK = 2, WAIT = 8 };
    static const char body[] =
        "{\"prompt\":\"abc\",\"max_tokens\":-1,\"ignore_eos\":true,\"seed\":3}";
    const char *const says = "too many requests wait already; try again";
    int fd[WORK + WAIT];
    assert_true(fr_scheduler_idle(server.scheduler, 30));
    fr_pool_hold(engine->pool); // nothing gets on
    for (int i = 0; i < WORK + WAIT - 2; i++) {
        fd[i] = start("/v1/completions", body);
        wait_for(i + 1);
    }
    expect_error("/v1/completions", TEXT ",\"n\":3}", 503, "unavailable_error", says);
    for (int i = WORK + WAIT - 2; i < WORK + WAIT; i++) {
        fd[i] = start("/v1/completions", body);
        wait_for(i + 1);
    }
    expect_error("/v1/completions", TEXT "}", 503, "unavailable_error", says);
    assert_non_null(strstr(reply, "Retry-After: 1\r\n"));
    fr_pool_release(engine->pool);
    for (int i = 0; i < WORK + WAIT; i++)
        assert_int_equal(finish(fd[i]), 200);
    assert_true(fr_scheduler_idle(server.scheduler, 30));
    assert_int_equal(ask("POST", "/v1/completions", TEXT "}"), 200);
}

// One request takes all there is. The next two are taken: one beyond that, one instead of the whole
// request, of which all answers end.
static void a_request_that_fills_the_queue_gives_way(void **state) {
    (void)state;
    enum { ALL = 10 };
    const char *const says = "too many requests wait; try again";
    for (int streams = 0; streams < 2; streams++) {
        int one[2];
        assert_true(fr_scheduler_idle(server.scheduler, 30));
        fr_pool_hold(engine->pool); // nothing gets on
        const int all = start("/v1/completions",
                              streams ? TEXT ",\"n\":10,\"stream\":true}" : TEXT ",\"n\":10}");
        wait_for(ALL);
        one[0] = start("/v1/completions", TEXT "}");
        wait_for(ALL + 1);
        one[1] = start("/v1/completions", TEXT "}");
        wait_for(ALL + 2);
        fr_pool_release(engine->pool);
        assert_int_equal(finish(all), streams ? 200 : 503);
        assert_non_null(strstr(reply, says));
        if (streams)
            assert_non_null(strstr(reply, "\"code\":503"));
        else
            assert_non_null(strstr(reply, "Retry-After: 1\r\n"));
        for (int i = 0; i < 2; i++)
            assert_int_equal(finish(one[i]), 200);
    }
    assert_true(fr_scheduler_idle(server.scheduler, 30));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_requests_are_said),
                                       cmocka_unit_test(wrong_fields_are_called_as_the_client_does),
                                       cmocka_unit_test(keys_and_origins_are_looked_at),
                                       cmocka_unit_test(a_body_is_not_waited_for_in_vain),
                                       cmocka_unit_test(what_is_no_http_ends_alone),
                                       cmocka_unit_test(who_hangs_up_is_forgotten),
                                       cmocka_unit_test(who_finds_the_queue_full_comes_again),
                                       cmocka_unit_test(a_request_that_fills_the_queue_gives_way)};
    return cmocka_run_group_tests_name("serve/refusals", tests, open_world, close_world);
}
