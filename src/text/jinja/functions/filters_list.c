// filters_list.c — filters over the items of lists, mappings and strings.
#include "text/jinja/functions/builtin.h"

BUILTIN(length) {
    UNUSED;
    switch (self.kind) {
    case J_UNDEFINED:
        return make_int(0);
    case J_STR:
        return make_int((int64_t)fr_jinja_length(as_str(self)));
    case J_DICT:
        return make_int((int64_t)as_dict(self)->n);
    case J_LOOP:
        return make_int((int64_t)((const loop *)self.as.ref)->n);
    case J_SEQ:
        if (as_seq(self)->kind != SEQ_ONCE) return make_int((int64_t)as_seq(self)->n);
        break;
    case J_MISSING:
    case J_NONE:
    case J_BOOL:
    case J_INT:
    case J_BIG:
    case J_FLOAT:
    case J_NAMESPACE:
    case J_FUNCTION:
    case J_METHOD:
    case J_MACRO:
    case J_CYCLER:
    case J_JOINER:
        break;
    }
    return fr_jinja_fail(r, "%s has no length", fr_jinja_kind_name(self));
}

static value listed(run *r, const seq *s, seq_kind kind) {
    seq *out = s ? fr_jinja_make_seq(r, kind) : NULL;
    for (size_t i = 0; out && i < s->n && fr_jinja_work(r, 1); i++)
        fr_jinja_add(r, out, s->item[i]);
    return make_ref(J_SEQ, out);
}

BUILTIN(list) {
    UNUSED;
    return listed(r, fr_jinja_iterate(r, self), SEQ_LIST);
}

BUILTIN(items) {
    UNUSED;
    if (self.kind != J_DICT && self.kind != J_UNDEFINED)
        return fr_jinja_fail(r, "%s is no mapping", fr_jinja_kind_name(self));
    seq *out = fr_jinja_make_seq(r, SEQ_ONCE);
    for (size_t i = 0; self.kind == J_DICT && i < as_dict(self)->n && fr_jinja_work(r, 1); i++) {
        const entry *e = &as_dict(self)->entry[i];
        fr_jinja_add(r, out, make_ref(J_SEQ, make_pair(r, e->key, e->item)));
    }
    return make_ref(J_SEQ, out);
}

BUILTIN(first) {
    UNUSED;
    const seq *s = fr_jinja_iterate(r, self);
    return s && s->n ? s->item[0] : UNDEFINED;
}

BUILTIN(last) {
    UNUSED;
    if (is_seq(self, SEQ_ONCE)) return fr_jinja_fail(r, "an iterator has no last item");
    const seq *s = fr_jinja_iterate(r, self);
    return s && s->n ? s->item[s->n - 1] : UNDEFINED;
}

BUILTIN(reverse) {
    UNUSED;
    if (self.kind == J_STR) return fr_jinja_slice(r, self, NONE_VALUE, NONE_VALUE, make_int(-1));
    const seq *s = fr_jinja_iterate(r, self);
    const bool once =
        is_seq(self, SEQ_ONCE); // Python cannot go through it backwards: it makes a list
    seq *out = s ? fr_jinja_make_seq(r, once ? SEQ_LIST : SEQ_ONCE) : NULL;
    for (size_t i = s ? s->n : 0; out && i && fr_jinja_work(r, 1); i--)
        fr_jinja_add(r, out, s->item[i - 1]);
    return make_ref(J_SEQ, out);
}

static value with_attribute(run *r, value item, value attribute) {
    return is_given(attribute) ? fr_jinja_path(r, item, attribute, MISSING) : item;
}

BUILTIN(join) {
    UNUSED;
    const str between = arg[0].kind == J_MISSING ? STR("") : fr_jinja_to_str(r, arg[0]);
    const seq *s = fr_jinja_iterate(r, self);
    writer t = {.r = r};
    for (size_t i = 0; s && i < s->n && fr_jinja_work(r, 1); i++) {
        if (i) fr_jinja_put_str(&t, &between);
        fr_jinja_put_value(&t, with_attribute(r, s->item[i], arg[1]));
    }
    return fr_jinja_text_value(&t);
}

// What items are compared by: their attribute, in lower case unless case matters.
static value sort_key(run *r, value item, value attribute, bool cased) {
    const value key = with_attribute(r, item, attribute);
    if (cased || key.kind != J_STR || r->status) return key;
    return fr_jinja_make_str(r, fr_jinja_cased(r, as_str(key), CASE_LOWER));
}

// The list of an item's keys: of "a,b" both, else of one. Lists are ordered by their first items
// that differ, so that equal keys need no order.
static value sort_keys(run *r, value item, value attribute, bool cased) {
    seq *keys = fr_jinja_make_seq(r, SEQ_LIST);
    if (attribute.kind != J_STR) {
        fr_jinja_add(r, keys, sort_key(r, item, attribute, cased));
        return make_ref(J_SEQ, keys);
    }
    const str *all = as_str(attribute);
    for (size_t at = 0; at <= all->n && !r->status;) {
        const char *comma = at < all->n ? memchr(all->data + at, ',', all->n - at) : NULL;
        const size_t end = comma ? (size_t)(comma - all->data) : all->n;
        const value part = fr_jinja_make_str(r, str_part(all, at, end));
        fr_jinja_add(r, keys, sort_key(r, item, part, cased));
        at = end + 1;
    }
    return make_ref(J_SEQ, keys);
}

typedef value key_fn(run *r, value item, value attribute, bool cased);

static value *keys_of(run *r, const seq *s, key_fn *key, value attribute, bool cased) {
    value *keys = s ? fr_jinja_alloc(r, (s->n + 1) * sizeof *keys) : NULL;
    for (size_t i = 0; keys && i < s->n && fr_jinja_work(r, 1); i++)
        keys[i] = key(r, s->item[i], attribute, cased);
    return r->status ? NULL : keys;
}

BUILTIN(sort) {
    UNUSED;
    const value out = listed(r, fr_jinja_iterate(r, self), SEQ_LIST);
    if (r->status) return UNDEFINED;
    seq *s = as_seq(out);
    value *keys = keys_of(r, s, sort_keys, arg[2], fr_jinja_truth(arg[1]));
    if (keys) fr_jinja_sort(r, keys, s->item, s->n, fr_jinja_truth(arg[0]));
    return out;
}

BUILTIN(dictsort) {
    UNUSED;
    const str by = arg[1].kind == J_STR ? *as_str(arg[1]) : STR("key");
    const bool values = str_is(&by, "value");
    if (self.kind != J_DICT) return fr_jinja_fail(r, "dictsort of %s", fr_jinja_kind_name(self));
    if (!values && !str_is(&by, "key")) return fr_jinja_fail(r, "dictsort by 'key' or 'value'");
    const value pairs = items(r, self, arg, all);
    const value out = listed(r, fr_jinja_iterate(r, pairs), SEQ_LIST);
    if (r->status) return UNDEFINED;
    value *keys = keys_of(r, as_seq(out), sort_key, make_int(values), fr_jinja_truth(arg[0]));
    if (keys) fr_jinja_sort(r, keys, as_seq(out)->item, as_seq(out)->n, fr_jinja_truth(arg[2]));
    return out;
}

BUILTIN(unique) {
    UNUSED;
    const seq *s = fr_jinja_iterate(r, self);
    seq *out = fr_jinja_make_seq(r, SEQ_ONCE);
    dict *seen = fr_jinja_make_dict(r);
    for (size_t i = 0; s && seen && i < s->n && fr_jinja_work(r, 1); i++) {
        const value key = sort_key(r, s->item[i], arg[1], fr_jinja_truth(arg[0]));
        const bool known = !r->status && fr_jinja_dict_find(seen, key);
        fr_jinja_set_item(r, seen, key, NONE_VALUE);
        if (!known) fr_jinja_add(r, out, s->item[i]);
    }
    return make_ref(J_SEQ, out);
}

static value extreme(run *r, value self, const value *arg, bool most) {
    const seq *s = fr_jinja_iterate(r, self);
    value best = UNDEFINED, best_key = UNDEFINED;
    for (size_t i = 0; s && i < s->n && fr_jinja_work(r, 1); i++) {
        const value key = sort_key(r, s->item[i], arg[1], fr_jinja_truth(arg[0]));
        if (i && !(most ? fr_jinja_less(r, best_key, key) : fr_jinja_less(r, key, best_key)))
            continue;
        best = s->item[i];
        best_key = key;
    }
    return best;
}

BUILTIN(min) {
    UNUSED;
    return extreme(r, self, arg, false);
}

BUILTIN(max) {
    UNUSED;
    return extreme(r, self, arg, true);
}

BUILTIN(sum) {
    UNUSED;
    const seq *s = fr_jinja_iterate(r, self);
    value total = arg[1].kind == J_MISSING ? make_int(0) : arg[1];
    if (total.kind == J_STR) return fr_jinja_fail(r, "strings are joined, not summed up");
    for (size_t i = 0; s && i < s->n && fr_jinja_work(r, 1); i++)
        total = fr_jinja_binary(r, OP_ADD, total, with_attribute(r, s->item[i], arg[0]));
    return total;
}

// Items (key, item) that follow each other with the same key, as (key, [item, ...]).
static seq *grouped(run *r, const value *keys, const value *items, size_t n) {
    seq *out = fr_jinja_make_seq(r, SEQ_LIST), *group = NULL;
    for (size_t i = 0; i < n && fr_jinja_work(r, 1); i++) {
        const seq *item = as_seq(items[i]);
        if (!i || !fr_jinja_same(r, keys[i - 1], keys[i])) {
            group = fr_jinja_make_seq(r, SEQ_LIST);
            seq *pair = make_pair(r, item->item[0], make_ref(J_SEQ, group));
            if (pair) pair->group = true;
            fr_jinja_add(r, out, make_ref(J_SEQ, pair));
        }
        if (!r->status) fr_jinja_add(r, group, item->item[1]);
    }
    return out;
}

BUILTIN(groupby) {
    UNUSED;
    const bool cased = fr_jinja_truth(arg[2]);
    const value sorted = listed(r, fr_jinja_iterate(r, self), SEQ_LIST);
    if (r->status) return UNDEFINED;
    const seq *s = as_seq(sorted);
    value *keys = fr_jinja_alloc(r, (s->n + 1) * sizeof *keys),
          *items = fr_jinja_alloc(r, (s->n + 1) * sizeof *items);
    for (size_t i = 0; keys && items && i < s->n && fr_jinja_work(r, 1); i++) {
        const value key = fr_jinja_path(r, s->item[i], arg[0], arg[1]);
        keys[i] = sort_key(r, key, MISSING, cased);
        items[i] = make_ref(J_SEQ, make_pair(r, key, s->item[i]));
    }
    if (!r->status) fr_jinja_sort(r, keys, items, s->n, false);
    return r->status ? UNDEFINED : make_ref(J_SEQ, grouped(r, keys, items, s->n));
}

BUILTIN(batch) {
    UNUSED;
    int64_t size = 0;
    const seq *s = fr_jinja_iterate(r, self);
    seq *out = fr_jinja_make_seq(r, SEQ_ONCE), *row = NULL;
    fr_jinja_to_int(r, arg[0], &size);
    for (size_t i = 0; s && i < s->n && fr_jinja_work(r, 1); i++) {
        if (!row || (int64_t)row->n == size) {
            row = fr_jinja_make_seq(r, SEQ_LIST);
            fr_jinja_add(r, out, make_ref(J_SEQ, row));
        }
        fr_jinja_add(r, row, s->item[i]);
    }
    while (row && is_given(arg[1]) && (int64_t)row->n < size && fr_jinja_work(r, 1))
        fr_jinja_add(r, row, arg[1]);
    return make_ref(J_SEQ, out);
}

BUILTIN(slice) {
    UNUSED;
    int64_t n = 0;
    const seq *s = fr_jinja_iterate(r, self);
    seq *out = fr_jinja_make_seq(r, SEQ_ONCE);
    if (!s || !fr_jinja_to_int(r, arg[0], &n)) return UNDEFINED;
    if (n == 0) return fr_jinja_fail(r, "division by zero");
    const size_t each = n > 0 ? s->n / (size_t)n : 0, extra = n > 0 ? s->n % (size_t)n : 0;
    for (size_t i = 0, at = 0; n > 0 && i < (size_t)n && fr_jinja_work(r, 1); i++) {
        seq *part = fr_jinja_make_seq(r, SEQ_LIST);
        for (size_t end = at + each + (i < extra); at < end && fr_jinja_work(r, 1); at++)
            fr_jinja_add(r, part, s->item[at]);
        if (is_given(arg[1]) && i >= extra) fr_jinja_add(r, part, arg[1]);
        fr_jinja_add(r, out, make_ref(J_SEQ, part));
    }
    return make_ref(J_SEQ, out);
}

const function fr_jinja_list_filters[] = {
    {"length", length, ""},
    {"count", length, ""},
    {"list", list, ""},
    {"items", items, ""},
    {"first", first, ""},
    {"last", last, ""},
    {"reverse", reverse, ""},
    {"join", join, "d?,attribute?"},
    {"sort", sort, "reverse?,case_sensitive?,attribute?"},
    {"dictsort", dictsort, "case_sensitive?,by?,reverse?"},
    {"unique", unique, "case_sensitive?,attribute?"},
    {"min", min, "case_sensitive?,attribute?"},
    {"max", max, "case_sensitive?,attribute?"},
    {"sum", sum, "attribute?,start?"},
    {"groupby", groupby, "attribute,default?,case_sensitive?"},
    {"batch", batch, "linecount,fill_with?"},
    {"slice", slice, "slices,fill_with?"},
    {NULL, NULL, NULL},
};
