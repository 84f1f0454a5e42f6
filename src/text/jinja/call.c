// call.c — calls: arguments to parameters, for functions and for macros.
#include "text/jinja/run.h"

void fr_jinja_add_arg(run *r, args *a, value v) {
    if (r->status) return;
    if (a->n == a->cap) {
        const size_t cap = a->cap ? 2 * a->cap : 4;
        value *more = fr_jinja_alloc(r, cap * sizeof *more);
        if (!more) return;
        if (a->n) memcpy(more, a->pos, a->n * sizeof *more);
        a->pos = more;
        a->cap = cap;
    }
    a->pos[a->n++] = v;
}

// ---- functions

// The i-th parameter of "a,b?,c?": its name, and whether it may be left out. False: no more.
static bool param_at(const char *params, int i, str *name, bool *optional) {
    for (; *params && i; i--) {
        params += strcspn(params, ",");
        params += *params == ',';
    }
    if (!*params) return false;
    const size_t n = strcspn(params, ",?");
    *name = (str){.data = params, .n = n};
    *optional = params[n] == '?';
    return true;
}

static value wrong_args(run *r, const function *f, const char *why) {
    return fr_jinja_fail(r, "%s(%s): %s", f->name, f->params, why);
}

// What a failure left may be half made.
static value whole(const run *r, value v) {
    return r->status ? UNDEFINED : v;
}

value fr_jinja_apply(run *r, const function *f, value self, const args *a) {
    value arg[MAX_PARAMS] = {MISSING};
    size_t named = 0;
    str name;
    bool optional;
    int n = 0;
    if (!fr_jinja_work(r, self.kind == J_STR ? as_str(self)->n : 0)) return UNDEFINED;
    if (!f->params) return whole(r, f->fn(r, self, arg, a));
    for (; n < MAX_PARAMS && param_at(f->params, n, &name, &optional); n++) {
        const value *given = fr_jinja_dict_find_text(&a->named, name.data, name.n);
        if ((size_t)n < a->n) {
            arg[n] = a->pos[n];
            if (given) return wrong_args(r, f, "an argument is given twice");
        } else if (given) {
            arg[n] = *given;
            named++;
        } else if (!optional) {
            return wrong_args(r, f, "an argument is missing");
        }
    }
    if (a->n > (size_t)n) return wrong_args(r, f, "too many arguments");
    if (named < a->named.n) return wrong_args(r, f, "an argument of an unknown name");
    return whole(r, f->fn(r, self, arg, a));
}

// ---- macros

// The remaining positional and named arguments, if the macro uses them.
static void bind_rest(run *r, const node *n, const args *a, size_t n_params, size_t taken) {
    if (n->uses & USES_VARARGS) {
        seq *rest = fr_jinja_make_seq(r, SEQ_TUPLE);
        for (size_t i = n_params; i < a->n && !r->status; i++)
            fr_jinja_add(r, rest, a->pos[i]);
        fr_jinja_set_var(r, r->program->varargs, make_ref(J_SEQ, rest));
    } else if (a->n > n_params) {
        fr_jinja_fail(r, "macro '%.*s': too many arguments", (int)n->name->n, n->name->data);
    }
    if (!(n->uses & USES_KWARGS)) {
        if (taken < a->named.n && !r->status)
            fr_jinja_fail(r, "macro '%.*s': an argument of an unknown name", (int)n->name->n,
                          n->name->data);
        return;
    }
    dict *rest = fr_jinja_make_dict(r);
    for (size_t i = 0; i < a->named.n && !r->status; i++) {
        const value key = a->named.entry[i].key;
        bool param = n->uses & USES_CALLER && str_same(as_str(key), r->program->caller);
        size_t at = 0;
        for (const node *p = n->params; p; p = p->next, at++)
            param = param || (at >= a->n && str_same(as_str(key), p->name));
        if (!param) fr_jinja_set_item(r, rest, key, a->named.entry[i].item);
    }
    fr_jinja_set_var(r, r->program->kwargs, make_ref(J_DICT, rest));
}

static void bind(run *r, const node *n, const args *a) {
    size_t at = 0, taken = 0;
    const value *given;
    bool has_caller = false;
    for (const node *p = n->params; p && !r->status; p = p->next, at++) {
        value v = MISSING;
        given = fr_jinja_dict_find_text(&a->named, p->name->data, p->name->n);
        if (at < a->n)
            v = a->pos[at];
        else if (given)
            v = *given, taken++;
        if (p->name == r->program->caller) has_caller = true;
        if (v.kind == J_MISSING) v = p->a ? fr_jinja_eval(r, p->a) : make_ref(J_UNDEFINED, p->name);
        fr_jinja_set_var(r, p->name, v);
    }
    if (n->uses & USES_CALLER && !has_caller) {
        given = fr_jinja_dict_find_text(&a->named, "caller", 6);
        fr_jinja_set_var(r, r->program->caller,
                         given ? *given : make_ref(J_UNDEFINED, r->program->caller));
        taken += given != NULL;
    }
    bind_rest(r, n, a, at, taken);
}

static value call_macro(run *r, value v, const args *a) {
    const macro *m = v.as.ref;
    scope *outer = r->scope;
    value out = UNDEFINED;
    if (!fr_jinja_enter(r)) return UNDEFINED;
    if (fr_jinja_push_scope(r, m->scope)) {
        bind(r, m->node, a);
        if (!r->status) out = fr_jinja_caught(r, m->node->list);
    }
    r->scope = outer;
    r->depth--;
    return out;
}

// ---- all

static value call_joiner(run *r, cycler *c) {
    const bool first = c->at++ == 0;
    return first ? fr_jinja_make_text(r, "") : c->item[0];
}

value fr_jinja_call(run *r, value callee, const args *a) {
    if (r->status) return UNDEFINED;
    const method *m = callee.as.ref;
    const str *name = callee.as.ref;
    switch (callee.kind) {
    case J_FUNCTION:
        return fr_jinja_apply(r, callee.as.ref, UNDEFINED, a);
    case J_METHOD:
        return fr_jinja_apply(r, m->function, m->self, a);
    case J_MACRO:
        return call_macro(r, callee, a);
    case J_LOOP:
        return fr_jinja_call_loop(r, callee, a);
    case J_JOINER:
        return call_joiner(r, callee.as.ref);
    case J_UNDEFINED:
        return fr_jinja_fail(r, "'%.*s' is undefined, so it cannot be called",
                             name ? (int)name->n : 1, name ? name->data : "?");
    case J_MISSING:
    case J_NONE:
    case J_BOOL:
    case J_INT:
    case J_BIG:
    case J_FLOAT:
    case J_STR:
    case J_SEQ:
    case J_DICT:
    case J_NAMESPACE:
    case J_CYCLER:
        break;
    }
    return fr_jinja_fail(r, "%s cannot be called", fr_jinja_kind_name(callee));
}
