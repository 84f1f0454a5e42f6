// eval.c — expressions.
#include "text/jinja/run.h"

static value eval_name(run *r, const str *name) {
    for (const scope *s = r->scope; s; s = s->outer)
        for (const variable *v = s->vars; v; v = v->next, r->steps++)
            if (v->name == name) return v->v;
    const value *given = fr_jinja_dict_find_text(r->vars, name->data, name->n);
    if (given) return *given;
    const function *f = fr_jinja_global_named(name);
    if (f && (r->now || strcmp(f->name, "strftime_now"))) return make_ref(J_FUNCTION, f);
    return make_ref(J_UNDEFINED, name);
}

static value eval_seq(run *r, const node *n) {
    seq *s = fr_jinja_make_seq(r, n->kind == N_LIST ? SEQ_LIST : SEQ_TUPLE);
    for (const node *item = n->list; item && !r->status; item = item->next)
        fr_jinja_add(r, s, fr_jinja_eval(r, item));
    return make_ref(J_SEQ, s);
}

static value eval_dict(run *r, const node *n) {
    dict *d = fr_jinja_make_dict(r);
    for (const node *pair = n->list; pair && !r->status; pair = pair->next) {
        const value key = fr_jinja_eval(r, pair->a);
        fr_jinja_set_item(r, d, key, fr_jinja_eval(r, pair->b));
    }
    return make_ref(J_DICT, d);
}

static value eval_optional(run *r, const node *n) {
    return n ? fr_jinja_eval(r, n) : NONE_VALUE;
}

static value eval_slice(run *r, const node *n) {
    const value of = fr_jinja_eval(r, n->a), from = eval_optional(r, n->b);
    const value to = eval_optional(r, n->c), by = eval_optional(r, n->d);
    return fr_jinja_slice(r, of, from, to, by);
}

static value eval_compare(run *r, const node *n) {
    value left = fr_jinja_eval(r, n->a);
    for (const node *operand = n->list; operand && !r->status; operand = operand->next) {
        const value right = fr_jinja_eval(r, operand->a);
        if (!fr_jinja_compares(r, operand->op, left, right)) return make_bool(false);
        left = right;
    }
    return make_bool(true);
}

static value eval_concat(run *r, const node *n) {
    str s = fr_jinja_to_str(r, fr_jinja_eval(r, n->list));
    value all = UNDEFINED;
    for (const node *part = n->list->next; part && !r->status; part = part->next) {
        const str more = fr_jinja_to_str(r, fr_jinja_eval(r, part));
        all = fr_jinja_concat(r, &s, &more);
        if (!r->status) s = *as_str(all);
    }
    return all;
}

void fr_jinja_eval_args(run *r, const node *call, args *out) {
    for (const node *a = call->list; a && !r->status; a = a->next)
        fr_jinja_add_arg(r, out, fr_jinja_eval(r, a));
    for (const node *k = call->params; k && !r->status; k = k->next)
        fr_jinja_set_item(r, &out->named, make_ref(J_STR, k->name), fr_jinja_eval(r, k->a));
    if (call->b) {
        const seq *s = fr_jinja_iterate(r, fr_jinja_eval(r, call->b));
        for (size_t i = 0; s && i < s->n && fr_jinja_work(r, 0); i++)
            fr_jinja_add_arg(r, out, s->item[i]);
    }
    if (!call->c) return;
    const value named = fr_jinja_eval(r, call->c);
    if (named.kind != J_DICT) fr_jinja_fail(r, "'**' needs a mapping");
    for (size_t i = 0; !r->status && i < as_dict(named)->n; i++) {
        const value key = as_dict(named)->entry[i].key;
        if (key.kind == J_STR)
            fr_jinja_set_item(r, &out->named, key, as_dict(named)->entry[i].item);
        else
            fr_jinja_fail(r, "'**' needs names that are strings, found %s",
                          fr_jinja_kind_name(key));
    }
}

static value eval_function(run *r, const node *n, const char *what) {
    const value in = fr_jinja_eval(r, n->a);
    args a = {0};
    fr_jinja_eval_args(r, n, &a);
    r->line = n->line;
    if (!n->found)
        return fr_jinja_fail(r, "no %s named '%.*s'", what,
                             (int)(n->name->n < 60 ? n->name->n : 60), n->name->data);
    return fr_jinja_apply(r, n->found, in, &a);
}

static value eval_call(run *r, const node *n) {
    const value callee = fr_jinja_eval(r, n->a);
    args a = {0};
    fr_jinja_eval_args(r, n, &a);
    r->line = n->line;
    return fr_jinja_call(r, callee, &a);
}

static value eval_binary(run *r, const node *n) {
    const value a = fr_jinja_eval(r, n->a), b = fr_jinja_eval(r, n->b);
    r->line = n->line; // sentences name the operator's, not its operands'
    return fr_jinja_binary(r, n->op, a, b);
}

static value eval_plus(run *r, const node *n) {
    const value v = fr_jinja_eval(r, n->a);
    if (r->status || is_number(v)) return v.kind == J_BOOL ? make_int(v.as.whole) : v;
    return fr_jinja_fail(r, "'+' does not work on %s", fr_jinja_kind_name(v));
}

static value eval_inner(run *r, const node *n) {
    value a;
    switch (n->kind) {
    case N_CONST:
        return n->constant;
    case N_NAME:
        return eval_name(r, n->name);
    case N_INPUT:
        return r->input;
    case N_LIST:
    case N_TUPLE:
        return eval_seq(r, n);
    case N_DICT:
        return eval_dict(r, n);
    case N_ATTR:
        return fr_jinja_attr(r, fr_jinja_eval(r, n->a), n->name);
    case N_ITEM:
        a = fr_jinja_eval(r, n->a);
        return fr_jinja_item(r, a, fr_jinja_eval(r, n->b));
    case N_SLICE:
        return eval_slice(r, n);
    case N_CALL:
        return eval_call(r, n);
    case N_FILTER:
        return eval_function(r, n, "filter");
    case N_TEST:
        return eval_function(r, n, "test");
    case N_NOT:
        return make_bool(!fr_jinja_truth(fr_jinja_eval(r, n->a)));
    case N_AND:
        a = fr_jinja_eval(r, n->a);
        return fr_jinja_truth(a) ? fr_jinja_eval(r, n->b) : a;
    case N_OR:
        a = fr_jinja_eval(r, n->a);
        return fr_jinja_truth(a) ? a : fr_jinja_eval(r, n->b);
    case N_NEG:
        return fr_jinja_negate(r, fr_jinja_eval(r, n->a));
    case N_POS:
        return eval_plus(r, n);
    case N_BINARY:
        return eval_binary(r, n);
    case N_CONCAT:
        return eval_concat(r, n);
    case N_COMPARE:
        return eval_compare(r, n);
    case N_COND:
        if (fr_jinja_truth(fr_jinja_eval(r, n->b))) return fr_jinja_eval(r, n->a);
        return n->c ? fr_jinja_eval(r, n->c) : UNDEFINED;
    case NODES_STATEMENTS:
    case NODES_PARTS:
        break;
    }
    return UNDEFINED;
}

value fr_jinja_eval(run *r, const node *n) {
    if (!fr_jinja_work(r, 0) || !fr_jinja_enter(r)) return UNDEFINED;
    r->line = n->line;
    const value v = eval_inner(r, n);
    r->depth--;
    return r->status ? UNDEFINED : v; // what a failure left may be half made
}
