// globals.c — the functions that every template finds.
#include "text/jinja/functions/builtin.h"
#include <stdio.h>

enum { MAX_RANGE = 100000 }; // as Jinja's sandbox has it

// Ranges of numbers in a row share their memory: loops that make one in every turn would take much.
static void count_up(run *r, seq *out, int64_t from, int64_t to) {
    while (!r->status && (int64_t)r->up.n < to)
        fr_jinja_add(r, &r->up, make_int((int64_t)r->up.n));
    if (r->status) return;
    out->item = r->up.item + from;
    out->n = out->cap = (size_t)(to - from);
}

// from, from - 1, …, to + 1; none below 0.
static void count_down(run *r, seq *out, int64_t from, int64_t to) {
    if (from >= (int64_t)r->down.n) {
        r->down = (seq){0};
        for (int64_t x = 2 * from; x >= 0 && !r->status; x--)
            fr_jinja_add(r, &r->down, make_int(x));
    }
    if (r->status) return;
    out->item = r->down.item + ((int64_t)r->down.n - 1 - from);
    out->n = out->cap = (size_t)(from - to);
}

BUILTIN(range) {
    UNUSED;
    int64_t bound[3] = {0, 0, 1};
    const bool one = arg[1].kind == J_MISSING;
    fr_jinja_to_int(r, arg[0], &bound[one]);
    if (!one) fr_jinja_to_int(r, arg[1], &bound[1]);
    if (arg[2].kind != J_MISSING) fr_jinja_to_int(r, arg[2], &bound[2]);
    if (!bound[2]) fr_jinja_fail(r, "a range with step 0");
    seq *out = fr_jinja_make_seq(r, SEQ_RANGE);
    if (!out) return UNDEFINED;
    memcpy(out->range, bound, sizeof bound);
    if (bound[2] == 1 && bound[0] >= 0 && bound[1] > bound[0] && bound[1] <= MAX_RANGE) {
        count_up(r, out, bound[0], bound[1]);
        return make_ref(J_SEQ, out);
    }
    if (bound[2] == -1 && bound[0] < MAX_RANGE && bound[1] >= -1 && bound[0] > bound[1]) {
        count_down(r, out, bound[0], bound[1]);
        return make_ref(J_SEQ, out);
    }
    for (int64_t x = bound[0]; bound[2] > 0 ? x < bound[1] : x > bound[1];) {
        if (out->n >= MAX_RANGE)
            return fr_jinja_fail(r, "a range of more than %d numbers", MAX_RANGE);
        fr_jinja_add(r, out, make_int(x));
        if (!fr_jinja_work(r, 0) || __builtin_add_overflow(x, bound[2], &x)) break;
    }
    return make_ref(J_SEQ, out);
}

// dict(mapping or pairs, name=…): also what a namespace begins with.
static dict *make_dict(run *r, const args *all) {
    dict *d = fr_jinja_make_dict(r);
    if (all->n > 1) fr_jinja_fail(r, "dict() takes one mapping, or pairs");
    if (r->status) return NULL;
    const dict *from = all->n && all->pos[0].kind == J_DICT ? as_dict(all->pos[0]) : NULL;
    for (size_t i = 0; from && i < from->n && fr_jinja_work(r, 1); i++)
        fr_jinja_set_item(r, d, from->entry[i].key, from->entry[i].item);
    const seq *pairs = all->n && !from ? fr_jinja_iterate(r, all->pos[0]) : NULL;
    for (size_t i = 0; pairs && i < pairs->n && fr_jinja_work(r, 1); i++) {
        const seq *pair = fr_jinja_iterate(r, pairs->item[i]);
        if (pair && pair->n != 2) fr_jinja_fail(r, "dict() takes pairs");
        if (!r->status) fr_jinja_set_item(r, d, pair->item[0], pair->item[1]);
    }
    for (size_t i = 0; i < all->named.n && fr_jinja_work(r, 1); i++)
        fr_jinja_set_item(r, d, all->named.entry[i].key, all->named.entry[i].item);
    return d;
}

BUILTIN(new_dict) {
    UNUSED;
    return make_ref(J_DICT, make_dict(r, all));
}

BUILTIN(new_namespace) {
    UNUSED;
    return make_ref(J_NAMESPACE, make_dict(r, all));
}

static value make_cycler(run *r, value_kind k, const value *item, size_t n) {
    cycler *c = fr_jinja_alloc(r, sizeof *c);
    if (!c) return UNDEFINED;
    *c = (cycler){item, n, 0};
    return make_ref(k, c);
}

BUILTIN(new_cycler) {
    UNUSED;
    if (!all->n) return fr_jinja_fail(r, "cycler() needs items");
    return make_cycler(r, J_CYCLER, all->pos, all->n);
}

BUILTIN(new_joiner) {
    UNUSED;
    value *sep = fr_jinja_alloc(r, sizeof *sep);
    if (!sep) return UNDEFINED;
    *sep = arg[0].kind == J_MISSING ? fr_jinja_make_text(r, ", ") : arg[0];
    return make_cycler(r, J_JOINER, sep, 1);
}

BUILTIN(cycler_next) {
    UNUSED;
    cycler *c = self.as.ref;
    const value v = c->item[c->at];
    c->at = (c->at + 1) % c->n;
    return v;
}

BUILTIN(cycler_reset) {
    UNUSED;
    ((cycler *)self.as.ref)->at = 0;
    return NONE_VALUE;
}

const function fr_jinja_cycler_methods[] = {
    {"next", cycler_next, ""},
    {"reset", cycler_reset, ""},
    {NULL, NULL, NULL},
};

BUILTIN(raise_exception) {
    UNUSED;
    const str s = fr_jinja_to_str(r, arg[0]);
    return fr_jinja_fail(r, "%.*s", (int)(s.n < 300 ? s.n : 300), s.data);
}

// The template's only if all bytes are.
static fr_mark mark_of(const str *s) {
    for (size_t i = 0; s->marks && i < s->n; i++)
        if (s->marks[i] != FR_MARK_TEMPLATE) return FR_MARK_MESSAGE;
    return s->marks ? FR_MARK_TEMPLATE : (fr_mark)s->mark;
}

// Its result has the mark of its format.
BUILTIN(strftime_now) {
    UNUSED;
    char out[512];
    if (arg[0].kind != J_STR || as_str(arg[0])->n > 200)
        return fr_jinja_fail(r, "strftime_now needs a short format");
    char format[256];
    snprintf(format, sizeof format, "%.*s", (int)as_str(arg[0])->n, as_str(arg[0])->data);
    const size_t n = strftime(out, sizeof out, format, r->now);
    writer t = {.r = r};
    fr_jinja_put_bytes(&t, out, n, mark_of(as_str(arg[0])));
    return fr_jinja_text_value(&t);
}

const function fr_jinja_globals[] = {
    {"range", range, "start,stop?,step?"},    {"dict", new_dict, NULL},
    {"namespace", new_namespace, NULL},       {"cycler", new_cycler, NULL},
    {"joiner", new_joiner, "sep?"},           {"raise_exception", raise_exception, "message"},
    {"strftime_now", strftime_now, "format"}, {NULL, NULL, NULL},
};
