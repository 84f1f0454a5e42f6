// dict.c — lists that grow, and dicts: entries in order, found by hash once there are many.
#include "base/siphash.h"
#include "text/jinja/value.h"
#include <math.h>

enum { SMALL = 8, MAX_DEPTH = 100, MAX_COMPARED = 1 << 20, MAX_KEY = 256 };

bool fr_jinja_seq_add(memory *m, seq *s, value item) {
    if (s->n == s->cap) {
        const size_t cap = s->cap ? 2 * s->cap : 4;
        value *more = fr_jinja_grow(m, s->item, s->n * sizeof *more, cap * sizeof *more);
        if (!more) return false;
        s->item = more;
        s->cap = cap;
    }
    s->item[s->n++] = item;
    return true;
}

// ---- equality and hashes

// `left` is what may still be compared: lists that share parts can unfold to any size.
static bool equal(value a, value b, int depth, uint64_t *left);

static bool same_seq(const seq *a, const seq *b, int depth, uint64_t *left) {
    if (a->kind != b->kind || a->n != b->n) return false;
    if (a->kind == SEQ_ONCE || a->kind == SEQ_VALUES) return a == b;
    for (size_t i = 0; i < a->n; i++)
        if (!equal(a->item[i], b->item[i], depth + 1, left)) return false;
    return true;
}

static bool same_dict(const dict *a, const dict *b, int depth, uint64_t *left) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++) {
        const value *other = fr_jinja_dict_find(b, a->entry[i].key);
        if (!other || !equal(a->entry[i].item, *other, depth + 1, left)) return false;
    }
    return true;
}

// An integer and a float are equal where the float is exactly that integer.
static bool same_number(value a, value b) {
    if (a.kind != J_FLOAT && b.kind != J_FLOAT) return a.as.whole == b.as.whole;
    if (a.kind == J_FLOAT && b.kind == J_FLOAT) return a.as.real == b.as.real;
    const double x = a.kind == J_FLOAT ? a.as.real : b.as.real;
    const int64_t i = a.kind == J_FLOAT ? b.as.whole : a.as.whole;
    return x >= -0x1p63 && x < 0x1p63 && x == floor(x) && (int64_t)x == i;
}

static bool equal(value a, value b, int depth, uint64_t *left) {
    if (depth > MAX_DEPTH || !*left) return false;
    --*left;
    if (is_number(a) && is_number(b)) return same_number(a, b);
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case J_UNDEFINED:
    case J_NONE:
        return true;
    case J_STR:
    case J_BIG:
        return str_same(as_str(a), as_str(b));
    case J_SEQ:
        return same_seq(as_seq(a), as_seq(b), depth, left);
    case J_DICT:
        return same_dict(as_dict(a), as_dict(b), depth, left);
    case J_MISSING:
    case J_BOOL:
    case J_INT:
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
    return a.as.ref == b.as.ref;
}

bool fr_jinja_equal(value a, value b, uint64_t *left) {
    uint64_t most = MAX_COMPARED;
    return equal(a, b, 0, left ? left : &most);
}

static bool hashable(value v, int depth, int *left) {
    if (depth > MAX_DEPTH || --*left < 0 || v.kind == J_DICT || v.kind == J_MISSING) return false;
    if (v.kind != J_SEQ) return true;
    const seq *s = as_seq(v);
    if (s->kind == SEQ_LIST) return false;
    for (size_t i = 0; s->kind == SEQ_TUPLE && i < s->n; i++)
        if (!hashable(s->item[i], depth + 1, left)) return false;
    return true;
}

bool fr_jinja_hashable(value v) {
    int left = MAX_KEY; // parts: looking a key up is no step of its own
    return hashable(v, 0, &left);
}

static uint64_t hash(value v);

static uint64_t hash_tuple(const seq *s) {
    uint64_t part[2] = {s->n, 0};
    for (size_t i = 0; i < s->n; i++) {
        part[1] = hash(s->item[i]);
        part[0] = fr_secret_hash(part, sizeof part);
    }
    return part[0];
}

// Equal values have equal hashes: numbers by their value as a float. Keys come from outside, so
// they are hashed with a secret of the process. A hashable value has few parts.
static uint64_t hash(value v) {
    if (is_number(v)) {
        const double x = real_of(v) + 0.0; // -0.0 is 0.0
        return fr_secret_hash(&x, sizeof x);
    }
    if (v.kind == J_STR || v.kind == J_BIG) return fr_secret_hash(as_str(v)->data, as_str(v)->n);
    if (is_seq(v, SEQ_TUPLE)) return hash_tuple(as_seq(v));
    return v.kind;
}

// ---- dicts

static value *find(const dict *d, value key, uint64_t h) {
    if (!d->slots) {
        for (size_t i = 0; i < d->n; i++)
            if (d->entry[i].hash == h && fr_jinja_equal(d->entry[i].key, key, NULL))
                return &d->entry[i].item;
        return NULL;
    }
    for (size_t at = h & d->mask; d->slots[at]; at = (at + 1) & d->mask) {
        entry *e = &d->entry[d->slots[at] - 1];
        if (e->hash == h && fr_jinja_equal(e->key, key, NULL)) return &e->item;
    }
    return NULL;
}

value *fr_jinja_dict_find(const dict *d, value key) {
    return d->n && fr_jinja_hashable(key) ? find(d, key, hash(key)) : NULL;
}

value *fr_jinja_dict_find_text(const dict *d, const char *key, size_t n) {
    str s = {.data = key, .n = n};
    return d->n ? find(d, make_ref(J_STR, &s), fr_secret_hash(key, n)) : NULL;
}

static void enter(dict *d, size_t index) {
    size_t at = d->entry[index].hash & d->mask;
    while (d->slots[at])
        at = (at + 1) & d->mask;
    d->slots[at] = (uint32_t)index + 1;
}

static bool make_room(memory *m, dict *d) {
    if (d->n < d->cap) return true;
    const size_t cap = d->cap ? 2 * d->cap : 4;
    entry *more = fr_jinja_grow(m, d->entry, d->n * sizeof *more, cap * sizeof *more);
    if (!more) return false;
    d->entry = more;
    d->cap = cap;
    if (cap <= SMALL) return true;
    d->slots = fr_jinja_take(m, 2 * cap * sizeof *d->slots);
    if (!d->slots) return false;
    d->mask = 2 * cap - 1;
    for (size_t i = 0; i < d->n; i++)
        enter(d, i);
    return true;
}

bool fr_jinja_dict_put(memory *m, dict *d, value key, value item) {
    const uint64_t h = hash(key);
    value *old = d->n ? find(d, key, h) : NULL;
    if (old) {
        *old = item;
        return true;
    }
    if (!make_room(m, d)) return false;
    d->entry[d->n++] = (entry){key, item, h};
    if (d->slots) enter(d, d->n - 1);
    return true;
}
