// operate.c — truth, comparison and arithmetic, as Python does them.
#include "text/jinja/run.h"
#include <math.h>

static value cannot(run *r, const char *what, value a, value b) {
    return fr_jinja_fail(r, "%s does not work between %s and %s", what, fr_jinja_kind_name(a),
                         fr_jinja_kind_name(b));
}

bool fr_jinja_truth(value v) {
    switch (v.kind) {
    case J_MISSING:
    case J_UNDEFINED:
    case J_NONE:
        return false;
    case J_BOOL:
    case J_INT:
        return v.as.whole != 0;
    case J_FLOAT:
        return v.as.real != 0;
    case J_STR:
        return as_str(v)->n != 0;
    case J_SEQ:
        return as_seq(v)->n != 0 || as_seq(v)->kind == SEQ_ONCE;
    case J_DICT:
        return as_dict(v)->n != 0;
    case J_LOOP:
        return ((const loop *)v.as.ref)->n != 0;
    case J_BIG:
    case J_NAMESPACE:
    case J_FUNCTION:
    case J_METHOD:
    case J_MACRO:
    case J_CYCLER:
    case J_JOINER:
        break;
    }
    return true;
}

// ---- comparison

bool fr_jinja_same(run *r, value a, value b) {
    const bool texts = a.kind == J_STR && b.kind == J_STR && as_str(a)->n == as_str(b)->n;
    if (!fr_jinja_work(r, texts ? as_str(a)->n : 0)) return false;
    uint64_t left = r->max_steps - r->steps + 1;
    const uint64_t before = left;
    const bool yes = fr_jinja_equal(a, b, &left);
    r->steps += before - left;
    return fr_jinja_work(r, 0) && yes;
}

static int order_text(const str *a, const str *b) {
    const int c = memcmp(a->data, b->data, a->n < b->n ? a->n : b->n);
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

static bool ordered(op o, int c) {
    return o == OP_LT ? c < 0 : o == OP_LE ? c <= 0 : o == OP_GT ? c > 0 : c >= 0;
}

static bool order_reals(op o, double a, double b) {
    return o == OP_LT ? a < b : o == OP_LE ? a <= b : o == OP_GT ? a > b : a >= b;
}

static bool order_seqs(run *r, op o, const seq *a, const seq *b) {
    for (size_t i = 0; i < a->n && i < b->n && !r->status; i++)
        if (!fr_jinja_same(r, a->item[i], b->item[i])) {
            if (!fr_jinja_enter(r)) return false;
            const bool yes = fr_jinja_compares(r, o, a->item[i], b->item[i]);
            r->depth--;
            return yes;
        }
    return ordered(o, (a->n > b->n) - (a->n < b->n));
}

static bool order(run *r, op o, value a, value b) {
    if (is_whole(a) && is_whole(b))
        return ordered(o, (a.as.whole > b.as.whole) - (a.as.whole < b.as.whole));
    if (is_number(a) && is_number(b)) return order_reals(o, real_of(a), real_of(b));
    if (a.kind == J_STR && b.kind == J_STR && fr_jinja_work(r, as_str(a)->n))
        return ordered(o, order_text(as_str(a), as_str(b)));
    if (a.kind == J_SEQ && b.kind == J_SEQ && as_seq(a)->kind == as_seq(b)->kind &&
        as_seq(a)->kind <= SEQ_TUPLE)
        return order_seqs(r, o, as_seq(a), as_seq(b));
    cannot(r, "a comparison by size", a, b);
    return false;
}

static bool contains(run *r, value in, value x) {
    if (in.kind == J_STR) {
        if (!fr_jinja_work(r, as_str(in)->n)) return false;
        if (x.kind == J_STR) return fr_jinja_find(as_str(in), as_str(x), 0) != SIZE_MAX;
        cannot(r, "'in'", x, in);
        return false;
    }
    if (in.kind == J_DICT || is_seq(in, SEQ_KEYS)) {
        if (x.kind == J_STR && !fr_jinja_work(r, as_str(x)->n)) return false; // its hash
        if (!fr_jinja_hashable(x)) fr_jinja_fail(r, "%s cannot be a key", fr_jinja_kind_name(x));
        if (in.kind == J_DICT) return fr_jinja_dict_find(as_dict(in), x) != NULL;
    }
    const seq *s = fr_jinja_iterate(r, in);
    for (size_t i = 0; s && i < s->n && fr_jinja_work(r, 1); i++)
        if (fr_jinja_same(r, s->item[i], x)) return true;
    return false;
}

bool fr_jinja_compares(run *r, op o, value a, value b) {
    if (r->status) return false;
    switch (o) {
    case OP_EQ:
        return fr_jinja_same(r, a, b);
    case OP_NE:
        return !fr_jinja_same(r, a, b);
    case OP_IN:
        return contains(r, b, a);
    case OP_NOT_IN:
        return !contains(r, b, a);
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        return order(r, o, a, b);
    case OPS_ARITHMETIC:
    case OPS_OTHER:
        break;
    }
    return false;
}

bool fr_jinja_less(run *r, value a, value b) {
    return fr_jinja_compares(r, OP_LT, a, b);
}

// Merges halves [0, middle) and [middle, n), which are sorted, by way of the second arrays.
static void merge(run *r, value *keys, value *items, value *keys2, value *items2, size_t middle,
                  size_t n, bool reverse) {
    size_t a = 0, b = middle;
    for (size_t i = 0; i < n && !r->status; i++) {
        const bool second =
            a == middle || (b < n && (reverse ? fr_jinja_less(r, keys[a], keys[b])
                                              : fr_jinja_less(r, keys[b], keys[a])));
        const size_t from = second ? b++ : a++;
        keys2[i] = keys[from];
        items2[i] = items[from];
    }
    memcpy(keys, keys2, n * sizeof *keys);
    memcpy(items, items2, n * sizeof *items);
}

static void sort(run *r, value *keys, value *items, value *keys2, value *items2, size_t n,
                 bool reverse) {
    if (n < 2 || !fr_jinja_work(r, n)) return;
    sort(r, keys, items, keys2, items2, n / 2, reverse);
    sort(r, keys + n / 2, items + n / 2, keys2, items2, n - n / 2, reverse);
    if (!r->status) merge(r, keys, items, keys2, items2, n / 2, n, reverse);
}

void fr_jinja_sort(run *r, value *keys, value *items, size_t n, bool reverse) {
    value *more = fr_jinja_alloc(r, 2 * (n + 1) * sizeof *more);
    if (more) sort(r, keys, items, more, more + n, n, reverse);
}

// ---- arithmetic

static value overflow(run *r) {
    return fr_jinja_fail(r, "an integer beyond 64 bits");
}

static value repeat(run *r, value v, int64_t times) {
    const size_t n = times < 0 ? 0 : (size_t)times;
    writer t = {.r = r};
    if (v.kind == J_STR) {
        for (size_t i = 0; i < n && as_str(v)->n && fr_jinja_work(r, 1); i++)
            fr_jinja_put_str(&t, as_str(v));
        return fr_jinja_text_value(&t);
    }
    const seq *from = as_seq(v);
    seq *to = fr_jinja_make_seq(r, from->kind);
    for (size_t i = 0; i < n && from->n && fr_jinja_work(r, 1); i++)
        for (size_t k = 0; k < from->n && fr_jinja_work(r, 0); k++)
            fr_jinja_add(r, to, from->item[k]);
    return make_ref(J_SEQ, to);
}

static value escaped(run *r, value v) {
    if (v.kind != J_STR || as_str(v)->markup) return v;
    writer t = {.r = r};
    fr_jinja_put_escaped(&t, as_str(v));
    return fr_jinja_text_value(&t);
}

// Puts b after a in the memory that a ends in, so that a list which gets one item after the other
// is not copied each time.
static bool add_to_tail(const seq *a, const seq *b, seq *out) {
    list_tail *t = a->tail;
    if (!t || a->item + a->n != t->item + t->used || b->n > t->cap - t->used) return false;
    if (b->n) memcpy(t->item + t->used, b->item, b->n * sizeof *b->item);
    t->used += b->n;
    out->item = a->item;
    out->tail = t;
    return true;
}

static value add_lists(run *r, const seq *a, const seq *b) {
    enum { TAIL_FROM = 16 };
    seq *s = fr_jinja_make_seq(r, a->kind);
    const size_t n = a->n + b->n;
    if (!s || !fr_jinja_work(r, b->n * sizeof *b->item)) return UNDEFINED;
    if (!add_to_tail(a, b, s)) {
        const size_t cap = n < TAIL_FROM ? n : 2 * n;
        s->item = fr_jinja_work(r, a->n * sizeof *a->item)
                      ? fr_jinja_alloc(r, (cap + 1) * sizeof *s->item)
                      : NULL;
        if (n >= TAIL_FROM) s->tail = fr_jinja_alloc(r, sizeof *s->tail);
        if (r->status) return UNDEFINED;
        if (a->n) memcpy(s->item, a->item, a->n * sizeof *a->item);
        if (b->n) memcpy(s->item + a->n, b->item, b->n * sizeof *b->item);
        if (s->tail) *s->tail = (list_tail){s->item, n, cap};
    }
    s->n = s->cap = n;
    return make_ref(J_SEQ, s);
}

static value add(run *r, value a, value b) {
    if (a.kind == J_STR && b.kind == J_STR) {
        const bool markup = as_str(a)->markup || as_str(b)->markup;
        if (markup) a = escaped(r, a), b = escaped(r, b);
        if (r->status) return UNDEFINED;
        value sum = fr_jinja_concat(r, as_str(a), as_str(b));
        if (!r->status) as_str(sum)->markup = markup;
        return sum;
    }
    if (a.kind != J_SEQ || b.kind != J_SEQ || as_seq(a)->kind != as_seq(b)->kind ||
        as_seq(a)->kind > SEQ_TUPLE)
        return cannot(r, "'+'", a, b);
    return add_lists(r, as_seq(a), as_seq(b));
}

static bool repeats(value v) {
    return v.kind == J_STR || is_seq(v, SEQ_LIST) || is_seq(v, SEQ_TUPLE);
}

static value power(run *r, int64_t base, int64_t exponent) {
    int64_t out = 1;
    if (exponent < 0 && !base) return fr_jinja_fail(r, "division by zero");
    if (exponent < 0) return make_float(pow((double)base, (double)exponent));
    if (base >= -1 && base <= 1 && exponent > 2)
        exponent = 2 - exponent % 2; // 0, 1 and -1 come back
    for (; exponent; exponent--)
        if (__builtin_mul_overflow(out, base, &out)) return overflow(r);
    return make_int(out);
}

static value whole_numbers(run *r, op o, int64_t a, int64_t b) {
    int64_t out = 0;
    bool over = false;
    if (!b && (o == OP_DIV || o == OP_FLOORDIV || o == OP_MOD))
        return fr_jinja_fail(r, "division by zero");
    switch (o) {
    case OP_ADD:
        over = __builtin_add_overflow(a, b, &out);
        break;
    case OP_SUB:
        over = __builtin_sub_overflow(a, b, &out);
        break;
    case OP_MUL:
        over = __builtin_mul_overflow(a, b, &out);
        break;
    case OP_DIV:
        return make_float((double)a / (double)b);
    case OP_FLOORDIV:
        if ((over = a == INT64_MIN && b == -1)) break;
        out = a / b - (a % b != 0 && (a < 0) != (b < 0));
        break;
    case OP_MOD: // the sign is the divisor's
        out = b == -1 ? 0 : a % b;
        if (out && (out < 0) != (b < 0)) out += b;
        break;
    case OP_POW:
        return power(r, a, b);
    case OPS_COMPARING:
    case OPS_OTHER:
        break;
    }
    return over ? overflow(r) : make_int(out);
}

static value floats(run *r, op o, double a, double b) {
    double m;
    if (b == 0 && (o == OP_DIV || o == OP_FLOORDIV || o == OP_MOD))
        return fr_jinja_fail(r, "division by zero");
    switch (o) {
    case OP_ADD:
        return make_float(a + b);
    case OP_SUB:
        return make_float(a - b);
    case OP_MUL:
        return make_float(a * b);
    case OP_DIV:
        return make_float(a / b);
    case OP_POW:
        m = pow(a, b);
        if (isfinite(m) || !isfinite(a) || !isfinite(b)) return make_float(m);
        return fr_jinja_fail(r, "'**' has no result of floats");
    case OP_FLOORDIV:
    case OP_MOD:
        m = fmod(a, b);
        if (m != 0 && (m < 0) != (b < 0)) m += b;
        return make_float(o == OP_MOD ? m : floor((a - m) / b + 0.5));
    case OPS_COMPARING:
    case OPS_OTHER:
        break;
    }
    return UNDEFINED;
}

value fr_jinja_binary(run *r, op o, value a, value b) {
    static const char *const signs[] = {"", "'+'", "'-'", "'*'", "'/'", "'//'", "'%'", "'**'"};
    if (r->status) return UNDEFINED;
    if (is_whole(a) && is_whole(b)) return whole_numbers(r, o, a.as.whole, b.as.whole);
    if (is_number(a) && is_number(b)) return floats(r, o, real_of(a), real_of(b));
    if (o == OP_ADD) return add(r, a, b);
    if (o == OP_MUL && repeats(a) && is_whole(b)) return repeat(r, a, b.as.whole);
    if (o == OP_MUL && repeats(b) && is_whole(a)) return repeat(r, b, a.as.whole);
    if (o == OP_MOD && a.kind == J_STR) return fr_jinja_format_percent(r, as_str(a), b);
    return cannot(r, signs[o], a, b);
}

value fr_jinja_negate(run *r, value v) {
    if (r->status) return UNDEFINED;
    if (v.kind == J_FLOAT) return make_float(-v.as.real);
    if (!is_whole(v)) return fr_jinja_fail(r, "'-' does not work on %s", fr_jinja_kind_name(v));
    return v.as.whole == INT64_MIN ? overflow(r) : make_int(-v.as.whole);
}
