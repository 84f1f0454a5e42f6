// value.h — the values of a template: Python's, as far as templates see them. Private to
// text/jinja/.
//
// Values are immutable, except namespaces and objects that count (loop, cycler, joiner). Lists and
// dicts change only while they are made. All memory is in arenas, which are freed as a whole.
#ifndef FR_TEXT_JINJA_VALUE_H
#define FR_TEXT_JINJA_VALUE_H
#include "text/jinja/jinja.h"
#include <string.h>

typedef fr_jinja_value value;
typedef fr_jinja_kind value_kind;

// ---- memory

enum { MEMORY_BLOCK = 1 << 16 };

typedef struct memory { // {.limit} is empty
    struct block *blocks;
    size_t used, limit;
    bool full; // an allocation exceeded the limit
} memory;

void *fr_jinja_take(memory *m, size_t bytes); // 16-aligned, zeroed; NULL: no memory
// Makes a piece longer; the old one may remain unused. New bytes are not set.
void *fr_jinja_grow(memory *m, void *old, size_t old_bytes, size_t bytes);
void fr_jinja_memory_close(memory *m);

// ---- strings

typedef struct tail_room { // capacity after a string, so that repeated appending is cheap
    char *data;
    uint8_t *marks;
    size_t used, cap;
} tail_room;

typedef struct str {
    const char *data;
    size_t n;
    const uint8_t *marks; // one a byte; NULL: all are `mark`
    tail_room *tail;      // NULL, or the memory that the string ends in
    uint8_t mark;
    bool markup; // a result of `safe` or `escape`: text appended to it is escaped
} str;

#define STR(text) ((str){.data = text, .n = sizeof(text) - 1})

static inline str *as_str(value v) {
    return v.as.ref;
}
static inline bool str_is(const str *s, const char *text) {
    return s->n == strlen(text) && !memcmp(s->data, text, s->n);
}
static inline bool str_same(const str *a, const str *b) {
    return a->n == b->n && !memcmp(a->data, b->data, a->n);
}
// Bytes [from, to) of s, whose memory it shares.
static inline str str_part(const str *s, size_t from, size_t to) {
    return (str){.data = s->data + from,
                 .n = to - from,
                 .marks = s->marks ? s->marks + from : NULL,
                 .mark = s->mark,
                 .markup = s->markup};
}
value fr_jinja_str_value(memory *m, str s); // J_MISSING without memory

// ---- lists

typedef enum seq_kind {
    SEQ_LIST,
    SEQ_TUPLE,
    SEQ_RANGE,
    SEQ_ONCE,
    SEQ_KEYS,
    SEQ_VALUES,
    SEQ_ITEMS
} seq_kind;

typedef struct list_tail { // capacity after a list, as after a string
    value *item;
    size_t used, cap;
} list_tail;

typedef struct seq {
    value *item;
    size_t n, cap;
    list_tail *tail;  // NULL, or the memory that the list ends in
    size_t at;        // SEQ_ONCE (an iterator): how many were consumed
    int64_t range[3]; // SEQ_RANGE: start, stop, step
    seq_kind kind;
    bool group; // SEQ_TUPLE of groupby: its items also have the names grouper and list
} seq;

static inline seq *as_seq(value v) {
    return v.as.ref;
}
static inline bool is_seq(value v, seq_kind kind) {
    return v.kind == J_SEQ && as_seq(v)->kind == kind;
}
bool fr_jinja_seq_add(memory *m, seq *s, value item); // false: no memory

// ---- dicts

typedef struct entry {
    value key, item;
    uint64_t hash;
} entry;

typedef struct dict { // in the order of insertion
    entry *entry;
    size_t n, cap;
    uint32_t *slots; // open addressing, index + 1; NULL while small
    size_t mask;
} dict;

static inline dict *as_dict(value v) {
    return v.as.ref;
}
bool fr_jinja_dict_put(memory *m, dict *d, value key, value item); // false: no memory
value *fr_jinja_dict_find(const dict *d, value key);               // NULL: no such key
value *fr_jinja_dict_find_text(const dict *d, const char *key, size_t n);
bool fr_jinja_hashable(
    value v); // whether it can be a key: no list, no dict, no tuple of hundreds of parts

// ---- others

static inline value make_bool(bool x) {
    return (value){.kind = J_BOOL, .as.whole = x};
}
static inline value make_int(int64_t x) {
    return (value){.kind = J_INT, .as.whole = x};
}
static inline value make_float(double x) {
    return (value){.kind = J_FLOAT, .as.real = x};
}
static inline value make_ref(value_kind k, const void *ref) {
    return (value){.kind = k, .as.ref = (void *)(uintptr_t)ref};
}
#define NONE_VALUE ((value){.kind = J_NONE})
#define UNDEFINED  ((value){.kind = J_UNDEFINED})
#define MISSING    ((value){.kind = J_MISSING})

static inline bool is_number(value v) { // what Python calculates with
    return v.kind == J_BOOL || v.kind == J_INT || v.kind == J_FLOAT;
}
static inline bool is_whole(value v) {
    return v.kind == J_BOOL || v.kind == J_INT;
}
static inline double real_of(value v) {
    return v.kind == J_FLOAT ? v.as.real : (double)v.as.whole;
}
// a == b. *left: how many parts may still be compared, counted down (NULL: a million). Values that
// need more, or are nested deeper than 100 levels, are not equal.
bool fr_jinja_equal(value a, value b, uint64_t *left);

struct fr_jinja_values {
    memory mem;
    dict vars;
    uint64_t steps; // of building them; rendering continues this count
    bool failed;    // out of memory, or beyond a limit
    const fr_watch *watch;
    unsigned built; // values since the watch was polled
    bool stopped;   // the watch ended the work
};

#endif
