// postfix.c — what follows a value: subscripts, calls, filters, tests.
#include "text/jinja/functions.h"
#include "text/jinja/syntax/node.h"

static node *parse_argument(parser *p, node *call, node ***last, node ***keywords) {
    node **into = NULL, *n;
    if (fr_jinja_skip_op(p, OP_MUL)) {
        if (call->b || call->c) goto bad;
        into = &call->b;
    } else if (fr_jinja_skip_op(p, OP_POW)) {
        if (call->c) goto bad;
        into = &call->c;
    } else if (p->at->kind == T_NAME && p->at[1].kind == T_OPERATOR && p->at[1].op == OP_ASSIGN) {
        if (call->c || !(n = fr_jinja_new_node(p, N_KEYWORD, p->at->line))) goto bad;
        n->name = fr_jinja_expect_name(p);
        p->at++;
        **keywords = n;
        *keywords = &n->next;
        into = &n->a;
    } else {
        if (call->b || call->c || call->params) goto bad;
        into = *last;
    }
    *into = fr_jinja_parse_expression(p, true);
    if (into == *last && *into) *last = &(*into)->next;
    return call;
bad:
    return fr_jinja_parse_failed(p, p->at->line, "arguments in an order that a call cannot have");
}

static void parse_arguments(parser *p, node *call) {
    node **last_arg = &call->list, **keywords = &call->params;
    p->at++; // the parenthesis
    while (!p->status && !fr_jinja_at_op(p, OP_RPAREN)) {
        parse_argument(p, call, &last_arg, &keywords);
        if (!fr_jinja_at_op(p, OP_RPAREN)) fr_jinja_expect_op(p, OP_COMMA, ",");
    }
    fr_jinja_expect_op(p, OP_RPAREN, ")");
}

static node *parse_call(parser *p, node *callee) {
    node *n = fr_jinja_new_node(p, N_CALL, p->at->line);
    if (!n) return NULL;
    n->a = callee;
    parse_arguments(p, n);
    return n;
}

static bool at_part_end(const parser *p) {
    return fr_jinja_at_op(p, OP_RBRACKET) || fr_jinja_at_op(p, OP_COMMA) ||
           fr_jinja_at_op(p, OP_COLON);
}

// One subscript, `n` being N_ITEM: an expression, or a slice, which makes n an N_SLICE.
static void parse_subscripted(parser *p, node *n) {
    if (!fr_jinja_at_op(p, OP_COLON)) n->b = fr_jinja_parse_expression(p, true);
    if (!fr_jinja_skip_op(p, OP_COLON)) return;
    n->kind = N_SLICE;
    if (!at_part_end(p)) n->c = fr_jinja_parse_expression(p, true);
    if (fr_jinja_skip_op(p, OP_COLON) && !at_part_end(p)) n->d = fr_jinja_parse_expression(p, true);
}

static node *parse_subscript(parser *p, node *of) {
    node *n = fr_jinja_new_node(p, N_ITEM, p->at->line);
    if (!n) return NULL;
    n->a = of;
    if (fr_jinja_skip_op(p, OP_DOT)) {
        if (p->at->kind == T_CONSTANT &&
            (p->at->constant.kind == J_INT || p->at->constant.kind == J_BIG)) {
            n->b = fr_jinja_parse_constant(p);
            return n;
        }
        n->kind = N_ATTR;
        n->name = fr_jinja_expect_name(p);
        return n;
    }
    p->at++;
    if (fr_jinja_at_op(p, OP_RBRACKET)) { // x[]: an empty tuple
        n->b = fr_jinja_new_node(p, N_TUPLE, n->line);
    } else {
        parse_subscripted(p, n);
        if (fr_jinja_at_op(p, OP_COMMA) && n->kind == N_ITEM) { // x[a, b]: a tuple
            node *tuple = fr_jinja_new_node(p, N_TUPLE, n->line), *last = n->b;
            if (!tuple || !last) return NULL;
            tuple->list = last;
            while (!p->status && fr_jinja_skip_op(p, OP_COMMA))
                if ((last->next = fr_jinja_parse_expression(p, true))) last = last->next;
            n->b = tuple;
        }
    }
    fr_jinja_expect_op(p, OP_RBRACKET, "]");
    return n;
}

node *fr_jinja_parse_postfix(parser *p, node *n) {
    while (n && !p->status) {
        if (fr_jinja_at_op(p, OP_DOT) || fr_jinja_at_op(p, OP_LBRACKET))
            n = parse_subscript(p, n);
        else if (fr_jinja_at_op(p, OP_LPAREN))
            n = parse_call(p, n);
        else
            break;
    }
    return n;
}

// A name with dots, as filters and tests may have.
static const str *parse_dotted(parser *p) {
    const str *name = fr_jinja_expect_name(p);
    while (!p->status && fr_jinja_skip_op(p, OP_DOT)) {
        fr_jinja_expect_name(p);
        name = fr_jinja_intern(p, "", 0); // none of ours has a dot
    }
    return name;
}

static void find_function(parser *p, node *n, const void *found, const char *what) {
    n->found = found;
    if (!found && !p->soft && n->name)
        fr_jinja_parse_failed(p, n->line, "no %s named '%.*s'", what,
                              (int)(n->name->n < 60 ? n->name->n : 60), n->name->data);
}

node *fr_jinja_parse_filters(parser *p, node *input, bool inline_first) {
    node *n = input;
    while (!p->status && (inline_first || fr_jinja_skip_op(p, OP_PIPE))) {
        node *filter = fr_jinja_new_node(p, N_FILTER, p->at->line);
        if (!filter) return NULL;
        inline_first = false;
        filter->a = n;
        filter->name = parse_dotted(p);
        if (filter->name) find_function(p, filter, fr_jinja_filter_named(filter->name), "filter");
        if (fr_jinja_at_op(p, OP_LPAREN)) parse_arguments(p, filter);
        n = filter;
    }
    return n;
}

static bool at_test_argument(const parser *p) {
    if (p->at->kind == T_CONSTANT) return true;
    if (p->at->kind == T_NAME)
        return !fr_jinja_at_name(p, "else") && !fr_jinja_at_name(p, "or") &&
               !fr_jinja_at_name(p, "and");
    return fr_jinja_at_op(p, OP_LBRACKET) || fr_jinja_at_op(p, OP_LBRACE);
}

static node *parse_test(parser *p, node *x) {
    node *n = fr_jinja_new_node(p, N_TEST, p->at->line);
    if (!n) return NULL;
    p->at++; // "is"
    const bool negated = fr_jinja_skip_name(p, "not");
    n->a = x;
    n->name = parse_dotted(p);
    if (n->name) find_function(p, n, fr_jinja_test_named(n->name), "test");
    if (fr_jinja_at_op(p, OP_LPAREN)) {
        parse_arguments(p, n);
    } else if (at_test_argument(p)) {
        if (fr_jinja_at_name(p, "is"))
            return fr_jinja_parse_failed(p, n->line, "tests cannot be chained");
        n->list = fr_jinja_parse_postfix(p, fr_jinja_parse_primary(p, false));
    }
    if (!negated) return n;
    node *outer = fr_jinja_new_node(p, N_NOT, n->line);
    if (outer) outer->a = n;
    return outer;
}

node *fr_jinja_parse_after(parser *p, node *n) {
    while (n && !p->status) {
        if (fr_jinja_at_op(p, OP_PIPE))
            n = fr_jinja_parse_filters(p, n, false);
        else if (fr_jinja_at_name(p, "is"))
            n = parse_test(p, n);
        else if (fr_jinja_at_op(p, OP_LPAREN))
            n = parse_call(p, n);
        else
            break;
    }
    return n;
}
