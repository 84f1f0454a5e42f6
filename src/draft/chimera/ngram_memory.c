#include "draft/chimera/ngram_memory.h"
#include <assert.h>

fr_status fr_ngram_memory_open(fr_ngram_memory *m, const fr_ngram_memory_options *o,
                               fr_error *err) {
    *m = (fr_ngram_memory){0};
    const int d = o->store.kind.d;
    fr_status st = fr_ngram_table_open(&m->table, o->capacity, d, err);
    if (st || !o->store.folder) return st;
    m->stored = fr_alloc_array((size_t)o->capacity, sizeof *m->stored);
    m->fetched = fr_alloc_array((size_t)d, sizeof *m->fetched);
    if (m->stored && m->fetched)
        st = fr_ngram_store_open(&m->store, &o->store, err);
    else
        st = fr_fail(err, FR_ENOMEM, "n-gram memory: a list of %d entries", o->capacity);
    if (st) fr_ngram_memory_close(m);
    assert(st || fr_ngram_memory_is_sound(m));
    return st;
}

bool fr_ngram_memory_is_sound(const fr_ngram_memory *m) {
    const fr_ngram_memory_counts *n = &m->counts;
    if (m->store && (!m->stored || !m->fetched)) return false;
    if (n->in_memory < 0 || n->in_store < 0 || n->missed < 0 || n->evicted < 0) return false;
    return fr_ngram_table_is_sound(&m->table);
}

static void store_all(fr_ngram_memory *m) {
    const fr_ngram_table *t = &m->table;
    for (int i = t->newest; i >= 0; i = t->entry[i].older)
        if (!m->stored[i])
            fr_ngram_store_wait_add(m->store, &t->entry[i].key, fr_ngram_table_at(t, i));
}

void fr_ngram_memory_close(fr_ngram_memory *m) {
    assert(!m->table.bucket || fr_ngram_memory_is_sound(m));
    if (m->store) store_all(m);
    fr_ngram_store_close(m->store);
    fr_free(m->fetched);
    fr_free(m->stored);
    fr_ngram_table_close(&m->table);
    *m = (fr_ngram_memory){0};
}

// Puts a vector into the table. The entry that falls out is given to the store first.
static const float *take_in(fr_ngram_memory *m, const fr_ngram *key, const float *vector,
                            bool stored) {
    const int before = m->table.n;
    fr_ngram out;
    bool fell;
    float *to = fr_ngram_table_put(&m->table, key, &out, &fell);
    m->counts.evicted += fell;
    if (m->store) {
        bool *known = &m->stored[fr_ngram_table_place(&m->table, to)];
        if (fell && !*known) fr_ngram_store_add(m->store, &out, to);
        if (fell || m->table.n > before) *known = stored;
    }
    memcpy(to, vector, (size_t)m->table.d * sizeof *to);
    return to;
}

const float *fr_ngram_memory_get(fr_ngram_memory *m, const fr_ngram *key) {
    const float *vector = fr_ngram_table_get(&m->table, key);
    if (vector) {
        m->counts.in_memory++;
        return vector;
    }
    if (m->store && fr_ngram_store_get(m->store, key, m->fetched)) {
        m->counts.in_store++;
        return take_in(m, key, m->fetched, true);
    }
    m->counts.missed++;
    return NULL;
}

void fr_ngram_memory_put(fr_ngram_memory *m, const fr_ngram *key, const float *vector) {
    take_in(m, key, vector, false);
}
