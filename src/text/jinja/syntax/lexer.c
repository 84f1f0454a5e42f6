// lexer.c — text to tokens. First the text between tags, without the blanks that trim_blocks,
// lstrip_blocks and the signs remove; then the contents of tags. Literals are in literal.c.
#include "text/jinja/syntax/lexer.h"
#include "text/jinja/unicode.h"

enum { MAX_NESTED = 200 };

static size_t skip_space(const lexer *l, size_t at) {
    uint32_t code;
    while (at < l->n) {
        const size_t bytes = fr_jinja_char_read(l->s + at, l->n - at, &code);
        if (!fr_jinja_char_is_space(code)) break;
        at += bytes;
    }
    return at;
}

static bool starts(const lexer *l, size_t at, const char *what) {
    const size_t n = strlen(what);
    return at <= l->n && l->n - at >= n && !memcmp(l->s + at, what, n);
}

static void go_to(lexer *l, size_t to) {
    for (; l->at < to; l->at++)
        l->line += l->s[l->at] == '\n';
}

token *fr_jinja_add_token(lexer *l, token_kind kind) {
    if (l->n_tokens == l->cap) {
        const size_t cap = l->cap ? 2 * l->cap : 64;
        token *more =
            fr_jinja_grow(l->mem, l->tokens, l->n_tokens * sizeof *more, cap * sizeof *more);
        if (!more) {
            fr_jinja_lex_fail(l, FR_ENOMEM, "no memory");
            return NULL;
        }
        l->tokens = more;
        l->cap = cap;
    }
    token *t = &l->tokens[l->n_tokens++];
    *t = (token){.kind = kind, .line = l->line};
    return t;
}

void fr_jinja_lex_fail(lexer *l, fr_status why, const char *what) {
    if (!l->status) l->status = fr_fail(l->err, why, "chat template, line %d: %s", l->line, what);
}

// ---- between tags

// The end of a tag at `at`, written `close`, including the blanks that it removes after it; 0: the
// tag does not end here. In blocks and comments '+' keeps the newline that they otherwise remove.
static size_t tag_end(const lexer *l, size_t at, const char *close) {
    const bool block = close[0] != '}';
    if (at < l->n && l->s[at] == '-' && starts(l, at + 1, close)) return skip_space(l, at + 3);
    if (block && at < l->n && l->s[at] == '+' && starts(l, at + 1, close)) return at + 3;
    if (!starts(l, at, close)) return 0;
    return at + 2 + (block && at + 2 < l->n && l->s[at + 2] == '\n');
}

// Data [begin, end) in front of a tag with the given sign; `strip`: lstrip_blocks goes for it.
static void add_data(lexer *l, size_t begin, size_t end, char sign, bool strip) {
    size_t line = end;
    while (line > begin && l->s[line - 1] != '\n')
        line--;
    if (sign == '-') {
        size_t kept = begin; // the end of the last character that is no space
        for (size_t at = begin; at < end;) {
            uint32_t code;
            at += fr_jinja_char_read(l->s + at, end - at, &code);
            if (!fr_jinja_char_is_space(code)) kept = at;
        }
        end = kept;
    } else if (sign != '+' && strip && (line > begin || l->line_starting)) {
        const size_t text = skip_space(l, line);
        if (text >= end) end = line;
    }
    if (end <= begin) return;
    token *t = fr_jinja_add_token(l, T_DATA);
    if (t) t->text = (str){.data = l->s + begin, .n = end - begin};
}

// {% raw %} at `at`, or 0: the end of the tag.
static size_t raw_begin(const lexer *l, size_t at) {
    size_t p = at + 2;
    if (!starts(l, at, "{%")) return 0;
    if (p < l->n && (l->s[p] == '-' || l->s[p] == '+')) p++;
    p = skip_space(l, p);
    if (!starts(l, p, "raw")) return 0;
    p = skip_space(l, p + 3);
    if (starts(l, p, "-%}")) return skip_space(l, p + 3);
    return starts(l, p, "%}") ? p + 2 : 0;
}

static char sign_at(const lexer *l, size_t at) {
    return at < l->n && (l->s[at] == '-' || l->s[at] == '+') ? l->s[at] : 0;
}

// From the end of {% raw %} to the end of {% endraw %}.
static void lex_raw(lexer *l) {
    for (size_t at = l->at; at + 1 < l->n; at++) {
        if (!starts(l, at, "{%")) continue;
        const char sign = sign_at(l, at + 2);
        size_t p = skip_space(l, at + 2 + (sign != 0));
        if (!starts(l, p, "endraw")) continue;
        const size_t end = tag_end(l, skip_space(l, p + 6), "%}");
        if (!end) continue;
        add_data(l, l->at, at, sign, true);
        go_to(l, end);
        l->line_starting = l->s[end - 1] == '\n';
        return;
    }
    if (l->at < l->n) fr_jinja_lex_fail(l, FR_EDATA, "{% raw %} does not end");
}

static void lex_comment(lexer *l) {
    for (size_t at = l->at; at < l->n; at++) {
        const size_t end = tag_end(l, at, "#}");
        if (!end) continue;
        go_to(l, end);
        l->line_starting = l->s[end - 1] == '\n';
        return;
    }
    if (l->at < l->n) fr_jinja_lex_fail(l, FR_EDATA, "a comment does not end");
}

// ---- inside tags

static const struct {
    const char *text;
    op op;
} operators[] = {
    {"//", OP_FLOORDIV}, {"**", OP_POW},   {"==", OP_EQ},      {"!=", OP_NE},      {">=", OP_GE},
    {"<=", OP_LE},       {"+", OP_ADD},    {"-", OP_SUB},      {"/", OP_DIV},      {"*", OP_MUL},
    {"%", OP_MOD},       {"~", OP_TILDE},  {"[", OP_LBRACKET}, {"]", OP_RBRACKET}, {"(", OP_LPAREN},
    {")", OP_RPAREN},    {"{", OP_LBRACE}, {"}", OP_RBRACE},   {">", OP_GT},       {"<", OP_LT},
    {"=", OP_ASSIGN},    {".", OP_DOT},    {":", OP_COLON},    {"|", OP_PIPE},     {",", OP_COMMA},
    {";", OP_SEMICOLON},
};

// Brackets in tags must match; *open is the stack of those that are not closed yet.
static void nest(lexer *l, op o, uint8_t *open, int *depth) {
    if (o == OP_LPAREN || o == OP_LBRACKET || o == OP_LBRACE) {
        if (*depth == MAX_NESTED)
            fr_jinja_lex_fail(l, FR_EDATA, "brackets nested too deeply");
        else
            open[(*depth)++] = (uint8_t)(o + 1); // the closing one comes next in the enum
    } else if (o == OP_RPAREN || o == OP_RBRACKET || o == OP_RBRACE) {
        if (!*depth || open[--*depth] != o)
            fr_jinja_lex_fail(l, FR_EDATA, "a closing bracket without its opening one");
    }
}

static bool lex_operator(lexer *l, uint8_t *open, int *depth) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!starts(l, l->at, operators[i].text)) continue;
        nest(l, operators[i].op, open, depth);
        token *t = fr_jinja_add_token(l, T_OPERATOR);
        if (t) t->op = operators[i].op;
        go_to(l, l->at + strlen(operators[i].text));
        return true;
    }
    return false;
}

static bool lex_name(lexer *l) {
    size_t at = l->at;
    while (at < l->n) {
        uint32_t code;
        const size_t bytes = fr_jinja_char_read(l->s + at, l->n - at, &code);
        const int bits = fr_jinja_char_properties(code);
        if (code != '_' && !(bits & (CHAR_ALPHA | CHAR_DECIMAL | CHAR_DIGIT | CHAR_NUMERIC))) break;
        at += bytes;
    }
    if (at == l->at) return false;
    token *t = fr_jinja_add_token(l, T_NAME);
    if (t) t->text = (str){.data = l->s + l->at, .n = at - l->at};
    go_to(l, at);
    return true;
}

static void lex_tag(lexer *l, const char *close) {
    uint8_t open[MAX_NESTED];
    int depth = 0;
    while (!l->status && l->at < l->n) {
        const size_t end = depth ? 0 : tag_end(l, l->at, close);
        if (end) {
            fr_jinja_add_token(l, close[0] == '%' ? T_BLOCK_END : T_VARIABLE_END);
            go_to(l, end);
            l->line_starting = l->s[end - 1] == '\n';
            return;
        }
        const size_t space = skip_space(l, l->at);
        if (space != l->at)
            go_to(l, space);
        else if (!fr_jinja_lex_number(l) && !lex_name(l) && !fr_jinja_lex_string(l) &&
                 !lex_operator(l, open, &depth))
            fr_jinja_lex_fail(l, FR_EDATA, "a character that has no meaning in a tag");
    }
}

static void lex_root(lexer *l) {
    size_t at = l->at;
    while (at + 1 < l->n && !(l->s[at] == '{' && strchr("{%#", l->s[at + 1]) && l->s[at + 1]))
        at++;
    if (at + 1 >= l->n) { // no more tags
        add_data(l, l->at, l->n, '+', false);
        go_to(l, l->n);
        return;
    }
    const char what = l->s[at + 1], sign = sign_at(l, at + 2);
    const size_t raw = raw_begin(l, at);
    add_data(l, l->at, at, sign, what != '{');
    go_to(l, at);
    l->line_starting = false;
    if (raw) {
        go_to(l, raw);
        l->line_starting = l->s[raw - 1] == '\n';
        lex_raw(l);
        return;
    }
    if (what != '#') fr_jinja_add_token(l, what == '%' ? T_BLOCK_BEGIN : T_VARIABLE_BEGIN);
    go_to(l, at + 2 + (sign != 0));
    if (what == '#')
        lex_comment(l);
    else
        lex_tag(l, what == '%' ? "%}" : "}}");
}

// Newlines are one byte, and one at the end is not the template's. Returns the bytes.
static size_t clean_newlines(char *s, size_t n) {
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\r' && i + 1 < n && s[i + 1] == '\n') continue;
        s[to++] = s[i] == '\r' ? '\n' : s[i];
    }
    return to && s[to - 1] == '\n' ? to - 1 : to;
}

fr_status fr_jinja_lex(memory *m, const char *text, size_t bytes, token **out, fr_error *err) {
    char *copy = fr_jinja_take(m, bytes + 1);
    if (!copy) return fr_fail(err, FR_ENOMEM, "chat template: no memory");
    if (bytes) memcpy(copy, text, bytes);
    lexer l = {.mem = m,
               .s = copy,
               .n = clean_newlines(copy, bytes),
               .line = 1,
               .line_starting = true,
               .err = err};
    while (!l.status && l.at < l.n)
        lex_root(&l);
    if (!l.status) fr_jinja_add_token(&l, T_END);
    *out = l.tokens;
    return l.status;
}
