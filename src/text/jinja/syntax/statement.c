// statement.c — tags, and the text between them.
#include "text/jinja/syntax/node.h"

enum { MAX_BLOCKS = 100 };

static bool expect_block_end(parser *p) {
    if (p->status) return false;
    if (p->at->kind == T_BLOCK_END) {
        p->at++;
        return true;
    }
    fr_jinja_parse_failed(p, p->at->line, "expected the end of a tag");
    return false;
}

// ---- bodies

static node *parse_statement(parser *p);

// The next piece of a body; *ends: it is a tag of `ends`, whose name comes next.
static node *parse_piece(parser *p, const char *const *ends, bool *ended) {
    node *n = NULL;
    switch (p->at->kind) {
    case T_DATA:
        if ((n = fr_jinja_new_node(p, N_DATA, p->at->line)))
            n->constant = make_ref(J_STR, &p->at->text);
        p->at++;
        return n;
    case T_VARIABLE_BEGIN:
        if ((n = fr_jinja_new_node(p, N_OUTPUT, p->at->line))) {
            p->at++;
            n->a = fr_jinja_parse_tuple(p, true, NULL);
        }
        if (!p->status && p->at->kind != T_VARIABLE_END)
            return fr_jinja_parse_failed(p, p->at->line, "expected the end of an expression");
        p->at += !p->status;
        return n;
    case T_BLOCK_BEGIN:
        p->at++;
        for (; ends && *ends; ends++)
            if (fr_jinja_at_name(p, *ends)) *ended = true;
        if (*ended) return NULL;
        n = parse_statement(p);
        expect_block_end(p);
        return n;
    case T_END:
    case T_VARIABLE_END:
    case T_BLOCK_END:
    case T_NAME:
    case T_CONSTANT:
    case T_OPERATOR:
        break;
    }
    return fr_jinja_parse_failed(p, p->at->line, "expected text or a tag");
}

// Up to one of the tags `ends` (NULL: the template's end), which p->at then names.
static node *parse_until(parser *p, const char *const *ends) {
    node *first = NULL, **last = &first;
    bool ended = false;
    if (p->depth >= MAX_BLOCKS)
        return fr_jinja_parse_failed(p, p->at->line, "tags nested too deeply");
    p->depth++;
    while (!p->status && !ended) {
        if (p->at->kind == T_END) {
            if (ends) fr_jinja_parse_failed(p, p->at->line, "a tag '%s' is missing", ends[0]);
            break;
        }
        node *n = parse_piece(p, ends, &ended);
        if (!n) continue;
        *last = n;
        while (n->next)
            n = n->next;
        last = &n->next;
    }
    p->depth--;
    return first;
}

// The body of a tag: from its end up to one of `ends`.
static node *parse_block(parser *p, const char *const *ends) {
    fr_jinja_skip_op(p, OP_COLON);
    return expect_block_end(p) ? parse_until(p, ends) : NULL;
}

// A body that is a frame of its own: what an `if` around it softens is firm in it.
static node *parse_frame(parser *p, const char *const *ends, bool loops) {
    const bool soft = p->soft;
    const int outer = p->loops;
    p->soft = false;
    if (!loops) p->loops = 0;
    node *body = parse_block(p, ends);
    p->soft = soft;
    p->loops = outer;
    return body;
}

node *fr_jinja_parse_body(parser *p) {
    return parse_until(p, NULL);
}

// ---- tags

static node *parse_if(parser *p, node *n) {
    static const char *const ends[] = {"elif", "else", "endif", NULL}, *const end[] = {"endif",
                                                                                       NULL};
    const bool soft = p->soft;
    node *at = n;
    p->soft = true;
    for (;;) {
        at->a = fr_jinja_parse_tuple(p, false, NULL);
        at->list = parse_block(p, ends);
        if (p->status || !fr_jinja_skip_name(p, "elif")) break;
        node *other = fr_jinja_new_node(p, N_IF, p->at->line);
        if (!other) break;
        at->other = other;
        at = other;
    }
    if (fr_jinja_skip_name(p, "else")) at->other = parse_block(p, end);
    p->at += !p->status; // endif
    p->soft = soft;
    return n;
}

static node *parse_for(parser *p, node *n) {
    static const char *const ends[] = {"endfor", "else", NULL}, *const end[] = {"endfor", NULL};
    n->a = fr_jinja_parse_target(p, false, "in");
    if (!p->status && !fr_jinja_skip_name(p, "in"))
        return fr_jinja_parse_failed(p, n->line, "expected 'in'");
    n->b = fr_jinja_parse_tuple(p, false, "recursive");
    if (fr_jinja_skip_name(p, "if")) n->c = fr_jinja_parse_expression(p, true);
    n->flag = fr_jinja_skip_name(p, "recursive");
    p->loops++;
    n->list = parse_frame(p, ends, true);
    p->loops--;
    if (!p->status && fr_jinja_skip_name(p, "else")) n->other = parse_frame(p, end, true);
    p->at += !p->status;
    return n;
}

static node *parse_set(parser *p, node *n) {
    static const char *const end[] = {"endset", NULL};
    n->a = fr_jinja_parse_target(p, true, NULL);
    if (fr_jinja_skip_op(p, OP_ASSIGN)) {
        n->b = fr_jinja_parse_tuple(p, true, NULL);
        return n;
    }
    n->kind = N_SET_BLOCK;
    if (fr_jinja_at_op(p, OP_PIPE))
        n->b = fr_jinja_parse_filters(p, fr_jinja_new_node(p, N_INPUT, n->line), false);
    n->list = parse_frame(p, end, true);
    p->at += !p->status;
    return n;
}

static void parse_signature(parser *p, node *n) {
    node **last = &n->params;
    bool defaults = false;
    fr_jinja_expect_op(p, OP_LPAREN, "(");
    while (!p->status && !fr_jinja_at_op(p, OP_RPAREN)) {
        node *param = fr_jinja_new_node(p, N_PARAM, p->at->line);
        if (!param) return;
        param->name = fr_jinja_expect_name(p);
        if (fr_jinja_skip_op(p, OP_ASSIGN)) {
            param->a = fr_jinja_parse_expression(p, true);
            defaults = true;
        } else if (defaults) {
            fr_jinja_parse_failed(p, param->line, "a parameter without default behind one with");
        }
        *last = param;
        last = &param->next;
        if (!fr_jinja_at_op(p, OP_RPAREN)) fr_jinja_expect_op(p, OP_COMMA, ",");
    }
    fr_jinja_expect_op(p, OP_RPAREN, ")");
}

// The body of a macro, and which of varargs, kwargs and caller it uses.
static void parse_macro_body(parser *p, node *n, const char *const *end) {
    const uint8_t around = p->uses;
    p->uses = 0;
    n->list = parse_frame(p, end, false);
    n->uses = p->uses;
    p->uses |= around;
    p->at += !p->status;
}

static node *parse_macro(parser *p, node *n) {
    static const char *const end[] = {"endmacro", NULL};
    n->name = fr_jinja_expect_name(p);
    parse_signature(p, n);
    parse_macro_body(p, n, end);
    return n;
}

static node *parse_call_block(parser *p, node *n) {
    static const char *const end[] = {"endcall", NULL};
    if (fr_jinja_at_op(p, OP_LPAREN)) parse_signature(p, n);
    n->a = fr_jinja_parse_expression(p, true);
    if (n->a && n->a->kind != N_CALL) return fr_jinja_parse_failed(p, n->line, "expected a call");
    n->name = p->to->caller;
    parse_macro_body(p, n, end);
    return n;
}

static node *parse_generation(parser *p, node *n) {
    static const char *const end[] = {"endgeneration", NULL};
    n->name = p->to->caller;
    parse_macro_body(p, n, end);
    return n;
}

static node *parse_filter_block(parser *p, node *n) {
    static const char *const end[] = {"endfilter", NULL};
    n->a = fr_jinja_parse_filters(p, fr_jinja_new_node(p, N_INPUT, n->line), true);
    n->list = parse_frame(p, end, true);
    p->at += !p->status;
    return n;
}

static node *parse_with(parser *p, node *n) {
    static const char *const end[] = {"endwith", NULL};
    node **last = &n->other;
    while (!p->status && p->at->kind != T_BLOCK_END) {
        if (last != &n->other) fr_jinja_expect_op(p, OP_COMMA, ",");
        node *set = fr_jinja_new_node(p, N_SET, p->at->line);
        if (!set) return NULL;
        set->a = fr_jinja_parse_target(p, false, NULL);
        fr_jinja_expect_op(p, OP_ASSIGN, "=");
        set->b = fr_jinja_parse_expression(p, true);
        *last = set;
        last = &set->next;
    }
    n->list = parse_frame(p, end, true);
    p->at += !p->status;
    return n;
}

static node *parse_named_block(parser *p, node *n) {
    static const char *const end[] = {"endblock", NULL};
    fr_jinja_expect_name(p);
    fr_jinja_skip_name(p, "scoped");
    fr_jinja_skip_name(p, "required");
    n->list = parse_frame(p, end, false);
    p->at += !p->status;
    if (p->at->kind == T_NAME) p->at++;
    return n;
}

static node *parse_print(parser *p, node *first) {
    node **last = &first->next;
    first->a = fr_jinja_parse_expression(p, true);
    while (!p->status && fr_jinja_skip_op(p, OP_COMMA)) {
        node *n = fr_jinja_new_node(p, N_OUTPUT, p->at->line);
        if (!n) return NULL;
        n->a = fr_jinja_parse_expression(p, true);
        *last = n;
        last = &n->next;
    }
    return first;
}

static node *parse_jump(parser *p, node *n) {
    return p->loops ? n : fr_jinja_parse_failed(p, n->line, "break or continue outside a loop");
}

// Templates in other files: there are none, which matters when it is reached.
static node *parse_reach_out(parser *p, node *n) {
    static const str why = {.data = "there is no other template to take from", .n = 39};
    while (!p->status && p->at->kind != T_BLOCK_END && p->at->kind != T_END)
        p->at++;
    n->name = &why;
    return n;
}

static const struct {
    const char *name;
    node_kind kind;
    node *(*parse)(parser *p, node *n);
} tags[] = {
    {"if", N_IF, parse_if},
    {"for", N_FOR, parse_for},
    {"set", N_SET, parse_set},
    {"macro", N_MACRO, parse_macro},
    {"call", N_CALL_BLOCK, parse_call_block},
    {"generation", N_CALL_BLOCK, parse_generation},
    {"filter", N_FILTER_BLOCK, parse_filter_block},
    {"with", N_WITH, parse_with},
    {"block", N_BLOCK, parse_named_block},
    {"print", N_OUTPUT, parse_print},
    {"break", N_BREAK, parse_jump},
    {"continue", N_CONTINUE, parse_jump},
    {"include", N_REFUSE, parse_reach_out},
    {"import", N_REFUSE, parse_reach_out},
    {"from", N_REFUSE, parse_reach_out},
    {"extends", N_REFUSE, parse_reach_out},
};

static node *parse_statement(parser *p) {
    const int line = p->at->line;
    const str *name = &p->at->text;
    for (size_t i = 0; i < sizeof tags / sizeof *tags && p->at->kind == T_NAME; i++) {
        if (!str_is(name, tags[i].name)) continue;
        node *n = fr_jinja_new_node(p, tags[i].kind, line);
        p->at++;
        return n ? tags[i].parse(p, n) : NULL;
    }
    if (p->at->kind != T_NAME) return fr_jinja_parse_failed(p, line, "expected the name of a tag");
    return fr_jinja_parse_failed(p, line, "unknown tag '%.*s'", (int)(name->n < 60 ? name->n : 60),
                                 name->data);
}
