// ngram_table.c — a list in the order of use, then hash buckets of places. A get moves its entry to
// the front; a put of a new key into a full table takes the place of the oldest entry. A bucket has a
// bound too: the hash is the same in every process, so that statistics repeat, and a text can be made
// whose n-grams share a bucket.
#include "draft/chimera/ngram_table.h"
#include "gguf/hash.h"
#include <assert.h>
#include <limits.h>

static bool add_array(size_t *bytes, int count, size_t size) {
    size_t array;
    return fr_mul_size((size_t)count, size, &array) && array < SIZE_MAX / 8 &&
           fr_add_size(*bytes, FR_ARENA_ROUND(array), bytes);
}

fr_status fr_ngram_table_open(fr_ngram_table *t, int capacity, int d, fr_error *err) {
    assert(capacity >= 1 && d >= 1);
    *t = (fr_ngram_table){.capacity = capacity, .d = d, .newest = -1, .oldest = -1, .n_buckets = 1};
    while (t->n_buckets < capacity && t->n_buckets < INT_MAX / 2)
        t->n_buckets *= 2;
    t->stride = (int)(FR_ARENA_ROUND((size_t)d * sizeof(float)) / sizeof(float));

    const size_t row = (size_t)t->stride * sizeof(float);
    size_t bytes = 0;
    if (!add_array(&bytes, t->n_buckets, sizeof *t->bucket) ||
        !add_array(&bytes, capacity, sizeof *t->entry) || !add_array(&bytes, capacity, row))
        return fr_fail(err, FR_ENOMEM, "n-gram table: %d vectors of %d floats are too many",
                       capacity, d);
    const fr_status st = fr_arena_open(&t->arena, bytes, "n-gram table", err);
    if (st) return st;
    t->bucket = fr_arena_take(&t->arena, (size_t)t->n_buckets * sizeof *t->bucket);
    t->entry = fr_arena_take(&t->arena, (size_t)capacity * sizeof *t->entry);
    t->vectors = fr_arena_take(&t->arena, (size_t)capacity * row);
    for (int i = 0; i < t->n_buckets; i++)
        t->bucket[i] = -1;
    assert(fr_ngram_table_is_sound(t));
    return FR_OK;
}

void fr_ngram_table_close(fr_ngram_table *t) {
    assert(!t->bucket || fr_ngram_table_is_sound(t));
    fr_arena_close(&t->arena);
    *t = (fr_ngram_table){0};
}

// ---------------------------------------------------------------- order of use

static void leave_order(fr_ngram_table *t, int place) {
    const fr_ngram_entry *e = &t->entry[place];
    *(e->newer < 0 ? &t->newest : &t->entry[e->newer].older) = e->older;
    *(e->older < 0 ? &t->oldest : &t->entry[e->older].newer) = e->newer;
}

static void become_newest(fr_ngram_table *t, int place) {
    fr_ngram_entry *e = &t->entry[place];
    e->newer = -1;
    e->older = t->newest;
    *(t->newest < 0 ? &t->oldest : &t->entry[t->newest].newer) = place;
    t->newest = place;
}

// ---------------------------------------------------------------- buckets

static int *bucket_of(const fr_ngram_table *t, const fr_ngram *key) {
    fr_hash h;
    fr_hash_open(&h, 0);
    fr_hash_add(&h, key, sizeof *key);
    return &t->bucket[fr_hash_value(&h) & (uint64_t)(t->n_buckets - 1)];
}

// The key's place; -1: the bucket that begins at `place` does not have it. Then *n are the places of the
// bucket, and *last is the last of them, or -1.
static int find(const fr_ngram_table *t, int place, const fr_ngram *key, int *last, int *n) {
    *last = -1;
    for (*n = 0; place >= 0 && !fr_ngram_equal(&t->entry[place].key, key); ++*n) {
        *last = place;
        place = t->entry[place].next;
    }
    return place;
}

static void leave_bucket(fr_ngram_table *t, int place) {
    int *link = bucket_of(t, &t->entry[place].key);
    while (*link != place)
        link = &t->entry[*link].next;
    *link = t->entry[place].next;
}

// ---------------------------------------------------------------- get and put

static float *use(fr_ngram_table *t, int place) {
    if (place != t->newest) {
        leave_order(t, place);
        become_newest(t, place);
    }
    return t->vectors + (size_t)place * (size_t)t->stride;
}

const float *fr_ngram_table_get(fr_ngram_table *t, const fr_ngram *key) {
    int last, n;
    const int place = find(t, *bucket_of(t, key), key, &last, &n);
    return place < 0 ? NULL : use(t, place);
}

float *fr_ngram_table_put(fr_ngram_table *t, const fr_ngram *key, fr_ngram *out, bool *fell) {
    int *bucket = bucket_of(t, key), last, n;
    int place = find(t, *bucket, key, &last, &n);
    *fell = false;
    if (place >= 0) return use(t, place);
    *fell = n == FR_NGRAM_BUCKET || t->n == t->capacity;
    if (*fell) {
        place = n == FR_NGRAM_BUCKET ? last : t->oldest;
        *out = t->entry[place].key;
        leave_order(t, place);
        leave_bucket(t, place);
    } else {
        place = t->n++;
    }
    t->entry[place].key = *key;
    assert(place >= 0 && place < t->n && t->n <= t->capacity);
    t->entry[place].next = *bucket;
    *bucket = place;
    become_newest(t, place);
    return t->vectors + (size_t)place * (size_t)t->stride;
}

bool fr_ngram_table_is_sound(const fr_ngram_table *t) {
    int ordered = 0, chained = 0, newer = -1;
    for (int i = t->newest; i >= 0; newer = i, i = t->entry[i].older)
        if (i >= t->n || t->entry[i].newer != newer || ++ordered > t->n) return false;
    for (int b = 0; b < t->n_buckets; b++) {
        int n = 0;
        for (int i = t->bucket[b]; i >= 0; i = t->entry[i].next, chained++)
            if (i >= t->n || bucket_of(t, &t->entry[i].key) != &t->bucket[b] ||
                ++n > FR_NGRAM_BUCKET)
                return false;
    }
    return ordered == t->n && chained == t->n && t->oldest == newer && t->n <= t->capacity;
}
