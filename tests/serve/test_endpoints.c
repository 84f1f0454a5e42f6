// Endpoints that write no answers, and what is logged of each exchange.
#define _GNU_SOURCE
#include "serve/page/page.h"
#include "server_world.h"
#include <unistd.h>

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
}

static void expect_tokens(const char *target, const char *body, const char *expected) {
    json_t *root = answer(target, body);
    char *found = json_dumps(root, JSON_COMPACT);
    if (!strstr(found, expected)) fail_msg("%s: expected %s in %s", body, expected, found);
    free(found);
    json_decref(root);
}

// As a prompt of a completion: ids and strings in one, and null is absent.
static void lists_of_texts_and_ids_are_tokens(void **state) {
    (void)state;
    expect_tokens("/tokenize", "{\"content\":[\"a\",98,\"c\"]}", "\"tokens\":[97,98,99]");
    expect_tokens("/tokenize", "{\"content\":[98,97.0]}", "\"tokens\":[98,97]");
    expect_tokens("/tokenize", "{\"content\":\"a\",\"add_special\":null,\"with_pieces\":true}",
                  "\"tokens\":[{\"id\":97,\"piece\":\"a\"}]");
    expect_tokens("/tokenize", "{\"content\":null,\"prompt\":\"b\",\"add_special_tokens\":false}",
                  "\"tokens\":[98]");
    expect_tokens("/tokenize", "{\"content\":null}", "\"tokens\":[]");
    expect_tokens("/tokenize", "{}", "\"tokens\":[]");
    expect_tokens("/detokenize", "{\"tokens\":null}", "\"content\":\"\"");
    expect_tokens("/detokenize", "{\"tokens\":[97,98.0]}", "\"content\":\"ab\"");
}

// Bodies that other servers take, and answers of tokens that are no text by themselves.
static void bodies_are_taken_as_others_take_them(void **state) {
    (void)state;
    expect_tokens("/tokenize", "\xEF\xBB\xBF{\"content\":\"a\"}", "\"tokens\":[97]");
    expect_tokens("/tokenize", "{\"content\":\"a\",\"content\":\"b\"}", "\"tokens\":[98]");
    expect_tokens("/tokenize", "{\"content\":\"\\ud83d\"}", "\"tokens\":[239,191,189]");
    expect_tokens("/tokenize", "{\"content\":\"\\ude00a\"}", "\"tokens\":[239,191,189,97]");
    expect_tokens("/apply-template",
                  "{\"messages\":[{\"role\":\"user\",\"content\":\"cut \\ud83d\"}]}",
                  "cut \xEF\xBF\xBD");
    expect_error("/tokenize", "{\"content\":\"\xC3\"}", 400, "invalid_request_error",
                 "JSON, line 1, column ");
    expect_error("/tokenize", "{\"content\":\"a\nb\"}", 400, "invalid_request_error", "line ");
    expect_tokens("/tokenize", "{\"content\":[195,34],\"with_pieces\":true}",
                  "\"tokens\":[{\"id\":195,\"piece\":[195]},{\"id\":34,\"piece\":\"\\\"\"}]");
    expect_tokens("/detokenize", "{\"tokens\":[195,97,34,10]}",
                  "{\"content\":\"\xEF\xBF\xBD"
                  "a\\\"\\n\",\"prompt\":\"\xEF\xBF\xBD"
                  "a\\\"\\n\"}");
}

static void what_is_there_is_told(void **state) {
    (void)state;
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
    // By the names of Anthropic's API too.
    assert_int_equal(ask("GET", "/v1/models", ""), 200);
    json_t *list = document();
    const json_t *one = json_array_get(json_object_get(list, "data"), 0);
    assert_string_equal(json_string_value(json_object_get(one, "type")), "model");
    assert_string_equal(json_string_value(json_object_get(one, "display_name")), "tiny");
    const char *created = json_string_value(json_object_get(one, "created_at"));
    assert_true(created && strlen(created) == 20 && created[10] == 'T' && created[19] == 'Z');
    assert_true(json_is_false(json_object_get(list, "has_more")));
    json_decref(list);
    assert_int_equal(ask("GET", "/v1/models/tin", ""), 404);
    assert_int_equal(ask("GET", "/v1/models/other", ""), 404);
}

static void metrics_are_told_where_they_are_asked_for(void **state) {
    (void)state;
    json_decref(answer("/v1/completions", TEXT "}"));
    assert_int_equal(ask("GET", "/metrics", ""), 501);
    server.metrics = true;
    assert_int_equal(ask("GET", "/metrics", ""), 200);
    assert_non_null(strstr(reply, "\nforerun:generation_tokens_total "));
    const char *real = strstr(reply, "\nforerun:pass_seconds_total ");
    const char *predicted = strstr(reply, "\nforerun:pass_predicted_seconds_total ");
    assert_true(real && strtod(real + 28, NULL) > 0);
    assert_true(predicted && strtod(predicted + 38, NULL) > 0);
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

static bool holds; // the passes

static void hold(bool on) {
    if (holds == on) return;
    holds = on;
    if (on)
        fr_pool_hold(engine->pool);
    else
        fr_pool_release(engine->pool);
}

static int let_go(void **state) {
    (void)state;
    hold(false); // also where the test failed before it did so
    return 0;
}

// Whether two requests are at work, and still are a moment later: the scheduler goes on up to its
// next pass.
static bool two_work(void) {
    for (int i = 0; i < 3; i++) {
        if (fr_scheduler_look(server.scheduler).runs != 2) return false;
        usleep(2000);
    }
    return true;
}

// Holds the passes when two requests are at work and one waits.
static void hold_two(int fd[3]) {
    static const char body[] = "{\"prompt\":\"abc\",\"max_tokens\":200,\"ignore_eos\":true}";
    hold(true); // nothing gets on
    for (int i = 0; i < 3; i++) {
        fd[i] = start("/v1/completions", body);
        wait_for(i + 1);
    }
    while (!two_work()) { // a pass or two
        hold(false);
        usleep(100);
        hold(true);
    }
}

static void requests_at_work_are_told(void **state) {
    (void)state;
    int fd[3];
    assert_true(fr_scheduler_idle(server.scheduler, 30));
    assert_int_equal(ask("GET", "/slots?fail_on_no_slot=1", ""), 200);
    hold_two(fd);
    assert_int_equal(ask("GET", "/slots?fail_on_no_slot=1", ""), 503);
    assert_non_null(strstr(reply, "no slot available"));
    assert_int_equal(ask("GET", "/slots", ""), 200);
    json_t *slots = document(), *slot, *next;
    json_int_t task = 0;
    size_t i;
    assert_int_equal(json_array_size(slots), 2);
    json_array_foreach(slots, i, slot) {
        assert_true(json_is_true(json_object_get(slot, "is_processing")));
        assert_int_equal(json_integer_value(json_object_get(slot, "n_ctx")), CTX);
        assert_true(json_integer_value(json_object_get(slot, "n_prompt_tokens")) > 0);
        assert_true(json_integer_value(json_object_get(slot, "id_task")) != task);
        task = json_integer_value(json_object_get(slot, "id_task"));
        next = json_array_get(json_object_get(slot, "next_token"), 0);
        assert_true(json_is_true(json_object_get(next, "has_next_token")));
        const json_int_t written = json_integer_value(json_object_get(next, "n_decoded"));
        assert_true(written >= 0 && written < 200);
        assert_int_equal(json_integer_value(json_object_get(next, "n_remain")), 200 - written);
    }
    json_decref(slots);
    assert_int_equal(ask("GET", "/activity", ""), 200);
    json_t *root = document();
    assert_int_equal(json_integer_value(json_object_get(root, "running")), 2);
    // The third has had no turn yet, or one of the others has: passes until both were at work are
    // many on a busy machine.
    assert_int_equal(json_integer_value(json_object_get(root, "waiting")) +
                         json_integer_value(json_object_get(root, "paused")),
                     1);
    json_decref(root);
    hold(false);
    for (i = 0; i < 3; i++)
        assert_int_equal(finish(fd[i]), 200);
}

// Paths that llama-server has twice answer alike, but for numbers of the moment.
static void other_names_of_paths_answer_too(void **state) {
    (void)state;
    static const struct {
        const char *method, *target, *other, *body, *member;
    } twins[] = {
        {"POST", "/v1/chat/completions", "/chat/completions", CHAT "}", "choices"},
        {"POST", "/completion", "/completions", TEXT "}", "content"},
        {"POST", "/v1/responses", "/responses", "{\"input\":\"abc\"," SETTINGS "}", "seed"},
        {"POST", "/v1/chat/completions/input_tokens", "/chat/completions/input_tokens", CHAT "}",
         "input_tokens"},
        {"POST", "/v1/responses/input_tokens", "/responses/input_tokens", "{\"input\":\"abc\"}",
         "input_tokens"},
        {"GET", "/v1/models", "/models", "", "data"},
        {"GET", "/v1/health", "/health", "", "status"}};
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        assert_int_equal(ask(twins[i].method, twins[i].target, twins[i].body), 200);
        json_t *right = document();
        assert_int_equal(ask(twins[i].method, twins[i].other, twins[i].body), 200);
        json_t *found = document();
        const json_t *member = json_object_get(found, twins[i].member);
        if (!member || !json_equal(member, json_object_get(right, twins[i].member)))
            fail_msg("%s: %s", twins[i].other, reply);
        json_decref(right);
        json_decref(found);
    }
    static const char *const absent[] = {
        "/embedding",           "/embeddings",    "/v1/embeddings",          "/rerank",
        "/reranking",           "/v1/rerank",     "/v1/reranking",           "/props",
        "/slots/0?action=save", "/lora-adapters", "/v1/audio/transcriptions"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        expect_error(absent[i], "{}", 501, "not_supported_error", "");
}

// A count of tokens is what the answer to the same body says that it read.
static void tokens_are_counted_as_they_are_read(void **state) {
    (void)state;
    json_t *count = answer("/v1/chat/completions/input_tokens", CHAT "}");
    json_t *root = answer("/v1/chat/completions", CHAT "}");
    const json_t *usage = json_object_get(root, "usage");
    assert_true(json_integer_value(json_object_get(usage, "prompt_tokens")) > 10);
    assert_int_equal(json_integer_value(json_object_get(count, "input_tokens")),
                     json_integer_value(json_object_get(usage, "prompt_tokens")));
    json_decref(root);
    json_decref(count);
    // OpenAI's shape for the prompt of a response: all that the answer's own body may have.
    static const char body[] = "{\"instructions\":\"be brief\",\"input\":[{\"role\":\"user\","
                               "\"content\":\"abc\"}],\"max_output_tokens\":1}";
    count = answer("/v1/responses/input_tokens", body);
    root = answer("/v1/responses", body);
    usage = json_object_get(root, "usage");
    assert_string_equal(json_string_value(json_object_get(count, "object")),
                        "response.input_tokens");
    assert_true(json_integer_value(json_object_get(usage, "input_tokens")) > 30);
    assert_int_equal(json_integer_value(json_object_get(count, "input_tokens")),
                     json_integer_value(json_object_get(usage, "input_tokens")));
    json_decref(root);
    json_decref(count);
    expect_error("/v1/responses/input_tokens", "{\"input\":5}", 400, "invalid_request_error",
                 "input: ");
}

// Programs ask for adapters; there are none.
static void there_are_no_adapters(void **state) {
    (void)state;
    assert_int_equal(ask("GET", "/lora-adapters", ""), 200);
    json_t *root = document();
    assert_true(json_is_array(root) && !json_array_size(root));
    json_decref(root);
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
    char target[3000] = "/\x1b[2J\x7f\xff\xc2\x9b", line[4096];
    memset(target + strlen(target), 'x', sizeof target - strlen(target) - 1);
    log_of("G\xffT\x1b", target, line, sizeof line);
    assert_non_null(strstr(line, " G%FFT%1B /%1B[2J%7F%FF%C2%9Bxxx"));
    assert_non_null(strstr(line, "xxx 400 "));
    assert_true(strlen(line) < 700 && strchr(line, '\n') == line + strlen(line) - 1);
    // No path forges a field.
    log_of("GET", "/\xff HTTP/1.1 200 0.001s", line, sizeof line);
    assert_non_null(strstr(line, " GET /%FF%20HTTP/1.1%20200%200.001s 400 "));
    server.json_log = true;
    log_of("G\xffT\x1b", target, line, sizeof line);
    server.json_log = false;
    json_t *root = json_loads(line, 0, NULL);
    if (!root) fail_msg("found '%s'", line);
    assert_string_equal(json_string_value(json_object_get(root, "method")), "G%FFT%1B");
    assert_int_equal(json_integer_value(json_object_get(root, "status")), 400);
    assert_true(strlen(json_string_value(json_object_get(root, "path"))) < 500);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_endless_template_is_refused),
                                       cmocka_unit_test(texts_and_tokens_go_both_ways),
                                       cmocka_unit_test(bodies_are_taken_as_others_take_them),
                                       cmocka_unit_test(lists_of_texts_and_ids_are_tokens),
                                       cmocka_unit_test(what_is_there_is_told),
                                       cmocka_unit_test(metrics_are_told_where_they_are_asked_for),
                                       cmocka_unit_test(what_is_at_work_is_told),
                                       cmocka_unit_test_teardown(requests_at_work_are_told, let_go),
                                       cmocka_unit_test(other_names_of_paths_answer_too),
                                       cmocka_unit_test(tokens_are_counted_as_they_are_read),
                                       cmocka_unit_test(there_are_no_adapters),
                                       cmocka_unit_test(the_page_comes_to_everybody),
                                       cmocka_unit_test(a_line_is_logged_for_each_exchange)};
    return cmocka_run_group_tests_name("serve/endpoints", tests, open_world, close_world);
}
