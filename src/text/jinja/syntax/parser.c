// parser.c — the parser's tools, and a template from text to tree.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/plain_locale.h"
#include "text/jinja/syntax/node.h"
#include <stdarg.h>
#include <stdio.h>

// ---- tools

node *fr_jinja_parse_failed(parser *p, int line, const char *format, ...) {
    char why[200];
    va_list list;
    if (p->status) return NULL;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    p->status = fr_fail(p->err, FR_EDATA, "chat template, line %d: %s", line, why);
    return NULL;
}

node *fr_jinja_parse_no_memory(parser *p) {
    if (!p->status) p->status = fr_fail(p->err, FR_ENOMEM, "chat template: no memory");
    return NULL;
}

node *fr_jinja_new_node(parser *p, node_kind kind, int line) {
    node *n = p->status ? NULL : fr_jinja_take(&p->to->mem, sizeof *n);
    if (!n) return fr_jinja_parse_no_memory(p);
    n->kind = kind;
    n->line = line;
    return n;
}

const str *fr_jinja_intern(parser *p, const char *text, size_t n) {
    const value *known = fr_jinja_dict_find_text(&p->to->names, text, n);
    if (known) return as_str(*known);
    const value name = fr_jinja_str_value(&p->to->mem, (str){.data = text, .n = n});
    if (name.kind == J_MISSING || !fr_jinja_dict_put(&p->to->mem, &p->to->names, name, name)) {
        fr_jinja_parse_no_memory(p);
        return NULL;
    }
    return as_str(name);
}

bool fr_jinja_at_name(const parser *p, const char *name) {
    return p->at->kind == T_NAME && str_is(&p->at->text, name);
}

bool fr_jinja_at_op(const parser *p, op o) {
    return p->at->kind == T_OPERATOR && p->at->op == o;
}

bool fr_jinja_skip_name(parser *p, const char *name) {
    const bool there = fr_jinja_at_name(p, name);
    p->at += there;
    return there;
}

bool fr_jinja_skip_op(parser *p, op o) {
    const bool there = fr_jinja_at_op(p, o);
    p->at += there;
    return there;
}

bool fr_jinja_expect_op(parser *p, op o, const char *written) {
    if (p->status) return false;
    if (fr_jinja_skip_op(p, o)) return true;
    fr_jinja_parse_failed(p, p->at->line, "expected '%s'", written);
    return false;
}

const str *fr_jinja_expect_name(parser *p) {
    if (p->status) return NULL;
    const str *text = &p->at->text;
    if (p->at->kind != T_NAME || (text->data[0] >= '0' && text->data[0] <= '9')) {
        fr_jinja_parse_failed(p, p->at->line, "expected a name");
        return NULL;
    }
    p->at++;
    return fr_jinja_intern(p, text->data, text->n);
}

// ---- the whole

static fr_status open_program(fr_jinja **out, const char *text, size_t bytes, fr_error *err) {
    if (bytes > FR_JINJA_MAX_TEMPLATE)
        return fr_fail(err, FR_EDATA, "chat template: expected at most %d bytes, found %zu",
                       FR_JINJA_MAX_TEMPLATE, bytes);
    fr_jinja *t = fr_alloc_zero(sizeof *t);
    if (!t) return fr_fail(err, FR_ENOMEM, "chat template: no memory");
    t->mem.limit = (size_t)FR_JINJA_MAX_MEMORY;
    parser p = {.to = t, .err = err};
    token *tokens = NULL;
    p.status = fr_jinja_lex(&t->mem, text, bytes, &tokens, err);
    p.at = tokens;
    if (!p.status) {
        t->loop = fr_jinja_intern(&p, "loop", 4);
        t->varargs = fr_jinja_intern(&p, "varargs", 7);
        t->kwargs = fr_jinja_intern(&p, "kwargs", 6);
        t->caller = fr_jinja_intern(&p, "caller", 6);
    }
    if (!p.status) t->body = fr_jinja_parse_body(&p);
    if (p.status) {
        fr_jinja_close(t);
        return p.status;
    }
    *out = t;
    return FR_OK;
}

fr_status fr_jinja_open(fr_jinja **out, const char *text, size_t bytes, fr_error *err) {
    const fr_plain_locale l = fr_plain_locale_set();
    *out = NULL;
    const fr_status st = open_program(out, text, bytes, err);
    fr_plain_locale_restore(l);
    return st;
}

void fr_jinja_close(fr_jinja *t) {
    if (!t) return;
    fr_jinja_memory_close(&t->mem);
    fr_free(t);
}

bool fr_jinja_mentions(const fr_jinja *t, const char *name) {
    return fr_jinja_dict_find_text(&t->names, name, strlen(name)) != NULL;
}
