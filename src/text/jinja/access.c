// access.c — parts of values: iteration, attributes, items, slices.
#include "text/jinja/run.h"

static seq *characters(run *r, const str *s) {
    seq *out = fr_jinja_make_seq(r, SEQ_LIST);
    uint32_t code;
    for (size_t at = 0, bytes; at < s->n && fr_jinja_work(r, 1); at += bytes) {
        bytes = fr_jinja_char_read(s->data + at, s->n - at, &code);
        str one = str_part(s, at, at + bytes);
        one.markup = false;
        fr_jinja_add(r, out, fr_jinja_make_str(r, one));
    }
    return r->status ? NULL : out;
}

// The remaining items of an iterator, which are consumed.
static seq *rest(run *r, seq *s) {
    seq *out = fr_jinja_make_seq(r, SEQ_LIST);
    if (!out || s->at == s->n) return out;
    out->item = s->item + s->at;
    out->n = out->cap = s->n - s->at;
    s->at = s->n;
    return out;
}

seq *fr_jinja_iterate(run *r, value v) {
    seq *out;
    if (r->status) return NULL;
    switch (v.kind) {
    case J_UNDEFINED:
        return fr_jinja_make_seq(r, SEQ_LIST);
    case J_STR:
        return characters(r, as_str(v));
    case J_SEQ:
        return is_seq(v, SEQ_ONCE) ? rest(r, as_seq(v)) : as_seq(v);
    case J_DICT:
        if (!(out = fr_jinja_make_seq(r, SEQ_LIST))) return NULL;
        for (size_t i = 0; i < as_dict(v)->n && fr_jinja_work(r, 0); i++)
            fr_jinja_add(r, out, as_dict(v)->entry[i].key);
        return r->status ? NULL : out;
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
    case J_LOOP:
    case J_CYCLER:
    case J_JOINER:
        break;
    }
    fr_jinja_fail(r, "%s cannot be iterated over", fr_jinja_kind_name(v));
    return NULL;
}

static value undefined_named(const str *name) {
    return make_ref(J_UNDEFINED, name);
}

value fr_jinja_attr(run *r, value v, const str *name) {
    if (r->status) return UNDEFINED;
    if (v.kind == J_UNDEFINED) {
        const str *of = v.as.ref;
        return fr_jinja_fail(r, "'%.*s' is undefined, so it has no '%.*s'", of ? (int)of->n : 1,
                             of ? of->data : "?", (int)name->n, name->data);
    }
    const value *item = NULL;
    if (v.kind == J_NAMESPACE) item = fr_jinja_dict_find_text(as_dict(v), name->data, name->n);
    if (item) return *item;
    const function *f = fr_jinja_method_named(v, name);
    if (f && fr_jinja_is_forbidden(f)) return undefined_named(name);
    if (f) {
        method *m = fr_jinja_alloc(r, sizeof *m);
        if (!m) return UNDEFINED;
        *m = (method){v, f};
        return make_ref(J_METHOD, m);
    }
    if (v.kind == J_LOOP) return fr_jinja_loop_attr(v.as.ref, name);
    if (v.kind == J_SEQ && as_seq(v)->group && as_seq(v)->n == 2) {
        if (str_is(name, "grouper")) return as_seq(v)->item[0];
        if (str_is(name, "list")) return as_seq(v)->item[1];
    }
    if (v.kind == J_CYCLER && str_is(name, "current")) {
        const cycler *c = v.as.ref;
        return c->item[c->at];
    }
    if (v.kind == J_MACRO && str_is(name, "name"))
        return make_ref(J_STR, ((const macro *)v.as.ref)->node->name);
    if (v.kind == J_DICT) item = fr_jinja_dict_find_text(as_dict(v), name->data, name->n);
    return item ? *item : undefined_named(name);
}

bool fr_jinja_to_int(run *r, value v, int64_t *out) {
    *out = is_whole(v) ? v.as.whole : 0;
    if (!is_whole(v)) fr_jinja_fail(r, "%s is no integer", fr_jinja_kind_name(v));
    return is_whole(v) && !r->status;
}

static value indexed(run *r, value v, int64_t i) {
    const bool text = v.kind == J_STR;
    const size_t n = text ? fr_jinja_length(as_str(v)) : as_seq(v)->n;
    if (i < 0) i += (int64_t)n;
    if (i < 0 || (uint64_t)i >= n || !fr_jinja_work(r, text ? as_str(v)->n : 1)) return UNDEFINED;
    if (!text) return as_seq(v)->item[i];
    const size_t from = fr_jinja_offset(as_str(v), (size_t)i);
    const str rest = str_part(as_str(v), from, as_str(v)->n);
    return fr_jinja_make_str(r, str_part(&rest, 0, fr_jinja_offset(&rest, 1)));
}

value fr_jinja_item(run *r, value v, value key) {
    if (r->status) return UNDEFINED;
    if (v.kind == J_UNDEFINED) {
        const str *of = v.as.ref;
        return fr_jinja_fail(r, "'%.*s' is undefined, so it has no items", of ? (int)of->n : 1,
                             of ? of->data : "?");
    }
    if (key.kind == J_STR && !fr_jinja_work(r, as_str(key)->n)) return UNDEFINED;
    const bool indexes = v.kind == J_STR || (v.kind == J_SEQ && as_seq(v)->kind <= SEQ_RANGE);
    if (indexes && is_whole(key)) return indexed(r, v, key.as.whole);
    const value *item = v.kind == J_DICT ? fr_jinja_dict_find(as_dict(v), key) : NULL;
    if (item) return *item;
    if (key.kind == J_STR) return fr_jinja_attr(r, v, as_str(key));
    return UNDEFINED;
}

// ---- slices

// A bound of a slice over n items: default where it is none, else within [low, high].
static int64_t bound(run *r, value v, int64_t n, int64_t missing, int64_t low, int64_t high) {
    int64_t i = missing;
    if (v.kind == J_NONE || v.kind == J_MISSING || !fr_jinja_to_int(r, v, &i)) return missing;
    if (i < 0) i = i < -n - 1 ? low : i + n;
    return i < low ? low : i > high ? high : i;
}

typedef struct range {
    int64_t from, step;
    size_t n;
} range;

static range slice_range(run *r, int64_t n, value from, value to, value by) {
    range out = {0, 1, 0};
    if (by.kind != J_NONE && by.kind != J_MISSING) fr_jinja_to_int(r, by, &out.step);
    if (!out.step) fr_jinja_fail(r, "a slice with step 0");
    if (r->status) return out;
    const bool up = out.step > 0;
    const int64_t low = up ? 0 : -1, high = up ? n : n - 1;
    out.from = bound(r, from, n, up ? 0 : n - 1, low, high);
    const int64_t end = bound(r, to, n, up ? n : -1, low, high);
    const uint64_t way = up ? (uint64_t)(end - out.from) : (uint64_t)(out.from - end);
    const uint64_t step = up ? (uint64_t)out.step : -(uint64_t)out.step;
    if (up ? end > out.from : end < out.from) out.n = (size_t)((way - 1) / step + 1);
    return out;
}

static value slice_text(run *r, const str *s, value from, value to, value by) {
    if (!fr_jinja_work(r, s->n)) return UNDEFINED;
    const range g = slice_range(r, (int64_t)fr_jinja_length(s), from, to, by);
    if (r->status) return UNDEFINED;
    if (g.step == 1) {
        const size_t begin = fr_jinja_offset(s, (size_t)g.from);
        const str tail = str_part(s, begin, s->n);
        return fr_jinja_make_str(r, str_part(&tail, 0, fr_jinja_offset(&tail, g.n)));
    }
    const seq *all = characters(r, s);
    writer t = {.r = r};
    for (size_t i = 0; all && i < g.n && !r->status; i++)
        fr_jinja_put_value(&t, all->item[g.from + (int64_t)i * g.step]);
    return fr_jinja_text_value(&t);
}

value fr_jinja_slice(run *r, value v, value from, value to, value by) {
    if (r->status) return UNDEFINED;
    if (v.kind == J_STR) return slice_text(r, as_str(v), from, to, by);
    if (v.kind != J_SEQ || as_seq(v)->kind > SEQ_RANGE)
        return fr_jinja_fail(r, "%s cannot be sliced", fr_jinja_kind_name(v));
    const seq *s = as_seq(v);
    const range g = slice_range(r, (int64_t)s->n, from, to, by);
    seq *out = fr_jinja_make_seq(r, s->kind);
    if (out && g.step == 1 && g.n) { // lists do not change, so both share the memory
        out->item = s->item + g.from;
        out->n = out->cap = g.n;
    }
    for (size_t i = 0; g.step != 1 && i < g.n && fr_jinja_work(r, 1); i++)
        fr_jinja_add(r, out, s->item[g.from + (int64_t)i * g.step]);
    if (out && s->kind == SEQ_RANGE) { // how it prints
        int64_t *made = out->range;
        if (__builtin_mul_overflow(s->range[2], g.step, &made[2]) ||
            __builtin_mul_overflow(g.from, s->range[2], &made[0]) ||
            __builtin_add_overflow(s->range[0], made[0], &made[0]) ||
            __builtin_mul_overflow((int64_t)g.n, made[2], &made[1]) ||
            __builtin_add_overflow(made[0], made[1], &made[1]))
            return fr_jinja_fail(r, "a slice of a range beyond 64 bits");
    }
    return make_ref(J_SEQ, out);
}

// ---- paths

static bool all_digits(const str *s) {
    for (size_t i = 0; i < s->n; i++)
        if (s->data[i] < '0' || s->data[i] > '9') return false;
    return s->n > 0 && s->n < 18;
}

static value step_to(run *r, value v, value key, value instead) {
    const value next = fr_jinja_item(r, v, key);
    const bool missing = next.kind == J_UNDEFINED && instead.kind > J_NONE;
    return missing ? instead : next;
}

value fr_jinja_path(run *r, value v, value path, value instead) {
    if (path.kind != J_STR) return step_to(r, v, path, instead);
    const str *s = as_str(path);
    for (size_t at = 0; at <= s->n && !r->status;) {
        const char *dot = at < s->n ? memchr(s->data + at, '.', s->n - at) : NULL;
        const size_t end = dot ? (size_t)(dot - s->data) : s->n;
        const str part = str_part(s, at, end);
        value key = fr_jinja_make_str(r, part);
        if (all_digits(&part)) {
            int64_t index = 0;
            for (size_t i = 0; i < part.n; i++)
                index = 10 * index + (part.data[i] - '0');
            key = make_int(index);
        }
        v = step_to(r, v, key, instead);
        at = end + 1;
    }
    return v;
}
