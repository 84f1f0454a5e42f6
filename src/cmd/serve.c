// serve.c — answers requests over HTTP until a signal ends it; then lets running requests finish.
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/heap.h"
#include "cmd/serve_job.h"
#include "serve/listen.h"
#include "serve/slots.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// ---------------------------------------------------------------- options

static int check(const fr_cmd_args *args) {
    int code = fr_cmd_check("serve", args);
    if (!code) code = fr_cmd_check_drafting("serve", args);
    if (code) return code;
    if (strcmp(args->accept, "exact") != 0)
        return fr_cmd_usage("serve",
                            "--accept %s: a request's answer is the same whoever else is "
                            "served, which 'exact' alone gives",
                            args->accept);
    if (args->slots && args->no_slots)
        return fr_cmd_usage("serve", "--slots, --no-slots: give one of them");
    if (args->ctx && args->slot_ctx)
        return fr_cmd_usage("serve", "-c is of all slots together, --slot-ctx of each: give one");
    return FR_EXIT_DONE;
}

static fr_status listen_on(fr_serve_job *j, fr_error *err) {
    const fr_http_options o = {.host = j->args->host,
                               .port = j->args->port,
                               .routes = fr_server_routes,
                               .user = &j->server,
                               .keys = j->n_keys ? j->keys : NULL,
                               .proxies = j->args->forwarded_from,
                               .cors = j->args->cors,
                               .connections = j->args->connections,
                               .connections_of_peer = j->args->peer_connections,
                               .body_bytes = (size_t)32 << 20,
                               .memory = (size_t)j->args->body_memory << 20,
                               .request_seconds = j->args->request_time,
                               .idle_seconds = 120,
                               .log = j->args->quiet ? NULL : fr_reply_log,
                               .error = fr_reply_error,
                               .allowed_hosts = j->args->allow_host};
    return fr_http_open(&j->http, &o, err);
}

// ---------------------------------------------------------------- serve

// Sends READY=1 or STOPPING=1 to a service manager that requested it: a datagram to the socket that
// the environment names, whose '@' stands for a NUL (sd_notify's protocol).
static void notify(const char *state) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    const size_t n = path ? strlen(path) : 0;
    if (!n || n >= sizeof to.sun_path || (*path != '/' && *path != '@')) return;
    memcpy(to.sun_path, path, n);
    if (*path == '@') to.sun_path[0] = 0;
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    if (fd < 0) return;
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to, length);
    close(fd);
}

static void wait_for_the_end(void) {
    while (!fr_cmd_interrupted())
        usleep(100000);
}

// Announces the end and continues answering: a proxy or cluster sees the change of /ready only at
// its next check, and sends requests here until then.
static void take_leave(fr_serve_job *j) {
    atomic_store(&j->server.ready, false);
    notify("STOPPING=1");
    fr_http_retire(j->http);
    const double until = fr_seconds() + j->args->drain_delay;
    for (double left = j->args->drain_delay; left > 0; left = until - fr_seconds())
        usleep(left < 0.1 ? (useconds_t)(left * 1e6) + 1 : 100000);
}

static void end_in_peace(fr_serve_job *j) {
    fr_preparer *preparer = j->server.preparer;
    take_leave(j);
    fr_preparer_drain(preparer);
    const double until = fr_seconds() + j->args->drain;
    // Requests that are being prepared still become jobs.
    while (!fr_preparer_idle(preparer, 0.1) && fr_seconds() < until) {
    }
    fr_scheduler_drain(j->server.scheduler);
    while (!fr_scheduler_idle(j->server.scheduler, 0.1) && fr_seconds() < until) {
    }
    if (fr_seconds() >= until) fr_preparer_stop(preparer);
    fr_http_stop_listening(j->http);
    // Remaining jobs end as cancelled before their next pass, and their clients get that error.
    fr_scheduler_cancel_all(j->server.scheduler);
    while (!fr_scheduler_idle(j->server.scheduler, 0.1)) {
    }
    // An answer that has ended is on its way for a moment more.
    const double left = until - fr_seconds();
    fr_http_at_rest(j->http, left > 1 ? left : 1);
    fr_preparer_stop(preparer);
}

static void say_connections(const fr_cmd_args *args, int there_are) {
    if (there_are < args->connections && !args->quiet)
        fprintf(stderr,
                "the files that this process may open (ulimit -n) are enough for %d connections, "
                "not for %d\n",
                there_are, args->connections);
}

// An address as a client writes it: IPv6 in brackets.
static void say_address(const char *host, int n, int port) {
    const bool v6 = memchr(host, ':', (size_t)n) != NULL;
    if (fr_listen_is_path(host, (size_t)n))
        fr_cmd_print(stdout, "%s%.*s", strncmp(host, "unix:", 5) ? "unix:" : "", n, host);
    else
        fr_cmd_print(stdout, "http://%s%.*s%s:%d", v6 ? "[" : "", n, host, v6 ? "]" : "", port);
}

static void say_addresses(const char *hosts, int port) {
    printf("listening on ");
    for (const char *at = hosts; *at;) {
        const int n = (int)strcspn(at, ",");
        if (n) say_address(at, n, port);
        at += n;
        at += strspn(at, ", ");
        if (n && *at) printf(", ");
    }
    puts("");
}

static void warn_of_no_key(const fr_serve_job *j) {
    if (!j->n_keys && !fr_http_is_local(j->http))
        fr_cmd_print(
            stderr,
            "forerun: --host %s: any client that reaches this machine may ask, as there is no "
            "--api-key\n",
            j->args->host);
}

static int run_serve(const fr_cmd_args *args, const fr_parsed *parsed) {
    fr_serve_job j = {.args = args};
    fr_error err = {0};
    int code = check(args);
    if (code) return code;
    fr_heap_of_many_threads();
    json_object_seed(0); // drawn by the system, before keys of requests are hashed
    fr_status st = fr_serve_take_lists(&j, &err);
    if (!st && args->forwarded_from) st = fr_forwarded_check(args->forwarded_from, &err);
    if (!st) st = fr_serve_open(&j, parsed, &err);
    if (!st) st = listen_on(&j, &err);
    if (!st) {
        say_connections(args, fr_http_connections(j.http));
        warn_of_no_key(&j);
        say_addresses(args->host, fr_http_port(j.http));
        fr_cmd_flush();
        notify("READY=1");
        wait_for_the_end();
        end_in_peace(&j);
    }
    code = st ? fr_cmd_fail(&err) : FR_EXIT_DONE;
    fr_serve_close(&j);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"host",         0,   FR_OPT_STRING, AT(host),         "HOST", "127.0.0.1", NULL, "addresses to listen on, separated by commas; 0.0.0.0: all addresses; unix:PATH, or any name that ends with .sock: a Unix socket", 0, 0, NULL},
    {"port",         0,   FR_OPT_INT,    AT(port),         "N", "8080", NULL, "port; 0: any free port", 0, 65535, NULL},
    {"parallel",     0,   FR_OPT_INT,    AT(parallel),     "N", "4", NULL, "number of requests answered at the same time; others wait", 1, FR_SLOTS_MOST, NULL},
    {"ctx-size",     'c', FR_OPT_INT,    AT(ctx),          "N", NULL, "4096 for each", "total context in tokens of all --parallel requests; each gets an equal part, at least 64", 64, 1 << 24, NULL},
    {"slot-ctx",     0,   FR_OPT_INT,    AT(slot_ctx),     "N", NULL, "4096, at most the model's", "context in tokens of each request; not with --ctx-size", 64, 1 << 24, NULL},
    {"cache-ram",    0,   FR_OPT_INT,    AT(cache_ram),    "MB", "512", NULL, "memory for contexts kept for later requests, in addition to those in use", 0, 1 << 24, NULL},
    {"body-memory",  0,   FR_OPT_INT,    AT(body_memory),  "MB", "512", NULL, "memory for the bodies of all requests and the data made from them; a request gets status 503 while others use it up", 16, 1 << 20, NULL},
    {"drafters",     0,   FR_OPT_SPEC,   AT(drafters),     "SPEC,...", NULL, NULL, "drafters besides --drafter that a request may choose in its field 'drafter'", 0, 0, NULL},
    {"n-predict",    'n', FR_OPT_INT,    AT(n_predict),    "N", "-1", NULL, "maximum number of tokens of an answer if the request sets none; -1: until the end token", -1, 1 << 30, NULL},
    {"queue",        0,   FR_OPT_INT,    AT(queue),        "N", "64", NULL, "number of requests that may wait; others are refused with status 503", 0, 1 << 20, NULL},
    {"timeout",      0,   FR_OPT_FLOAT,  AT(timeout),      "S", "0", NULL, "time limit of a request in seconds, from its arrival; 0: none", 0, 1e9, NULL},
    {"drain",        0,   FR_OPT_FLOAT,  AT(drain),        "S", "30", NULL, "seconds at shutdown in which running answers may finish", 0, 1e9, NULL},
    {"drain-delay",  0,   FR_OPT_FLOAT,  AT(drain_delay),  "S", "0", NULL, "seconds at shutdown, before --drain, in which requests are still accepted while /ready returns 503", 0, 1e9, NULL},
    {"prompt-share", 0,   FR_OPT_FLOAT,  AT(prompt_share), "X", FR_OPT_DIGITS(FR_PROMPT_SHARE), NULL, "time limit of a pass that reads prompts while other answers are generated, as a multiple of a plain pass; a lower value keeps these answers smoother, a higher value reads prompts sooner", 1, 1000, NULL},
    {"alias",        0,   FR_OPT_STRING, AT(alias),        "NAME", NULL, "that of the model's file", "name of the model in answers; of several names separated by commas, the alphabetically first", 0, 0, NULL},
    {"tags",         0,   FR_OPT_STRING, AT(tags),         "LIST", NULL, NULL, "tags of the model at /v1/models, separated by commas", 0, 0, NULL},
    FR_CMD_REASONING(" in requests that do not set it", "'auto' and 'on' pass"),
    {"verbose",      'v', FR_OPT_FLAG,   AT(verbose),      NULL, NULL, NULL, "add a field __verbose to chat answers, with the prompt and the settings and statistics of the answer", 0, 0, NULL},
    FR_CMD_TEMPLATE,
    {.name = NULL}};
static const fr_option access_options[] = {
    {"api-key",      0,   FR_OPT_STRING, AT(api_key),      "KEY", NULL, NULL, "require this API key, or one of several separated by commas; other users can see it in the process list", 0, 0, NULL},
    {"api-key-file", 0,   FR_OPT_FILE,   AT(api_key_file), "FILE", NULL, NULL, "require one of the API keys in this file, one per line", 0, 0, NULL},
    {"allow-host",   0,   FR_OPT_STRING, AT(allow_host),   "NAME,...", NULL, "without keys those of --host, with keys any", "host names that requests may use for this server, besides localhost and addresses; '*': any", 0, 0, NULL},
    {"cors-origins", 0,   FR_OPT_STRING, AT(cors),         "LIST", NULL, NULL, "origins whose pages may send requests from a browser; '*': all; 'localhost': those of this machine, on any port", 0, 0, NULL},
    {"forwarded-from", 0, FR_OPT_STRING, AT(forwarded_from), "LIST", NULL, NULL, "proxies whose X-Forwarded-For is trusted, as addresses and networks (10.0.0.0/8) separated by commas; the server is shared among clients by key, then by address", 0, 0, NULL},
    {"connections",  0,   FR_OPT_INT,    AT(connections),  "N", "512", NULL, "maximum number of connections; a new one beyond it replaces the one that the server has waited for longest", 1, 65000, NULL},
    {"peer-connections", 0, FR_OPT_INT,  AT(peer_connections), "N", "0", NULL, "maximum number of connections from one address; 0: as many as --connections", 0, 65000, NULL},
    {"request-time", 0,   FR_OPT_FLOAT,  AT(request_time), "S", "10", NULL, "seconds in which a connection must begin a request, and again to send the rest; the rest gets one more second per 10 KB of body, after the first megabyte per 100 KB", 0.1, 1e6, NULL},
    {"metrics",      0,   FR_OPT_FLAG,   AT(metrics),      NULL, NULL, NULL, "serve metrics for Prometheus at /metrics", 0, 0, NULL},
    {"slots",        0,   FR_OPT_FLAG,   AT(slots),        NULL, NULL, NULL, "show the state of each context at /slots (the default)", 0, 0, NULL},
    {"no-slots",     0,   FR_OPT_FLAG,   AT(no_slots),     NULL, NULL, NULL, "disable /slots and /activity", 0, 0, NULL},
    {"no-ui",        0,   FR_OPT_FLAG,   AT(no_page),      NULL, NULL, NULL, "disable the page at /", 0, 0, NULL},
    {"no-webui",     0,   FR_OPT_FLAG,   AT(no_page),      NULL, NULL, NULL, "same as --no-ui", 0, 0, NULL},
    {"log-format",   0,   FR_OPT_ENUM,   AT(log_format),   NULL, "text", NULL, "format of the log line of each request on stderr", 0, 0, "text|json"},
    {"quiet",        'q', FR_OPT_FLAG,   AT(quiet),        NULL, NULL, NULL, "print no progress and no request log on stderr", 0, 0, NULL},
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Server", options};
static const fr_option_group access_group = {"Access", access_options};

const fr_cmd fr_cmd_serve = {
    {.name = "serve",
     .summary = "serve the APIs of OpenAI, Anthropic and llama.cpp over HTTP",
     .about = "Answers many requests in shared passes of one model. The bytes of an answer do not "
              "depend on other requests: 'forerun run --request BODY.json' with the seed that the "
              "answer reports gives the same bytes. In a browser, the address of the server shows "
              "a page for conversations with the model.\n\nPaths: /, /v1/chat/completions, "
              "/v1/completions, /v1/messages, /v1/responses, /completion, /infill, /tokenize, "
              "/detokenize, /apply-template, /tokenizer_info, /v1/models, /health, /ready, /props, "
              "/slots, /activity, /metrics. Sampling options are the defaults for fields that a "
              "request omits.\n\nSIGTERM and Ctrl-C shut the server down: it refuses new requests "
              "and answers those in progress.",
     .example = "forerun serve -m models/smollm2-135m.gguf --port 8080",
     .groups = {&group, &fr_cmd_engine_options, &fr_cmd_draft_options,
                &fr_cmd_serve_sampling_options, &access_group}},
    run_serve};
