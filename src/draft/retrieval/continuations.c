// continuations.c — takes the places of a match as one group. A split counts the next token of each
// continuation, picks the most frequent ones and sorts the places after their tokens.
#include "draft/retrieval/continuations.h"
#include "base/alloc.h"
#include <string.h>

enum { SLOTS = 1 << 14, AHEAD = 16 };

// Counts of ids, by hash. A slot is in use if it carries the number of the present split, so none
// is ever cleared.
typedef struct fr_tokens {
    uint32_t split, used[SLOTS];
    int32_t id[SLOTS];
    int16_t count[SLOTS], child[SLOTS]; // child: its number, -1: none
    int16_t slot[FR_CONTINUATIONS];     // in use, in the order of first sight
    int n;
} fr_tokens;

fr_status fr_continuations_open(fr_continuations *c, const fr_datastore *store, fr_error *err) {
    *c = (fr_continuations){.store = store,
                            .place = fr_alloc_array(FR_CONTINUATIONS, sizeof *c->place),
                            .sorted = fr_alloc_array(FR_CONTINUATIONS, sizeof *c->sorted),
                            .id = fr_alloc_array(FR_CONTINUATIONS, sizeof *c->id),
                            .tokens = fr_alloc_zero(sizeof *c->tokens)};
    if (c->place && c->sorted && c->id && c->tokens) return FR_OK;
    fr_continuations_close(c);
    return fr_fail(err, FR_ENOMEM, "continuations: no memory");
}

void fr_continuations_close(fr_continuations *c) {
    fr_free(c->place);
    fr_free(c->sorted);
    fr_free(c->id);
    fr_free(c->tokens);
    *c = (fr_continuations){0};
}

fr_continuation_group fr_continuations_take(fr_continuations *c, const fr_datastore_match *match,
                                            int most) {
    const uint32_t all = match->end - match->begin;
    const int n = all < (uint32_t)most ? (int)all : most;
    for (int i = 0; i < n; i++)
        c->place[i] = c->store->places[match->begin + (uint64_t)all * (unsigned)i / (unsigned)n];
    return (fr_continuation_group){.end = (int16_t)n, .id = FR_DATASTORE_MARK};
}

static int slot_of(fr_tokens *t, int32_t id) {
    int s = (int)((uint32_t)id * 2654435761u >> 18);
    while (t->used[s] == t->split && t->id[s] != id)
        s = (s + 1) % SLOTS;
    return s;
}

static void count_id(fr_tokens *t, int32_t id) {
    const int s = slot_of(t, id);
    if (t->used[s] != t->split) {
        t->used[s] = t->split;
        t->id[s] = id;
        t->count[s] = 0;
        t->child[s] = -1;
        t->slot[t->n++] = (int16_t)s;
    }
    t->count[s]++;
}

// Reads the next token of each continuation and counts them.
static void count_next(fr_continuations *c, const fr_continuation_group *g) {
    fr_tokens *t = c->tokens;
    const fr_datastore *s = c->store;
    if (!++t->split) { // after 2^32 of them
        memset(t->used, 0, sizeof t->used);
        t->split = 1;
    }
    t->n = 0;
    for (int i = g->begin; i < g->end; i++) {
        // Places lie all over a file larger than any cache, so ids are fetched ahead.
        const uint32_t soon = c->place[i + AHEAD < g->end ? i + AHEAD : i];
        if (soon < s->n_ids) __builtin_prefetch(&s->ids[soon]);
        c->id[i] = fr_datastore_id(s, c->place[i], g->depth);
        if (c->id[i] != FR_DATASTORE_MARK) count_id(t, c->id[i]);
    }
}

// The slots of the most frequent ids, in order.
static int most_frequent(const fr_tokens *t, int16_t best[FR_GROUP_CHILDREN]) {
    int n = 0;
    for (int k = 0; k < t->n; k++) {
        const int16_t s = t->slot[k];
        const bool full = n == FR_GROUP_CHILDREN;
        if (full && t->count[s] <= t->count[best[n - 1]]) continue;
        int i = full ? n - 1 : n++;
        for (; i > 0 && t->count[best[i - 1]] < t->count[s]; i--)
            best[i] = best[i - 1];
        best[i] = s;
    }
    return n;
}

int fr_continuations_split(fr_continuations *c, const fr_continuation_group *g,
                           fr_continuation_group child[FR_GROUP_CHILDREN]) {
    fr_tokens *t = c->tokens;
    int16_t best[FR_GROUP_CHILDREN], end = g->begin;
    count_next(c, g);
    const int n = most_frequent(t, best);
    for (int k = 0; k < n; k++) {
        child[k] = (fr_continuation_group){end, end, (uint8_t)(g->depth + 1), t->id[best[k]]};
        end = (int16_t)(end + t->count[best[k]]);
        t->child[best[k]] = (int16_t)k;
    }
    for (int i = g->begin; i < g->end; i++) {
        if (c->id[i] == FR_DATASTORE_MARK) continue;
        const int k = t->child[slot_of(t, c->id[i])];
        if (k >= 0) c->sorted[child[k].end++] = c->place[i];
    }
    memcpy(c->place + g->begin, c->sorted + g->begin, (size_t)(end - g->begin) * sizeof *c->place);
    return n;
}
