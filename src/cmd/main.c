// main.c — finds the command, reads its options by its table, runs it.
#include "cmd/lib/cmd.h"
#include "cmd/output/outputs.h"
#include "draft/registry.h"
#include <string.h>

static const fr_cmd *const commands[] = {
    &fr_cmd_run,        &fr_cmd_chat,       &fr_cmd_bench,      &fr_cmd_tune,    &fr_cmd_curve,
    &fr_cmd_accuracy,   &fr_cmd_distill,    &fr_cmd_capture,    &fr_cmd_train,   &fr_cmd_perplexity,
    &fr_cmd_logits,     &fr_cmd_tokenize,   &fr_cmd_detokenize, &fr_cmd_inspect, &fr_cmd_man,
    &fr_cmd_completion, &fr_cmd_similarity, &fr_cmd_datastore};

static const fr_command *const tables[] = {&fr_cmd_run.table,
                                           &fr_cmd_chat.table,
                                           &fr_cmd_bench.table,
                                           &fr_cmd_tune.table,
                                           &fr_cmd_curve.table,
                                           &fr_cmd_accuracy.table,
                                           &fr_cmd_similarity.table,
                                           &fr_cmd_distill.table,
                                           &fr_cmd_capture.table,
                                           &fr_cmd_train.table,
                                           &fr_cmd_perplexity.table,
                                           &fr_cmd_logits.table,
                                           &fr_cmd_tokenize.table,
                                           &fr_cmd_detokenize.table,
                                           &fr_cmd_inspect.table,
                                           &fr_cmd_datastore.table,
                                           &fr_cmd_man.table,
                                           &fr_cmd_completion.table,
                                           NULL};

static bool spec_word(int index, fr_word *word) {
    static const fr_word any = {"auto", "what is predicted to be fastest here", false};
    const fr_drafter_method *info = index ? fr_drafter_method_at(index - 1) : NULL;
    *word = any;
    if (info) *word = (fr_word){info->name, info->what, *info->file && !info->found};
    return !index || info;
}

const fr_program fr_cmd_program = {
    .name = "forerun",
    .version = FR_VERSION,
    .summary = "run language models several tokens a pass, with the bytes of plain decoding",
    .about = "Runs frozen GGUF models on the CPU. A drafter guesses what comes next, one pass of "
             "the model checks all guesses, and what is printed is exactly what decoding one token "
             "at a time would have printed.",
    .commands = tables,
    .specs = spec_word,
};

static int unknown_command(const char *name, const char *near) {
    if (near) return fr_cmd_usage("", "%.64s: unknown command; did you mean '%s'?", name, near);
    return fr_cmd_usage("", "%.64s: unknown command", name);
}

static int run_command(int argc, char **argv) {
    const char *near;
    const fr_command *table = fr_option_command(&fr_cmd_program, argv[1], &near);
    if (!table) return unknown_command(argv[1], near);
    const fr_cmd *cmd = commands[0];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (&commands[i]->table == table) cmd = commands[i];
    fr_cmd_args args = {0};
    fr_parsed parsed;
    fr_error err = {0};
    if (fr_option_parse(table, argc - 2, argv + 2, &args, &parsed, &err))
        return fr_cmd_usage(table->name, "%s", err.text);
    if (parsed.help) {
        fr_option_help(&fr_cmd_program, table, stdout);
        return FR_EXIT_DONE;
    }
    if (fr_outputs_check(table->name, &args, &err)) return fr_cmd_fail(&err);
    return cmd->run(&args, &parsed);
}

static bool asks_for_help(const char *word) {
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

int main(int argc, char **argv) {
    fr_cmd_open_standard();
    fr_cmd_catch_interrupts();
    int code = FR_EXIT_DONE;
    char *about_command[] = {argv[0], argc > 2 ? argv[2] : NULL, "--help"};
    if (argc < 2)
        code = fr_cmd_usage("", "a COMMAND is needed");
    else if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
        printf("forerun %s\n", FR_VERSION);
    else if (asks_for_help(argv[1]) && argc == 2)
        fr_option_help_program(&fr_cmd_program, stdout);
    else if (asks_for_help(argv[1]))
        code = run_command(3, about_command);
    else
        code = run_command(argc, argv);
    return fr_cmd_end_output(code);
}
