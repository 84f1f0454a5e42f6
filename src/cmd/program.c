// program.c — finds the command in the program's table, reads its options by the command's own
// table, runs it.
#define _GNU_SOURCE
#include "catalog/catalog.h"
#include "cmd/lib/cmd.h"
#include "cmd/lib/text.h"
#include "cmd/output/outputs.h"
#include "draft/registry.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

bool fr_cmd_spec_word(int index, fr_word *word) {
    static const fr_word any = {
        "auto", "the drafter with the highest predicted speed on this machine", false};
    const fr_drafter_method *info = index ? fr_drafter_method_at(index - 1) : NULL;
    *word = any;
    if (info) *word = (fr_word){info->name, info->what, *info->file && !info->pack};
    return !index || info;
}

static int unknown_command(const char *name, const char *near) {
    if (near) return fr_cmd_usage("", "%.64s: unknown command; did you mean '%s'?", name, near);
    return fr_cmd_usage("", "%.64s: unknown command", name);
}

static int run_command(int argc, char **argv) {
    const char *near;
    const fr_command *table = fr_option_command(&fr_cmd_program, argv[1], &near);
    if (!table) return unknown_command(argv[1], near);
    const fr_cmd *cmd = (const fr_cmd *)(const void *)table; // the table is its first member
    fr_cmd_args args = {0};
    char model[PATH_MAX];
    fr_parsed parsed;
    fr_error err = {0};
    if (fr_option_parse(table, argc - 2, argv + 2, &args, &parsed, &err))
        return fr_cmd_usage(table->name, "%s", err.text);
    if (parsed.help) {
        fr_option_help(&fr_cmd_program, table, stdout);
        return FR_EXIT_DONE;
    }
    fr_error missing;
    if (args.model) { // from here on it is a file, whatever it was called
        if (fr_model_path(model, args.model, &missing))
            args.model_missing = &missing;
        else
            args.model = model;
    }
    if (fr_outputs_check(table->name, &args, &err)) return fr_cmd_fail(&err);
    return cmd->run(&args, &parsed);
}

// The error is one line on stderr like every other; the list follows for readers.
static int no_command(void) {
    const int code = fr_cmd_usage("", "a COMMAND is needed");
    fr_option_help_first(&fr_cmd_program, stdout);
    return code;
}

static bool asks_for_help(const char *word) {
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

static int run_program(int argc, char **argv) {
    fr_cmd_speak_as(fr_cmd_program.name);
    fr_cmd_open_standard();
    fr_cmd_catch_interrupts();
    fr_cmd_text_help();
    int code = FR_EXIT_DONE;
    char *about_command[] = {argv[0], argc > 2 ? argv[2] : NULL, "--help"};
    if (argc < 2)
        code = no_command();
    else if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
        printf("%s %s\n", fr_cmd_program.name, fr_cmd_program.version);
    else if (asks_for_help(argv[1]) && argc == 2)
        fr_option_help_program(&fr_cmd_program, stdout);
    else if (asks_for_help(argv[1]))
        code = run_command(3, about_command);
    else
        code = run_command(argc, argv);
    return fr_cmd_end_output(code);
}

// ---------------------------------------------------------------- a stack that is large enough
// A chat template is a program, and may need more stack than `ulimit -s` leaves. So the program then
// runs in a thread with a stack of its own.

enum { LEAST_STACK = 2 << 20, OWN_STACK = 8 << 20 };

typedef struct program {
    int argc;
    char **argv;
    int code;
} program;

static void *run_there(void *user) {
    program *p = user;
    p->code = run_program(p->argc, p->argv);
    return NULL;
}

static int run_in_thread(program *p) {
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all;
    int error = pthread_attr_init(&attr);
    if (!error) error = pthread_attr_setstacksize(&attr, OWN_STACK);
    if (!error) error = pthread_setattr_default_np(&attr); // threads of libraries too
    if (!error) error = pthread_create(&thread, &attr, run_there, p);
    if (error) {
        fprintf(stderr, "%s: the stack (ulimit -s) is too small, and there is none of %d MB: %s\n",
                fr_cmd_program.name, OWN_STACK >> 20, strerror(error));
        return FR_EXIT_FAILED;
    }
    sigfillset(&all); // the other thread takes signals, as it may wait for input
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_join(thread, NULL);
    return p->code;
}

int fr_cmd_main(int argc, char **argv) {
    struct rlimit stack;
    program p = {.argc = argc, .argv = argv};
    if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur < LEAST_STACK) return run_in_thread(&p);
    return run_program(argc, argv);
}
