#include "draft/retrieval/text_index.h"
#include "base/alloc.h"
#include <assert.h>
#include <string.h>

enum { LONGEST = FR_TEXT_INDEX_LONGEST, LEAST_BUCKETS = 1024 };

fr_status fr_text_index_open(fr_text_index *x, int n_ctx, fr_error *err) {
    *x = (fr_text_index){.n_ctx = n_ctx, .mask = LEAST_BUCKETS - 1};
    while (x->mask < (uint32_t)n_ctx)
        x->mask = 2 * x->mask + 1;
    for (int l = 0; l < LONGEST; l++) {
        x->head[l] = fr_alloc_array((size_t)x->mask + 1, sizeof *x->head[l]);
        x->older[l] = fr_alloc_array((size_t)n_ctx + 1, sizeof *x->older[l]);
        if (x->head[l] && x->older[l]) continue;
        fr_text_index_close(x);
        return fr_fail(err, FR_ENOMEM, "cannot get memory for %d tokens", n_ctx);
    }
    assert(fr_text_index_is_sound(x));
    return FR_OK;
}

void fr_text_index_close(fr_text_index *x) {
    for (int l = 0; l < LONGEST; l++) {
        fr_free(x->head[l]);
        fr_free(x->older[l]);
    }
    *x = (fr_text_index){0};
}

void fr_text_index_begin(fr_text_index *x) {
    assert(fr_text_index_is_sound(x));
    for (int l = 0; l < LONGEST; l++)
        memset(x->head[l], 0, ((size_t)x->mask + 1) * sizeof *x->head[l]);
    x->n_indexed = 0;
}

static uint32_t hash_of(const int32_t *ids, int n) {
    uint32_t h = 2166136261u;
    for (int i = 0; i < n; i++)
        h = (h ^ (uint32_t)ids[i]) * 16777619u ^ h >> 15;
    return h;
}

void fr_text_index_add(fr_text_index *x, const int32_t *ids, int n) {
    assert(n <= x->n_ctx + 1);
    for (int p = x->n_indexed; p < n; p++)
        for (int length = 1; length <= LONGEST && length <= p; length++) {
            const uint32_t bucket = hash_of(ids + p - length, length) & x->mask;
            x->older[length - 1][p] = x->head[length - 1][bucket];
            x->head[length - 1][bucket] = p;
        }
    x->n_indexed = n;
}

int fr_text_index_newest(const fr_text_index *x, const int32_t *ids, int n, int length) {
    assert(length >= 1 && length <= LONGEST && length <= n);
    return x->head[length - 1][hash_of(ids + n - length, length) & x->mask];
}

bool fr_text_index_is_sound(const fr_text_index *x) {
    if (x->n_indexed < 0 || x->n_indexed > x->n_ctx + 1) return false;
    for (int l = 0; l < LONGEST; l++) {
        for (uint32_t b = 0; b <= x->mask; b++) {
            const int newest = x->head[l][b];
            if (newest && (newest <= l || newest >= x->n_indexed)) return false;
        }
        for (int p = l + 1; p < x->n_indexed; p++) {
            const int older = x->older[l][p];
            if (older && (older <= l || older >= p)) return false;
        }
    }
    return true;
}
