// run.h — one rendering: its state, and functions that all parts of the interpreter call. Private
// to text/jinja/.
//
// The first failure is stored in r->status. After it every function returns at once with a
// meaningless value. Loops and callbacks must check r->status, so that they end.
#ifndef FR_TEXT_JINJA_RUN_H
#define FR_TEXT_JINJA_RUN_H
#include "text/jinja/functions.h"
#include "text/jinja/syntax/node.h"
#include "text/jinja/unicode.h"

typedef struct variable {
    const str *name; // interned by the template: equal names have equal pointers
    value v;
    struct variable *next;
} variable;

typedef struct scope {
    struct scope *outer;
    variable *vars, *spare; // spare: variables of the previous iteration of a loop
    bool captured;          // a macro refers to it, so the next iteration must not reuse it
} scope;

typedef enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE } flow;

typedef struct writer writer;

struct run {
    const fr_jinja *program;
    const dict *vars; // the caller's
    const struct tm *now;
    memory mem;
    fr_marked *result; // where output goes, ...
    writer *out;       // ... unless a block or macro captures it (else NULL)
    scope *scope, *root;
    value input;  // N_INPUT
    seq up, down; // 0, 1, … and …, 1, 0: ranges are parts of these
    int line, depth;
    uint64_t steps, max_steps, look; // look: the step of the next check of limit and watch
    const fr_watch *watch;
    flow flow;
    fr_status status;
    fr_error *err;
};

// ---- state

value fr_jinja_fail(run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fr_jinja_work(run *r, size_t bytes);      // false: failed, now or before
bool fr_jinja_enter(run *r);                   // one level deeper, until r->depth--; false: failed
void *fr_jinja_alloc(run *r, size_t bytes);    // zeroed; NULL: failed
void fr_jinja_no_memory(run *r, size_t bytes); // fails with the reason
const char *fr_jinja_kind_name(value v);

// ---- making values

value fr_jinja_make_str(run *r, str s);
value fr_jinja_make_text(run *r, const char *text); // copied, marked as the template's
seq *fr_jinja_make_seq(run *r, seq_kind kind);      // NULL: failed
void fr_jinja_add(run *r, seq *s, value item);
dict *fr_jinja_make_dict(run *r);
void fr_jinja_set_item(run *r, dict *d, value key, value item); // fails on keys without a hash

// ---- text that grows

struct writer { // {.r = r} is empty
    run *r;
    char *data;
    uint8_t *marks; // NULL: all are `mark`
    size_t n, cap;
    uint8_t mark;
};
void fr_jinja_put_bytes(writer *t, const char *bytes, size_t n, fr_mark mark);
void fr_jinja_put_text(writer *t, const char *text, fr_mark mark);
void fr_jinja_put_str(writer *t, const str *s);
void fr_jinja_put_part(writer *t, const str *s, size_t from, size_t to);
void fr_jinja_put_value(writer *t, value v); // str(v)
void fr_jinja_put_repr(writer *t, value v);  // repr(v)
str fr_jinja_text_str(const writer *t);
value fr_jinja_text_value(writer *t);
value fr_jinja_concat(run *r, const str *a, const str *b);
str fr_jinja_to_str(run *r, value v); // str(v)
void fr_jinja_output(run *r, const str *s);
void fr_jinja_put_escaped(writer *t, const str *s); // & < > ' " as in HTML

typedef struct json_style {
    bool ascii, sorted;
    const str *indent; // NULL: all in one line
    str between, colon;
} json_style;
void fr_jinja_put_json(writer *t, value v, const json_style *style, int level);

// ---- characters of strings

size_t fr_jinja_length(const str *s);                              // characters
size_t fr_jinja_offset(const str *s, size_t characters);           // bytes of that many characters
size_t fr_jinja_find(const str *in, const str *what, size_t from); // SIZE_MAX: not there
str fr_jinja_strip(const str *s, const str *chars, bool left,
                   bool right); // chars NULL: white space
str fr_jinja_cased(run *r, const str *s, char_case to);
bool fr_jinja_is_final_sigma(const str *s, size_t at); // for the capital sigma at byte `at`

// ---- what Python does with values

bool fr_jinja_truth(value v);
bool fr_jinja_same(run *r, value a, value b); // a == b; counts as work
seq *fr_jinja_iterate(run *r, value v);       // its items; NULL: failed. Iterators are consumed
value fr_jinja_binary(run *r, op o, value a, value b);
bool fr_jinja_compares(run *r, op o, value a, value b);
bool fr_jinja_less(run *r, value a, value b);
value fr_jinja_negate(run *r, value v);
value fr_jinja_attr(run *r, value v, const str *name); // v.name
value fr_jinja_item(run *r, value v, value key);       // v[key]
value fr_jinja_slice(run *r, value v, value from, value to, value step);
// The value at a path, as in attribute="a.0.b"; `instead`, if given, replaces an undefined part.
value fr_jinja_path(run *r, value v, value path, value instead);
value fr_jinja_format_percent(run *r, const str *format, value with);
value fr_jinja_format_braces(run *r, const str *format, const args *with);
bool fr_jinja_to_int(run *r, value v, int64_t *out); // an index; false: failed
void fr_jinja_sort(run *r, value *keys, value *items, size_t n, bool reverse); // stable

// ---- calls

void fr_jinja_add_arg(run *r, args *a, value v);
value fr_jinja_apply(run *r, const function *f, value self, const args *a);
value fr_jinja_call(run *r, value callee, const args *a);
value fr_jinja_call_loop(run *r, value loop, const args *a);

typedef struct method {
    value self;
    const function *function;
} method;

typedef struct macro {
    const node *node;
    scope *scope;
} macro;

typedef struct loop {
    value *item;
    size_t at, n;
    int depth; // from 0
    const node *node;
    scope *scope; // around the loop
    bool changed; // loop.changed() was called before, with `last`
    value last;
} loop;

typedef struct cycler { // state of cycler() and joiner()
    const value *item;
    size_t n, at;
} cycler;

// ---- the tree

value fr_jinja_eval(run *r, const node *n);
void fr_jinja_eval_args(run *r, const node *call, args *out);
void fr_jinja_exec(run *r, const node *list);
value fr_jinja_caught(run *r, const node *list); // the captured output of the list
void fr_jinja_assign(run *r, const node *target, value v);
void fr_jinja_set_var(run *r, const str *name, value v); // in the innermost scope
void fr_jinja_empty_scope(scope *s);                     // for the next iteration of a loop
scope *fr_jinja_push_scope(run *r, scope *outer);        // becomes r->scope; NULL: failed
void fr_jinja_exec_for(run *r, const node *n);
value fr_jinja_loop_attr(const loop *l, const str *name);

#endif
