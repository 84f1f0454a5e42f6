// show.c — str(), repr() and JSON of values.
#include "base/decimal.h"
#include "text/jinja/run.h"
#include <math.h>
#include <stdio.h>

// Brackets and separators of a list or dict. They are marked as the message's, because a template
// writes its control tokens in text, not in lists.
static void put_sign(writer *t, const char *sign) {
    fr_jinja_put_text(t, sign, FR_MARK_MESSAGE);
}

static fr_mark mark_at(const str *s, size_t at) {
    return s->marks ? s->marks[at] : s->mark;
}

// ---- str and repr

static void put_number(writer *t, value v) {
    char out[FR_DECIMAL_MAX];
    if (v.kind == J_FLOAT)
        fr_decimal_repr(v.as.real, out);
    else
        snprintf(out, sizeof out, "%lld", (long long)v.as.whole);
    fr_jinja_put_text(t, out, FR_MARK_TEMPLATE);
}

static void put_repr_char(writer *t, const str *s, size_t at, size_t bytes, uint32_t code,
                          char quote) {
    char out[16];
    const char c = s->data[at];
    if (c == quote || c == '\\')
        snprintf(out, sizeof out, "\\%c", c);
    else if (c == '\n' || c == '\r' || c == '\t')
        snprintf(out, sizeof out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if (code == UINT32_MAX || fr_jinja_char_properties(code) & CHAR_PRINTS) {
        fr_jinja_put_part(t, s, at, at + bytes);
        return;
    } else
        snprintf(out, sizeof out,
                 code < 0x100     ? "\\x%02x"
                 : code < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                 (unsigned)code);
    fr_jinja_put_text(t, out, mark_at(s, at));
}

static void put_repr_str(writer *t, const str *s) {
    const bool single = memchr(s->data, '\'', s->n) != NULL,
               twice = memchr(s->data, '"', s->n) != NULL;
    const char quote = single && !twice ? '"' : '\'';
    const char quotes[] = {quote, 0};
    uint32_t code;
    put_sign(t, quotes);
    for (size_t at = 0, bytes; at < s->n && !t->r->status; at += bytes) {
        bytes = fr_jinja_char_read(s->data + at, s->n - at, &code);
        put_repr_char(t, s, at, bytes, code, quote);
    }
    put_sign(t, quotes);
}

static void put_items(writer *t, const value *item, size_t n, const char *open, const char *close) {
    put_sign(t, open);
    for (size_t i = 0; i < n && !t->r->status; i++) {
        if (i) put_sign(t, ", ");
        fr_jinja_put_repr(t, item[i]);
    }
    put_sign(t, close);
}

static void put_seq(writer *t, const seq *s) {
    char out[100];
    switch (s->kind) {
    case SEQ_LIST:
        put_items(t, s->item, s->n, "[", "]");
        break;
    case SEQ_TUPLE:
        put_items(t, s->item, s->n, "(", s->n == 1 ? ",)" : ")");
        break;
    case SEQ_RANGE:
        snprintf(out, sizeof out,
                 s->range[2] == 1 ? "range(%lld, %lld)" : "range(%lld, %lld, %lld)",
                 (long long)s->range[0], (long long)s->range[1], (long long)s->range[2]);
        put_sign(t, out);
        break;
    case SEQ_ONCE:
        put_sign(t, "<generator object>");
        break;
    case SEQ_KEYS:
    case SEQ_VALUES:
    case SEQ_ITEMS:
        put_sign(t, s->kind == SEQ_KEYS     ? "dict_keys"
                    : s->kind == SEQ_VALUES ? "dict_values"
                                            : "dict_items");
        put_items(t, s->item, s->n, "([", "])");
        break;
    }
}

static void put_dict(writer *t, const dict *d) {
    put_sign(t, "{");
    for (size_t i = 0; i < d->n && !t->r->status; i++) {
        if (i) put_sign(t, ", ");
        fr_jinja_put_repr(t, d->entry[i].key);
        put_sign(t, ": ");
        fr_jinja_put_repr(t, d->entry[i].item);
    }
    put_sign(t, "}");
}

static void put_other(writer *t, value v, bool repr) {
    switch (v.kind) {
    case J_UNDEFINED:
        if (repr) put_sign(t, "Undefined");
        break;
    case J_NONE:
        fr_jinja_put_text(t, "None", FR_MARK_TEMPLATE);
        break;
    case J_BOOL:
        fr_jinja_put_text(t, v.as.whole ? "True" : "False", FR_MARK_TEMPLATE);
        break;
    case J_INT:
    case J_FLOAT:
        put_number(t, v);
        break;
    case J_BIG:
        fr_jinja_put_str(t, as_str(v));
        break;
    case J_SEQ:
        put_seq(t, as_seq(v));
        break;
    case J_DICT:
        put_dict(t, as_dict(v));
        break;
    case J_NAMESPACE:
        put_sign(t, "<Namespace ");
        put_dict(t, as_dict(v));
        put_sign(t, ">");
        break;
    case J_MISSING:
    case J_STR:
    case J_FUNCTION:
    case J_METHOD:
    case J_MACRO:
    case J_LOOP:
    case J_CYCLER:
    case J_JOINER:
        put_sign(t, "<");
        put_sign(t, fr_jinja_kind_name(v));
        put_sign(t, ">");
    }
}

void fr_jinja_put_value(writer *t, value v) {
    if (v.kind == J_STR) {
        fr_jinja_put_str(t, as_str(v));
    } else if (fr_jinja_enter(t->r)) {
        put_other(t, v, false);
        t->r->depth--;
    }
}

void fr_jinja_put_repr(writer *t, value v) {
    if (v.kind == J_STR) {
        if (as_str(v)->markup) put_sign(t, "Markup(");
        put_repr_str(t, as_str(v));
        if (as_str(v)->markup) put_sign(t, ")");
    } else if (fr_jinja_enter(t->r)) {
        put_other(t, v, true);
        t->r->depth--;
    }
}

str fr_jinja_to_str(run *r, value v) {
    if (v.kind == J_STR) return *as_str(v);
    writer t = {.r = r};
    fr_jinja_put_value(&t, v);
    return fr_jinja_text_str(&t);
}

void fr_jinja_put_escaped(writer *t, const str *s) {
    static const char signs[] = "&<>'\"";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    for (size_t at = 0; at < s->n && !t->r->status; at++) {
        const char *sign = s->data[at] ? strchr(signs, s->data[at]) : NULL;
        if (sign)
            fr_jinja_put_text(t, names[sign - signs], mark_at(s, at));
        else
            fr_jinja_put_part(t, s, at, at + 1);
    }
}

// ---- JSON, as Python's json.dumps

static void put_json_char(writer *t, const str *s, size_t at, size_t bytes, uint32_t code,
                          bool ascii) {
    static const char plain[] = "\"\"\\\\\nn\rr\tt\ff\bb";
    char out[16] = "";
    for (const char *p = plain; *p; p += 2)
        if (*p == s->data[at]) snprintf(out, sizeof out, "\\%c", p[1]);
    if (!out[0] && (code < 0x20 || (ascii && code > 0x7E && code < 0x10000)))
        snprintf(out, sizeof out, "\\u%04x", (unsigned)code);
    else if (!out[0] && ascii && code > 0xFFFF && code != UINT32_MAX)
        snprintf(out, sizeof out, "\\u%04x\\u%04x", 0xD800 + (unsigned)((code - 0x10000) >> 10),
                 0xDC00 + (unsigned)(code & 0x3FF));
    if (out[0])
        fr_jinja_put_text(t, out, mark_at(s, at));
    else
        fr_jinja_put_part(t, s, at, at + bytes);
}

static void put_json_str(writer *t, const str *s, bool ascii) {
    uint32_t code;
    put_sign(t, "\"");
    for (size_t at = 0, bytes; at < s->n && !t->r->status; at += bytes) {
        bytes = fr_jinja_char_read(s->data + at, s->n - at, &code);
        put_json_char(t, s, at, bytes, code, ascii);
    }
    put_sign(t, "\"");
}

static void put_break(writer *t, const json_style *style, int level) {
    if (!style->indent) return;
    put_sign(t, "\n");
    for (int i = 0; i < level && !t->r->status; i++)
        fr_jinja_put_str(t, style->indent);
}

static void put_json_list(writer *t, const seq *s, const json_style *style, int level) {
    put_sign(t, "[");
    for (size_t i = 0; i < s->n && !t->r->status; i++) {
        if (i) fr_jinja_put_str(t, &style->between);
        put_break(t, style, level + 1);
        fr_jinja_put_json(t, s->item[i], style, level + 1);
    }
    if (s->n) put_break(t, style, level);
    put_sign(t, "]");
}

static void put_json_key(writer *t, value key, const json_style *style) {
    if (key.kind == J_STR) {
        put_json_str(t, as_str(key), style->ascii);
        return;
    }
    if (key.kind != J_NONE && key.kind != J_BIG && !is_number(key)) {
        fr_jinja_fail(t->r, "a key that is %s cannot be written as JSON", fr_jinja_kind_name(key));
        return;
    }
    put_sign(t, "\"");
    fr_jinja_put_json(t, key, style, 0);
    put_sign(t, "\"");
}

static void put_json_dict(writer *t, const dict *d, const json_style *style, int level) {
    const size_t n = d->n;
    value *keys = fr_jinja_alloc(t->r, 2 * (n + 1) * sizeof *keys);
    if (!keys) return;
    value *order = keys + n;
    for (size_t i = 0; i < n; i++)
        keys[i] = d->entry[i].key, order[i] = make_int((int64_t)i);
    if (style->sorted) fr_jinja_sort(t->r, keys, order, n, false);
    put_sign(t, "{");
    for (size_t i = 0; i < n && !t->r->status; i++) {
        const entry *e = &d->entry[order[i].as.whole];
        if (i) fr_jinja_put_str(t, &style->between);
        put_break(t, style, level + 1);
        put_json_key(t, e->key, style);
        fr_jinja_put_str(t, &style->colon);
        fr_jinja_put_json(t, e->item, style, level + 1);
    }
    if (n) put_break(t, style, level);
    put_sign(t, "}");
}

static void put_json_real(writer *t, double x) {
    if (isfinite(x))
        put_number(t, make_float(x));
    else
        put_sign(t, isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
}

void fr_jinja_put_json(writer *t, value v, const json_style *style, int level) {
    if (!fr_jinja_enter(t->r)) return;
    const bool list =
        v.kind == J_SEQ && (as_seq(v)->kind == SEQ_LIST || as_seq(v)->kind == SEQ_TUPLE);
    if (v.kind == J_STR)
        put_json_str(t, as_str(v), style->ascii);
    else if (list)
        put_json_list(t, as_seq(v), style, level);
    else if (v.kind == J_DICT)
        put_json_dict(t, as_dict(v), style, level);
    else if (v.kind == J_NONE)
        put_sign(t, "null");
    else if (v.kind == J_BOOL)
        put_sign(t, v.as.whole ? "true" : "false");
    else if (v.kind == J_FLOAT)
        put_json_real(t, v.as.real);
    else if (v.kind == J_INT || v.kind == J_BIG)
        fr_jinja_put_value(t, v);
    else
        fr_jinja_fail(t->r, "%s cannot be written as JSON", fr_jinja_kind_name(v));
    t->r->depth--;
}
