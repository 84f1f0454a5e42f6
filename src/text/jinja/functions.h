// functions.h — the functions of templates: filters, tests, methods and globals, by name. Private
// to text/jinja/.
#ifndef FR_TEXT_JINJA_FUNCTIONS_H
#define FR_TEXT_JINJA_FUNCTIONS_H
#include "text/jinja/value.h"

typedef struct run run;

typedef struct args { // arguments of a call
    value *pos;
    size_t n, cap;
    dict named; // names to values
} args;

enum { MAX_PARAMS = 6 };

// arg[i] is the value of the function's i-th parameter; J_MISSING: not given.
typedef value function_fn(run *r, value self, const value *arg, const args *all);

typedef struct fr_jinja_function {
    const char *name;
    function_fn *fn;
    const char *params; // "a,b?": names, optional ones with '?'; NULL: any arguments
} function;

// NULL: there is no function of that name. Tables end with a NULL name.
const function *fr_jinja_filter_named(const str *name);
const function *fr_jinja_test_named(const str *name);
const function *fr_jinja_global_named(const str *name);
const function *fr_jinja_method_named(value self, const str *name);
bool fr_jinja_is_forbidden(const function *f); // a method that would change its value

extern const function fr_jinja_text_filters[], fr_jinja_list_filters[], fr_jinja_pick_filters[],
    fr_jinja_other_filters[];
extern const function fr_jinja_str_methods[], fr_jinja_split_methods[], fr_jinja_loop_methods[],
    fr_jinja_cycler_methods[];
extern const function fr_jinja_tests[], fr_jinja_globals[];

#endif
