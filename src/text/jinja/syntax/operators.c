// operators.c — the expressions of tags, from the tightest binding operator to the loosest, which
// is (a if b else c).
#include "text/jinja/syntax/node.h"

static node *binary(parser *p, op o, node *a, node *b, int line) {
    node *n = fr_jinja_new_node(p, N_BINARY, line);
    if (n) n->op = o, n->a = a, n->b = b;
    return n;
}

// Left-associative operators between `next`s.
static node *chain(parser *p, node *(*next)(parser *), const op *ops) {
    node *left = next(p);
    for (;;) {
        const int line = p->at->line;
        const op *o = ops;
        while (*o && !fr_jinja_at_op(p, *o))
            o++;
        if (!*o || p->status) return left;
        p->at++;
        left = binary(p, *o, left, next(p), line);
    }
}

static node *parse_unary(parser *p, bool with_filters) {
    node *n;
    if (fr_jinja_at_op(p, OP_SUB) || fr_jinja_at_op(p, OP_ADD)) {
        const bool minus = fr_jinja_at_op(p, OP_SUB);
        if (p->depth >= MAX_EXPRESSIONS)
            return fr_jinja_parse_failed(p, p->at->line, "expressions nested too deeply");
        if (!(n = fr_jinja_new_node(p, minus ? N_NEG : N_POS, p->at->line))) return NULL;
        p->at++;
        p->depth++;
        n->a = parse_unary(p, false);
        p->depth--;
    } else {
        n = fr_jinja_parse_primary(p, false);
    }
    n = fr_jinja_parse_postfix(p, n);
    return with_filters ? fr_jinja_parse_after(p, n) : n;
}

static node *parse_full_unary(parser *p) {
    return parse_unary(p, true);
}

static node *parse_pow(parser *p) {
    static const op ops[] = {OP_POW, OP_NONE};
    return chain(p, parse_full_unary, ops);
}

static node *parse_product(parser *p) {
    static const op ops[] = {OP_MUL, OP_DIV, OP_FLOORDIV, OP_MOD, OP_NONE};
    return chain(p, parse_pow, ops);
}

static node *parse_concat(parser *p) {
    const int line = p->at->line;
    node *first = parse_product(p);
    if (!fr_jinja_at_op(p, OP_TILDE)) return first;
    node *n = fr_jinja_new_node(p, N_CONCAT, line), *last = first;
    if (n) n->list = first;
    while (!p->status && fr_jinja_skip_op(p, OP_TILDE))
        if ((last->next = parse_product(p))) last = last->next;
    return n;
}

static node *parse_sum(parser *p) {
    static const op ops[] = {OP_ADD, OP_SUB, OP_NONE};
    return chain(p, parse_concat, ops);
}

static op comparison(parser *p) {
    const op o = p->at->kind == T_OPERATOR ? p->at->op : OP_NONE;
    if (o >= OP_EQ && o <= OP_GE) {
        p->at++;
        return o;
    }
    if (fr_jinja_skip_name(p, "in")) return OP_IN;
    if (!fr_jinja_at_name(p, "not") || p->at[1].kind != T_NAME || !str_is(&p->at[1].text, "in"))
        return OP_NONE;
    p->at += 2;
    return OP_NOT_IN;
}

static node *parse_compare(parser *p) {
    const int line = p->at->line;
    node *first = parse_sum(p), *n = NULL, **last = NULL;
    for (op o; !p->status && (o = comparison(p));) {
        if (!n) {
            if (!(n = fr_jinja_new_node(p, N_COMPARE, line))) return NULL;
            n->a = first;
            last = &n->list;
        }
        node *operand = fr_jinja_new_node(p, N_OPERAND, line);
        if (!operand) return NULL;
        operand->op = o;
        operand->a = parse_sum(p);
        *last = operand;
        last = &operand->next;
    }
    return n ? n : first;
}

static node *parse_not(parser *p) {
    const int line = p->at->line;
    int n = 0;
    while (fr_jinja_skip_name(p, "not"))
        n++;
    node *x = parse_compare(p);
    for (; n && !p->status; n--) {
        node *outer = fr_jinja_new_node(p, N_NOT, line);
        if (outer) outer->a = x;
        x = outer;
    }
    return x;
}

static node *parse_logic(parser *p, node *(*next)(parser *), const char *word, node_kind kind) {
    const int line = p->at->line;
    node *left = next(p);
    while (!p->status && fr_jinja_skip_name(p, word)) {
        node *n = fr_jinja_new_node(p, kind, line);
        if (!n) return NULL;
        n->a = left;
        n->b = next(p);
        left = n;
    }
    return left;
}

static node *parse_and(parser *p) {
    return parse_logic(p, parse_not, "and", N_AND);
}

static node *parse_or(parser *p) {
    return parse_logic(p, parse_and, "or", N_OR);
}

static node *parse_cond(parser *p) {
    const int line = p->at->line;
    const bool soft = p->soft;
    node *x = parse_or(p);
    while (!p->status && fr_jinja_skip_name(p, "if")) {
        node *n = fr_jinja_new_node(p, N_COND, line);
        if (!n) return NULL;
        p->soft = true;
        n->a = x;
        n->b = parse_or(p);
        if (fr_jinja_skip_name(p, "else")) n->c = fr_jinja_parse_expression(p, true);
        p->soft = soft;
        x = n;
    }
    return x;
}

node *fr_jinja_parse_expression(parser *p, bool with_if) {
    if (p->status) return NULL;
    if (p->depth >= MAX_EXPRESSIONS)
        return fr_jinja_parse_failed(p, p->at->line, "expressions nested too deeply");
    p->depth++;
    node *n = with_if ? parse_cond(p) : parse_or(p);
    p->depth--;
    return n;
}
