// option_shell.c — completions for bash, zsh and fish.
#include "base/option.h"
#include <string.h>

static void command_names(const fr_program *p, const char *between, FILE *out) {
    bool first = true;
    for (const fr_command *const *c = p->commands; *c; c++) {
        if ((*c)->hidden) continue;
        fprintf(out, "%s%s", first ? "" : between, (*c)->name);
        first = false;
    }
}

static void words(const char *values, const char *between, FILE *out) {
    for (; *values; values++) {
        if (*values == '|')
            fputs(between, out);
        else
            putc(*values, out);
    }
}

// Inside single quotes of a shell: a quote ends them, so it is written apart.
static void quoted(const char *text, const char *extra, FILE *out) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr(extra, *text))
            fprintf(out, "\\%c", *text);
        else
            putc(*text, out);
    }
}

// Without a value of its own word.
static bool plain(const fr_option *o) {
    return o->kind == FR_OPT_FLAG || o->kind == FR_OPT_SWITCH;
}

static void bash_values(const fr_command *c, FILE *out) {
    for (int g = 0; c->groups[g]; g++)
        for (const fr_option *o = c->groups[g]->options; o->name; o++) {
            if (plain(o)) continue;
            fprintf(out, "        %s:--%s", c->name, o->name);
            if (o->short_name) fprintf(out, " | %s:-%c", c->name, o->short_name);
            fputs(") ", out);
            if (o->kind == FR_OPT_FILE) {
                fputs("COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames", out);
            } else if (o->kind == FR_OPT_ENUM) {
                fputs("COMPREPLY=($(compgen -W '", out);
                words(o->values, " ", out);
                fputs("' -- \"$cur\"))", out);
            } else {
                fputs("COMPREPLY=()", out);
            }
            fputs("; return ;;\n", out);
        }
}

void fr_option_bash(const fr_program *p, FILE *out) {
    fprintf(out,
            "# bash completion for %s: source it, or put it where bash-completion looks.\n"
            "_%s() {\n"
            "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
            "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
            "        COMPREPLY=($(compgen -W '",
            p->name, p->name);
    command_names(p, " ", out);
    fputs(" --help --version' -- \"$cur\"))\n        return\n    fi\n"
          "    local cmd=${COMP_WORDS[1]}\n    case \"$cmd:$prev\" in\n",
          out);
    for (const fr_command *const *c = p->commands; *c; c++)
        bash_values(*c, out);
    fputs("    esac\n    case \"$cmd\" in\n", out);
    for (const fr_command *const *c = p->commands; *c; c++) {
        fprintf(out, "        %s) COMPREPLY=($(compgen -W '--help", (*c)->name);
        for (int g = 0; (*c)->groups[g]; g++)
            for (const fr_option *o = (*c)->groups[g]->options; o->name; o++)
                fprintf(out, " --%s", o->name);
        if ((*c)->words) {
            putc(' ', out);
            words((*c)->words, " ", out);
        }
        fputs("' -- \"$cur\")) ;;\n", out);
    }
    fprintf(out,
            "    esac\n    if [ ${#COMPREPLY[@]} -eq 0 ]; then\n"
            "        COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames\n    fi\n}\n"
            "complete -F _%s %s\n",
            p->name, p->name);
}

static void zsh_option(const fr_option *o, FILE *out) {
    const char *forms[2] = {NULL, o->name};
    char short_form[2] = {o->short_name, 0};
    if (o->short_name) forms[0] = short_form;
    for (int i = 0; i < 2; i++) {
        if (!forms[i]) continue;
        fprintf(out, " \\\n                '%s-%s%s[", o->kind == FR_OPT_LIST ? "*" : "",
                i ? "-" : "", forms[i]);
        quoted(o->help, "[]:\\", out);
        putc(']', out);
        if (o->kind == FR_OPT_FILE) fprintf(out, ":%s:_files", o->arg);
        if (o->kind == FR_OPT_ENUM) {
            fputs(":value:(", out);
            words(o->values, " ", out);
            putc(')', out);
        }
        if (!plain(o) && o->kind != FR_OPT_FILE && o->kind != FR_OPT_ENUM)
            fprintf(out, ":%s: ", o->arg);
        putc('\'', out);
    }
}

void fr_option_zsh(const fr_program *p, FILE *out) {
    fprintf(out,
            "#compdef %s\n_%s() {\n    if (( CURRENT == 2 )); then\n        local -a commands=(\n",
            p->name, p->name);
    for (const fr_command *const *c = p->commands; *c; c++) {
        if ((*c)->hidden) continue;
        fprintf(out, "            '%s:", (*c)->name);
        quoted((*c)->summary, ":\\", out);
        fputs("'\n", out);
    }
    fputs("        )\n        _describe command commands\n        return\n    fi\n"
          "    local cmd=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $cmd in\n",
          out);
    for (const fr_command *const *c = p->commands; *c; c++) {
        fprintf(out, "        %s)\n            _arguments \\\n                '--help[show help]'",
                (*c)->name);
        for (int g = 0; (*c)->groups[g]; g++)
            for (const fr_option *o = (*c)->groups[g]->options; o->name; o++)
                zsh_option(o, out);
        if ((*c)->words) {
            fputs(" \\\n                '1:argument:(", out);
            words((*c)->words, " ", out);
            fputs(")'", out);
        } else if ((*c)->max_args) {
            fputs(" \\\n                '*:file:_files'", out);
        }
        fputs(" ;;\n", out);
    }
    fprintf(out, "    esac\n}\n_%s \"$@\"\n", p->name);
}

static void fish_option(const fr_program *p, const fr_command *c, const fr_option *o, FILE *out) {
    fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s' -l %s", p->name, c->name,
            o->name);
    if (o->short_name) fprintf(out, " -s %c", o->short_name);
    if (o->kind == FR_OPT_FILE) fputs(" -r -F", out);
    if (o->kind == FR_OPT_ENUM) {
        fputs(" -x -a '", out);
        words(o->values, " ", out);
        putc('\'', out);
    }
    if (!plain(o) && o->kind != FR_OPT_FILE && o->kind != FR_OPT_ENUM) fputs(" -x", out);
    fputs(" -d '", out);
    for (const char *s = o->help; *s; s++)
        fputs(*s == '\'' ? "\\'" : (char[]){*s, 0}, out);
    fputs("'\n", out);
}

void fr_option_fish(const fr_program *p, FILE *out) {
    fprintf(out, "# fish completion for %s\n", p->name);
    for (const fr_command *const *c = p->commands; *c; c++) {
        if ((*c)->hidden) continue;
        fprintf(out, "complete -c %s -n __fish_use_subcommand -f -a %s -d '", p->name, (*c)->name);
        for (const char *s = (*c)->summary; *s; s++)
            fputs(*s == '\'' ? "\\'" : (char[]){*s, 0}, out);
        fputs("'\n", out);
        if ((*c)->words) {
            fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s' -f -a '", p->name,
                    (*c)->name);
            words((*c)->words, " ", out);
            fputs("'\n", out);
        }
        for (int g = 0; (*c)->groups[g]; g++)
            for (const fr_option *o = (*c)->groups[g]->options; o->name; o++)
                fish_option(p, *c, o, out);
    }
}
