// filters_text.c — filters from text to text. Other input is converted by str(value).
#include "text/jinja/functions/builtin.h"
#include <stdio.h>

static int64_t int_arg(run *r, value v, int64_t missing) {
    int64_t n = missing;
    if (v.kind != J_MISSING) fr_jinja_to_int(r, v, &n);
    return n;
}

BUILTIN(upper) {
    UNUSED;
    const str s = fr_jinja_to_str(r, self);
    return fr_jinja_make_str(r, fr_jinja_cased(r, &s, CASE_UPPER));
}

BUILTIN(lower) {
    UNUSED;
    const str s = fr_jinja_to_str(r, self);
    return fr_jinja_make_str(r, fr_jinja_cased(r, &s, CASE_LOWER));
}

// As lower, which it is for ASCII; elsewhere some letters become two.
static value casefold(run *r, value self, const value *arg, const args *all) {
    const str *s = as_str(self);
    for (size_t i = 0; i < s->n; i++)
        if ((unsigned char)s->data[i] >= 0x80)
            return fr_jinja_fail(r, "casefold takes ASCII text alone");
    return lower(r, self, arg, all);
}

static void put_capitalized(writer *t, const str *s, char_case first) {
    const size_t n = fr_jinja_offset(s, 1);
    const str head = str_part(s, 0, n);
    const str up = fr_jinja_cased(t->r, &head, first);
    // The whole string is lowered, because a final sigma depends on the characters before it.
    const str low = fr_jinja_cased(t->r, s, CASE_LOWER),
              low_head = fr_jinja_cased(t->r, &head, CASE_LOWER);
    fr_jinja_put_str(t, &up);
    if (!t->r->status) fr_jinja_put_part(t, &low, low_head.n, low.n);
}

BUILTIN(capitalize) {
    UNUSED;
    const str s = fr_jinja_to_str(r, self);
    writer t = {.r = r};
    if (s.n) put_capitalized(&t, &s, CASE_TITLE);
    return fr_jinja_text_value(&t);
}

static bool splits_words(uint32_t code) {
    return code == '-' || code == '(' || code == '{' || code == '[' || code == '<' ||
           (code != UINT32_MAX && fr_jinja_char_is_space(code));
}

BUILTIN(title) {
    UNUSED;
    const str s = fr_jinja_to_str(r, self);
    writer t = {.r = r};
    uint32_t code;
    for (size_t at = 0, end = 0; at < s.n && !r->status; at = end) {
        bool between = false;
        for (size_t bytes; end < s.n; end += bytes) {
            bytes = fr_jinja_char_read(s.data + end, s.n - end, &code);
            if (end == at) between = splits_words(code);
            if (splits_words(code) != between) break;
        }
        const str word = str_part(&s, at, end);
        if (between)
            fr_jinja_put_str(&t, &word);
        else {
            const size_t n = fr_jinja_offset(&word, 1);
            const str head = str_part(&word, 0, n), rest = str_part(&word, n, word.n);
            const str up = fr_jinja_cased(r, &head, CASE_UPPER),
                      low = fr_jinja_cased(r, &rest, CASE_LOWER);
            fr_jinja_put_str(&t, &up);
            fr_jinja_put_str(&t, &low);
        }
    }
    return fr_jinja_text_value(&t);
}

BUILTIN(trim) {
    UNUSED;
    const str s = fr_jinja_to_str(r, self);
    if (is_given(arg[0]) && arg[0].kind != J_STR) return fr_jinja_fail(r, "trim takes a string");
    if (is_given(arg[0]) && !fr_jinja_work(r, s.n * as_str(arg[0])->n)) return UNDEFINED;
    return fr_jinja_make_str(
        r, fr_jinja_strip(&s, is_given(arg[0]) ? as_str(arg[0]) : NULL, true, true));
}

BUILTIN(string) {
    UNUSED;
    return self.kind == J_STR ? self : fr_jinja_make_str(r, fr_jinja_to_str(r, self));
}

BUILTIN(safe) {
    UNUSED;
    str s = fr_jinja_to_str(r, self);
    s.markup = true;
    return fr_jinja_make_str(r, s);
}

static value escape_all(run *r, value self, bool again) {
    const str s = fr_jinja_to_str(r, self);
    if (s.markup && !again) return self;
    writer t = {.r = r};
    fr_jinja_put_escaped(&t, &s);
    str done = fr_jinja_text_str(&t);
    done.markup = true;
    return fr_jinja_make_str(r, done);
}

BUILTIN(escape) {
    UNUSED;
    return escape_all(r, self, false);
}

BUILTIN(forceescape) {
    UNUSED;
    return escape_all(r, self, true);
}

BUILTIN(replace) {
    UNUSED;
    const str s = fr_jinja_to_str(r, self), old = fr_jinja_to_str(r, arg[0]);
    const str new = fr_jinja_to_str(r, arg[1]);
    int64_t left = is_given(arg[2]) ? int_arg(r, arg[2], -1) : -1;
    writer t = {.r = r};
    size_t done = 0, from = 0;
    for (; left && from <= s.n && fr_jinja_work(r, 1); left -= left > 0) {
        const size_t at = fr_jinja_find(&s, &old, from);
        if (at == SIZE_MAX) break;
        fr_jinja_put_part(&t, &s, done, at);
        fr_jinja_put_str(&t, &new);
        done = at + old.n;
        const str rest = str_part(&s, done, s.n);
        from = old.n        ? done
               : done < s.n ? done + fr_jinja_offset(&rest, 1)
                            : s.n + 1; // between characters
    }
    fr_jinja_put_part(&t, &s, done, s.n);
    return fr_jinja_text_value(&t);
}

// One line of s at *at, without its end, as Python's splitlines() sees lines. False: no more.
static bool next_line(const str *s, size_t *at, str *line) {
    if (*at >= s->n) return false;
    size_t end = *at, bytes = 0;
    uint32_t code = 0;
    for (; end < s->n; end += bytes) {
        bytes = fr_jinja_char_read(s->data + end, s->n - end, &code);
        if (code == '\n' || code == '\r' || code == 0xB || code == 0xC ||
            (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 || code == 0x2029)
            break;
        bytes = end + bytes > s->n ? s->n - end : bytes;
    }
    *line = str_part(s, *at, end);
    *at = end < s->n ? end + bytes : end;
    if (end < s->n && code == '\r' && *at < s->n && s->data[*at] == '\n') ++*at;
    return true;
}

BUILTIN(splitlines) {
    UNUSED;
    seq *out = fr_jinja_make_seq(r, SEQ_LIST);
    str line;
    for (size_t at = 0, begin = 0; next_line(as_str(self), &at, &line) && fr_jinja_work(r, 1);
         begin = at) {
        if (fr_jinja_truth(arg[0])) line = str_part(as_str(self), begin, at);
        fr_jinja_add(r, out, fr_jinja_make_str(r, line));
    }
    return make_ref(J_SEQ, out);
}

BUILTIN(indent) {
    UNUSED;
    if (self.kind != J_STR) return fr_jinja_fail(r, "indent of %s", fr_jinja_kind_name(self));
    const str s = *as_str(self);
    writer width = {.r = r}, t = {.r = r};
    if (arg[0].kind == J_STR)
        fr_jinja_put_str(&width, as_str(arg[0]));
    else
        for (int64_t n = int_arg(r, arg[0], 4); n > 0 && fr_jinja_work(r, 1); n--)
            fr_jinja_put_text(&width, " ", FR_MARK_TEMPLATE);
    writer source = {.r = r}; // an end more, so that an empty last line counts
    fr_jinja_put_str(&source, &s);
    fr_jinja_put_text(&source, "\n", FR_MARK_TEMPLATE);
    const str by = fr_jinja_text_str(&width), whole = fr_jinja_text_str(&source);
    bool first = true;
    str line;
    for (size_t at = 0; !r->status && next_line(&whole, &at, &line); first = false) {
        if (!first) fr_jinja_put_text(&t, "\n", FR_MARK_TEMPLATE);
        if (first ? fr_jinja_truth(arg[1]) : line.n || fr_jinja_truth(arg[2]))
            fr_jinja_put_str(&t, &by);
        fr_jinja_put_str(&t, &line);
    }
    return fr_jinja_text_value(&t);
}

BUILTIN(center) {
    UNUSED;
    const str s = fr_jinja_to_str(r, self);
    const int64_t width = int_arg(r, arg[0], 80), n = (int64_t)fr_jinja_length(&s);
    const int64_t pad = width > n ? width - n : 0, left = pad / 2 + (pad & width & 1);
    writer t = {.r = r};
    for (int64_t i = 0; i <= pad && fr_jinja_work(r, 1); i++) {
        if (i == left) fr_jinja_put_str(&t, &s);
        if (i < pad) fr_jinja_put_text(&t, " ", FR_MARK_TEMPLATE);
    }
    return fr_jinja_text_value(&t);
}

BUILTIN(wordcount) {
    UNUSED;
    const str s = fr_jinja_to_str(r, self);
    int64_t words = 0;
    bool inside = false;
    uint32_t code;
    for (size_t at = 0; at < s.n;) {
        at += fr_jinja_char_read(s.data + at, s.n - at, &code);
        const bool word =
            code == '_' ||
            (code != UINT32_MAX && fr_jinja_char_properties(code) &
                                       (CHAR_ALPHA | CHAR_DECIMAL | CHAR_DIGIT | CHAR_NUMERIC));
        words += word && !inside;
        inside = word;
    }
    return make_int(words);
}

BUILTIN(truncate) {
    UNUSED;
    const value ellipsis = fr_jinja_make_text(r, "...");
    if (self.kind != J_STR || (arg[2].kind != J_MISSING && arg[2].kind != J_STR))
        return fr_jinja_fail(r, "truncate takes strings");
    if (r->status) return UNDEFINED;
    const str *s = as_str(self), *end = as_str(arg[2].kind == J_STR ? arg[2] : ellipsis);
    const int64_t length = int_arg(r, arg[0], 255),
                  leeway = is_given(arg[3]) ? int_arg(r, arg[3], 5) : 5;
    const int64_t n_end = (int64_t)fr_jinja_length(end);
    if (length < n_end || leeway < 0)
        return fr_jinja_fail(r, "truncate to less than its end takes");
    if ((int64_t)fr_jinja_length(s) <= length + leeway) return self;
    size_t cut = fr_jinja_offset(s, (size_t)(length - n_end));
    for (size_t at = cut; !fr_jinja_truth(arg[1]) && at; at--)
        if (s->data[at - 1] == ' ') {
            cut = at - 1;
            break;
        }
    writer t = {.r = r};
    fr_jinja_put_part(&t, s, 0, cut);
    fr_jinja_put_str(&t, end);
    return fr_jinja_text_value(&t);
}

BUILTIN(urlencode) {
    UNUSED;
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~/";
    if (self.kind == J_DICT || self.kind == J_SEQ)
        return fr_jinja_fail(r, "urlencode takes text here");
    const str s = fr_jinja_to_str(r, self);
    writer t = {.r = r};
    char code[4];
    for (size_t i = 0; i < s.n && fr_jinja_work(r, 1); i++) {
        if (s.data[i] && strchr(plain, s.data[i]))
            fr_jinja_put_part(&t, &s, i, i + 1);
        else {
            snprintf(code, sizeof code, "%%%02X", (unsigned char)s.data[i]);
            fr_jinja_put_text(&t, code, s.marks ? s.marks[i] : s.mark);
        }
    }
    return fr_jinja_text_value(&t);
}

BUILTIN(format) {
    UNUSED;
    const str s = fr_jinja_to_str(r, self);
    if (all->named.n && all->n) return fr_jinja_fail(r, "format takes arguments of one kind");
    if (all->named.n) return fr_jinja_format_percent(r, &s, make_ref(J_DICT, &all->named));
    seq *tuple = fr_jinja_make_seq(r, SEQ_TUPLE);
    for (size_t i = 0; i < all->n; i++)
        fr_jinja_add(r, tuple, all->pos[i]);
    return r->status ? UNDEFINED : fr_jinja_format_percent(r, &s, make_ref(J_SEQ, tuple));
}

const function fr_jinja_text_filters[] = {
    {"upper", upper, ""},
    {"lower", lower, ""},
    {"capitalize", capitalize, ""},
    {"title", title, ""},
    {"trim", trim, "chars?"},
    {"string", string, ""},
    {"safe", safe, ""},
    {"escape", escape, ""},
    {"e", escape, ""},
    {"forceescape", forceescape, ""},
    {"replace", replace, "old,new,count?"},
    {"indent", indent, "width?,first?,blank?"},
    {"center", center, "width?"},
    {"wordcount", wordcount, ""},
    {"truncate", truncate, "length?,killwords?,end?,leeway?"},
    {"urlencode", urlencode, ""},
    {"format", format, NULL},
    {NULL, NULL, NULL},
};

// Methods of strings that are these filters.
const function fr_jinja_str_methods[] = {
    {"upper", upper, ""},
    {"lower", lower, ""},
    {"casefold", casefold, ""},
    {"capitalize", capitalize, ""},
    {"replace", replace, "old,new,count?"},
    {"splitlines", splitlines, "keepends?"},
    {NULL, NULL, NULL},
};
