// docs.c — man pages and shell completions out of the option tables.
#include "base/save.h"
#include "cmd/lib/cmd.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void write_page(const fr_command *command, FILE *out) {
    if (command)
        fr_option_man(&fr_cmd_program, command, out);
    else
        fr_option_man_program(&fr_cmd_program, out);
}

// DIR/forerun-NAME.1.
static fr_status save_page(const char *dir, const fr_command *command, fr_error *err) {
    char path[PATH_MAX], *text = NULL;
    size_t bytes = 0;
    const int n = snprintf(path, sizeof path, "%s/forerun%s%s.1", dir, command ? "-" : "",
                           command ? command->name : "");
    if (n < 0 || n >= (int)sizeof path) return fr_fail(err, FR_EARG, "--dir: too long a path");
    FILE *f = open_memstream(&text, &bytes);
    if (f) write_page(command, f);
    const fr_status st = f && !fclose(f) ? fr_save(path, text, bytes, err)
                                         : fr_fail(err, FR_ENOMEM, "%s: no memory", path);
    free(text);
    return st;
}

static int run_man(const fr_cmd_args *args, const fr_parsed *parsed) {
    const fr_command *command = NULL;
    if (parsed->n_args) {
        const char *near;
        command = fr_option_command(&fr_cmd_program, parsed->args[0], &near);
        if (!command) return fr_cmd_usage("man", "%.64s: unknown command", parsed->args[0]);
    }
    if (!args->man_dir) {
        write_page(command, stdout);
        return FR_EXIT_DONE;
    }
    fr_error err = {0};
    fr_status st = save_page(args->man_dir, NULL, &err);
    for (const fr_command *const *c = fr_cmd_program.commands; *c && !st; c++)
        if (!(*c)->hidden) st = save_page(args->man_dir, *c, &err);
    return st ? fr_cmd_fail(&err) : FR_EXIT_DONE;
}

static int run_completion(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)args;
    const char *shell = parsed->args[0];
    if (!strcmp(shell, "bash"))
        fr_option_bash(&fr_cmd_program, stdout);
    else if (!strcmp(shell, "zsh"))
        fr_option_zsh(&fr_cmd_program, stdout);
    else if (!strcmp(shell, "fish"))
        fr_option_fish(&fr_cmd_program, stdout);
    else
        return fr_cmd_usage("completion", "%.64s: expected bash, zsh or fish", shell);
    return FR_EXIT_DONE;
}

// clang-format off
static const fr_option man_options[] = {
    {"dir", 0, FR_OPT_FILE, offsetof(fr_cmd_args, man_dir), "DIR", NULL, NULL, "folder to which the pages of all commands are written", 0, 0, NULL},
    FR_CMD_FORCE,
    {.name = NULL}};
// clang-format on
static const fr_option_group man_group = {"Writing", man_options};

const fr_cmd fr_cmd_man = {
    {.name = "man",
     .summary = "print a manual page",
     .about = "Prints the manual page of a command, or of forerun itself, in the format of man(7).",
     .args = "[COMMAND]",
     .max_args = 1,
     .example = "forerun man run | man -l -",
     .hidden = true,
     .groups = {&man_group}},
    run_man};

static bool shell_word(int index, fr_word *word) {
    static const fr_word shells[] = {
        {"bash", "source the script, or put it into a folder of bash-completion", false},
        {"zsh", "save the script as _forerun in a folder of $fpath", false},
        {"fish", "save the script as ~/.config/fish/completions/forerun.fish", false}};
    if (index < 0 || index >= (int)(sizeof shells / sizeof *shells)) return false;
    *word = shells[index];
    return true;
}

const fr_cmd fr_cmd_completion = {{.name = "completion",
                                   .summary = "print a script that completes command lines",
                                   .about = "Prints a completion script for bash, zsh or fish.",
                                   .args = "SHELL",
                                   .min_args = 1,
                                   .max_args = 1,
                                   .words = shell_word,
                                   .example = "source <(forerun completion bash)",
                                   .groups = {NULL}},
                                  run_completion};
