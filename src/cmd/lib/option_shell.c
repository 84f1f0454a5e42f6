// option_shell.c — completions for bash, zsh and fish.
#include "cmd/lib/option.h"
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

static void table_words(fr_word_at *at, FILE *out) {
    fr_word word;
    for (int i = 0; at && at(i, &word); i++)
        fprintf(out, "%s%s%s", i ? " " : "", word.name, word.with_file ? ":" : "");
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

// Whether no value follows as a word of its own.
static bool plain(const fr_option *o) {
    return o->kind == FR_OPT_FLAG || o->kind == FR_OPT_SWITCH;
}

// Whether a value follows that cannot be completed.
static bool has_free_value(const fr_option *o) {
    return !plain(o) && !o->values && o->kind != FR_OPT_FILE && o->kind != FR_OPT_MODEL &&
           o->kind != FR_OPT_SPEC;
}

static void bash_choice(const fr_option *o, FILE *out) {
    fputs("COMPREPLY=($(compgen -W '", out);
    words(o->values, " ", out);
    fputs("' -- \"$cur\"))", out);
}

static void bash_values(const fr_program *p, const fr_command *c, FILE *out) {
    for (int g = 0; c->groups[g]; g++)
        for (const fr_option *o = c->groups[g]->options; o->name; o++) {
            if (o->kind == FR_OPT_FLAG) continue;
            fprintf(out, "        %s:--%s", c->name, o->name);
            if (o->short_name) fprintf(out, " | %s:-%c", c->name, o->short_name);
            fputs(") ", out);
            if (o->kind == FR_OPT_FILE) {
                fputs("mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); compopt -o filenames",
                      out);
            } else if (o->kind == FR_OPT_MODEL || o->kind == FR_OPT_SPEC) {
                fprintf(out, "_%s_%s", p->name, o->kind == FR_OPT_SPEC ? "spec" : "model");
            } else if (o->kind == FR_OPT_SWITCH) { // after '=' alone
                fputs("if [[ -n $attached ]]; then ", out);
                bash_choice(o, out);
                fputs("; return; fi ;;\n", out);
                continue;
            } else if (o->values) {
                bash_choice(o, out);
            } else {
                fputs("COMPREPLY=()", out);
            }
            fputs("; return ;;\n", out);
        }
}

// Completes NAME, NAME:FILE, and several of them; the text before the last one stays. A FILE may
// have a '+' in its name, so text that no word fits counts as a file.
static void bash_specs(const fr_program *p, FILE *out) {
    fprintf(out,
            "_%s_spec() {\n"
            "    local part=${cur##*[+@,]}\n"
            "    COMPREPLY=()\n"
            "    if [[ $part != *:* ]]; then\n"
            "        COMPREPLY=($(compgen -P \"${cur%%\"$part\"}\" -W '",
            p->name);
    table_words(p->specs, out);
    fputs("' -- \"$part\"))\n"
          "        [[ ${COMPREPLY[0]} == *: ]] && compopt -o nospace\n"
          "    fi\n"
          "    if [[ ${#COMPREPLY[@]} -eq 0 && $cur == *:* ]]; then\n"
          "        local IFS=$'\\n'\n"
          "        part=${cur##*:}\n"
          "        COMPREPLY=($(compgen -P \"${cur%\"$part\"}\" -f -- \"$part\"))\n"
          "        compopt -o filenames\n"
          "    fi\n}\n",
          out);
}

// Files, and the names of models that are found without one, which are read and never expanded: a
// name can be anything.
static void bash_models(const fr_program *p, FILE *out) {
    fprintf(out,
            "_%s_model() {\n"
            "    local name IFS=$'\\n'\n"
            "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
            "    while read -r name; do\n"
            "        [[ $name == \"$cur\"* ]] && COMPREPLY+=(\"$name\")\n"
            "    done < <(%s models --names 2>/dev/null)\n"
            "    compopt -o filenames\n}\n",
            p->name, p->name);
}

// The shell cuts words at '=' and ':'. Here they are joined again, and the part that was cut off is
// removed from the answers. `attached`: the last word stands after a '='.
static void bash_words(const fr_program *p, FILE *out) {
    fprintf(out,
            "_%s() {\n"
            "    local word join= attached= cur prev\n"
            "    local -a line=()\n"
            "    for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
            "        if [[ $word == = ]]; then\n"
            "            line+=(''); join=1; attached=1\n"
            "        elif [[ -n $join || ( $word == :* && ${#line[@]} -gt 0 ) ]]; then\n"
            "            line[-1]+=$word; join=\n"
            "            [[ $word == *: ]] && join=1\n"
            "        else\n"
            "            line+=(\"$word\"); attached=\n"
            "        fi\n"
            "    done\n"
            "    cur=${line[-1]} prev=${line[${#line[@]}-2]}\n"
            "    _%s_word\n"
            "    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
            "        COMPREPLY=(\"${COMPREPLY[@]#\"${cur%%\"${cur##*:}\"}\"}\")\n"
            "    fi\n}\n",
            p->name, p->name);
}

void fr_option_bash(const fr_program *p, FILE *out) {
    fprintf(out, "# bash completion for %s: source it, or put it where bash-completion looks.\n",
            p->name);
    bash_specs(p, out);
    bash_models(p, out);
    fprintf(out,
            "_%s_word() {\n"
            "    if [ ${#line[@]} -le 2 ]; then\n"
            "        COMPREPLY=($(compgen -W '",
            p->name);
    command_names(p, " ", out);
    fputs(" --help --version' -- \"$cur\"))\n        return\n    fi\n"
          "    local cmd=${line[1]}\n    case \"$cmd:$prev\" in\n",
          out);
    for (const fr_command *const *c = p->commands; *c; c++)
        bash_values(p, *c, out);
    fputs("    esac\n    case \"$cmd\" in\n", out);
    for (const fr_command *const *c = p->commands; *c; c++) {
        fprintf(out, "        %s) COMPREPLY=($(compgen -W '--help", (*c)->name);
        for (int g = 0; (*c)->groups[g]; g++)
            for (const fr_option *o = (*c)->groups[g]->options; o->name; o++)
                fprintf(out, " --%s", o->name);
        putc(' ', out);
        table_words((*c)->words, out);
        fputs("' -- \"$cur\")) ;;\n", out);
    }
    fputs("    esac\n    if [ ${#COMPREPLY[@]} -eq 0 ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); compopt -o filenames\n    "
          "fi\n}\n",
          out);
    bash_words(p, out);
    fprintf(out, "complete -F _%s %s\n", p->name, p->name);
}

// Words and what they are, as _describe reads them: those with a file, or those without.
static void zsh_words(fr_word_at *at, bool with_file, FILE *out) {
    fr_word word;
    for (int i = 0; at && at(i, &word); i++) {
        if (word.with_file != with_file) continue;
        fprintf(out, "        '%s%s:", word.name, with_file ? "\\:" : "");
        quoted(word.what, ":\\", out);
        fputs("'\n", out);
    }
}

static void zsh_functions(const fr_program *p, FILE *out) {
    fprintf(out, "_%s_spec() {\n    local -a names=(\n", p->name);
    zsh_words(p->specs, false, out);
    fputs("    ) with_file=(\n", out);
    zsh_words(p->specs, true, out);
    fputs("    )\n    compset -P '*[+@,]'\n"
          "    if compset -P '*:'; then\n        _files\n"
          "    else\n        _describe -t names name names -- with_file -S ''\n    fi\n}\n",
          out);
    fprintf(out,
            "_%s_model() {\n    local -a names=(${(f)\"$(%s models --names 2>/dev/null)\"})\n"
            "    _files\n    compadd -a names\n}\n",
            p->name, p->name);
    for (const fr_command *const *c = p->commands; *c; c++) {
        if (!(*c)->words) continue;
        fprintf(out, "_%s_%s_words() {\n    local -a names=(\n", p->name, (*c)->name);
        zsh_words((*c)->words, false, out);
        fputs("    )\n    _describe argument names\n}\n", out);
    }
}

static void zsh_option(const fr_program *p, const fr_option *o, FILE *out) {
    const char *forms[2] = {NULL, o->name};
    char short_form[2] = {o->short_name, 0};
    if (o->short_name) forms[0] = short_form;
    for (int i = 0; i < 2; i++) {
        if (!forms[i]) continue;
        fprintf(out, " \\\n                '%s-%s%s%s[", o->kind == FR_OPT_LIST ? "*" : "",
                i ? "-" : "", forms[i], o->kind == FR_OPT_SWITCH ? "=-" : "");
        quoted(o->help, "[]:\\", out);
        putc(']', out);
        if (o->kind == FR_OPT_FILE) fprintf(out, ":%s:_files", o->arg);
        if (o->kind == FR_OPT_MODEL) fprintf(out, ":%s:_%s_model", o->arg, p->name);
        if (o->kind == FR_OPT_SPEC) fprintf(out, ":%s:_%s_spec", o->arg, p->name);
        if (o->values) {
            fprintf(out, "%s:value:(", o->kind == FR_OPT_SWITCH ? ":" : "");
            words(o->values, " ", out);
            putc(')', out);
        }
        if (has_free_value(o)) fprintf(out, ":%s: ", o->arg);
        putc('\'', out);
    }
}

void fr_option_zsh(const fr_program *p, FILE *out) {
    fprintf(out, "#compdef %s\n", p->name);
    zsh_functions(p, out);
    fprintf(out, "_%s() {\n    if (( CURRENT == 2 )); then\n        local -a commands=(\n",
            p->name);
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
                zsh_option(p, o, out);
        if ((*c)->words) {
            fprintf(out, " \\\n                '1:argument:_%s_%s_words'", p->name, (*c)->name);
        } else if ((*c)->max_args) {
            fputs(" \\\n                '*:file:_files'", out);
        }
        fputs(" ;;\n", out);
    }
    fprintf(out, "    esac\n}\n_%s \"$@\"\n", p->name);
}

static void fish_text(const char *text, FILE *out) {
    putc('\'', out);
    for (; *text; text++)
        fputs(*text == '\'' ? "\\'" : (char[]){*text, 0}, out);
    putc('\'', out);
}

// fish replaces the whole word by what is printed here, so all of it is printed.
static void fish_specs(const fr_program *p, FILE *out) {
    fr_word word;
    fprintf(out,
            "function __%s_spec\n"
            "    set -l cur (string replace -r '^--[a-z-]*=' '' -- (commandline -ct))\n"
            "    set -l part (string replace -r '^.*[+@,]' '' -- \"$cur\")\n"
            "    if string match -q '*:*' -- \"$part\"\n"
            "        set -l file (string replace -r '^.*:' '' -- \"$cur\")\n"
            "        set -l head (string replace -r '[^:]*$' '' -- \"$cur\")\n"
            "        string replace -r '^' -- \"$head\" (__fish_complete_path \"$file\")\n"
            "        return\n    end\n"
            "    set -l head (string replace -r '[^+@,]*$' '' -- \"$cur\")\n",
            p->name);
    for (int i = 0; p->specs && p->specs(i, &word); i++) {
        fprintf(out, "    printf '%%s\\t%%s\\n' \"$head\"%s%s ", word.name,
                word.with_file ? ":" : "");
        fish_text(word.what, out);
        putc('\n', out);
    }
    fputs("end\n", out);
}

static void fish_option(const fr_program *p, const fr_command *c, const fr_option *o, FILE *out) {
    fprintf(out, "complete -c %s -n '__%s_is %s' -l %s", p->name, p->name, c->name, o->name);
    if (o->short_name) fprintf(out, " -s %c", o->short_name);
    if (o->kind == FR_OPT_FILE || o->kind == FR_OPT_MODEL) fputs(" -r -F", out);
    if (o->kind == FR_OPT_MODEL) fprintf(out, " -a '(%s models --names 2>/dev/null)'", p->name);
    if (o->values) { // that of a switch is after '=' alone
        fputs(o->kind == FR_OPT_SWITCH ? " -f -a '" : " -x -a '", out);
        words(o->values, " ", out);
        putc('\'', out);
    }
    if (o->kind == FR_OPT_SPEC) fprintf(out, " -x -a '(__%s_spec)'", p->name);
    if (has_free_value(o)) fputs(" -x", out);
    fputs(" -d ", out);
    fish_text(o->help, out);
    putc('\n', out);
}

static void fish_words(const fr_program *p, const fr_command *c, FILE *out) {
    fr_word word;
    for (int i = 0; c->words && c->words(i, &word); i++) {
        fprintf(out, "complete -c %s -n '__%s_is %s' -f -a %s -d ", p->name, p->name, c->name,
                word.name);
        fish_text(word.what, out);
        putc('\n', out);
    }
}

void fr_option_fish(const fr_program *p, FILE *out) {
    fprintf(out, "# fish completion for %s\n", p->name);
    // Whether the command is this one; the same word may be a value after another.
    fprintf(out,
            "function __%s_is\n    set -l line (commandline -opc)\n"
            "    test (count $line) -ge 2; and test $line[2] = $argv[1]\nend\n",
            p->name);
    fish_specs(p, out);
    for (const fr_command *const *c = p->commands; *c; c++) {
        if ((*c)->hidden) continue;
        fprintf(out, "complete -c %s -n __fish_use_subcommand -f -a %s -d ", p->name, (*c)->name);
        fish_text((*c)->summary, out);
        putc('\n', out);
        fish_words(p, *c, out);
        for (int g = 0; (*c)->groups[g]; g++)
            for (const fr_option *o = (*c)->groups[g]->options; o->name; o++)
                fish_option(p, *c, o, out);
    }
}
