// methods.c — methods of strings that search, cut and pad; of mappings and of lists.
#include "text/jinja/functions/builtin.h"

static const str *str_arg(run *r, value v) {
    if (v.kind == J_STR) return as_str(v);
    fr_jinja_fail(r, "expected a string, found %s", fr_jinja_kind_name(v));
    return NULL;
}

static int64_t int_or_none(run *r, value v, int64_t missing) {
    int64_t n = missing;
    if (is_given(v)) fr_jinja_to_int(r, v, &n);
    return n;
}

static void add_part(run *r, seq *s, const str *of, size_t from, size_t to) {
    fr_jinja_add(r, s, fr_jinja_make_str(r, str_part(of, from, to)));
}

// ---- strip and split

static value strip(run *r, value self, value chars, bool left, bool right) {
    const str *set = is_given(chars) ? str_arg(r, chars) : NULL;
    if (!fr_jinja_work(r, as_str(self)->n * (set ? set->n : 1))) return UNDEFINED;
    return fr_jinja_make_str(r, fr_jinja_strip(as_str(self), set, left, right));
}

BUILTIN(strip_both) {
    UNUSED;
    return strip(r, self, arg[0], true, true);
}

BUILTIN(lstrip) {
    UNUSED;
    return strip(r, self, arg[0], true, false);
}

BUILTIN(rstrip) {
    UNUSED;
    return strip(r, self, arg[0], false, true);
}

static bool space_at(const str *s, size_t at, size_t *bytes) {
    uint32_t code;
    *bytes = fr_jinja_char_read(s->data + at, s->n - at, &code);
    return code != UINT32_MAX && fr_jinja_char_is_space(code);
}

// Words between white space, at most `most` cuts (-1: any number) from the left.
static void split_words(run *r, seq *out, const str *s, int64_t most) {
    size_t bytes;
    for (size_t at = 0; at < s->n && fr_jinja_work(r, 1); most -= most > 0) {
        while (at < s->n && space_at(s, at, &bytes))
            at += bytes;
        if (at >= s->n) break;
        size_t end = at;
        if (most == 0) { // the rest is one word
            add_part(r, out, s, at, s->n);
            break;
        }
        while (end < s->n && !space_at(s, end, &bytes))
            end += bytes;
        add_part(r, out, s, at, end);
        at = end;
    }
}

BUILTIN(split) {
    UNUSED;
    const str *s = as_str(self), *by = is_given(arg[0]) ? str_arg(r, arg[0]) : NULL;
    int64_t most = int_or_none(r, arg[1], -1);
    seq *out = fr_jinja_make_seq(r, SEQ_LIST);
    if (!out) return UNDEFINED;
    if (!by) {
        split_words(r, out, s, most);
        return make_ref(J_SEQ, out);
    }
    if (!by->n) return fr_jinja_fail(r, "an empty separator");
    size_t from = 0;
    for (size_t at; most && fr_jinja_work(r, 1) && (at = fr_jinja_find(s, by, from)) != SIZE_MAX;
         from = at + by->n) {
        add_part(r, out, s, from, at);
        most -= most > 0;
    }
    add_part(r, out, s, from, s->n);
    return make_ref(J_SEQ, out);
}

// The last place of `what` in s[0, to).
static size_t find_last(run *r, const str *s, const str *what, size_t to) {
    if (what->n > to) return SIZE_MAX;
    for (size_t at = to - what->n + 1; at-- > 0;)
        if (!what->n || (s->data[at] == what->data[0] && fr_jinja_work(r, what->n) &&
                         !memcmp(s->data + at, what->data, what->n)))
            return at;
    return SIZE_MAX;
}

// The next word from *at on, whose end *at becomes. False: there is none.
static bool next_word(run *r, const str *s, size_t *at, size_t *begin) {
    size_t bytes;
    if (!fr_jinja_work(r, 0)) return false;
    while (*at < s->n && space_at(s, *at, &bytes))
        *at += bytes;
    *begin = *at;
    while (*at < s->n && !space_at(s, *at, &bytes))
        *at += bytes;
    return *at > *begin;
}

// Words between white space, with at most `most` cuts (-1: any number) from the right. The text
// before the last cut stays as it is.
static value split_last_words(run *r, const str *s, int64_t most) {
    seq *out = fr_jinja_make_seq(r, SEQ_LIST);
    size_t words = 0, begin;
    for (size_t at = 0; next_word(r, s, &at, &begin);)
        words++;
    const size_t first = most < 0 || (size_t)most > words ? 0 : words - (size_t)most;
    for (size_t at = 0, i = 1; next_word(r, s, &at, &begin); i++)
        if (i >= first) add_part(r, out, s, i == first ? 0 : begin, at);
    return make_ref(J_SEQ, out);
}

static value reversed(run *r, const seq *s) {
    seq *out = fr_jinja_make_seq(r, SEQ_LIST);
    for (size_t i = s->n; out && i; i--)
        fr_jinja_add(r, out, s->item[i - 1]);
    return make_ref(J_SEQ, out);
}

// The same from the right: found last to first, then turned round.
BUILTIN(rsplit) {
    UNUSED;
    const str *s = as_str(self), *by = is_given(arg[0]) ? str_arg(r, arg[0]) : NULL;
    int64_t most = int_or_none(r, arg[1], -1);
    seq *out = fr_jinja_make_seq(r, SEQ_LIST);
    size_t to = s->n;
    if (!by && !r->status) return split_last_words(r, s, most);
    if (r->status || !by->n) return fr_jinja_fail(r, "an empty separator");
    for (size_t at; most && fr_jinja_work(r, 1) && (at = find_last(r, s, by, to)) != SIZE_MAX;
         to = at) {
        add_part(r, out, s, at + by->n, to);
        most -= most > 0;
    }
    add_part(r, out, s, 0, to);
    return r->status ? UNDEFINED : reversed(r, out);
}

static value partition(run *r, value self, value by, bool last) {
    const str *s = as_str(self), *what = str_arg(r, by);
    seq *out = fr_jinja_make_seq(r, SEQ_TUPLE);
    if (r->status || !what->n) return fr_jinja_fail(r, "an empty separator");
    const size_t found = last ? find_last(r, s, what, s->n) : fr_jinja_find(s, what, 0);
    const size_t at = found != SIZE_MAX ? found : last ? 0 : s->n;
    const size_t end = found != SIZE_MAX ? at + what->n : at;
    add_part(r, out, s, 0, at);
    add_part(r, out, s, at, end);
    add_part(r, out, s, end, s->n);
    return make_ref(J_SEQ, out);
}

BUILTIN(partition_first) {
    UNUSED;
    return partition(r, self, arg[0], false);
}

BUILTIN(partition_last) {
    UNUSED;
    return partition(r, self, arg[0], true);
}

BUILTIN(join) {
    UNUSED;
    const seq *s = fr_jinja_iterate(r, arg[0]);
    writer t = {.r = r};
    for (size_t i = 0; s && i < s->n && fr_jinja_work(r, 1); i++) {
        const str *part = str_arg(r, s->item[i]);
        if (i) fr_jinja_put_str(&t, as_str(self));
        if (part) fr_jinja_put_str(&t, part);
    }
    return fr_jinja_text_value(&t);
}

// ---- looking

// s[from:to] of an optional pair of arguments; *before: the characters in front of it.
static str window(run *r, value self, value from, value to, int64_t *before) {
    const str *s = as_str(self);
    *before = 0;
    if (!is_given(from) && !is_given(to)) return *s;
    const value part = fr_jinja_slice(r, self, from, to, NONE_VALUE);
    if (r->status) return STR("");
    const str front = {.data = s->data, .n = (size_t)(as_str(part)->data - s->data)};
    *before = (int64_t)fr_jinja_length(&front);
    return *as_str(part);
}

static value ends(run *r, value self, const value *arg, bool at_end) {
    int64_t before;
    const str s = window(r, self, arg[1], arg[2], &before);
    seq one = {.item = (value *)(uintptr_t)arg, .n = 1};
    const seq *all = is_seq(arg[0], SEQ_TUPLE) ? as_seq(arg[0]) : &one;
    for (size_t i = 0; i < all->n && !r->status; i++) {
        const str *what = str_arg(r, all->item[i]);
        if (!what || what->n > s.n || !fr_jinja_work(r, what->n)) continue;
        if (!memcmp(at_end ? s.data + s.n - what->n : s.data, what->data, what->n))
            return make_bool(true);
    }
    return make_bool(false);
}

BUILTIN(startswith) {
    UNUSED;
    return ends(r, self, arg, false);
}

BUILTIN(endswith) {
    UNUSED;
    return ends(r, self, arg, true);
}

static value find(run *r, value self, const value *arg, bool last, bool must) {
    int64_t before;
    const str s = window(r, self, arg[1], arg[2], &before), *what = str_arg(r, arg[0]);
    if (!what) return UNDEFINED;
    const size_t at = last ? find_last(r, &s, what, s.n) : fr_jinja_find(&s, what, 0);
    if (at == SIZE_MAX) return must ? fr_jinja_fail(r, "substring not found") : make_int(-1);
    const str front = str_part(&s, 0, at);
    return make_int(before + (int64_t)fr_jinja_length(&front));
}

BUILTIN(find_first) {
    UNUSED;
    return find(r, self, arg, false, false);
}

BUILTIN(rfind) {
    UNUSED;
    return find(r, self, arg, true, false);
}

BUILTIN(index_first) {
    UNUSED;
    return find(r, self, arg, false, true);
}

BUILTIN(index_last) {
    UNUSED;
    return find(r, self, arg, true, true);
}

BUILTIN(count) {
    UNUSED;
    int64_t before, n = 0;
    const str s = window(r, self, arg[1], arg[2], &before), *what = str_arg(r, arg[0]);
    if (!what) return UNDEFINED;
    if (!what->n) return make_int((int64_t)fr_jinja_length(&s) + 1);
    for (size_t at = 0; fr_jinja_work(r, 1) && (at = fr_jinja_find(&s, what, at)) != SIZE_MAX;
         at += what->n)
        n++;
    return make_int(n);
}

static value without(run *r, value self, const value *arg, bool at_end) {
    const str *s = as_str(self), *what = str_arg(r, arg[0]);
    const value bare[] = {arg[0], MISSING, MISSING};
    if (!what || !fr_jinja_truth(ends(r, self, bare, at_end))) return self;
    return fr_jinja_make_str(r,
                             at_end ? str_part(s, 0, s->n - what->n) : str_part(s, what->n, s->n));
}

BUILTIN(removeprefix) {
    UNUSED;
    return without(r, self, arg, false);
}

BUILTIN(removesuffix) {
    UNUSED;
    return without(r, self, arg, true);
}

// ---- padding

static value padded(run *r, value self, const value *arg, int side) {
    const str *s = as_str(self), blank = STR(" ");
    const str *with = is_given(arg[1]) ? str_arg(r, arg[1]) : &blank;
    const int64_t n = (int64_t)fr_jinja_length(s), width = int_or_none(r, arg[0], 0);
    const int64_t pad = width > n ? width - n : 0;
    const int64_t left = side < 0 ? 0 : side > 0 ? pad : pad / 2 + (pad & width & 1);
    writer t = {.r = r};
    if (with && fr_jinja_length(with) != 1) return fr_jinja_fail(r, "padding is one character");
    for (int64_t i = 0; i <= pad && with && fr_jinja_work(r, 1); i++) {
        if (i == left) fr_jinja_put_str(&t, s);
        if (i < pad) fr_jinja_put_str(&t, with);
    }
    return fr_jinja_text_value(&t);
}

BUILTIN(ljust) {
    UNUSED;
    return padded(r, self, arg, -1);
}

BUILTIN(rjust) {
    UNUSED;
    return padded(r, self, arg, 1);
}

BUILTIN(center) {
    UNUSED;
    return padded(r, self, arg, 0);
}

BUILTIN(zfill) {
    UNUSED;
    const str *s = as_str(self);
    const size_t sign = s->n && (s->data[0] == '-' || s->data[0] == '+');
    writer t = {.r = r};
    fr_jinja_put_part(&t, s, 0, sign);
    for (int64_t n = int_or_none(r, arg[0], 0) - (int64_t)fr_jinja_length(s);
         n > 0 && fr_jinja_work(r, 1); n--)
        fr_jinja_put_text(&t, "0", FR_MARK_TEMPLATE);
    fr_jinja_put_part(&t, s, sign, s->n);
    return fr_jinja_text_value(&t);
}

BUILTIN(format) {
    UNUSED;
    return fr_jinja_format_braces(r, as_str(self), all);
}

const function fr_jinja_split_methods[] = {
    {"strip", strip_both, "chars?"},
    {"lstrip", lstrip, "chars?"},
    {"rstrip", rstrip, "chars?"},
    {"split", split, "sep?,maxsplit?"},
    {"rsplit", rsplit, "sep?,maxsplit?"},
    {"partition", partition_first, "sep"},
    {"rpartition", partition_last, "sep"},
    {"join", join, "iterable"},
    {"startswith", startswith, "prefix,start?,end?"},
    {"endswith", endswith, "suffix,start?,end?"},
    {"find", find_first, "sub,start?,end?"},
    {"rfind", rfind, "sub,start?,end?"},
    {"index", index_first, "sub,start?,end?"},
    {"rindex", index_last, "sub,start?,end?"},
    {"count", count, "sub,start?,end?"},
    {"removeprefix", removeprefix, "prefix"},
    {"removesuffix", removesuffix, "suffix"},
    {"ljust", ljust, "width,fillchar?"},
    {"rjust", rjust, "width,fillchar?"},
    {"center", center, "width,fillchar?"},
    {"zfill", zfill, "width"},
    {"format", format, NULL},
    {NULL, NULL, NULL},
};
