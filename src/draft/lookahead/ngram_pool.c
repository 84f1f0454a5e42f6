#include "draft/lookahead/ngram_pool.h"
#include "base/alloc.h"
#include <assert.h>
#include <string.h>

fr_status fr_ngram_pool_open(fr_ngram_pool *p, int n_keys, int n, int per_key, int64_t adds,
                             fr_error *err) {
    const int64_t most = (int64_t)n_keys * per_key < adds ? (int64_t)n_keys * per_key : adds;
    *p = (fr_ngram_pool){.n_keys = n_keys, .n = n, .per_key = per_key};
    p->newest = fr_alloc_array((size_t)n_keys, sizeof *p->newest);
    if (most <= INT32_MAX) {
        p->max_entries = (int)most;
        p->entry = fr_alloc_array((size_t)most + 1, sizeof *p->entry);
        p->tail = fr_alloc_array((size_t)most + 1, sizeof *p->tail * (size_t)n);
    }
    if (!p->newest || !p->entry || !p->tail) {
        fr_ngram_pool_close(p);
        return fr_fail(err, FR_ENOMEM, "pool: cannot get memory for %lld n-grams", (long long)most);
    }
    fr_ngram_pool_begin(p);
    return FR_OK;
}

void fr_ngram_pool_close(fr_ngram_pool *p) {
    fr_free(p->newest);
    fr_free(p->entry);
    fr_free(p->tail);
    *p = (fr_ngram_pool){0};
}

void fr_ngram_pool_begin(fr_ngram_pool *p) {
    memset(p->newest, -1, sizeof *p->newest * (size_t)p->n_keys);
    p->n_entries = 0;
    assert(fr_ngram_pool_is_sound(p));
}

// Whether the key's list is one; adds how long it is to *n.
static bool list_is_sound(const fr_ngram_pool *p, int key, int *n) {
    int length = 0;
    for (int at = p->newest[key]; at >= 0; at = p->entry[at].older, ++*n)
        if (at >= p->n_entries || ++length > p->per_key) return false;
    return true;
}

bool fr_ngram_pool_is_sound(const fr_ngram_pool *p) {
    int n = 0;
    if (p->n_entries < 0 || p->n_entries > p->max_entries) return false;
    for (int key = 0; key < p->n_keys; key++)
        if (!list_is_sound(p, key, &n)) return false;
    return n == p->n_entries;
}

static bool says(const fr_ngram_pool *p, int entry, const int32_t *tail) {
    return !memcmp(fr_ngram_pool_tail(p, entry), tail, sizeof *tail * (size_t)p->n);
}

void fr_ngram_pool_add(fr_ngram_pool *p, int32_t key, const int32_t *tail, bool of_text) {
    int32_t *link = &p->newest[key], at = *link; // link: what points to entry `at`
    for (int n = 1; at >= 0 && !says(p, at, tail); n++) {
        if (n == p->per_key) break; // the list is full: its last one's place is taken
        link = &p->entry[at].older;
        at = *link;
    }
    if (at < 0) {
        assert(p->n_entries < p->max_entries);
        at = p->n_entries++;
        p->entry[at] = (fr_pool_entry){.older = -1};
    } else {
        *link = p->entry[at].older;
    }
    fr_pool_entry *e = &p->entry[at];
    e->of_text = of_text || (e->of_text && says(p, at, tail));
    memcpy(p->tail + (size_t)at * (size_t)p->n, tail, sizeof *tail * (size_t)p->n);
    e->older = p->newest[key];
    p->newest[key] = at;
    assert(list_is_sound(p, key, &(int){0}));
}
