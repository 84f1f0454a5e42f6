// datastore_sort.c — sorts all places by the one id before them, then by 2, 4, 8 and 16 ids, each
// time from the ranks of the round before. Every round is a counting sort.
#include "draft/retrieval/datastore_sort.h"
#include "base/alloc.h"
#include "draft/retrieval/datastore.h"
#include <string.h>

enum { BETWEEN_CALLS = 1 << 20, PASSES = 9 }; // one by single ids, two for each of four doublings

typedef struct sorter {
    uint32_t n;
    uint32_t *order, *other; // places; sorted so far; room for the next order
    uint32_t *rank;          // of a place: how many come before all that are equal to it so far
    uint32_t *next;          // of a rank: where the next place of it goes; then the next ranks
    fr_progress_fn *progress;
    void *user;
    uint64_t done;
} sorter;

static bool go_on(sorter *s, uint32_t i) {
    if (i % BETWEEN_CALLS) return true;
    return !s->progress || s->progress(s->user, "sorting", s->done + i, (uint64_t)PASSES * s->n);
}

static int32_t id_before(const int32_t *ids, uint32_t place) {
    return place ? ids[place - 1] : FR_DATASTORE_MARK;
}

// By the one id before: counts, sums, places.
static bool sort_by_one(sorter *s, const int32_t *ids, uint32_t *first, int n_vocab) {
    uint32_t sum = 0;
    for (uint32_t p = 0; p < s->n; p++)
        first[id_before(ids, p) + 1]++;
    for (int id = 0; id <= n_vocab; id++) {
        const uint32_t count = first[id];
        first[id] = sum;
        sum += count;
    }
    for (uint32_t p = 0; p < s->n; p++)
        s->rank[p] = first[id_before(ids, p) + 1];
    for (uint32_t p = 0; p < s->n; p++) {
        if (!go_on(s, p)) return false;
        s->order[first[id_before(ids, p) + 1]++] = p;
    }
    s->done += s->n;
    return true;
}

// Goes from an order by `by` ids to one by twice as many: places are taken in the order of the ids
// from `by` back on, and put after those of their own rank.
static bool reorder(sorter *s, uint32_t by) {
    for (uint32_t r = 0; r < s->n; r++)
        s->next[r] = r;
    for (uint32_t p = 0; p < by && p < s->n; p++) // nothing stands so far back
        s->other[s->next[s->rank[p]]++] = p;
    for (uint32_t i = 0; i < s->n; i++) {
        const uint64_t p = (uint64_t)s->order[i] + by;
        if (!go_on(s, i)) return false;
        if (p < s->n) s->other[s->next[s->rank[p]]++] = (uint32_t)p;
    }
    s->done += s->n;
    return true;
}

static uint32_t rank_back(const sorter *s, uint32_t place, uint32_t by) {
    return place < by ? UINT32_MAX : s->rank[place - by];
}

// The ranks of the new order; how many different ones there are.
static uint32_t rerank(sorter *s, uint32_t by) {
    uint32_t different = 0, rank = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t p = s->other[i], q = s->other[i ? i - 1 : 0];
        if (!i || s->rank[p] != s->rank[q] || rank_back(s, p, by) != rank_back(s, q, by)) {
            rank = i;
            different++;
        }
        s->next[p] = rank;
    }
    s->done += s->n;
    return different;
}

static void swap(uint32_t **a, uint32_t **b) {
    uint32_t *c = *a;
    *a = *b;
    *b = c;
}

static bool sort(sorter *s, const int32_t *ids, uint32_t *first, int n_vocab) {
    if (!sort_by_one(s, ids, first, n_vocab)) return false;
    for (uint32_t by = 1; by < FR_DATASTORE_ORDER; by *= 2) {
        if (!reorder(s, by)) return false;
        const uint32_t different = rerank(s, by);
        swap(&s->order, &s->other);
        swap(&s->rank, &s->next);
        if (different == s->n) break;
    }
    return true;
}

fr_status fr_datastore_sort(uint32_t *order, const int32_t *ids, uint32_t n, int n_vocab,
                            fr_progress_fn *progress, void *user, fr_error *err) {
    uint32_t *first = fr_alloc_array((size_t)n_vocab + 1, sizeof *first);
    uint32_t *work = fr_alloc_array(n, 3 * sizeof *work);
    sorter s = {.n = n, .order = order, .progress = progress, .user = user};
    fr_status st = FR_OK;
    if (!first || (n && !work)) {
        st = fr_fail(err, FR_ENOMEM, "datastore: no memory to sort %u tokens", n);
    } else if (n) {
        s.other = work;
        s.rank = work + n;
        s.next = work + 2 * (size_t)n;
        if (!sort(&s, ids, first, n_vocab))
            st = fr_fail(err, FR_EINTR, "interrupted while sorting");
        else if (s.order != order)
            memcpy(order, s.order, n * sizeof *order);
    }
    fr_free(first);
    fr_free(work);
    return st;
}
