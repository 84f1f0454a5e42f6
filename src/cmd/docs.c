// docs.c — man pages and shell completions out of the option tables.
#include "cmd/cmd.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static void write_page(const fr_command *command, FILE *out) {
    if (command)
        fr_option_man(&fr_cmd_program, command, out);
    else
        fr_option_man_program(&fr_cmd_program, out);
}

// DIR/forerun-NAME.1, written beside and renamed, so that there is a whole page or none.
static int save_page(const char *dir, const fr_command *command) {
    char path[PATH_MAX], part[PATH_MAX + 8];
    const int n = snprintf(path, sizeof path, "%s/forerun%s%s.1", dir, command ? "-" : "",
                           command ? command->name : "");
    if (n < 0 || n >= (int)sizeof path) return fr_cmd_usage("man", "--dir: too long a path");
    snprintf(part, sizeof part, "%s.part", path);
    errno = 0;
    FILE *f = fopen(part, "w");
    if (f) {
        write_page(command, f);
        const bool bad = ferror(f);
        if (!(fclose(f) || bad) && !rename(part, path)) return FR_EXIT_DONE;
        const int why = errno;
        unlink(part);
        errno = why;
    }
    fprintf(stderr, "forerun: %s: %s\n", path, strerror(errno ? errno : EIO));
    return FR_EXIT_FAILED;
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
    int code = save_page(args->man_dir, NULL);
    for (const fr_command *const *c = fr_cmd_program.commands; *c && !code; c++)
        if (!(*c)->hidden) code = save_page(args->man_dir, *c);
    return code;
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
    {"dir", 0, FR_OPT_FILE, offsetof(fr_cmd_args, man_dir), "DIR", NULL, NULL, "write the pages of all commands into this folder", 0, 0, NULL},
    {.name = NULL}};
// clang-format on
static const fr_option_group man_group = {"Writing", man_options};

const fr_cmd fr_cmd_man = {{.name = "man",
                            .summary = "print a manual page",
                            .about = "Prints the manual page of a command, or that of forerun "
                                     "itself, in the language of man(7).",
                            .args = "[COMMAND]",
                            .max_args = 1,
                            .example = "forerun man run | man -l -",
                            .hidden = true,
                            .groups = {&man_group}},
                           run_man};

const fr_cmd fr_cmd_completion = {{.name = "completion",
                                   .summary = "print a script that completes command lines",
                                   .about = "Prints a completion script for bash, zsh or fish.",
                                   .args = "SHELL",
                                   .min_args = 1,
                                   .max_args = 1,
                                   .words = "bash|zsh|fish",
                                   .example = "source <(forerun completion bash)",
                                   .groups = {NULL}},
                                  run_completion};
