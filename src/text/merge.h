// merge.h — joins neighbouring symbols of a text, always the best-ranked pair first.
//
// This is the common part of byte-level BPE and SentencePiece BPE: symbols in a linked list, and
// candidates in a heap ordered by (rank, position), so that n symbols take O(n log n). Internal to
// text/. A merger owns its two buffers and is reused for each word: begin, add every symbol, run,
// read the list from symbol 0 along `next`.
#ifndef FR_TEXT_MERGE_H
#define FR_TEXT_MERGE_H
#include "base/status.h"
#include "base/watch.h"

enum { FR_MERGE_MAX_BYTES = 1 << 20 }; // a longer word is cut; bounds the memory to about 70 MB

typedef struct fr_symbol {
    uint32_t at, bytes; // its place in the text; bytes 0: merged into the one before it
    int32_t prev, next; // -1 at the ends
    int32_t id;         // token, or -1
} fr_symbol;

typedef struct fr_merge_pair { // a candidate
    uint64_t key;              // rank above, left symbol below: the smallest is merged next
    int32_t right;
    uint32_t bytes; // of both when it was found; if they differ now, it is stale
    int32_t id;     // token of the merged symbol
} fr_merge_pair;

typedef struct fr_merger { // {0} is empty
    const fr_watch *watch; // polled before every word and within long ones; borrowed, may be NULL
    const char *text;
    fr_symbol *symbols;
    fr_merge_pair *heap;
    size_t n_symbols, n_heap, cap; // cap symbols, 2 * cap pairs
} fr_merger;

// Whether two neighbours can be merged: their rank (smaller first) and the token they become.
typedef bool fr_merge_fn(const void *model, const char *text, const fr_symbol *left,
                         const fr_symbol *right, uint32_t *rank, int32_t *id);

fr_status fr_merger_begin(fr_merger *m, const char *text, size_t max_symbols,
                          fr_error *err); // FR_ENOMEM, FR_EINTR
fr_status fr_merger_run(fr_merger *m, fr_merge_fn *find, const void *model,
                        fr_error *err); // FR_EINTR
void fr_merger_close(fr_merger *m);

// Appends a symbol; at most max_symbols of fr_merger_begin.
static inline void fr_merger_add(fr_merger *m, size_t at, size_t bytes, int32_t id) {
    int32_t i = (int32_t)m->n_symbols++;
    if (i) m->symbols[i - 1].next = i;
    m->symbols[i] = (fr_symbol){(uint32_t)at, (uint32_t)bytes, i - 1, -1, id};
}

#endif
