// fuzz_datastore.c — any bytes as a datastore: once as they are, and once with the length and the
// checksum put right, which would turn nearly all inputs away. What is taken is looked up in.
#include "draft/retrieval/continuations.h"
#include "draft/retrieval/datastore_file.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The first levels of the trie.
static void split(fr_continuations *c, const fr_continuation_group *g) {
    fr_continuation_group child[FR_GROUP_CHILDREN];
    if (g->depth == 2) return;
    const int n = fr_continuations_split(c, g, child);
    if (n > FR_GROUP_CHILDREN) abort();
    for (int k = 0; k < n; k++) {
        if (child[k].begin < g->begin || child[k].end > g->end) abort();
        if (child[k].id < 0 || child[k].id >= c->store->n_vocab) abort();
        split(c, &child[k]);
    }
}

static void look_up(const fr_datastore *s, fr_continuations *c, const int32_t *ids, int n) {
    fr_datastore_match match[FR_DATASTORE_ORDER];
    const int span = fr_datastore_find(s, ids, n, FR_DATASTORE_ORDER, match);
    if (span > n) abort();
    for (int k = 0; k < span; k++) {
        if (match[k].begin >= match[k].end || match[k].end > s->n_places) abort();
    }
    if (!span) return;
    const fr_continuation_group all = fr_continuations_take(c, &match[span - 1], 50);
    split(c, &all);
}

static void use(const fr_datastore *s) {
    fr_continuations c;
    fr_error err;
    if (fr_continuations_open(&c, s, &err)) return;
    for (uint32_t at = 0; at < s->n_ids && at < 40; at++)
        look_up(s, &c, s->ids + at, s->n_ids - at < 20 ? (int)(s->n_ids - at) : 20);
    for (int32_t id = 0; id < 20; id++)
        look_up(s, &c, (int32_t[]){id, id + 1}, 2);
    fr_continuations_close(&c);
}

static void try_to_read(const void *data, size_t size) {
    fr_datastore s;
    fr_error err = {0};
    if (fr_datastore_take(&s, data, size, "input", &err)) {
        if (!err.text[0]) abort();
        return;
    }
    use(&s);
    fr_datastore_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *copy = calloc(size + 1, 1); // aligned, as a mapping is
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    try_to_read(copy, size);
    if (size > sizeof(fr_datastore_header)) {
        fr_datastore_header h;
        memcpy(&h, copy, sizeof h);
        memcpy(h.magic, FR_DATASTORE_MAGIC, sizeof h.magic);
        h.bytes = size;
        memcpy(copy, &h, sizeof h);
        h.checksum = fr_datastore_checksum(copy, size);
        memcpy(copy, &h, sizeof h);
        try_to_read(copy, size);
    }
    free(copy);
    return 0;
}
