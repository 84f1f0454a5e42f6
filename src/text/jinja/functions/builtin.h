// builtin.h — the form of every filter, method and global function (functions.h has their
// tables).
#ifndef FR_TEXT_JINJA_FUNCTIONS_BUILTIN_H
#define FR_TEXT_JINJA_FUNCTIONS_BUILTIN_H
#include "text/jinja/run.h"

// self: the value that a filter or method is applied to. arg: the parameters of the table,
// J_MISSING if not given; all: all arguments.
#define BUILTIN(name) static value name(run *r, value self, const value *arg, const args *all)
#define UNUSED        (void)r, (void)self, (void)arg, (void)all // first line of each

static inline bool is_given(value v) {
    return v.kind != J_MISSING && v.kind != J_NONE;
}

// A tuple of two; NULL without memory.
static inline seq *make_pair(run *r, value first, value second) {
    seq *pair = fr_jinja_make_seq(r, SEQ_TUPLE);
    fr_jinja_add(r, pair, first);
    fr_jinja_add(r, pair, second);
    return pair;
}

#endif
