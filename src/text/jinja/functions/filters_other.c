// filters_other.c — filters that call filters and tests, and those of single values.
#include "text/jinja/functions/builtin.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// ---- map, select and their like

static args without_first(const args *all, size_t n) {
    args rest = *all;
    if (n) rest.pos += n;
    rest.n -= n;
    return rest;
}

static const value *named(const args *all, const char *name) {
    return fr_jinja_dict_find_text(&all->named, name, strlen(name));
}

static value map_attribute(run *r, value item, const args *all, const value *attribute) {
    const value *instead = named(all, "default");
    if (all->named.n > (instead ? 2 : 1))
        return fr_jinja_fail(r, "map: an argument of an unknown name");
    if (attribute->kind == J_NONE) return item;
    return fr_jinja_path(r, item, *attribute, instead ? *instead : MISSING);
}

BUILTIN(map) {
    UNUSED;
    const value *attribute = all->n ? NULL : named(all, "attribute");
    seq *out = fr_jinja_make_seq(r, SEQ_ONCE);
    if (!fr_jinja_truth(self)) return make_ref(J_SEQ, out);
    const seq *s = fr_jinja_iterate(r, self);
    if (!attribute && (!all->n || all->pos[0].kind != J_STR))
        return fr_jinja_fail(r, "map needs the name of a filter");
    const function *f = attribute ? NULL : fr_jinja_filter_named(as_str(all->pos[0]));
    const args rest = attribute ? *all : without_first(all, 1);
    if (!attribute && !f) return fr_jinja_fail(r, "map: no such filter");
    for (size_t i = 0; s && i < s->n && fr_jinja_work(r, 1); i++)
        fr_jinja_add(r, out,
                     attribute ? map_attribute(r, s->item[i], all, attribute)
                               : fr_jinja_apply(r, f, s->item[i], &rest));
    return make_ref(J_SEQ, out);
}

// The items (by_attribute: with an attribute) that pass a test, or, without one, are true; `wanted`
// false: those that do not.
static value choose(run *r, value self, const args *all, bool by_attribute, bool wanted) {
    seq *out = fr_jinja_make_seq(r, SEQ_ONCE);
    if (!fr_jinja_truth(self)) return make_ref(J_SEQ, out);
    const seq *s = fr_jinja_iterate(r, self);
    if (by_attribute && !all->n) return fr_jinja_fail(r, "the name of an attribute is missing");
    const size_t at = by_attribute;
    const function *test = NULL;
    if (all->n > at) {
        if (all->pos[at].kind == J_STR) test = fr_jinja_test_named(as_str(all->pos[at]));
        if (!test) return fr_jinja_fail(r, "no such test");
    }
    const args rest = without_first(all, test ? at + 1 : at);
    for (size_t i = 0; s && i < s->n && fr_jinja_work(r, 1); i++) {
        const value x =
            by_attribute ? fr_jinja_path(r, s->item[i], all->pos[0], MISSING) : s->item[i];
        const value yes = test ? fr_jinja_apply(r, test, x, &rest) : x;
        if (fr_jinja_truth(yes) == wanted) fr_jinja_add(r, out, s->item[i]);
    }
    return make_ref(J_SEQ, out);
}

BUILTIN(select_items) {
    UNUSED;
    return choose(r, self, all, false, true);
}

BUILTIN(reject) {
    UNUSED;
    return choose(r, self, all, false, false);
}

BUILTIN(selectattr) {
    UNUSED;
    return choose(r, self, all, true, true);
}

BUILTIN(rejectattr) {
    UNUSED;
    return choose(r, self, all, true, false);
}

// ---- single values

BUILTIN(default_value) {
    UNUSED;
    const bool use = self.kind == J_UNDEFINED || (fr_jinja_truth(arg[1]) && !fr_jinja_truth(self));
    if (!use) return self;
    return arg[0].kind == J_MISSING ? fr_jinja_make_text(r, "") : arg[0];
}

BUILTIN(attr) {
    UNUSED;
    const str name = fr_jinja_to_str(r, arg[0]);
    const function *f = fr_jinja_method_named(self, &name);
    if (self.kind == J_DICT && !f) return UNDEFINED; // attributes, not items
    str *copy = fr_jinja_alloc(r, sizeof *copy);
    if (!copy) return UNDEFINED;
    *copy = name;
    return fr_jinja_attr(r, self, copy);
}

BUILTIN(absolute) {
    UNUSED;
    if (!is_number(self)) return fr_jinja_fail(r, "abs of %s", fr_jinja_kind_name(self));
    if (self.kind == J_FLOAT) return make_float(fabs(self.as.real));
    return self.as.whole < 0 ? fr_jinja_negate(r, self) : make_int(self.as.whole);
}

// A number written in text, blanks around it, underscores between digits. False: it is none.
static bool parse_number(run *r, const str *text, int base, bool real, value *out) {
    const str s = fr_jinja_strip(text, NULL, true, true);
    char *copy = fr_jinja_alloc(r, s.n + 1), *end;
    size_t n = 0;
    if (!copy || !s.n) return false;
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.data[i];
        const bool between =
            c == '_' && i && i + 1 < s.n && s.data[i - 1] != '_' && s.data[i + 1] != '_';
        if (!c || (c & 0x80) || (c == '_' && !between) || fr_jinja_char_is_space((unsigned char)c))
            return false;
        if (c != '_') copy[n++] = c;
    }
    errno = 0;
    if (real && !strpbrk(copy, "xX(")) {
        *out = make_float(strtod(copy, &end));
        return *end == 0;
    }
    const char *digits = copy + (copy[0] == '-' || copy[0] == '+');
    const char prefix = digits[0] == '0' ? (char)(digits[1] | 0x20) : 0;
    if ((prefix == 'x' && base != 16 && base) || real) return false;
    const bool octal = prefix == 'o' && (base == 8 || !base),
               binary = prefix == 'b' && (base == 2 || !base);
    if (octal || binary) memmove((char *)(uintptr_t)digits, digits + 2, strlen(digits + 2) + 1);
    *out = make_int(strtoll(copy, &end, octal ? 8 : binary ? 2 : base));
    if (errno) fr_jinja_fail(r, "an integer beyond 64 bits");
    return *end == 0 && end > copy;
}

static value whole_of(run *r, double x, value otherwise) {
    if (!isfinite(x)) return otherwise;
    if (fabs(x) >= 0x1p63) return fr_jinja_fail(r, "an integer beyond 64 bits");
    return make_int((int64_t)x);
}

BUILTIN(to_int) {
    UNUSED;
    int64_t base = 10;
    value number = MISSING;
    const value otherwise = arg[0].kind == J_MISSING ? make_int(0) : arg[0];
    if (arg[1].kind != J_MISSING) fr_jinja_to_int(r, arg[1], &base);
    if (base < 0 || base > 36 || base == 1) base = 10;
    if (self.kind == J_FLOAT) return whole_of(r, self.as.real, otherwise);
    if (is_whole(self)) return make_int(self.as.whole);
    if (self.kind == J_BIG) return self;
    if (self.kind == J_UNDEFINED) return fr_jinja_fail(r, "int of an undefined value");
    if (self.kind != J_STR) return otherwise;
    if (parse_number(r, as_str(self), (int)base, false, &number)) return number;
    if (parse_number(r, as_str(self), 10, true, &number))
        return whole_of(r, number.as.real, otherwise);
    return otherwise;
}

BUILTIN(to_float) {
    UNUSED;
    value number = MISSING;
    if (is_number(self)) return make_float(real_of(self));
    if (self.kind == J_UNDEFINED) return fr_jinja_fail(r, "float of an undefined value");
    if (self.kind == J_STR && parse_number(r, as_str(self), 10, true, &number)) return number;
    return arg[0].kind == J_MISSING ? make_float(0) : arg[0];
}

BUILTIN(round_value) {
    UNUSED;
    int64_t digits = 0;
    const str how = arg[1].kind == J_STR ? *as_str(arg[1]) : STR("common");
    if (arg[0].kind != J_MISSING) fr_jinja_to_int(r, arg[0], &digits);
    if (!is_number(self)) return fr_jinja_fail(r, "round of %s", fr_jinja_kind_name(self));
    const bool up = str_is(&how, "ceil"), common = str_is(&how, "common");
    if (!up && !common && !str_is(&how, "floor"))
        return fr_jinja_fail(r, "round to common, ceil or floor");
    if (digits < -300 || digits > 300)
        return fr_jinja_fail(r, "round to %lld digits", (long long)digits);
    if (common && is_whole(self) && digits >= 0) return make_int(self.as.whole);
    const double x = real_of(self), scale = pow(10, (double)digits);
    if (!common) {
        const double y = up ? ceil(x * scale) : floor(x * scale);
        return make_float(y / scale);
    }
    char text[700];
    if (!isfinite(x) || digits < 0) {
        const double y = nearbyint(x * scale) / scale;
        const bool fits = y >= -0x1p63 && y < 0x1p63;
        if (is_whole(self) && !fits)
            return fr_jinja_fail(r, "round: the number has more than 64 bits");
        return is_whole(self) ? make_int((int64_t)y) : make_float(y);
    }
    snprintf(text, sizeof text, "%.*f", (int)digits, x); // correctly rounded, halves to even
    return make_float(strtod(text, NULL));
}

static value json_indent(run *r, value v) {
    if (v.kind == J_STR) return v;
    int64_t n;
    writer t = {.r = r};
    if (!fr_jinja_to_int(r, v, &n)) return UNDEFINED;
    for (; n > 0 && fr_jinja_work(r, 1); n--)
        fr_jinja_put_text(&t, " ", FR_MARK_MESSAGE);
    return fr_jinja_text_value(&t);
}

BUILTIN(tojson) {
    UNUSED;
    const bool broken = is_given(arg[1]);
    json_style style = {.ascii = fr_jinja_truth(arg[0]), .sorted = fr_jinja_truth(arg[3])};
    style.between = broken ? STR(",") : STR(", ");
    style.colon = STR(": ");
    if (broken) {
        const value by = json_indent(r, arg[1]);
        if (r->status) return UNDEFINED;
        style.indent = as_str(by);
    }
    if (is_given(arg[2])) {
        const seq *s = fr_jinja_iterate(r, arg[2]);
        if (s && (s->n != 2 || s->item[0].kind != J_STR || s->item[1].kind != J_STR))
            fr_jinja_fail(r, "separators: expected two strings");
        if (r->status) return UNDEFINED;
        style.between = *as_str(s->item[0]);
        style.colon = *as_str(s->item[1]);
    }
    style.between.mark = style.colon.mark = FR_MARK_MESSAGE;
    writer t = {.r = r};
    fr_jinja_put_json(&t, self, &style, 0);
    return fr_jinja_text_value(&t);
}

#define UNSUPPORTED(name)                                                                          \
    BUILTIN(no_##name) {                                                                           \
        UNUSED;                                                                                    \
        return fr_jinja_fail(r, "the filter '%s' is not supported", #name);                        \
    }
UNSUPPORTED(filesizeformat)
UNSUPPORTED(pprint)
UNSUPPORTED(random)
UNSUPPORTED(striptags)
UNSUPPORTED(urlize)
UNSUPPORTED(wordwrap)
UNSUPPORTED(xmlattr)

const function fr_jinja_pick_filters[] = {
    {"map", map, NULL},
    {"select", select_items, NULL},
    {"reject", reject, NULL},
    {"selectattr", selectattr, NULL},
    {"rejectattr", rejectattr, NULL},
    {NULL, NULL, NULL},
};

const function fr_jinja_other_filters[] = {
    {"default", default_value, "default_value?,boolean?"},
    {"d", default_value, "default_value?,boolean?"},
    {"attr", attr, "name"},
    {"abs", absolute, ""},
    {"int", to_int, "default?,base?"},
    {"float", to_float, "default?"},
    {"round", round_value, "precision?,method?"},
    {"tojson", tojson, "ensure_ascii?,indent?,separators?,sort_keys?"},
    {"filesizeformat", no_filesizeformat, NULL},
    {"pprint", no_pprint, NULL},
    {"random", no_random, NULL},
    {"striptags", no_striptags, NULL},
    {"urlize", no_urlize, NULL},
    {"wordwrap", no_wordwrap, NULL},
    {"xmlattr", no_xmlattr, NULL},
    {NULL, NULL, NULL},
};
