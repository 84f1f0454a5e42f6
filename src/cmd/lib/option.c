// option.c — reading a command line by a table.
#include "cmd/lib/option.h"
#include "base/distance.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// How an option was written, for messages: "--threads" or "-t".
typedef struct spelling {
    char text[64];
} spelling;

static const fr_option *next_option(const fr_command *c, int *group, int *index) {
    while (c->groups[*group]) {
        const fr_option *o = &c->groups[*group]->options[*index];
        if (o->name) {
            (*index)++;
            return o;
        }
        (*group)++;
        *index = 0;
    }
    return NULL;
}

static const fr_option *find_option(const fr_command *c, const char *name, size_t n,
                                    char short_name, int *number) {
    int g = 0, i = 0;
    *number = 0;
    for (const fr_option *o; (o = next_option(c, &g, &i)); ++*number) {
        if (name && strlen(o->name) == n && !strncmp(o->name, name, n)) return o;
        if (!name && short_name && o->short_name == short_name) return o;
    }
    return NULL;
}

enum { LONGEST = 31 }; // names are short, and what is longer is no typing error

static bool near_enough(int d, const char *name) {
    return d <= 2 && (size_t)d < strlen(name);
}

// What other programs of the kind call an option that this command has under another name, or NULL.
static const char *known_elsewhere(const fr_command *c, const char *name) {
    static const char *const pairs[][2] = {
        {"np", "parallel"},
        {"temperature", "temp"},
        {"max-tokens", "n-predict"},
    };
    int number;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!strcmp(name, pairs[i][0]) &&
            find_option(c, pairs[i][1], strlen(pairs[i][1]), 0, &number))
            return pairs[i][1];
    return NULL;
}

static const char *nearest(const fr_command *c, const char *name) {
    const char *best = NULL;
    int g = 0, i = 0, least = 3;
    for (const fr_option *o; (o = next_option(c, &g, &i));) {
        const int d = fr_word_distance(name, o->name, LONGEST, false);
        if (d >= least || !near_enough(d, o->name)) continue;
        least = d;
        best = o->name;
    }
    return best;
}

static fr_status fail_unknown(const fr_command *c, const char *arg, fr_error *err) {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arg + 1 + (arg[1] == '-'), "="),
             arg + 1 + (arg[1] == '-'));
    const char *best = known_elsewhere(c, name);
    if (!best) best = nearest(c, name);
    if (best) return fr_fail(err, FR_EARG, "%.64s: unknown option; did you mean --%s?", arg, best);
    return fr_fail(err, FR_EARG, "%.64s: unknown option", arg);
}

const fr_command *fr_option_command(const fr_program *p, const char *name, const char **near) {
    int least = 3;
    *near = NULL;
    for (const fr_command *const *c = p->commands; *c; c++) {
        if (!strcmp((*c)->name, name)) return *c;
        const int d = fr_word_distance(name, (*c)->name, LONGEST, false);
        if (d >= least || (*c)->hidden || !near_enough(d, (*c)->name)) continue;
        least = d;
        *near = (*c)->name;
    }
    return NULL;
}

static fr_status set_int(const fr_option *o, const char *as, const char *v, void *to,
                         fr_error *err) {
    char *end;
    errno = 0;
    const long long x = strtoll(v, &end, 10);
    const bool number = end != v && !*end && v[0] != ' ';
    if (!number || errno || (double)x < o->min || (double)x > o->max)
        return fr_fail(err, FR_EARG, "%s %.64s: expected a whole number from %.0f to %.0f", as, v,
                       o->min, o->max);
    *(int *)to = (int)x;
    return FR_OK;
}

static fr_status set_u64(const char *as, const char *v, void *to, fr_error *err) {
    char *end;
    errno = 0;
    const unsigned long long x = strtoull(v, &end, 10);
    if (v[0] < '0' || v[0] > '9' || *end || errno)
        return fr_fail(err, FR_EARG, "%s %.64s: expected a whole number from 0 to 2^64 - 1", as, v);
    *(uint64_t *)to = x;
    return FR_OK;
}

static fr_status set_float(const fr_option *o, const char *as, const char *v, void *to,
                           fr_error *err) {
    char *end;
    const double x = strtod(v, &end);
    if (end == v || *end || v[0] == ' ' || !isfinite(x) || x < o->min || x > o->max)
        return fr_fail(err, FR_EARG, "%s %.64s: expected a number from %g to %g", as, v, o->min,
                       o->max);
    *(double *)to = x;
    return FR_OK;
}

static fr_status set_enum(const fr_option *o, const char *as, const char *v, void *to,
                          fr_error *err) {
    int index = 0;
    for (const char *w = o->values; w; index++) {
        const size_t n = strcspn(w, "|");
        if (strlen(v) == n && !strncmp(w, v, n)) {
            *(int *)to = index;
            return FR_OK;
        }
        w = w[n] ? w + n + 1 : NULL;
    }
    return fr_fail(err, FR_EARG, "%s %.64s: expected one of %s", as, v, o->values);
}

static fr_status set_value(const fr_option *o, const char *as, const char *v, void *to,
                           fr_error *err) {
    fr_strings *list = to;
    switch (o->kind) {
    case FR_OPT_FLAG:
        *(bool *)to = true;
        return FR_OK;
    case FR_OPT_INT:
        return set_int(o, as, v, to, err);
    case FR_OPT_U64:
        return set_u64(as, v, to, err);
    case FR_OPT_FLOAT:
        return set_float(o, as, v, to, err);
    case FR_OPT_ENUM:
    case FR_OPT_SWITCH:
        return set_enum(o, as, v, to, err);
    case FR_OPT_STRING:
    case FR_OPT_FILE:
    case FR_OPT_MODEL:
    case FR_OPT_SPEC:
        if (!*v) return fr_fail(err, FR_EARG, "%s: the %s is empty", as, o->arg);
        // fall through
    case FR_OPT_TEXT:
        *(const char **)to = v;
        return FR_OK;
    case FR_OPT_LIST:
        if (list->n == FR_OPT_LIST_MAX)
            return fr_fail(err, FR_EARG, "%s: given more than %d times", as, FR_OPT_LIST_MAX);
        list->item[list->n++] = v;
        return FR_OK;
    }
    assert(!"kind");
    return FR_EARG;
}

static size_t kind_bytes(fr_opt_kind kind) {
    switch (kind) {
    case FR_OPT_FLAG:
        return sizeof(bool);
    case FR_OPT_INT:
    case FR_OPT_ENUM:
    case FR_OPT_SWITCH:
        return sizeof(int);
    case FR_OPT_U64:
        return sizeof(uint64_t);
    case FR_OPT_FLOAT:
        return sizeof(double);
    case FR_OPT_STRING:
    case FR_OPT_TEXT:
    case FR_OPT_FILE:
    case FR_OPT_MODEL:
    case FR_OPT_SPEC:
        return sizeof(const char *);
    case FR_OPT_LIST:
        return sizeof(fr_strings);
    }
    return 0;
}

static void set_defaults(const fr_command *c, void *values) {
    int g = 0, i = 0;
    for (const fr_option *o; (o = next_option(c, &g, &i));) {
        void *to = (char *)values + o->offset;
        memset(to, 0, kind_bytes(o->kind));
        const fr_status st = o->unset ? set_value(o, o->name, o->unset, to, NULL) : FR_OK;
        assert(st == FR_OK); // a default that its own range refuses
        (void)st;
    }
}

// A separate argument that looks like an option is more likely a forgotten value than a value. A
// number may be negative, and text may be anything.
static bool takes(const fr_option *o, const char *v) {
    if (o->kind == FR_OPT_TEXT || o->kind == FR_OPT_LIST || v[0] != '-' || !v[1]) return true;
    return (v[1] >= '0' && v[1] <= '9') || v[1] == '.';
}

// -np is no -n with the value "p": options of several letters are other programs'.
static bool is_word_for_number(const fr_option *o, const char *arg) {
    const bool counts = o->kind == FR_OPT_INT || o->kind == FR_OPT_U64 || o->kind == FR_OPT_FLOAT;
    return counts && isalpha((unsigned char)arg[2]);
}

// The option that `arg`, "--name", "--name=V", "-n", "-nV" or "-n=V", begins with; NULL: none. *as:
// how it is written there; *attached: V, or NULL.
static const fr_option *find_spelled(const fr_command *c, const char *arg, spelling *as,
                                     const char **attached, int *number) {
    if (arg[1] == '-') {
        const size_t n = strcspn(arg + 2, "=");
        *attached = arg[2 + n] ? arg + 3 + n : NULL;
        snprintf(as->text, sizeof as->text, "--%.*s", (int)(n > 60 ? 60 : n), arg + 2);
        return find_option(c, arg + 2, n, 0, number);
    }
    const fr_option *o = find_option(c, NULL, 0, arg[1], number);
    *attached = arg[2] ? arg + 2 + (arg[2] == '=') : NULL;
    snprintf(as->text, sizeof as->text, "-%c", arg[1]);
    return o && is_word_for_number(o, arg) ? NULL : o;
}

// One option at argv[*at]; *at moves to the last argument that it used.
static fr_status parse_one(const fr_command *c, int argc, char **argv, int *at, void *values,
                           fr_parsed *out, fr_error *err) {
    const char *value;
    spelling as;
    int number;
    const fr_option *o = find_spelled(c, argv[*at], &as, &value, &number);
    if (!o) return fail_unknown(c, argv[*at], err);
    assert(number < FR_OPT_MAX);
    void *to = (char *)values + o->offset;
    if (o->kind == FR_OPT_FLAG && value)
        return fr_fail(err, FR_EARG, "%s: takes no value", as.text);
    out->given[number] = true;
    if (o->kind == FR_OPT_SWITCH && !value) {
        *(int *)to = 1;
        return FR_OK;
    }
    if (o->kind != FR_OPT_FLAG && !value) {
        if (*at + 1 >= argc || !takes(o, argv[*at + 1]))
            return fr_fail(err, FR_EARG, "%s: needs a value, %s", as.text, o->arg);
        value = argv[++*at];
    }
    return set_value(o, as.text, value, to, err);
}

fr_status fr_option_parse(const fr_command *c, int argc, char **argv, void *values, fr_parsed *out,
                          fr_error *err) {
    *out = (fr_parsed){.args = argv};
    set_defaults(c, values);
    bool options = true;
    for (int i = 0; i < argc; i++) {
        char *arg = argv[i];
        if (options && !strcmp(arg, "--")) {
            options = false;
        } else if (options && (!strcmp(arg, "--help") || !strcmp(arg, "-h"))) {
            out->help = true;
            return FR_OK;
        } else if (options && arg[0] == '-' && arg[1]) {
            const fr_status st = parse_one(c, argc, argv, &i, values, out, err);
            if (st) return st;
        } else {
            argv[out->n_args++] = arg;
        }
    }
    if (out->n_args > c->max_args)
        return fr_fail(err, FR_EARG, "%.64s: unexpected argument", out->args[c->max_args]);
    if (out->n_args < c->min_args)
        return fr_fail(err, FR_EARG, "%s: needs an argument, %s", c->name, c->args);
    return FR_OK;
}

bool fr_option_given(const fr_command *c, const fr_parsed *parsed, const char *name) {
    int number;
    const fr_option *o = find_option(c, name, strlen(name), 0, &number);
    assert(o);
    return o && parsed->given[number];
}
