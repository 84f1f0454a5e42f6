// chat.c — `chat`: a conversation at the terminal.
#include "cmd/lib/first_run.h"
#include "cmd/lib/generate.h"
#include "cmd/lib/talk.h"
#include "cmd/lines.h"
#include "draft/registry.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXT = 16384 }; // tokens, unless model or user set another size

typedef struct chat {
    const fr_cmd_args *args;
    fr_cmd_text text;
    fr_engine *engine;
    fr_session *session;
    fr_lines *lines;
    fr_talk talk;
    fr_ids ids;
    fr_sampling sampling;
    fr_printer printer;
    bool answered; // there was one answer
    bool left_out; // a message had no room in the context
} chat;

static fr_status chat_open(chat *c, fr_error *err) {
    fr_status st = fr_drafter_check(c->args->drafter, err);
    if (!st) st = fr_cmd_engine_open(&c->engine, c->args, err);
    if (st) return st;
    fr_cmd_text_lend(&c->text, c->engine);
    if ((st = fr_cmd_text_template(&c->text, c->args, err))) return st;
    if ((st = fr_talk_take_options(&c->talk, c->args, err))) return st;
    if (c->args->system &&
        (st = fr_talk_set_system(&c->talk, c->args->system, strlen(c->args->system), err)))
        return st;
    if ((st = fr_cmd_session_open(&c->session, c->engine, c->args, c->args->drafter, CONTEXT, 0,
                                  err)))
        return st;
    return fr_lines_open(&c->lines, "> ", err);
}

static void chat_close(chat *c) {
    fr_lines_close(c->lines);
    fr_cmd_text_close(&c->text);
    fr_session_close(c->session);
    fr_engine_close(c->engine);
    fr_ids_free(&c->ids);
    fr_talk_free(&c->talk);
}

static void tell(chat *c, const fr_stats *stats) {
    if (c->args->quiet || !isatty(STDERR_FILENO)) return;
    if (!c->answered) fr_cmd_say_first_run(c->engine, stats);
    c->answered = true;
    fr_cmd_print_stats(stats, -1, c->sampling.seed, c->sampling.temperature > 0);
}

// One answer to the conversation so far. What fails leaves the conversation as it was before the
// user's message.
static fr_status answer(chat *c, const char *line, size_t bytes, fr_error *err) {
    const int before = c->talk.n;
    const fr_result *result = NULL;
    fr_status st = fr_talk_add(&c->talk, "user", line, bytes, err);
    if (!st) st = fr_talk_encode(&c->talk, &c->text, true, &c->ids, err);
    if (!st) {
        const fr_request request = {.size = sizeof request,
                                    .prompt = c->ids.data,
                                    .n_prompt = (int)c->ids.n,
                                    .n_predict = c->args->n_predict,
                                    .sampling = &c->sampling,
                                    .stop = c->args->stop.n ? c->args->stop.item : NULL,
                                    .stream = fr_cmd_print_piece,
                                    .user = &c->printer};
        st = fr_session_generate(c->session, &request, &result, err);
        fr_cmd_write("\n", 1);
    }
    if (!st) st = fr_talk_add(&c->talk, "assistant", result->text, result->text_bytes, err);
    if (st)
        fr_talk_drop(&c->talk, before);
    else
        tell(c, result->stats);
    return st;
}

// ---------------------------------------------------------------- commands

typedef enum obeyed { NO_COMMAND, OBEYED, LEAVE, FAILED } obeyed;

static const char help[] =
    "/reset starts anew, /system TEXT tells the model something before the conversation (alone: "
    "no more), /exit or Ctrl-D leaves, Ctrl-C stops an answer, /help shows this. A message of "
    "several lines is pasted, or stands between two \"\"\". A line of several words is sent also "
    "where it begins with a slash.\n";

// Whether the line is the word alone.
static bool is_line(const char *line, size_t n, const char *word) {
    return strlen(word) == n && !memcmp(line, word, n);
}

// What stands after "/system"; NULL: the line begins otherwise.
static const char *system_of(const char *line, size_t n, size_t *bytes) {
    static const char word[] = "/system";
    size_t at = sizeof word - 1;
    if (n < at || memcmp(line, word, at) || (n > at && !strchr(" \t\n", line[at]))) return NULL;
    while (at < n && strchr(" \t\n", line[at]))
        at++;
    *bytes = n - at;
    return line + at;
}

// Whether a user at a terminal may have meant a command: one word without a second slash.
static bool is_like_command(const char *line, size_t n) {
    size_t at = 1;
    while (at < n && line[at] != '/' && (unsigned char)line[at] > ' ')
        at++;
    return n > 1 && at == n && isatty(STDIN_FILENO);
}

static obeyed obey(chat *c, const char *line, size_t n, fr_error *err) {
    size_t bytes = 0;
    const char *system = system_of(line, n, &bytes);
    if (is_line(line, n, "/exit") || is_line(line, n, "/quit")) return LEAVE;
    if (system) return fr_talk_set_system(&c->talk, system, bytes, err) ? FAILED : OBEYED;
    if (is_line(line, n, "/reset")) {
        fr_talk_drop(&c->talk, fr_talk_has_system(&c->talk));
        fprintf(stderr, "The conversation starts anew.\n");
        return OBEYED;
    }
    const bool asks = is_line(line, n, "/help");
    if (!asks && !is_like_command(line, n)) return NO_COMMAND;
    if (!asks) {
        fr_cmd_print_clean(stderr, line, n > 40 ? 40 : n);
        fputs(": unknown. ", stderr);
    }
    fputs(help, stderr);
    return OBEYED;
}

static fr_status converse(chat *c, fr_error *err) {
    if (fr_cmd_interrupted()) return fr_fail(err, FR_EINTR, "interrupted"); // while it loaded
    for (;;) {
        const char *line = "";
        size_t n = 0;
        // Here alone, so that a Ctrl-C just after Enter stops the answer that has not begun yet.
        fr_cmd_clear_interrupt();
        if (fr_cmd_interrupted()) return fr_fail(err, FR_EINTR, "interrupted"); // by SIGTERM
        switch (fr_lines_read(c->lines, &line, &n, err)) {
        case FR_LINE_FAILED:
            return err->code;
        case FR_LINE_END:
            if (isatty(STDIN_FILENO)) fr_cmd_write("\n", 1);
            return FR_OK;
        case FR_LINE_INTERRUPTED: // the line is dropped, the program stays
            if (!isatty(STDIN_FILENO)) return fr_fail(err, FR_EINTR, "interrupted");
            fr_cmd_write("\n", 1);
            continue; // ... but for SIGTERM
        case FR_LINE_TEXT:
            break;
        }
        const obeyed command = n && line[0] == '/' ? obey(c, line, n, err) : NO_COMMAND;
        if (command == LEAVE) return FR_OK;
        if (command == FAILED) return err->code;
        if (n && command == NO_COMMAND) {
            const fr_status st = answer(c, line, n, err);
            // A conversation that has filled its context can continue after /reset.
            if (st && st != FR_ECONTEXT) return st;
            if (st) fprintf(stderr, "forerun: %s; /reset starts anew\n", err->text);
            if (st) c->left_out = true;
            if (!fr_cmd_flush()) return FR_OK; // main reports the error
        }
    }
}

static void greet(const chat *c) {
    const char *name = fr_engine_describe(c->engine)->name;
    fr_cmd_print_clean(stderr, name, strlen(name));
    fprintf(stderr, ". /help says what else there is.\n");
}

static int run_chat(const fr_cmd_args *args, const fr_parsed *parsed) {
    int code = fr_cmd_check("chat", args);
    if (!code) code = fr_cmd_check_drafting("chat", args);
    if (code) return code;
    chat c = {.args = args,
              .sampling =
                  fr_cmd_sampling(args, fr_option_given(&fr_cmd_chat.table, parsed, "seed")),
              .printer = {.colored = fr_cmd_colored(args->color, stdout)}};
    fr_error err = {0};
    fr_status st = chat_open(&c, &err);
    if (!st && !args->quiet && isatty(STDIN_FILENO)) greet(&c);
    if (!st) st = converse(&c, &err);
    code = st ? fr_cmd_fail(&err) : FR_EXIT_DONE;
    // A person saw the sentence; a script sees the code alone.
    if (!code && c.left_out && !isatty(STDIN_FILENO)) code = FR_EXIT_FAILED;
    chat_close(&c);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    FR_CMD_TEMPLATE,
    FR_CMD_CONVERSATION,
    {"n-predict",     'n', FR_OPT_INT,    AT(n_predict),  "N", "-1", NULL, "maximum number of tokens of one answer; -1: until the end token", -1, 1 << 30, NULL},
    {"stop",          0,   FR_OPT_LIST,   AT(stop),       "TEXT", NULL, NULL, "stop an answer before this text; may be repeated", 0, 0, NULL},
    FR_CMD_COLOR,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Conversation", options};

const fr_cmd fr_cmd_chat = {
    {.name = "chat",
     .summary = "talk with a model",
     .about = "Holds a conversation with line editing and history. The context is kept between "
              "answers. Ctrl-C stops an answer, Ctrl-D exits. The commands are /help, /reset, "
              "/system and /exit. A message of several lines can be pasted or written between two "
              "\"\"\".\n\nThe history is stored in forerun/chat_history below $XDG_STATE_HOME.",
     .example = "forerun chat -m models/smollm2-135m.gguf",
     .groups = {&group, &fr_cmd_model_options, &fr_cmd_draft_options, &fr_cmd_chat_sampling_options,
                &fr_cmd_quiet_options}},
    run_chat};
