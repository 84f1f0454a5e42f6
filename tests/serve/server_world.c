// server_world.c — opens the server of these tests, and asks it.
#define _GNU_SOURCE
#include "server_world.h"
#include "client.h"
#include "support/tiny_model.h"
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_REPLY = 1 << 20 };

char reply[MOST_REPLY];
fr_engine *engine;
fr_text *text;
fr_server server;
atomic_int n_logged;
const char *const drafters[] = {"prompt-lookup", "none", NULL};
static char path[64];
static fr_http *http;
static const char *const keys[] = {"sesame", NULL};

static void count_log(void *user, const fr_exchange *x, double seconds) {
    const char *asked = fr_exchange_path(x);
    if (strncmp(asked, "/\x1b", 2) != 0 && strncmp(asked, "/\xff", 2) != 0) return; // other tests
    fr_reply_log(user, x, seconds);
    atomic_fetch_add(&n_logged, 1);
}

int open_world(void **state) {
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
                         .page = true,
                         .silence = 1e6};
    const fr_scheduler_options so = {
        .contexts = {.drafters = drafters, .n_ctx = CTX, .ready = 2, .most = 2, .no_adapt = true},
        .n_queue = 8};
    if (fr_scheduler_open(&server.scheduler, engine, &so, &err) ||
        fr_preparer_open(&server.preparer, &err))
        return -1;
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

int close_world(void **state) {
    (void)state;
    fr_http_close(http);
    fr_preparer_close(server.preparer);
    fr_scheduler_close(server.scheduler);
    fr_text_close(text);
    fr_engine_close(engine);
    unlink(path);
    return 0;
}

// ---------------------------------------------------------------- a client

int dial(void) {
    return client_dial(http);
}

static int sent(const char *bytes, size_t n) {
    const int fd = dial();
    ssize_t m;
    for (size_t there = 0; there < n; there += (size_t)m)
        if ((m = send(fd, bytes + there, n - there, MSG_NOSIGNAL)) <= 0) break;
    return fd;
}

int finish(int fd) {
    return client_hear(fd, reply, MOST_REPLY);
}

int exchange(const char *bytes, size_t n) {
    return finish(sent(bytes, n));
}

static int start_with(const char *method, const char *target, const char *headers,
                      const char *body) {
    char *all;
    const int n = asprintf(&all,
                           "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: "
                           "%zu\r\n\r\n%s",
                           method, target, headers, strlen(body), body);
    const int fd = sent(all, (size_t)n);
    free(all);
    return fd;
}

static const char key[] = "Authorization: Bearer sesame\r\n";
int start(const char *target, const char *body) {
    return start_with("POST", target, key, body);
}

int ask_with(const char *method, const char *target, const char *headers, const char *body) {
    return finish(start_with(method, target, headers, body));
}

int ask(const char *method, const char *target, const char *body) {
    return ask_with(method, target, key, body);
}

json_t *document(void) {
    const char *body = strstr(reply, "\r\n\r\n");
    json_t *root = body ? json_loads(body + 4, JSON_ALLOW_NUL, NULL) : NULL;
    if (!root) fail_msg("expected a JSON body, found %s", reply);
    return root;
}

json_t *answer(const char *target, const char *body) {
    const int status = ask("POST", target, body);
    if (status != 200) fail_msg("%s: status %d: %s", target, status, reply);
    return document();
}

void expect_error(const char *target, const char *body, int status, const char *type,
                  const char *says) {
    assert_int_equal(ask("POST", target, body), status);
    json_t *root = document(), *error = json_object_get(root, "error");
    assert_string_equal(json_string_value(json_object_get(error, "type")), type);
    if (!strstr(json_string_value(json_object_get(error, "message")), says)) fail_msg("%s", reply);
    json_decref(root);
}

const char *text_at(const json_t *root, const char *member) { // of the first choice
    const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    const json_t *message = json_object_get(choice, "message");
    return json_string_value(json_object_get(message ? message : choice, member));
}

json_t *next_event(char **at) {
    if (!(*at = strstr(*at, "data: {"))) return NULL;
    *at += 6;
    return json_loads(*at, JSON_DISABLE_EOF_CHECK, NULL);
}

void streamed_text(char *out, size_t room, bool chat) {
    out[0] = 0;
    json_t *event;
    for (char *at = reply; (event = next_event(&at)); json_decref(event)) {
        const json_t *choice = json_array_get(json_object_get(event, "choices"), 0);
        const json_t *from = chat ? json_object_get(choice, "delta") : choice;
        const char *piece = json_string_value(json_object_get(from, chat ? "content" : "text"));
        if (piece) strncat(out, piece, room - strlen(out) - 1);
    }
}

int of_events(const char *type, const char *inner, const char *member, char *out, size_t room) {
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

void alone(char *out, size_t room, fr_api_kind kind, const char *body) {
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

void wait_for(int n) {
    for (int i = 0; i < 6000; i++) {
        const fr_scheduler_state now = fr_scheduler_look(server.scheduler);
        if (now.runs + now.waits + now.paused == n) return;
        usleep(10000);
    }
    fail_msg("expected %d requests", n);
}
