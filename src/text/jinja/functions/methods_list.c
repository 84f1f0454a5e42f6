// methods_list.c — methods of mappings and lists, questions to strings, and what finds a method.
#include "text/jinja/functions/builtin.h"

// ---- mappings

BUILTIN(get) {
    UNUSED;
    if (!fr_jinja_hashable(arg[0]))
        return fr_jinja_fail(r, "%s cannot be a key", fr_jinja_kind_name(arg[0]));
    if (arg[0].kind == J_STR && !fr_jinja_work(r, as_str(arg[0])->n)) return UNDEFINED; // its hash
    const value *item = fr_jinja_dict_find(as_dict(self), arg[0]);
    return item ? *item : arg[1].kind == J_MISSING ? NONE_VALUE : arg[1];
}

static value view(run *r, const dict *d, seq_kind kind) {
    seq *out = fr_jinja_make_seq(r, kind);
    for (size_t i = 0; out && i < d->n && fr_jinja_work(r, 1); i++) {
        if (kind != SEQ_ITEMS) {
            fr_jinja_add(r, out, kind == SEQ_KEYS ? d->entry[i].key : d->entry[i].item);
            continue;
        }
        fr_jinja_add(r, out, make_ref(J_SEQ, make_pair(r, d->entry[i].key, d->entry[i].item)));
    }
    return make_ref(J_SEQ, out);
}

BUILTIN(keys) {
    UNUSED;
    return view(r, as_dict(self), SEQ_KEYS);
}

BUILTIN(values) {
    UNUSED;
    return view(r, as_dict(self), SEQ_VALUES);
}

BUILTIN(items) {
    UNUSED;
    return view(r, as_dict(self), SEQ_ITEMS);
}

BUILTIN(copy) {
    UNUSED;
    return self; // nothing changes it
}

// What would change a value hides what a mapping holds of that name, but is undefined.
BUILTIN(forbidden) {
    UNUSED;
    return fr_jinja_fail(r, "a template cannot change lists and mappings");
}

bool fr_jinja_is_forbidden(const function *f) {
    return f->fn == forbidden;
}

static const function dict_methods[] = {
    {"get", get, "key,default?"}, {"keys", keys, ""},           {"values", values, ""},
    {"items", items, ""},         {"copy", copy, ""},           {"clear", forbidden, NULL},
    {"pop", forbidden, NULL},     {"popitem", forbidden, NULL}, {"setdefault", forbidden, NULL},
    {"update", forbidden, NULL},  {NULL, NULL, NULL},
};

// ---- lists

BUILTIN(count) {
    UNUSED;
    int64_t n = 0;
    for (size_t i = 0; i < as_seq(self)->n && fr_jinja_work(r, 1); i++)
        n += fr_jinja_same(r, as_seq(self)->item[i], arg[0]);
    return make_int(n);
}

BUILTIN(index_of) {
    UNUSED;
    int64_t from = 0, to = (int64_t)as_seq(self)->n;
    if (arg[1].kind != J_MISSING) fr_jinja_to_int(r, arg[1], &from);
    if (arg[2].kind != J_MISSING) fr_jinja_to_int(r, arg[2], &to);
    for (size_t i = 0; i < as_seq(self)->n && fr_jinja_work(r, 1); i++)
        if ((int64_t)i >= from && (int64_t)i < to &&
            fr_jinja_same(r, as_seq(self)->item[i], arg[0]))
            return make_int((int64_t)i);
    return fr_jinja_fail(r, "the value is not in the list");
}

static const function list_methods[] = {
    {"count", count, "value"},   {"index", index_of, "value,start?,stop?"},
    {"copy", copy, ""},          {"append", forbidden, NULL},
    {"clear", forbidden, NULL},  {"extend", forbidden, NULL},
    {"insert", forbidden, NULL}, {"pop", forbidden, NULL},
    {"remove", forbidden, NULL}, {"reverse", forbidden, NULL},
    {"sort", forbidden, NULL},   {NULL, NULL, NULL},
};

// ---- questions to strings

// There are characters, and all have one of the properties.
static value all_are(value self, int bits) {
    const str *s = as_str(self);
    uint32_t code;
    for (size_t at = 0; at < s->n;) {
        at += fr_jinja_char_read(s->data + at, s->n - at, &code);
        if (code == UINT32_MAX || !(fr_jinja_char_properties(code) & bits)) return make_bool(false);
    }
    return make_bool(s->n > 0);
}

#define QUESTION(name, bits)                                                                       \
    BUILTIN(name) {                                                                                \
        UNUSED;                                                                                    \
        return all_are(self, bits);                                                                \
    }
QUESTION(is_alpha, CHAR_ALPHA)
QUESTION(is_alnum, CHAR_ALPHA | CHAR_DECIMAL | CHAR_DIGIT | CHAR_NUMERIC)
QUESTION(is_decimal, CHAR_DECIMAL)
QUESTION(is_digit, CHAR_DIGIT)
QUESTION(is_numeric, CHAR_NUMERIC)

BUILTIN(is_space) {
    UNUSED;
    const str rest = fr_jinja_strip(as_str(self), NULL, true, true);
    return make_bool(as_str(self)->n && !rest.n);
}

BUILTIN(is_ascii) {
    UNUSED;
    for (size_t i = 0; i < as_str(self)->n; i++)
        if ((unsigned char)as_str(self)->data[i] >= 0x80) return make_bool(false);
    return make_bool(true);
}

static value ask_test(run *r, const char *name, value self) {
    const str s = {.data = name, .n = strlen(name)};
    return fr_jinja_apply(r, fr_jinja_test_named(&s), self, &(args){0});
}

BUILTIN(is_lower) {
    UNUSED;
    return ask_test(r, "lower", self);
}

BUILTIN(is_upper) {
    UNUSED;
    return ask_test(r, "upper", self);
}

// Every word begins with a capital, as Python's title() and istitle() see words.
BUILTIN(title) {
    UNUSED;
    const str *s = as_str(self);
    writer t = {.r = r};
    bool inside = false;
    uint32_t code;
    for (size_t at = 0, bytes; at < s->n && !r->status; at += bytes) {
        bytes = fr_jinja_char_read(s->data + at, s->n - at, &code);
        str one = str_part(s, at, at + bytes);
        if (inside && code == 0x3A3 && fr_jinja_is_final_sigma(s, at)) one.data = "\u03c2";
        const str as = fr_jinja_cased(r, &one, inside ? CASE_LOWER : CASE_TITLE);
        fr_jinja_put_str(&t, &as);
        inside = code != UINT32_MAX && fr_jinja_char_properties(code) & (CHAR_LOWER | CHAR_UPPER);
    }
    return fr_jinja_text_value(&t);
}

BUILTIN(swapcase) {
    UNUSED;
    const str *s = as_str(self);
    writer t = {.r = r};
    uint32_t code;
    for (size_t at = 0, bytes; at < s->n && !r->status; at += bytes) {
        bytes = fr_jinja_char_read(s->data + at, s->n - at, &code);
        const bool up = code != UINT32_MAX && fr_jinja_char_properties(code) & CHAR_UPPER;
        str one = str_part(s, at, at + bytes);
        if (up && code == 0x3A3 && fr_jinja_is_final_sigma(s, at)) one.data = "\u03c2";
        const str as = fr_jinja_cased(r, &one, up ? CASE_LOWER : CASE_UPPER);
        fr_jinja_put_str(&t, &as);
    }
    return fr_jinja_text_value(&t);
}

static const function question_methods[] = {
    {"isalpha", is_alpha, ""}, {"isalnum", is_alnum, ""},     {"isdecimal", is_decimal, ""},
    {"isdigit", is_digit, ""}, {"isnumeric", is_numeric, ""}, {"isspace", is_space, ""},
    {"isascii", is_ascii, ""}, {"islower", is_lower, ""},     {"isupper", is_upper, ""},
    {"title", title, ""},      {"swapcase", swapcase, ""},    {NULL, NULL, NULL},
};

// ---- by name

static const function *in_table(const function *table, const str *name) {
    for (; table->name; table++)
        if (str_is(name, table->name)) return table;
    return NULL;
}

const function *fr_jinja_filter_named(const str *name) {
    const function *const tables[] = {fr_jinja_text_filters, fr_jinja_list_filters,
                                      fr_jinja_pick_filters, fr_jinja_other_filters};
    const function *f = NULL;
    for (int i = 0; i < 4 && !f; i++)
        f = in_table(tables[i], name);
    return f;
}

const function *fr_jinja_test_named(const str *name) {
    return in_table(fr_jinja_tests, name);
}

const function *fr_jinja_global_named(const str *name) {
    return in_table(fr_jinja_globals, name);
}

const function *fr_jinja_method_named(value self, const str *name) {
    const function *f;
    switch (self.kind) {
    case J_STR:
        if ((f = in_table(fr_jinja_split_methods, name))) return f;
        if ((f = in_table(fr_jinja_str_methods, name))) return f;
        return in_table(question_methods, name);
    case J_DICT:
        return in_table(dict_methods, name);
    case J_SEQ:
        if (as_seq(self)->kind == SEQ_LIST) return in_table(list_methods, name);
        if (as_seq(self)->kind > SEQ_RANGE) return NULL;
        f = in_table(list_methods, name);
        return f && f->fn != forbidden && f->fn != copy ? f : NULL;
    case J_LOOP:
        return in_table(fr_jinja_loop_methods, name);
    case J_CYCLER:
        return in_table(fr_jinja_cycler_methods, name);
    case J_MISSING:
    case J_UNDEFINED:
    case J_NONE:
    case J_BOOL:
    case J_INT:
    case J_BIG:
    case J_FLOAT:
    case J_NAMESPACE:
    case J_FUNCTION:
    case J_METHOD:
    case J_MACRO:
    case J_JOINER:
        break;
    }
    return NULL;
}
