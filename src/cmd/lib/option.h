// option.h — a command's options as one table, from which everything about them comes.
//
// Parsing, defaults, `--help`, the man page and the shells' completions all read the same
// fr_command, so none can disagree with another. Values land in a struct of the caller's, at the
// offsets that the table names; strings point into argv or into the table. Parsing can fail
// (FR_EARG, one sentence); the writers put text into a FILE whose errors the caller looks for with
// ferror. Nothing here allocates.
#ifndef FR_CMD_LIB_OPTION_H
#define FR_CMD_LIB_OPTION_H
#include "base/status.h"
#include <stdio.h>

typedef enum fr_opt_kind { // the type after `offset`
    FR_OPT_FLAG,           // bool
    FR_OPT_INT,            // int, min..max
    FR_OPT_U64,            // uint64_t, any
    FR_OPT_FLOAT,          // double, min..max
    FR_OPT_STRING,         // const char *
    FR_OPT_TEXT,           // const char *: a separate argument is taken even if it begins with '-'
    FR_OPT_FILE,           // const char *, completed as a file
    FR_OPT_MODEL,          // the same, and as what the program's `models --names` prints
    FR_OPT_SPEC,           // const char *, completed as words of the program's, NAME:FILE, a+b, a,b
    FR_OPT_ENUM,           // int: index into the words of `values`
    FR_OPT_SWITCH,         // the same, but the value only as --opt=value; bare: the second word
    FR_OPT_LIST,           // fr_strings: may be given many times; separate arguments as TEXT
} fr_opt_kind;

// A number's macro as `unset` has it.
#define FR_OPT_DIGITS_OF(x) #x
#define FR_OPT_DIGITS(x)    FR_OPT_DIGITS_OF(x)

enum { FR_OPT_LIST_MAX = 64 };
typedef struct fr_strings { // NULL-terminated
    const char *item[FR_OPT_LIST_MAX + 1];
    int n;
} fr_strings;

typedef struct fr_option {
    const char *name; // without dashes
    char short_name;  // 0: none
    fr_opt_kind kind;
    size_t offset;         // into the struct that fr_option_parse fills
    const char *arg;       // what the value is called: "N", "FILE"; NULL for flags
    const char *unset;     // value before parsing, in the words a user would type; NULL: zero
    const char *otherwise; // the default in words where `unset` alone does not say it; or NULL
    const char *help;      // half a sentence with the unit; no full stop
    double min, max;       // INT, FLOAT
    const char *values; // ENUM, SWITCH: "auto|scalar|avx2"; STRING: what shells complete, or NULL
} fr_option;

typedef struct fr_option_group {
    const char *title;
    const fr_option *options; // ends with a name of NULL
} fr_option_group;

// One of a table's words that a value can be: what it is in half a sentence; whether NAME:FILE is
// wanted (of FR_OPT_SPEC).
typedef struct fr_word {
    const char *name, *what;
    bool with_file;
} fr_word;
typedef bool fr_word_at(int index, fr_word *word); // false past the last

enum { FR_OPT_GROUPS_MAX = 6, FR_OPT_MAX = 64 };
typedef struct fr_command {
    const char *name;    // "run"
    const char *summary; // half a sentence, for lists of commands
    const char *about;   // paragraphs, separated by an empty line
    const char *args;    // what comes besides options: "FILE", or NULL
    int min_args, max_args;
    fr_word_at *words;                                    // values of the first argument, or NULL
    const char *example;                                  // one line that works as typed
    bool hidden;                                          // not in lists
    const fr_option_group *groups[FR_OPT_GROUPS_MAX + 1]; // ends with NULL
} fr_command;

typedef struct fr_program {
    const char *name, *version, *summary, *about;
    const fr_command *const *commands; // ends with NULL
    fr_word_at *specs;                 // words of FR_OPT_SPEC, or NULL
    const char *const *first;          // names of the commands to begin with, up to NULL; or NULL
} fr_program;

typedef struct fr_parsed {
    char **args; // the arguments that are no options, moved to the front of argv
    int n_args;
    bool help;              // -h or --help: nothing else was looked at after it
    bool given[FR_OPT_MAX]; // by the option's number, groups in order
} fr_parsed;

// Sets every value to its default, then reads argv[0..argc), which begins after the command's
// name. `--opt value`, `--opt=value`, `-o value`, `-ovalue`; a lone `--` ends the options. FR_EARG:
// an unknown option (naming the nearest), a value that is missing, malformed or out of range, too
// many or too few arguments.
fr_status fr_option_parse(const fr_command *command, int argc, char **argv, void *values,
                          fr_parsed *out, fr_error *err);

// Whether the option was on the command line (asserts that the command has it).
bool fr_option_given(const fr_command *command, const fr_parsed *parsed, const char *name);

// The command whose name is `name`, hidden ones too; NULL if there is none. `*near` then is the
// nearest name, or NULL.
const fr_command *fr_option_command(const fr_program *program, const char *name, const char **near);

void fr_option_help(const fr_program *program, const fr_command *command, FILE *out);
void fr_option_help_program(const fr_program *program, FILE *out);
// The commands to begin with and where help is; nothing where the program names none.
void fr_option_help_first(const fr_program *program, FILE *out);
void fr_option_man(const fr_program *program, const fr_command *command, FILE *out); // roff, man(7)
void fr_option_man_program(const fr_program *program, FILE *out);
void fr_option_bash(const fr_program *program, FILE *out);
void fr_option_zsh(const fr_program *program, FILE *out);
void fr_option_fish(const fr_program *program, FILE *out);

#endif
