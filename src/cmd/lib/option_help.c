// option_help.c — what `--help` and the man pages say.
#include "cmd/lib/option.h"
#include <string.h>

enum { WIDTH = 80, COLUMN = 30, WORD_COLUMN = 20 };

// Words of `text` from column `at` on, wrapped, following lines indented by `indent`.
static void wrap(FILE *out, const char *text, int at, int indent) {
    bool first = true;
    while (*text) {
        if (text[0] == '\n') { // an empty line between paragraphs
            text++;
            if (*text == '\n') {
                fprintf(out, "\n\n%*s", indent, "");
                at = indent;
                first = true;
            }
            continue;
        }
        if (*text == ' ') {
            text++;
            continue;
        }
        const int n = (int)strcspn(text, " \n");
        if (!first && at + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        at += fprintf(out, "%s%.*s", first ? "" : " ", n, text);
        first = false;
        text += n;
    }
    putc('\n', out);
}

// "half a sentence (default: 256)"
static void describe(const fr_option *o, char *text, size_t room) {
    const char *def = o->otherwise ? o->otherwise : o->unset;
    if (def && o->kind != FR_OPT_FLAG)
        snprintf(text, room, "%s (default: %s)", o->help, def);
    else
        snprintf(text, room, "%s", o->help);
}

static const char *between(const fr_option *o, const char *arg) {
    return o->kind == FR_OPT_SWITCH ? "[=" : arg ? " " : "";
}

static void help_option(const fr_option *o, FILE *out) {
    char left[80], text[1024];
    const char *arg = o->kind == FR_OPT_ENUM && !o->arg ? o->values : o->arg;
    char dash[8] = "    ";
    if (o->short_name) snprintf(dash, sizeof dash, "-%c, ", o->short_name);
    int n =
        snprintf(left, sizeof left, "  %s--%s%s%s", dash, o->name, between(o, arg), arg ? arg : "");
    fputs(left, out);
    if (n >= COLUMN - 1) {
        putc('\n', out);
        n = 0;
    }
    fprintf(out, "%*s", COLUMN - n, "");
    describe(o, text, sizeof text);
    wrap(out, text, COLUMN, COLUMN);
}

static void help_words(const fr_command *c, FILE *out) {
    fr_word word;
    if (!c->words) return;
    fprintf(out, "\n%s:\n", c->args);
    for (int i = 0; c->words(i, &word); i++) {
        const int n = fprintf(out, "  %s", word.name);
        fprintf(out, "%*s", n < WORD_COLUMN ? WORD_COLUMN - n : 1, "");
        wrap(out, word.what, WORD_COLUMN, WORD_COLUMN);
    }
}

static const fr_option help_self = {
    .name = "help", .short_name = 'h', .kind = FR_OPT_FLAG, .help = "show this text"};

void fr_option_help(const fr_program *p, const fr_command *c, FILE *out) {
    fprintf(out, "%s %s: %s\n\nUsage: %s %s [options]%s%s\n\n", p->name, c->name, c->summary,
            p->name, c->name, c->args ? " " : "", c->args ? c->args : "");
    wrap(out, c->about, 0, 0);
    help_words(c, out);
    for (int g = 0; c->groups[g]; g++) {
        fprintf(out, "\n%s:\n", c->groups[g]->title);
        for (const fr_option *o = c->groups[g]->options; o->name; o++)
            help_option(o, out);
    }
    fprintf(out, "\nHelp:\n");
    help_option(&help_self, out);
    fprintf(out, "\nExample:\n  %s\n", c->example);
}

void fr_option_help_program(const fr_program *p, FILE *out) {
    fprintf(out, "%s %s: %s\n\nUsage: %s COMMAND [options]\n\n", p->name, p->version, p->summary,
            p->name);
    wrap(out, p->about, 0, 0);
    fputs("\nCommands:\n", out);
    for (const fr_command *const *c = p->commands; *c; c++) {
        if ((*c)->hidden) continue;
        fprintf(out, "  %-13s ", (*c)->name);
        wrap(out, (*c)->summary, 16, 16);
    }
    fprintf(out, "\n'%s COMMAND --help' describes a command; '%s --version' prints the version.\n",
            p->name, p->name);
}

static bool is_first(const fr_program *p, const char *name) {
    for (const char *const *first = p->first; *first; first++)
        if (!strcmp(*first, name)) return true;
    return false;
}

void fr_option_help_first(const fr_program *p, FILE *out) {
    if (!p->first) return;
    for (const fr_command *const *c = p->commands; *c; c++)
        if (is_first(p, (*c)->name))
            fprintf(out, "  %s %-8s %s\n", p->name, (*c)->name, (*c)->summary);
    fprintf(out, "'%s --help' lists all commands, '%s COMMAND --help' describes one.\n", p->name,
            p->name);
}

// ---------------------------------------------------------------- man pages

// Text for roff: a backslash and a leading dot or quote mean something there, and a plain '-' may
// become a typographic one.
static void roff(FILE *out, const char *text) {
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", out);
        if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else if (*text == '\n' && text[1] == '\n') {
            fputs("\n.PP\n", out);
            text++;
        } else {
            putc(*text, out);
        }
        line_start = *text == '\n';
    }
    putc('\n', out);
}

static void man_option(const fr_option *o, FILE *out) {
    char text[1024];
    const char *arg = o->kind == FR_OPT_ENUM && !o->arg ? o->values : o->arg;
    fputs(".TP\n", out);
    if (o->short_name) fprintf(out, "\\fB\\-%c\\fR, ", o->short_name);
    fputs("\\fB\\-\\-", out);
    for (const char *s = o->name; *s; s++)
        fputs(*s == '-' ? "\\-" : (char[]){*s, 0}, out);
    fputs("\\fR", out);
    if (arg) fprintf(out, "%s\\fI%s\\fR", between(o, arg), arg);
    putc('\n', out);
    describe(o, text, sizeof text);
    roff(out, text);
}

static void man_words(const fr_command *c, FILE *out) {
    fr_word word;
    if (!c->words) return;
    fprintf(out, ".SH \"%s\"\n", c->args);
    for (int i = 0; c->words(i, &word); i++) {
        fputs(".TP\n.B ", out);
        roff(out, word.name);
        roff(out, word.what);
    }
}

static void man_title(const fr_program *p, const char *name, FILE *out) {
    fputs(".TH ", out);
    for (const char *s = name; *s; s++)
        putc(*s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s, out);
    fprintf(out, " 1 \"\" \"%s %s\" \"User Commands\"\n.SH NAME\n", p->name, p->version);
}

static void man_exit(FILE *out) {
    fputs(".SH EXIT STATUS\n.TP\n0\nSuccess.\n.TP\n1\nFailure: a file, memory, or a damaged "
          "model.\n.TP\n2\nThe command line is wrong.\n.TP\n130\nInterrupted; every file is "
          "complete.\n",
          out);
}

void fr_option_man(const fr_program *p, const fr_command *c, FILE *out) {
    char name[64];
    snprintf(name, sizeof name, "%s-%s", p->name, c->name);
    man_title(p, name, out);
    fprintf(out, "%s\\-%s \\- ", p->name, c->name);
    roff(out, c->summary);
    fprintf(out, ".SH SYNOPSIS\n\\fB%s %s\\fR [\\fIoptions\\fR]%s%s\n.SH DESCRIPTION\n", p->name,
            c->name, c->args ? " " : "", c->args ? c->args : "");
    roff(out, c->about);
    man_words(c, out);
    for (int g = 0; c->groups[g]; g++) {
        fprintf(out, ".SH \"%s\"\n", c->groups[g]->title);
        for (const fr_option *o = c->groups[g]->options; o->name; o++)
            man_option(o, out);
    }
    man_exit(out);
    fputs(".SH EXAMPLE\n.nf\n", out);
    roff(out, c->example);
    fprintf(out, ".fi\n.SH \"SEE ALSO\"\n\\fB%s\\fR(1)\n", p->name);
}

void fr_option_man_program(const fr_program *p, FILE *out) {
    man_title(p, p->name, out);
    fprintf(out, "%s \\- ", p->name);
    roff(out, p->summary);
    fprintf(out, ".SH SYNOPSIS\n\\fB%s\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\n",
            p->name);
    roff(out, p->about);
    fputs(".SH COMMANDS\n", out);
    for (const fr_command *const *c = p->commands; *c; c++) {
        if ((*c)->hidden) continue;
        fprintf(out, ".TP\n\\fB%s\\-%s\\fR(1)\n", p->name, (*c)->name);
        roff(out, (*c)->summary);
    }
    man_exit(out);
}
