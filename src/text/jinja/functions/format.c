// format.c — text with places for values: "%s" % x, "{}".format(x), and the mini language of both
// after the colon.
#include "text/jinja/run.h"
#include <math.h>
#include <stdio.h>

typedef struct spec { // [[fill]align][sign][#][0][width][,][.precision][type]
    str fill;
    char align, sign, comma, type;
    bool alternate, zero;
    int width, precision; // -1: none
} spec;

enum { MAX_WIDTH = 100000 };

// Digits at *at; -1: none.
static int read_number(const str *s, size_t *at) {
    int n = -1;
    for (; *at < s->n && s->data[*at] >= '0' && s->data[*at] <= '9'; ++*at)
        if (n < MAX_WIDTH) n = (n < 0 ? 0 : 10 * n) + (s->data[*at] - '0');
    return n;
}

static void put_padded(writer *t, const spec *how, const str *sign, const str *body, char align) {
    const str head = sign ? *sign : STR("");
    const int64_t n = (int64_t)(fr_jinja_length(body) + head.n);
    const int64_t pad = how->width > n ? how->width - n : 0;
    const int64_t left = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
    if (align == '=') fr_jinja_put_str(t, &head);
    for (int64_t i = 0; i <= pad && fr_jinja_work(t->r, 1); i++) {
        if (i == left) {
            if (align != '=') fr_jinja_put_str(t, &head);
            fr_jinja_put_str(t, body);
        }
        if (i < pad) fr_jinja_put_str(t, &how->fill);
    }
}

// Puts commas between thousands of the digits that `digits` begins with.
static void group_thousands(char *out, size_t size, const char *digits, char comma) {
    const size_t whole = strspn(digits, "0123456789");
    size_t n = 0;
    for (size_t i = 0; digits[i] && n + 2 < size; i++) {
        if (comma && i && i < whole && (whole - i) % 3 == 0) out[n++] = comma;
        out[n++] = digits[i];
    }
    out[n] = 0;
}

static void put_number(writer *t, const spec *how, bool negative, const char *digits) {
    char body[1024], sign[4] = "";
    if (negative)
        strcpy(sign, "-");
    else if (how->sign == '+' || how->sign == ' ')
        sign[0] = how->sign, sign[1] = 0;
    if (how->alternate && how->type && strchr("xXob", how->type)) {
        const size_t n = strlen(sign);
        sign[n] = '0', sign[n + 1] = how->type, sign[n + 2] = 0;
    }
    group_thousands(body, sizeof body, digits, how->comma);
    const str head = {.data = sign, .n = strlen(sign)}, rest = {.data = body, .n = strlen(body)};
    put_padded(t, how, &head, &rest, how->align ? how->align : how->zero ? '=' : '>');
}

static void put_whole(writer *t, const spec *how, int64_t x) {
    char digits[80];
    const uint64_t size = x < 0 ? -(uint64_t)x : (uint64_t)x;
    if (how->type == 'b') {
        size_t n = 0;
        for (int bit = 63; bit >= 0; bit--)
            if (size >> bit & 1 || n || !bit) digits[n++] = (char)('0' + (size >> bit & 1));
        digits[n] = 0;
    } else {
        snprintf(digits, sizeof digits,
                 how->type == 'x'   ? "%llx"
                 : how->type == 'X' ? "%llX"
                 : how->type == 'o' ? "%llo"
                                    : "%llu",
                 (unsigned long long)size);
    }
    if (how->precision > 0 && strlen(digits) < (size_t)how->precision &&
        how->precision < 60) { // "%.3d"
        const size_t n = strlen(digits), zeros = (size_t)how->precision - n;
        memmove(digits + zeros, digits, n + 1);
        memset(digits, '0', zeros);
    }
    put_number(t, how, x < 0, digits);
}

static void put_float(writer *t, const spec *how, double x) {
    char digits[700], form[8] = "%.*e";
    const double size = fabs(x) * (how->type == '%' ? 100 : 1);
    const int precision = how->precision < 0 ? 6 : how->precision > 300 ? 300 : how->precision;
    if (!how->type && how->precision < 0) { // as str() has it
        const str s = fr_jinja_to_str(t->r, make_float(fabs(x)));
        snprintf(digits, sizeof digits, "%.*s", (int)s.n, s.data);
    } else {
        form[3] = how->type == '%' ? 'f' : how->type && how->type != 'n' ? how->type : 'g';
        snprintf(digits, sizeof digits, form, precision, size);
        if (!how->type && !strpbrk(digits, ".en")) strcat(digits, ".0");
        if (how->type == '%') strcat(digits, "%");
    }
    put_number(t, how, signbit(x) && !isnan(x), digits);
}

static void put_text(writer *t, const spec *how, const str *s) {
    const size_t end = how->precision < 0 ? s->n : fr_jinja_offset(s, (size_t)how->precision);
    const str part = str_part(s, 0, end);
    put_padded(t, how, NULL, &part, how->align ? how->align : '<');
}

static bool read_spec(run *r, const str *s, spec *how) {
    size_t at = 0;
    const size_t first = fr_jinja_offset(s, 1);
    *how = (spec){.fill = STR(" "), .width = -1, .precision = -1};
    if (first < s->n && strchr("<>=^", s->data[first]) && s->data[first]) {
        how->fill = str_part(s, 0, first);
        how->align = s->data[first];
        at = first + 1;
    } else if (s->n && s->data[0] && strchr("<>=^", s->data[0])) {
        how->align = s->data[at++];
    }
    if (at < s->n && strchr("+- ", s->data[at]) && s->data[at]) how->sign = s->data[at++];
    if (at < s->n && s->data[at] == '#') how->alternate = true, at++;
    if (at < s->n && s->data[at] == '0') {
        how->zero = true, at++;
        if (!how->align) how->fill = STR("0");
    }
    how->width = read_number(s, &at);
    if (at < s->n && (s->data[at] == ',' || s->data[at] == '_')) how->comma = s->data[at++];
    if (at < s->n && s->data[at] == '.') {
        at++;
        how->precision = read_number(s, &at);
    }
    if (at < s->n) how->type = s->data[at++];
    if (at == s->n && how->width < MAX_WIDTH) return true;
    fr_jinja_fail(r, "an invalid format");
    return false;
}

// format(v, spec)
static void put_spec(writer *t, value v, const str *text_spec) {
    spec how;
    if (!text_spec->n) {
        fr_jinja_put_value(t, v);
        return;
    }
    if (!read_spec(t->r, text_spec, &how)) return;
    const bool as_float = how.type && strchr("eEfFgG%", how.type);
    if (v.kind == J_STR && (!how.type || how.type == 's') && !how.sign && how.align != '=') {
        if (how.zero && !how.align) how.align = '<';
        put_text(t, &how, as_str(v));
    } else if (is_whole(v) && (v.kind != J_BOOL || how.type) &&
               (!how.type || strchr("dxXobn", how.type)) && how.precision < 0)
        put_whole(t, &how, v.as.whole);
    else if ((v.kind == J_FLOAT && (!how.type || as_float)) || (is_number(v) && as_float))
        put_float(t, &how, real_of(v));
    else if (v.kind == J_BOOL && !how.type)
        put_whole(t, &how, v.as.whole);
    else
        fr_jinja_fail(t->r, "%s cannot be formatted so", fr_jinja_kind_name(v));
}

// ---- "{}".format()

typedef struct braces {
    const args *with;
    int64_t next; // of "{}"; -1: numbers are given
} braces;

static value numbered_value(run *r, const braces *b, int64_t index) {
    if ((size_t)index >= b->with->n) return fr_jinja_fail(r, "too few values for the format");
    return b->with->pos[index];
}

// By "", the next; "0", a number; or a name.
static value first_value(run *r, braces *b, const str *name) {
    size_t digits = 0;
    const int64_t index = read_number(name, &digits);
    const bool next = !name->n, number = digits == name->n;
    if ((next && b->next < 0) || (!next && number && b->next > 0))
        return fr_jinja_fail(r, "fields with and without numbers");
    if (next) return numbered_value(r, b, b->next++);
    if (number) {
        b->next = -1;
        return numbered_value(r, b, index);
    }
    const value *named = fr_jinja_dict_find_text(&b->with->named, name->data, name->n);
    return named ? *named
                 : fr_jinja_fail(r, "no value for '%.*s'", (int)(name->n < 60 ? name->n : 60),
                                 name->data);
}

// v[key], a number where the key is one; no item of a mapping is its attribute.
static value part_of(run *r, value v, const str *part, bool key) {
    const value text = fr_jinja_make_str(r, *part);
    size_t digits = 0;
    const int64_t number = read_number(part, &digits);
    if (key)
        v = fr_jinja_item(r, v, part->n && digits == part->n ? make_int(number) : text);
    else if (!r->status)
        v = v.kind == J_DICT ? UNDEFINED : fr_jinja_attr(r, v, as_str(text));
    return v.kind == J_UNDEFINED ? fr_jinja_fail(r, "no such part of a value") : v;
}

// What a field's name means: its first value, and then ".attribute" or "[key]".
static value field_value(run *r, braces *b, const str *name) {
    size_t at = 0;
    while (at < name->n && name->data[at] != '.' && name->data[at] != '[')
        at++;
    const str first = str_part(name, 0, at);
    value v = first_value(r, b, &first);
    while (at < name->n && !r->status) {
        const bool key = name->data[at] == '[';
        size_t end = ++at;
        while (end < name->n &&
               (key ? name->data[end] != ']' : name->data[end] != '.' && name->data[end] != '['))
            end++;
        const str part = str_part(name, at, end);
        v = part_of(r, v, &part, key);
        at = end + key;
    }
    return v;
}

static void put_fields(writer *t, braces *b, const str *format, int level);

// The field at format[from, to), without its braces.
static void put_field(writer *t, braces *b, const str *format, size_t from, size_t to, int level) {
    size_t name_end = from;
    int depth = 0; // of brackets: a colon in them is a key's
    for (; name_end < to &&
           (depth || (format->data[name_end] != ':' && format->data[name_end] != '!'));
         name_end++)
        depth += (format->data[name_end] == '[') - (format->data[name_end] == ']');
    const str name = str_part(format, from, name_end);
    value v = field_value(t->r, b, &name);
    size_t at = name_end;
    if (at < to && format->data[at] == '!') {
        const char how = at + 1 < to ? format->data[at + 1] : 0;
        writer shown = {.r = t->r};
        if (how == 'r' || how == 'a')
            fr_jinja_put_repr(&shown, v);
        else if (how == 's')
            fr_jinja_put_value(&shown, v);
        else
            fr_jinja_fail(t->r, "an invalid format");
        v = fr_jinja_text_value(&shown);
        at += 2;
    }
    writer spec_text = {.r = t->r};
    const str rest = str_part(format, at < to ? at + 1 : to, to);
    if (at < to && format->data[at] != ':') fr_jinja_fail(t->r, "an invalid format");
    put_fields(&spec_text, b, &rest, level + 1);
    const str how = fr_jinja_text_str(&spec_text);
    if (!t->r->status) put_spec(t, v, &how);
}

static void put_fields(writer *t, braces *b, const str *format, int level) {
    if (level > 2) fr_jinja_fail(t->r, "fields nested too deeply");
    for (size_t at = 0; at < format->n && fr_jinja_work(t->r, 1);) {
        const char c = format->data[at];
        const bool twice = at + 1 < format->n && format->data[at + 1] == c && level == 0;
        if ((c != '{' && c != '}') || twice) {
            fr_jinja_put_part(t, format, at, at + 1);
            at += 1 + ((c == '{' || c == '}') && twice);
            continue;
        }
        size_t end = at + 1;
        int depth = 1;
        for (; end < format->n && depth; end++)
            depth += (format->data[end] == '{') - (format->data[end] == '}');
        if (c == '}' || depth) {
            fr_jinja_fail(t->r, "a single brace in a format");
            return;
        }
        put_field(t, b, format, at + 1, end - 1, level);
        at = end;
    }
}

value fr_jinja_format_braces(run *r, const str *format, const args *with) {
    writer t = {.r = r};
    braces b = {.with = with};
    put_fields(&t, &b, format, 0);
    return fr_jinja_text_value(&t);
}

// ---- "%s" %

typedef struct percent {
    value with;
    size_t used;
} percent;

static value next_value(run *r, percent *p) {
    const bool tuple = is_seq(p->with, SEQ_TUPLE);
    const size_t n = tuple ? as_seq(p->with)->n : 1;
    if (p->used >= n) return fr_jinja_fail(r, "too few values for the format");
    const size_t at = p->used++;
    return tuple ? as_seq(p->with)->item[at] : p->with;
}

static void put_conversion(writer *t, spec *how, char type, value v) {
    writer shown = {.r = t->r};
    if (type == 's' || type == 'r' || type == 'a') {
        if (type == 's')
            fr_jinja_put_value(&shown, v);
        else
            fr_jinja_put_repr(&shown, v);
        const str s = fr_jinja_text_str(&shown);
        how->fill = STR(" ");
        if (!how->align) how->align = '>';
        put_text(t, how, &s);
    } else if (type == 'c' && v.kind == J_STR && fr_jinja_length(as_str(v)) == 1) {
        put_text(t, how, as_str(v));
    } else if (strchr("dixXo", type) && (is_whole(v) || (v.kind == J_FLOAT && strchr("di", type) &&
                                                         fabs(v.as.real) < 0x1p63))) {
        how->type = type == 'i' ? 'd' : type;
        put_whole(t, how, v.kind == J_FLOAT ? (int64_t)v.as.real : v.as.whole);
    } else if (strchr("eEfFgG", type) && is_number(v)) {
        how->type = type;
        put_float(t, how, real_of(v));
    } else {
        fr_jinja_fail(t->r, "%s cannot be formatted by %%%c", fr_jinja_kind_name(v), type);
    }
}

// "(name)": its value; MISSING: the next one is meant.
static value percent_value(run *r, percent *p, const str *s, size_t *at) {
    if (*at >= s->n || s->data[*at] != '(') return MISSING;
    const char *close = memchr(s->data + *at, ')', s->n - *at);
    if (!close || p->with.kind != J_DICT) return fr_jinja_fail(r, "a format needs a mapping");
    const size_t end = (size_t)(close - s->data);
    const value *item = fr_jinja_dict_find_text(as_dict(p->with), s->data + *at + 1, end - *at - 1);
    *at = end + 1;
    p->used = 1;
    return item ? *item : fr_jinja_fail(r, "no value for a name in a format");
}

// Flags, width and precision.
static spec percent_spec(const str *s, size_t *at) {
    spec how = {.fill = STR(" "), .width = -1, .precision = -1};
    for (; *at < s->n && s->data[*at] && strchr("-+ #0", s->data[*at]); ++*at) {
        const char c = s->data[*at];
        if (c == '-')
            how.align = '<';
        else if (c == '0')
            how.zero = true;
        else if (c == '#')
            how.alternate = true;
        else
            how.sign = how.sign == '+' ? '+' : c;
    }
    if (how.zero && !how.align) how.fill = STR("0");
    how.width = read_number(s, at);
    if (*at < s->n && s->data[*at] == '.') {
        ++*at;
        how.precision = read_number(s, at);
        if (how.precision < 0) how.precision = 0;
    }
    return how;
}

// One conversion at format[*at], after its '%'.
static void put_percent(writer *t, percent *p, const str *s, size_t *at) {
    value v = percent_value(t->r, p, s, at);
    if (t->r->status) return;
    spec how = percent_spec(s, at);
    const char type = *at < s->n ? s->data[*at] : 0;
    ++*at;
    if (type == '%') {
        fr_jinja_put_part(t, s, *at - 1, *at);
        return;
    }
    if (!type || !strchr("srdixXoeEfFgGca", type) || how.width >= MAX_WIDTH) {
        fr_jinja_fail(t->r, "an invalid format");
        return;
    }
    if (v.kind == J_MISSING) v = next_value(t->r, p);
    if (!t->r->status) put_conversion(t, &how, type, v);
}

value fr_jinja_format_percent(run *r, const str *format, value with) {
    writer t = {.r = r};
    percent p = {.with = with};
    for (size_t at = 0; at < format->n && fr_jinja_work(r, 1);) {
        if (format->data[at++] != '%') {
            fr_jinja_put_part(&t, format, at - 1, at);
            continue;
        }
        put_percent(&t, &p, format, &at);
    }
    const bool tuple = is_seq(with, SEQ_TUPLE);
    // What has items may go unused.
    const bool container = with.kind == J_DICT || with.kind == J_UNDEFINED ||
                           (with.kind == J_SEQ && !tuple && as_seq(with)->kind < SEQ_ONCE);
    if (p.used < (tuple ? as_seq(with)->n : container ? 0 : 1))
        fr_jinja_fail(r, "more values than the format has places");
    return fr_jinja_text_value(&t);
}
