// run.c — `run`: one prompt, one answer.
#include "base/clock.h"
#include "cmd/lib/generate.h"
#include "cmd/lib/talk.h"
#include "cmd/lib/warn.h"
#include "cmd/run_answer.h"
#include "cmd/run_request.h"
#include "draft/registry.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---------------------------------------------------------------- the prompt

// The prompt as the options name it, read before the model is loaded.
typedef struct source {
    const char *data;
    size_t n;
    bool messages;    // JSON
    const char *name; // of the file
    fr_buffer bytes;  // the memory after it
} source;

static fr_status read_source(source *s, const fr_cmd_args *args, fr_error *err) {
    *s = (source){.data = args->prompt, .messages = args->messages};
    if (args->prompt) {
        s->n = strlen(args->prompt);
        return FR_OK;
    }
    const char *path = args->messages ? args->messages : args->file ? args->file : "-";
    if (!strcmp(path, "-") && isatty(STDIN_FILENO) && !args->quiet)
        fprintf(stderr, "Type the prompt; Ctrl-D on an empty line ends it.\n");
    const fr_status st = fr_cmd_read_file(&s->bytes, path, err);
    s->name = strcmp(path, "-") ? path : "standard input";
    s->data = s->bytes.data;
    s->n = st ? 0 : fr_cmd_without_newline(s->data, s->bytes.n); // an editor put it there
    return st;
}

static fr_status encode_messages(const source *s, const fr_talk *talk, const fr_cmd_text *text,
                                 fr_ids *ids, fr_error *err) {
    fr_error why = {0};
    json_t *given = fr_json_load(s->data, s->n, &why);
    json_t *root = given ? fr_talk_add_options(talk, given) : NULL;
    fr_status st = given ? FR_OK : why.code;
    if (given && !root) st = fr_fail(&why, FR_ENOMEM, "no memory");
    if (!st) st = fr_talk_encode_json(text, root, ids, &why);
    json_decref(root);
    // A bad file is no mistake of the command line.
    return st ? fr_fail(err, st == FR_EARG ? FR_EDATA : st, "%s: %s", s->name, why.text) : FR_OK;
}

static fr_status encode_text(const source *s, fr_talk *talk, const char *system,
                             const fr_cmd_text *text, fr_ids *ids, fr_error *err) {
    fr_status st = fr_talk_add(talk, "user", s->data, s->n, err);
    if (!st && system) st = fr_talk_set_system(talk, system, strlen(system), err);
    return st ? st : fr_talk_encode(talk, text, true, ids, err);
}

static fr_status encode_talk(const source *s, const fr_cmd_args *args, const fr_cmd_text *text,
                             fr_ids *ids, fr_error *err) {
    fr_talk talk = {0};
    fr_status st = fr_talk_take_options(&talk, args, err);
    if (!st)
        st = s->messages ? encode_messages(s, &talk, text, ids, err)
                         : encode_text(s, &talk, args->system, text, ids, err);
    fr_talk_free(&talk);
    return st;
}

static fr_status encode(const source *s, const fr_cmd_args *args, const fr_engine *engine,
                        fr_ids *ids, fr_error *err) {
    fr_cmd_text text;
    fr_cmd_text_lend(&text, engine);
    if (args->raw && !s->n && !args->prompt)
        return fr_fail(err, FR_EDATA, "%s: expected a prompt, found an empty file", s->name);
    fr_status st;
    if (args->raw) {
        st = fr_text_encode(text.text, s->data, s->n, FR_TEXT_BOS | FR_TEXT_CONTROL, &fr_cmd_watch,
                            ids, err);
        if (!st) fr_cmd_warn_of_beginning(args, text.text, ids);
        return st;
    }
    st = fr_cmd_text_template(&text, args, err);
    if (!st) st = encode_talk(s, args, &text, ids, err);
    fr_cmd_text_close(&text);
    return st;
}

// ---------------------------------------------------------------- the command

// "key=VALUE" in a column of its own, lines of the help beside it.
static void print_option(const fr_drafter_option *o) {
    char head[40];
    snprintf(head, sizeof head, "%s=%s", o->key, o->value);
    for (const char *line = o->help; *line;) {
        const size_t n = strcspn(line, "\n");
        printf("  %-16s   %-13s %.*s\n", "", line == o->help ? head : "", (int)n, line);
        line += n + (line[n] != 0);
    }
}

static int print_drafters(void) {
    const fr_drafter_method *d;
    puts("Drafters for --drafter, and their settings for --draft-opt:");
    printf("  %-16s %s\n", "auto",
           "the default: the drafter with the highest predicted speed for this model");
    for (int i = 0; (d = fr_drafter_method_at(i)); i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "%s%s", d->name, d->pack ? "[:FILE]" : *d->file ? ":FILE" : "");
        printf("  %-16s %s%s%s\n", spec, d->what, *d->file ? "; FILE: " : "", d->file);
        for (const fr_drafter_option *o = d->options; o->key; o++)
            print_option(o);
    }
    return FR_EXIT_DONE;
}

// Refuses options of the conversation where the body or file has its own, or the text has no
// template.
static int check_conversation(const fr_cmd_args *args) {
    const char *const own = args->request ? "--request" : args->raw ? "--raw" : NULL;
    if (args->system && args->messages)
        return fr_cmd_usage("run", "--system: the messages of --messages have their own");
    if (own && (args->system || args->chat_template_kwargs || args->reasoning))
        return fr_cmd_usage("run", "--system, --chat-template-kwargs, --reasoning: not with %s",
                            own);
    return FR_EXIT_DONE;
}

static int check(const fr_cmd_args *args, const fr_parsed *parsed) {
    int code = fr_cmd_check("run", args);
    if (!code) code = fr_cmd_check_drafting("run", args);
    if (code) return code;
    if ((args->prompt != NULL) + (args->file != NULL) + (args->messages != NULL) > 1)
        return fr_cmd_usage("run", "-p, -f and --messages: give one of them");
    if (args->raw && args->messages) return fr_cmd_usage("run", "--raw: messages need a template");
    code = check_conversation(args);
    if (code) return code;
    if (fr_option_given(&fr_cmd_run.table, parsed, "choice") && !args->request)
        return fr_cmd_usage("run", "--choice: is one of a --request");
    return FR_EXIT_DONE;
}

typedef struct job { // everything that is open
    source source;
    fr_engine *engine;
    fr_session *session;
    fr_ids ids;
    double load; // seconds
} job;

static void job_close(job *j) {
    fr_session_close(j->session);
    fr_engine_close(j->engine);
    fr_ids_free(&j->ids);
    fr_buffer_free(&j->source.bytes);
}

static fr_status job_open(job *j, const fr_cmd_args *args, fr_error *err) {
    fr_status st = fr_drafter_check(args->drafter, err);
    if (!st) st = read_source(&j->source, args, err);
    if (st) return st;
    const double start = fr_seconds();
    if ((st = fr_cmd_engine_open(&j->engine, args, err))) return st;
    if ((st = encode(&j->source, args, j->engine, &j->ids, err))) return st;
    const int64_t n = args->n_predict;
    const int64_t need = n < 0 ? 0 : (int64_t)j->ids.n + (n ? n : 1);
    st = fr_cmd_session_open(&j->session, j->engine, args, args->drafter, need, j->ids.n, err);
    j->load = fr_seconds() - start;
    return st;
}

static int run_run(const fr_cmd_args *args, const fr_parsed *parsed) {
    if (args->help_drafters) return print_drafters();
    int code = check(args, parsed);
    if (code) return code;
    if (args->request) return fr_run_request(args, parsed);
    const fr_sampling sampling =
        fr_cmd_sampling(args, fr_option_given(&fr_cmd_run.table, parsed, "seed"));
    fr_printer p = {.colored = !args->json && fr_cmd_colored(args->color, stdout),
                    .silent = args->json};
    job j = {0};
    fr_error err = {0};
    const fr_result *result = NULL;
    fr_status st = job_open(&j, args, &err);
    if (!st) {
        const fr_request request = {.size = sizeof request,
                                    .prompt = j.ids.data,
                                    .n_prompt = (int)j.ids.n,
                                    .n_predict = args->n_predict,
                                    .sampling = &sampling,
                                    .stop = args->stop.n ? args->stop.item : NULL,
                                    .ignore_eos = args->ignore_eos,
                                    .stream = fr_cmd_print_piece,
                                    .user = &p};
        st = fr_session_generate(j.session, &request, &result, &err);
    }
    const fr_run_answer answer = {.engine = j.engine,
                                  .result = result,
                                  .printer = &p,
                                  .load = j.load,
                                  .seed = sampling.seed,
                                  .sampled = sampling.temperature > 0,
                                  .drafter = args->drafter};
    code = st ? fr_cmd_fail(&err) : fr_run_report(args, &answer);
    job_close(&j);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"prompt",        'p', FR_OPT_TEXT,   AT(prompt),     "TEXT", NULL, NULL, "the user's message", 0, 0, NULL},
    {"file",          'f', FR_OPT_FILE,   AT(file),       "FILE", NULL, NULL, "file with the user's message, without one newline at its end; '-': standard input, which is also read if no message is given", 0, 0, NULL},
    {"messages",      0,   FR_OPT_FILE,   AT(messages),   "FILE", NULL, NULL, "file with a conversation as JSON in the form of the OpenAI API", 0, 0, NULL},
    {"raw",           0,   FR_OPT_FLAG,   AT(raw),        NULL, NULL, NULL, "use the text as it is, without the chat template", 0, 0, NULL},
    {"request",       0,   FR_OPT_FILE,   AT(request),    "FILE", NULL, NULL, "file with the body of a server request: OpenAI's chat or text completion, or llama.cpp's /completion; fields that it omits have the defaults of a server; '-': standard input", 0, 0, NULL},
    {"choice",        0,   FR_OPT_INT,    AT(choice),     "I", "0", NULL, "which answer of the request to print: with n answers per prompt, answer I % n to prompt I / n, drawn with seed + I % n", 0, INT_MAX, NULL},
    FR_CMD_TEMPLATE,
    FR_CMD_CONVERSATION,
    {"n-predict",     'n', FR_OPT_INT,    AT(n_predict),  "N", "256", NULL, "maximum number of tokens to generate; -1: until the end token", -1, 1 << 30, NULL},
    {"stop",          0,   FR_OPT_LIST,   AT(stop),       "TEXT", NULL, NULL, "stop before this text; may be repeated", 0, 0, NULL},
    {"ignore-eos",    0,   FR_OPT_FLAG,   AT(ignore_eos), NULL, NULL, NULL, "never draw an end token", 0, 0, NULL},
    FR_CMD_COLOR,
    {"help-drafters", 0,   FR_OPT_FLAG,   AT(help_drafters), NULL, NULL, NULL, "list the drafters and their settings", 0, 0, NULL},
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Prompt and answer", options};

const fr_cmd fr_cmd_run = {
    {.name = "run",
     .summary = "answer one prompt",
     .about =
         "Passes the text through the model's chat template and streams the answer to standard "
         "output. One line of statistics follows on stderr. The output has the same bytes as with "
         "'--drafter none' and the same seed, whatever the drafter, the tree, the threads and the "
         "instruction set, unless --accept selects a weaker rule.\n\nCtrl-C ends the answer early; "
         "the text so far and the statistics are printed.\n\nWith --request the answer is the one "
         "that a server gives to this body. Sampling options and -n then apply to fields that the "
         "body omits; an option that contradicts the body is an error.",
     .example = "forerun run -m models/smollm2-135m.gguf -p 'Why is the sky blue?' -n 64",
     .groups = {&group, &fr_cmd_model_options, &fr_cmd_draft_options, &fr_cmd_sampling_options,
                &fr_cmd_output_options}},
    run_run};
