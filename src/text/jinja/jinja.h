// jinja.h — Jinja2 templates, as Hugging Face's apply_chat_template runs them.
//
// The language is that of an ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks, loop
// controls and the generation tag, without anything that reaches outside. A template is compiled
// once and read-only after that: any number of threads may render it. A builder makes values. Every
// string has a mark for the author of each of its bytes (text/marked.h). Slices, joins, filters and
// formats keep the marks.
//
// A template is bytes from outside: work, memory, output and depth are bounded. An error in it is a
// status and a sentence that names the template's line.
#ifndef FR_TEXT_JINJA_JINJA_H
#define FR_TEXT_JINJA_JINJA_H
#include "base/watch.h"
#include "text/marked.h"
#include <stdint.h>
#include <time.h>

enum {
    FR_JINJA_MAX_TEMPLATE = 1 << 20, // bytes
    FR_JINJA_MAX_STEPS = 100000000,  // of one rendering, including the making of its values
    FR_JINJA_MAX_MEMORY = 256 << 20, // bytes of one rendering without its output; also of values
    FR_JINJA_MAX_OUTPUT = 128 << 20, // bytes
    FR_JINJA_MAX_DEPTH = 2000,       // expressions, statements and values inside one another
};

typedef struct fr_jinja fr_jinja;
typedef struct fr_jinja_values fr_jinja_values;

typedef enum fr_jinja_kind { // private to text/jinja/
    J_MISSING,               // no value at all: an argument that was not given
    J_UNDEFINED,
    J_NONE,
    J_BOOL,
    J_INT,
    J_BIG, // an integer beyond 64 bits: a str of its digits
    J_FLOAT,
    J_STR,
    J_SEQ,
    J_DICT,
    J_NAMESPACE, // refers to a dict
    J_FUNCTION,  // struct fr_jinja_function
    J_METHOD,    // struct method
    J_MACRO,     // struct macro
    J_LOOP,      // struct loop
    J_CYCLER,
    J_JOINER,
} fr_jinja_kind;

typedef struct fr_jinja_value { // a plain value; its referents live as long as its builder
    fr_jinja_kind kind;
    union {
        int64_t whole;
        double real;
        void *ref;
    } as;
} fr_jinja_value;

// Compiles a text, which need not end in NUL and is copied. FR_EDATA: an error in the template,
// with its line; FR_ENOMEM.
fr_status fr_jinja_open(fr_jinja **out, const char *text, size_t bytes, fr_error *err);
void fr_jinja_close(fr_jinja *template); // NULL is fine
// Whether this name occurs in its tags. The template ignores a variable that it does not mention.
bool fr_jinja_mentions(const fr_jinja *template, const char *name);

// The variables of one rendering. If a builder runs out of memory or exceeds a limit, rendering its
// values reports that.
fr_status fr_jinja_values_open(fr_jinja_values **out, fr_error *err); // FR_ENOMEM
void fr_jinja_values_close(fr_jinja_values *v);                       // NULL is fine
// Sets a watch, which is borrowed. Code that builds many values calls fr_jinja_values_go_on for
// each. False: by the watch they are not wanted any more; rendering them is then FR_EINTR.
void fr_jinja_values_watch(fr_jinja_values *v, const fr_watch *watch);
bool fr_jinja_values_go_on(fr_jinja_values *v);
fr_jinja_value fr_jinja_none(void);
fr_jinja_value fr_jinja_bool(bool x);
fr_jinja_value fr_jinja_int(int64_t x);
fr_jinja_value fr_jinja_float(double x);
// An integer of any length by its decimal digits. It can be printed and compared, not calculated
// with.
fr_jinja_value fr_jinja_digits(fr_jinja_values *v, const char *digits, size_t n);
fr_jinja_value fr_jinja_string(fr_jinja_values *v, const char *data, size_t n, fr_mark mark);
fr_jinja_value fr_jinja_list(fr_jinja_values *v);
fr_jinja_value fr_jinja_dict(fr_jinja_values *v);
void fr_jinja_append(fr_jinja_values *v, fr_jinja_value list, fr_jinja_value item);
// Keys are marked FR_MARK_MESSAGE. An existing key gets the new item.
void fr_jinja_put(fr_jinja_values *v, fr_jinja_value to, const char *key, size_t n,
                  fr_jinja_value item);
// Sets a variable of the template; an earlier value is replaced.
void fr_jinja_set(fr_jinja_values *v, const char *name, fr_jinja_value value);

typedef struct fr_jinja_options { // {0}: the default
    const struct tm *now;  // for strftime_now; NULL: the template lacks it, and uses its own date
    uint64_t max_steps;    // 0: FR_JINJA_MAX_STEPS
    const fr_watch *watch; // polled at intervals of steps; NULL: the result is wanted
} fr_jinja_options;

// Renders into *out, whose former content is replaced; on failure it is empty. Needs up to 1 MiB of
// stack. FR_EARG: the template refuses the values, or cannot compute with them; FR_EINTR;
// FR_ENOMEM.
fr_status fr_jinja_render(const fr_jinja *t, const fr_jinja_values *values,
                          const fr_jinja_options *options, fr_marked *out, fr_error *err);

#endif
