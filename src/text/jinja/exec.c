// exec.c — statements: the scopes of variables, then one tag after the other.
#include "text/jinja/run.h"

// ---- scopes

scope *fr_jinja_push_scope(run *r, scope *outer) {
    scope *s = fr_jinja_alloc(r, sizeof *s);
    if (!s) return NULL;
    s->outer = outer;
    r->scope = s;
    return s;
}

void fr_jinja_empty_scope(scope *s) {
    while (s->vars) {
        variable *var = s->vars;
        s->vars = var->next;
        var->next = s->spare;
        s->spare = var;
    }
}

static void set_in(run *r, scope *s, const str *name, value v) {
    for (variable *var = s->vars; var; var = var->next)
        if (var->name == name) {
            var->v = v;
            return;
        }
    variable *var = s->spare;
    if (var)
        s->spare = var->next;
    else if (!(var = fr_jinja_alloc(r, sizeof *var)))
        return;
    *var = (variable){name, v, s->vars};
    s->vars = var;
}

void fr_jinja_set_var(run *r, const str *name, value v) {
    if (!r->status) set_in(r, r->scope, name, v);
}

static void assign_attr(run *r, const node *target, value v) {
    const node name = {.kind = N_NAME, .line = target->line, .name = target->name};
    const value ns = fr_jinja_eval(r, &name);
    if (r->status) return;
    if (ns.kind != J_NAMESPACE)
        fr_jinja_fail(r, "'%.*s' is no namespace, so nothing can be set in it",
                      (int)target->name->n, target->name->data);
    else
        fr_jinja_set_item(r, as_dict(ns), target->constant, v);
}

void fr_jinja_assign(run *r, const node *target, value v) {
    if (r->status) return;
    if (target->kind == N_NAME) {
        set_in(r, r->scope, target->name, v);
        return;
    }
    if (target->kind == N_NS_REF) {
        assign_attr(r, target, v);
        return;
    }
    const seq *s = fr_jinja_iterate(r, v);
    size_t i = 0;
    for (const node *item = target->list; item && s && !r->status; item = item->next, i++) {
        if (i >= s->n) break;
        fr_jinja_assign(r, item, s->item[i]);
    }
    size_t n = 0;
    for (const node *item = target->list; item; item = item->next)
        n++;
    if (s && n != s->n && !r->status) fr_jinja_fail(r, "%zu values for %zu names", s->n, n);
}

// ---- bodies

value fr_jinja_caught(run *r, const node *list) {
    writer t = {.r = r}, *outer = r->out;
    r->out = &t;
    fr_jinja_exec(r, list);
    r->out = outer;
    return fr_jinja_text_value(&t);
}

static value caught_scoped(run *r, const node *list) {
    scope *outer = r->scope;
    const value v = fr_jinja_push_scope(r, outer) ? fr_jinja_caught(r, list) : UNDEFINED;
    r->scope = outer;
    return v;
}

// `filters` over `in`; NULL: in itself.
static value filtered(run *r, const node *filters, value in) {
    const value outer = r->input;
    r->input = in;
    const value v = filters ? fr_jinja_eval(r, filters) : in;
    r->input = outer;
    return v;
}

// ---- tags

static value make_macro(run *r, const node *n) {
    macro *m = fr_jinja_alloc(r, sizeof *m);
    if (!m) return UNDEFINED;
    *m = (macro){n, r->scope};
    for (scope *s = r->scope; s && !s->captured; s = s->outer)
        s->captured = true;
    return make_ref(J_MACRO, m);
}

static void output(run *r, value v) {
    const str s = fr_jinja_to_str(r, v);
    if (!r->status) fr_jinja_output(r, &s);
}

static void exec_call_block(run *r, const node *n) {
    const value caller = make_macro(r, n);
    args a = {0};
    if (!n->a) {
        output(r, fr_jinja_call(r, caller, &a));
        return;
    }
    const value callee = fr_jinja_eval(r, n->a->a);
    fr_jinja_eval_args(r, n->a, &a);
    fr_jinja_set_item(r, &a.named, make_ref(J_STR, r->program->caller), caller);
    output(r, fr_jinja_call(r, callee, &a));
}

static void exec_with(run *r, const node *n) {
    scope *outer = r->scope, *inner = fr_jinja_push_scope(r, outer);
    for (const node *set = n->other; set && inner && !r->status; set = set->next) {
        r->scope = outer;
        const value v = fr_jinja_eval(r, set->b);
        r->scope = inner;
        fr_jinja_assign(r, set->a, v);
    }
    if (inner) fr_jinja_exec(r, n->list);
    r->scope = outer;
}

static void exec_set_block(run *r, const node *n) {
    const value body = caught_scoped(r, n->list);
    if (r->flow == FLOW_ON) fr_jinja_assign(r, n->a, filtered(r, n->b, body));
}

static void exec_filter_block(run *r, const node *n) {
    const value body = caught_scoped(r, n->list);
    if (r->flow == FLOW_ON) output(r, filtered(r, n->a, body));
}

// A block sees the variables of the template's top level, not those around the block.
static void exec_block(run *r, const node *n) {
    scope *outer = r->scope;
    if (fr_jinja_push_scope(r, r->root)) fr_jinja_exec(r, n->list);
    r->scope = outer;
}

static void exec_one(run *r, const node *n) {
    switch (n->kind) {
    case N_DATA:
        fr_jinja_output(r, as_str(n->constant));
        break;
    case N_OUTPUT:
        output(r, fr_jinja_eval(r, n->a));
        break;
    case N_IF:
        fr_jinja_exec(r, fr_jinja_truth(fr_jinja_eval(r, n->a)) ? n->list : n->other);
        break;
    case N_FOR:
        fr_jinja_exec_for(r, n);
        break;
    case N_SET:
        fr_jinja_assign(r, n->a, fr_jinja_eval(r, n->b));
        break;
    case N_SET_BLOCK:
        exec_set_block(r, n);
        break;
    case N_MACRO:
        fr_jinja_set_var(r, n->name, make_macro(r, n));
        break;
    case N_CALL_BLOCK:
        exec_call_block(r, n);
        break;
    case N_FILTER_BLOCK:
        exec_filter_block(r, n);
        break;
    case N_WITH:
        exec_with(r, n);
        break;
    case N_BLOCK:
        exec_block(r, n);
        break;
    case N_BREAK:
        r->flow = FLOW_BREAK;
        break;
    case N_CONTINUE:
        r->flow = FLOW_CONTINUE;
        break;
    case N_REFUSE:
        fr_jinja_fail(r, "%.*s", (int)n->name->n, n->name->data);
        break;
    case NODES_EXPRESSIONS:
    case NODES_PARTS:
        break;
    }
}

void fr_jinja_exec(run *r, const node *list) {
    if (!fr_jinja_enter(r)) return;
    for (; list && r->flow == FLOW_ON && fr_jinja_work(r, 0); list = list->next) {
        r->line = list->line;
        exec_one(r, list);
    }
    r->depth--;
}
