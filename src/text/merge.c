// merge.c — puts every pair of neighbours that can be merged into a heap, then takes out the best
// one, merges it and adds the new pairs, until the heap is empty.
#include "text/merge.h"
#include "base/alloc.h"

fr_status fr_merger_begin(fr_merger *m, const char *text, size_t max_symbols, fr_error *err) {
    fr_status st = fr_watch_ask(m->watch, err);
    if (st) return st;
    if (max_symbols > m->cap) {
        size_t cap = m->cap ? m->cap : 64;
        while (cap < max_symbols)
            cap *= 2;
        const fr_watch *const watch = m->watch;
        fr_merger_close(m);
        m->watch = watch;
        m->symbols = fr_alloc_array(cap, sizeof *m->symbols);
        m->heap = fr_alloc_array(cap, 2 * sizeof *m->heap);
        if (!m->symbols || !m->heap) {
            fr_merger_close(m);
            return fr_fail(err, FR_ENOMEM, "text: no memory for a word of %zu symbols",
                           max_symbols);
        }
        m->cap = cap;
    }
    m->text = text;
    m->n_symbols = m->n_heap = 0;
    return FR_OK;
}

void fr_merger_close(fr_merger *m) {
    fr_free(m->symbols);
    fr_free(m->heap);
    *m = (fr_merger){0};
}

// The heap starts with at most one pair a border and a merge takes one out, puts two in and removes
// a border: it never holds more than twice the symbols.
static void heap_push(fr_merger *m, fr_merge_pair pair) {
    size_t i = m->n_heap++;
    for (; i && pair.key < m->heap[(i - 1) / 2].key; i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = pair;
}

static fr_merge_pair heap_pop(fr_merger *m) {
    fr_merge_pair top = m->heap[0], last = m->heap[--m->n_heap];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < m->n_heap) {
        if (child + 1 < m->n_heap && m->heap[child + 1].key < m->heap[child].key) child++;
        if (m->heap[child].key >= last.key) break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return top;
}

static void offer(fr_merger *m, fr_merge_fn *find, const void *model, int32_t left, int32_t right) {
    if (left < 0 || right < 0) return;
    const fr_symbol *l = &m->symbols[left], *r = &m->symbols[right];
    uint32_t rank;
    int32_t id;
    if (find(model, m->text, l, r, &rank, &id))
        heap_push(m, (fr_merge_pair){(uint64_t)rank << 32 | (uint32_t)left, right,
                                     l->bytes + r->bytes, id});
}

static void merge(fr_merger *m, fr_merge_fn *find, const void *model, const fr_merge_pair *pair) {
    const int32_t left = (int32_t)(uint32_t)pair->key;
    fr_symbol *l = &m->symbols[left], *r = &m->symbols[pair->right];
    // Symbols only grow, so the sum shows whether one of the two has changed or was merged.
    if (!l->bytes || !r->bytes || l->bytes + r->bytes != pair->bytes) return;
    l->bytes = pair->bytes;
    l->id = pair->id;
    l->next = r->next;
    if (r->next >= 0) m->symbols[r->next].prev = left;
    r->bytes = 0;
    offer(m, find, model, l->prev, left);
    offer(m, find, model, left, l->next);
}

fr_status fr_merger_run(fr_merger *m, fr_merge_fn *find, const void *model, fr_error *err) {
    enum { ASK = 1 << 14 }; // pairs from one question to the next
    for (size_t i = 1; i < m->n_symbols; i++) {
        offer(m, find, model, (int32_t)i - 1, (int32_t)i);
        if (i % ASK == 0 && fr_watch_ask(m->watch, err)) return FR_EINTR;
    }
    for (size_t n = 1; m->n_heap; n++) {
        const fr_merge_pair pair = heap_pop(m);
        merge(m, find, model, &pair);
        if (n % ASK == 0 && fr_watch_ask(m->watch, err)) return FR_EINTR;
    }
    return FR_OK;
}
