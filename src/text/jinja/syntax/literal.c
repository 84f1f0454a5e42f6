// literal.c — numbers and strings in tags, as Python writes them.
#include "text/jinja/syntax/lexer.h"
#include "text/jinja/unicode.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int digit_of(char c, int base) {
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return d < base ? d : -1;
}

// The end of digits at `at` with single underscores between them; `at`: there are none.
static size_t digits_end(const lexer *l, size_t at, int base) {
    size_t end = at;
    while (end < l->n) {
        if (digit_of(l->s[end], base) >= 0)
            end++;
        else if (l->s[end] == '_' && end > at && end + 1 < l->n &&
                 digit_of(l->s[end + 1], base) >= 0)
            end++;
        else
            break;
    }
    return end;
}

// The end of a float at `at`, or `at`.
static size_t float_end(const lexer *l, size_t at) {
    if (at && l->s[at - 1] == '.') return at;
    const size_t whole = digits_end(l, at, 10);
    size_t end = whole;
    if (end + 1 < l->n && l->s[end] == '.' && is_digit(l->s[end + 1]))
        end = digits_end(l, end + 1, 10);
    if (end < l->n && (l->s[end] == 'e' || l->s[end] == 'E')) {
        const size_t sign = end + 1 < l->n && (l->s[end + 1] == '+' || l->s[end + 1] == '-');
        const size_t exponent = digits_end(l, end + 1 + sign, 10);
        if (exponent > end + 1 + sign) end = exponent;
    }
    return end == whole ? at : end;
}

// Where an integer at `at` ends, its base and where its digits begin.
static size_t int_end(const lexer *l, size_t at, int *base, size_t *digits) {
    *base = 10;
    *digits = at;
    if (l->s[at] == '0' && at + 1 < l->n) {
        const char c = (char)(l->s[at + 1] | 0x20);
        const int other = c == 'b' ? 2 : c == 'o' ? 8 : c == 'x' ? 16 : 0;
        const size_t first = at + 2 + (at + 2 < l->n && l->s[at + 2] == '_');
        if (other && digits_end(l, first, other) > first) {
            *base = other;
            *digits = first;
            return digits_end(l, first, other);
        }
    }
    if (l->s[at] != '0') return digits_end(l, at, 10);
    size_t end = at + 1; // zeros only
    while (end < l->n &&
           (l->s[end] == '0' || (l->s[end] == '_' && end + 1 < l->n && l->s[end + 1] == '0')))
        end++;
    return end;
}

// The literal without its underscores.
static char *bare(lexer *l, size_t from, size_t to) {
    char *text = fr_jinja_take(l->mem, to - from + 1);
    size_t n = 0;
    for (size_t i = from; text && i < to; i++)
        if (l->s[i] != '_') text[n++] = l->s[i];
    if (!text) fr_jinja_lex_fail(l, FR_ENOMEM, "no memory");
    return text;
}

bool fr_jinja_lex_number(lexer *l) {
    if (!is_digit(l->s[l->at])) return false;
    int base;
    size_t digits, end = float_end(l, l->at);
    token *t = fr_jinja_add_token(l, T_CONSTANT);
    if (!t) return true;
    if (end > l->at) {
        const char *text = bare(l, l->at, end);
        if (text) t->constant = make_float(strtod(text, NULL));
    } else {
        end = int_end(l, l->at, &base, &digits);
        char *text = bare(l, digits, end);
        if (!text) return true;
        errno = 0;
        const long long x = strtoll(text, NULL, base);
        t->constant = make_int(x);
        if (errno && base == 10) {
            t->constant = fr_jinja_str_value(l->mem, (str){.data = text, .n = strlen(text)});
            if (t->constant.kind == J_MISSING) fr_jinja_lex_fail(l, FR_ENOMEM, "no memory");
            if (t->constant.kind == J_STR) t->constant.kind = J_BIG;
        } else if (errno) {
            fr_jinja_lex_fail(l, FR_EDATA, "an integer beyond 64 bits");
        }
    }
    l->at = end;
    return true;
}

// ---- strings

// A character given by n hexadecimal digits after `at`; false: there are fewer, or it is no
// character.
static bool hex_char(const char *s, size_t end, size_t at, int n, uint32_t *code) {
    *code = 0;
    if (end - at < (size_t)n) return false;
    for (int i = 0; i < n; i++) {
        const int d = digit_of(s[at + (size_t)i], 16);
        if (d < 0) return false;
        *code = *code << 4 | (uint32_t)d;
    }
    return *code <= 0x10FFFF && (*code < 0xD800 || *code > 0xDFFF);
}

// Python's way through bytes leaves a backslash before a character that is not ASCII, and spells
// that character.
static size_t spell(uint32_t code, char *out) {
    return (size_t)sprintf(out,
                           code < 0x100     ? "\\x%02x"
                           : code < 0x10000 ? "\\u%04x"
                                            : "\\U%08x",
                           (unsigned)code);
}

// One escape at s[*at] (after the backslash), to `out`; the bytes written, or SIZE_MAX.
static size_t unescape(const char *s, size_t end, size_t *at, char *out) {
    static const char plain[] = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v";
    const char c = s[*at];
    uint32_t code = 0;
    if ((unsigned char)c >= 0x80) {
        *at += fr_jinja_char_read(s + *at, end - *at, &code);
        return spell(code, out);
    }
    ++*at;
    if (c == '\n') return 0;
    for (const char *p = plain; *p && c; p += 2)
        if (*p == c) {
            *out = p[1];
            return 1;
        }
    if (digit_of(c, 8) >= 0) {
        code = (uint32_t)digit_of(c, 8);
        for (int i = 0; i < 2 && *at < end && digit_of(s[*at], 8) >= 0; i++)
            code = code << 3 | (uint32_t)digit_of(s[(*at)++], 8);
        return fr_jinja_char_write(code, out);
    }
    const int n = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (n) {
        if (!hex_char(s, end, *at, n, &code)) return SIZE_MAX;
        *at += (size_t)n;
        return fr_jinja_char_write(code, out);
    }
    if (c == 'N') return SIZE_MAX; // names of characters are not supported
    out[0] = '\\';
    out[1] = c;
    return 2;
}

// The end of a string that begins at l->at, after its quote; 0: it does not end.
static size_t string_end(const lexer *l) {
    for (size_t at = l->at + 1; at < l->n; at++) {
        if (l->s[at] == '\\')
            at++;
        else if (l->s[at] == l->s[l->at])
            return at + 1;
    }
    return 0;
}

bool fr_jinja_lex_string(lexer *l) {
    const char quote = l->s[l->at];
    const size_t end = quote == '\'' || quote == '"' ? string_end(l) : 0;
    if (!end) return false;
    char *text = fr_jinja_take(l->mem, 5 * (end - l->at)); // 2 bytes may spell 10
    size_t n = 0;
    token *t = fr_jinja_add_token(l, T_CONSTANT);
    if (!t || !text) {
        fr_jinja_lex_fail(l, FR_ENOMEM, "no memory");
        return true;
    }
    for (size_t at = l->at + 1; at < end - 1;) {
        if (l->s[at] != '\\') {
            text[n++] = l->s[at++];
            continue;
        }
        at++;
        const size_t more = unescape(l->s, end - 1, &at, text + n);
        if (more == SIZE_MAX) {
            fr_jinja_lex_fail(l, FR_EDATA, "a string with an escape that is no character");
            return true;
        }
        n += more;
    }
    t->constant = fr_jinja_str_value(l->mem, (str){.data = text, .n = n});
    if (t->constant.kind == J_MISSING) fr_jinja_lex_fail(l, FR_ENOMEM, "no memory");
    for (; l->at < end; l->at++)
        l->line += l->s[l->at] == '\n';
    return true;
}
