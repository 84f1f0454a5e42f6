// canon.c — walks through a template from tag to tag. Text between tags and the expressions in
// them are written in the one canonical spelling.
#include "text/chat/canon.h"
#include <string.h>

typedef struct canon {
    fr_chat_text *out;
    fr_error *err;
    fr_status status; // the first failure; nothing is written after it
} canon;

static void put(canon *c, const char *data, size_t bytes) {
    if (!c->status) c->status = fr_chat_text_add(c->out, data, bytes, c->err);
}

static bool ends_with(const canon *c, const char *tail) {
    const size_t n = strlen(tail);
    return c->out->text.n >= n && !memcmp(c->out->text.data + c->out->text.n - n, tail, n);
}

static bool is_space(char ch) {
    return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static bool is_word(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_' || (unsigned char)ch >= 0x80;
}

// Opens a string, or goes on in the one that stands before a plus.
static void string_open(canon *c) {
    if (ends_with(c, "'+"))
        c->out->text.n -= 2;
    else
        put(c, "'", 1);
}

// Single quotes only delimit, so that a search for 'x' never matches inside a string.
static void string_char(canon *c, char ch) {
    if (ch == '\'') ch = '"';
    put(c, &ch, 1);
}

// A quoted string at s[at]; returns the index past it.
static size_t quoted(canon *c, const char *s, size_t n, size_t at) {
    const char quote = s[at++];
    string_open(c);
    for (; at < n && s[at] != quote; at++) {
        char ch = s[at];
        if (ch == '\\' && at + 1 < n) {
            ch = s[++at];
            if (ch == 'n') ch = '\n';
            if (ch == 't') ch = '\t';
            if (ch == 'r') ch = '\r';
        }
        string_char(c, ch);
    }
    put(c, "'", 1);
    return at < n ? at + 1 : n;
}

// The index past ['word'] at s[at], or 0 when it is something else.
static size_t subscript(canon *c, const char *s, size_t n, size_t at) {
    while (++at < n && is_space(s[at])) {
    }
    if (at >= n || (s[at] != '\'' && s[at] != '"')) return 0;
    const char quote = s[at];
    const size_t begin = ++at;
    while (at < n && is_word(s[at]))
        at++;
    const size_t end = at;
    if (end == begin || at >= n || s[at] != quote) return 0;
    while (++at < n && is_space(s[at])) {
    }
    if (at >= n || s[at] != ']') return 0;
    put(c, ".", 1);
    put(c, s + begin, end - begin);
    return at + 1;
}

static void expression(canon *c, const char *s, size_t n) {
    bool blank = false;
    for (size_t at = 0; at < n;) {
        const char ch = s[at];
        size_t next;
        if (is_space(ch)) {
            blank = true;
            at++;
            continue;
        }
        if (blank && is_word(ch) && c->out->text.n &&
            is_word(c->out->text.data[c->out->text.n - 1]))
            put(c, " ", 1);
        blank = false;
        if (ch == '\'' || ch == '"') {
            at = quoted(c, s, n, at);
        } else if (ch == '[' && (next = subscript(c, s, n, at))) {
            at = next;
        } else {
            put(c, &ch, 1);
            at++;
        }
        if (c->status) return;
    }
}

// Where an output tag would begin: after the last one, joined by a plus, or a new one.
static void output_open(canon *c) {
    if (ends_with(c, "}}")) {
        c->out->text.n -= 2;
        put(c, "+", 1);
    } else {
        put(c, "{{", 2);
    }
}

static void data(canon *c, const char *s, size_t n) {
    if (!n) return;
    output_open(c);
    string_open(c);
    for (size_t i = 0; i < n && !c->status; i++)
        string_char(c, s[i]);
    put(c, "'}}", 3);
}

// "if(…)" whose parenthesis spans the whole condition becomes "if …".
static void drop_outer_parenthesis(canon *c, size_t begin) {
    char *s = c->out->text.data + begin;
    size_t n = c->out->text.n - begin, open = 0;
    if (n > 3 && !memcmp(s, "if(", 3)) open = 2;
    if (n > 5 && !memcmp(s, "elif(", 5)) open = 4;
    if (!open || s[n - 1] != ')') return;
    int depth = 0;
    bool string = false;
    for (size_t i = open; i < n; i++) {
        if (s[i] == '\'') string = !string;
        if (string) continue;
        depth += (s[i] == '(') - (s[i] == ')');
        if (depth == 0 && i + 1 < n) return;
    }
    s[open] = ' ';
    c->out->text.n--;
}

// The index of the tag's end, "%}" or "}}", outside strings; n when there is none.
static size_t tag_end(const char *s, size_t n, size_t at, char kind) {
    const char close = kind == '{' ? '}' : kind;
    char quote = 0;
    for (; at + 1 < n; at++) {
        if (quote) {
            if (s[at] == '\\')
                at++;
            else if (s[at] == quote)
                quote = 0;
        } else if (s[at] == close && s[at + 1] == '}') {
            return at;
        } else if (kind != '#' && (s[at] == '\'' || s[at] == '"')) {
            quote = s[at];
        }
    }
    return n;
}

static void tag(canon *c, char kind, const char *s, size_t n) {
    if (kind == '#') return;
    if (kind == '{') {
        output_open(c);
        expression(c, s, n);
        put(c, "}}", 2);
        return;
    }
    put(c, "{%", 2);
    const size_t begin = c->out->text.n;
    expression(c, s, n);
    if (!c->status) drop_outer_parenthesis(c, begin);
    put(c, "%}", 2);
}

// Text between tags, s[begin..end), before a tag of this kind (0: the template's end).
static void data_before(canon *c, const char *s, size_t begin, size_t end, char kind, bool strip) {
    if (strip) {
        while (end > begin && is_space(s[end - 1]))
            end--;
    } else if (kind == '%' || kind == '#') { // lstrip_blocks
        size_t line = end;
        while (line > begin && (s[line - 1] == ' ' || s[line - 1] == '\t'))
            line--;
        if (line == 0 || s[line - 1] == '\n') end = line;
    } else if (!kind && end > begin && s[end - 1] == '\n') { // Jinja2 drops one newline at the end
        end--;
    }
    data(c, s + begin, end - begin);
}

fr_status fr_chat_canon(fr_chat_text *out, const char *s, size_t n, fr_error *err) {
    canon c = {out, err, FR_OK};
    size_t begin = 0;
    fr_chat_text_close(out);
    while (!c.status) {
        size_t at = begin;
        while (at + 1 < n &&
               !(s[at] == '{' && (s[at + 1] == '{' || s[at + 1] == '%' || s[at + 1] == '#')))
            at++;
        if (at + 1 >= n) break;
        const char kind = s[at + 1];
        size_t inner = at + 2;
        const bool strip = inner < n && s[inner] == '-';
        data_before(&c, s, begin, at, kind, strip);
        if (inner < n && (s[inner] == '-' || s[inner] == '+')) inner++;
        const size_t end = tag_end(s, n, inner, kind);
        if (end >= n)
            return fr_fail(err, FR_EUNSUP, "chat template: the tag at byte %zu does not end", at);
        const bool strip_after = end > inner && s[end - 1] == '-';
        tag(&c, kind, s + inner, end - inner - strip_after);
        begin = end + 2;
        if (strip_after)
            while (begin < n && is_space(s[begin]))
                begin++;
        else if (kind != '{' && begin < n && s[begin] == '\n') // trim_blocks
            begin++;
    }
    if (!c.status) data_before(&c, s, begin, n, 0, false);
    return c.status;
}
