// render.c — one rendering from begin to end; its limits, and the values it makes.
#define _GNU_SOURCE
#include "base/plain_locale.h"
#include "text/jinja/run.h"
#include <stdarg.h>
#include <stdio.h>

value fr_jinja_fail(run *r, const char *format, ...) {
    char why[400];
    va_list list;
    if (r->status) return UNDEFINED;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    r->status = fr_fail(r->err, FR_EARG, "chat template, line %d: %s", r->line, why);
    return UNDEFINED;
}

static void look(run *r) {
    enum { ASK = 1 << 16 }; // steps from one question to the next
    const uint64_t left = r->steps > r->max_steps ? 0 : r->max_steps - r->steps;
    if (r->steps > r->max_steps)
        fr_jinja_fail(r, "it works for more than %llu steps", (unsigned long long)r->max_steps);
    else if (!r->status)
        r->status = fr_watch_ask(r->watch, r->err);
    r->look = r->steps + 1 + (left < ASK ? left : ASK);
}

bool fr_jinja_work(run *r, size_t bytes) {
    r->steps += 1 + bytes / 16;
    if (r->steps >= r->look) look(r);
    return !r->status;
}

bool fr_jinja_enter(run *r) {
    if (r->depth >= FR_JINJA_MAX_DEPTH)
        fr_jinja_fail(r, "nested deeper than %d levels", FR_JINJA_MAX_DEPTH);
    if (r->status) return false;
    r->depth++;
    return true;
}

void fr_jinja_no_memory(run *r, size_t bytes) {
    if (r->mem.full)
        fr_jinja_fail(r, "it needs more than %d MiB of memory", FR_JINJA_MAX_MEMORY >> 20);
    else if (!r->status)
        r->status = fr_fail(r->err, FR_ENOMEM, "chat template: no memory for %zu bytes", bytes);
}

void *fr_jinja_alloc(run *r, size_t bytes) {
    if (r->status) return NULL;
    void *p = fr_jinja_take(&r->mem, bytes);
    if (!p) fr_jinja_no_memory(r, bytes);
    return p;
}

const char *fr_jinja_kind_name(value v) {
    static const char *const names[] = {"nothing",     "an undefined value",
                                        "none",        "a boolean",
                                        "an integer",  "an integer",
                                        "a float",     "a string",
                                        "a list",      "a mapping",
                                        "a namespace", "a function",
                                        "a method",    "a macro",
                                        "a loop",      "a cycler",
                                        "a joiner"};
    static const char *const seqs[] = {"a list", "a tuple", "a range", "an iterator",
                                       "keys",   "values",  "items"};
    return v.kind == J_SEQ ? seqs[as_seq(v)->kind] : names[v.kind];
}

seq *fr_jinja_make_seq(run *r, seq_kind kind) {
    seq *s = fr_jinja_alloc(r, sizeof *s);
    if (s) s->kind = kind;
    return s;
}

void fr_jinja_add(run *r, seq *s, value item) {
    if (!r->status && !fr_jinja_seq_add(&r->mem, s, item))
        fr_jinja_no_memory(r, 2 * s->cap * sizeof item);
}

dict *fr_jinja_make_dict(run *r) {
    return fr_jinja_alloc(r, sizeof(dict));
}

void fr_jinja_set_item(run *r, dict *d, value key, value item) {
    if (!fr_jinja_work(r, key.kind == J_STR ? as_str(key)->n : 0)) return;
    if (!fr_jinja_hashable(key))
        fr_jinja_fail(r, "%s cannot be a key", fr_jinja_kind_name(key));
    else if (!fr_jinja_dict_put(&r->mem, d, key, item))
        fr_jinja_no_memory(r, 2 * d->cap * sizeof *d->entry);
}

static fr_status refuse_values(const fr_jinja_values *v, fr_error *err) {
    if (v->mem.full)
        return fr_fail(err, FR_EARG, "chat template: its values need more than %d MiB of memory",
                       FR_JINJA_MAX_MEMORY >> 20);
    if (v->steps > FR_JINJA_MAX_STEPS)
        return fr_fail(err, FR_EARG, "chat template: its values take more than %d steps",
                       FR_JINJA_MAX_STEPS);
    return fr_fail(err, FR_ENOMEM, "chat template: no memory for its values");
}

fr_status fr_jinja_render(const fr_jinja *t, const fr_jinja_values *values,
                          const fr_jinja_options *options, fr_marked *out, fr_error *err) {
    fr_marked_free(out);
    if (values->stopped) return fr_fail(err, FR_EINTR, "interrupted");
    if (values->failed) return refuse_values(values, err);
    run r = {.program = t,
             .vars = &values->vars,
             .now = options->now,
             .steps = values->steps,
             .max_steps = options->max_steps ? options->max_steps : FR_JINJA_MAX_STEPS,
             .watch = options->watch,
             .mem.limit = (size_t)FR_JINJA_MAX_MEMORY,
             .result = out,
             .err = err};
    const fr_plain_locale l = fr_plain_locale_set();
    r.root = fr_jinja_push_scope(&r, NULL);
    if (r.root) fr_jinja_exec(&r, t->body);
    fr_plain_locale_restore(l);
    if (!r.status) r.status = fr_buffer_reserve(&out->text, 0, err); // a NUL after an empty text
    fr_jinja_memory_close(&r.mem);
    if (r.status) fr_marked_free(out);
    return r.status;
}
