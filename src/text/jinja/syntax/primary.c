// primary.c — literals, names, lists and mappings; tuples of them; what can be assigned to.
#include "text/jinja/syntax/node.h"

// ---- literals and names

node *fr_jinja_parse_constant(parser *p) {
    node *n = fr_jinja_new_node(p, N_CONST, p->at->line);
    if (!n) return NULL;
    n->constant = p->at->constant;
    p->at++;
    if (n->constant.kind != J_STR) return n;
    while (p->at->kind == T_CONSTANT && p->at->constant.kind == J_STR) { // "a" "b"
        const str *a = as_str(n->constant), *b = as_str(p->at->constant);
        char *both = fr_jinja_take(&p->to->mem, a->n + b->n + 1);
        if (!both) return fr_jinja_parse_no_memory(p);
        memcpy(both, a->data, a->n);
        memcpy(both + a->n, b->data, b->n);
        n->constant = fr_jinja_str_value(&p->to->mem, (str){.data = both, .n = a->n + b->n});
        if (n->constant.kind == J_MISSING) return fr_jinja_parse_no_memory(p);
        p->at++;
    }
    return n;
}

static node *constant_name(parser *p, const str *name, int line) {
    value v;
    if (str_is(name, "true") || str_is(name, "True"))
        v = make_bool(true);
    else if (str_is(name, "false") || str_is(name, "False"))
        v = make_bool(false);
    else if (str_is(name, "none") || str_is(name, "None"))
        v = NONE_VALUE;
    else
        return NULL;
    node *n = fr_jinja_new_node(p, N_CONST, line);
    if (n) n->constant = v;
    return n;
}

static void note_use(parser *p, const str *name) {
    if (name == p->to->varargs) p->uses |= USES_VARARGS;
    if (name == p->to->kwargs) p->uses |= USES_KWARGS;
    if (name == p->to->caller) p->uses |= USES_CALLER;
}

static node *parse_name(parser *p, bool with_namespace) {
    const int line = p->at->line;
    const str *name = fr_jinja_expect_name(p);
    node *n = name ? constant_name(p, name, line) : NULL;
    if (n || !name) return n;
    if (with_namespace && fr_jinja_skip_op(p, OP_DOT)) {
        if (!(n = fr_jinja_new_node(p, N_NS_REF, line))) return NULL;
        n->name = name;
        const str *attribute = fr_jinja_expect_name(p);
        if (attribute) n->constant = make_ref(J_STR, attribute);
        return n;
    }
    if ((n = fr_jinja_new_node(p, N_NAME, line))) n->name = name;
    note_use(p, name);
    return n;
}

static node *parse_list(parser *p) {
    node *n = fr_jinja_new_node(p, N_LIST, p->at->line), **last = n ? &n->list : NULL;
    p->at++;
    while (n && !p->status && !fr_jinja_at_op(p, OP_RBRACKET)) {
        if ((*last = fr_jinja_parse_expression(p, true))) last = &(*last)->next;
        if (!fr_jinja_at_op(p, OP_RBRACKET)) fr_jinja_expect_op(p, OP_COMMA, ",");
    }
    fr_jinja_expect_op(p, OP_RBRACKET, "]");
    return n;
}

static node *parse_dict(parser *p) {
    node *n = fr_jinja_new_node(p, N_DICT, p->at->line), **last = n ? &n->list : NULL;
    p->at++;
    while (n && !p->status && !fr_jinja_at_op(p, OP_RBRACE)) {
        node *pair = fr_jinja_new_node(p, N_PAIR, p->at->line);
        if (!pair) return NULL;
        pair->a = fr_jinja_parse_expression(p, true);
        fr_jinja_expect_op(p, OP_COLON, ":");
        pair->b = fr_jinja_parse_expression(p, true);
        *last = pair;
        last = &pair->next;
        if (!fr_jinja_at_op(p, OP_RBRACE)) fr_jinja_expect_op(p, OP_COMMA, ",");
    }
    fr_jinja_expect_op(p, OP_RBRACE, "}");
    return n;
}

node *fr_jinja_parse_primary(parser *p, bool with_namespace) {
    node *n;
    if (p->at->kind == T_NAME) return parse_name(p, with_namespace);
    if (p->at->kind == T_CONSTANT) return fr_jinja_parse_constant(p);
    if (fr_jinja_at_op(p, OP_LBRACKET)) return parse_list(p);
    if (fr_jinja_at_op(p, OP_LBRACE)) return parse_dict(p);
    if (!fr_jinja_skip_op(p, OP_LPAREN))
        return fr_jinja_parse_failed(p, p->at->line, "an expression was expected");
    if (fr_jinja_at_op(p, OP_RPAREN))
        n = fr_jinja_new_node(p, N_TUPLE, p->at->line);
    else
        n = fr_jinja_parse_tuple(p, true, NULL);
    fr_jinja_expect_op(p, OP_RPAREN, ")");
    return n;
}

// ---- tuples and targets

typedef struct tuple_style {
    bool target, with_if, with_namespace;
    const char *end;
} tuple_style;

static bool at_tuple_end(const parser *p, const tuple_style *how) {
    return p->at->kind == T_VARIABLE_END || p->at->kind == T_BLOCK_END || p->at->kind == T_END ||
           fr_jinja_at_op(p, OP_RPAREN) || (how->end && fr_jinja_at_name(p, how->end));
}

static node *parse_item(parser *p, const tuple_style *how) {
    if (!how->target) return fr_jinja_parse_expression(p, how->with_if);
    if (p->depth >= MAX_EXPRESSIONS)
        return fr_jinja_parse_failed(p, p->at->line, "expressions nested too deeply");
    p->depth++;
    node *n = fr_jinja_parse_primary(p, how->with_namespace);
    p->depth--;
    return n;
}

static node *parse_items(parser *p, const tuple_style *how) {
    const int line = p->at->line;
    if (p->status) return NULL;
    if (at_tuple_end(p, how)) return fr_jinja_parse_failed(p, line, "an expression was expected");
    node *first = parse_item(p, how);
    if (p->status || !fr_jinja_at_op(p, OP_COMMA)) return first;
    node *n = fr_jinja_new_node(p, N_TUPLE, line), *last = first;
    if (!n) return NULL;
    n->list = first;
    while (!p->status && fr_jinja_skip_op(p, OP_COMMA) && !at_tuple_end(p, how))
        if ((last->next = parse_item(p, how))) last = last->next;
    return n;
}

node *fr_jinja_parse_tuple(parser *p, bool with_if, const char *end) {
    return parse_items(p, &(tuple_style){.with_if = with_if, .end = end});
}

static bool is_target(const node *n) {
    if (n->kind == N_NAME || n->kind == N_NS_REF) return true;
    if (n->kind != N_TUPLE) return false;
    for (const node *item = n->list; item; item = item->next)
        if (!is_target(item)) return false;
    return true;
}

node *fr_jinja_parse_target(parser *p, bool with_namespace, const char *end) {
    node *n = parse_items(
        p, &(tuple_style){.target = true, .with_namespace = with_namespace, .end = end});
    if (n && !p->status && !is_target(n))
        return fr_jinja_parse_failed(p, n->line, "a name to assign to was expected");
    return n;
}
