#include "model/kv.h"
#include "base/alloc.h"
#include <assert.h>
#include <string.h>

static int capacity_of(int n_ctx) {
    return (n_ctx + FR_MAX_SCRATCH + FR_KEY_BLOCK - 1) / FR_KEY_BLOCK * FR_KEY_BLOCK;
}

size_t fr_kv_bytes(const fr_config *c, int n_ctx) {
    return (size_t)2 * sizeof(uint16_t) * c->n_layer * c->n_kv * c->head_dim *
           (size_t)capacity_of(n_ctx);
}

fr_status fr_kv_open(fr_kv *kv, const fr_config *c, int n_ctx, fr_error *err) {
    *kv = (fr_kv){.n_layer = c->n_layer, .n_kv = c->n_kv, .head_dim = c->head_dim, .n_ctx = n_ctx};
    kv->capacity = capacity_of(n_ctx);
    kv->bytes = fr_kv_bytes(c, n_ctx);
    if (!(kv->k = fr_pages_alloc(kv->bytes)))
        return fr_fail(err, FR_ENOMEM,
                       "KV cache for %d tokens: cannot get %zu bytes; try a smaller --ctx-size",
                       n_ctx, kv->bytes);
    kv->v = kv->k + kv->bytes / 2 / sizeof *kv->k;
    return FR_OK;
}

void fr_kv_close(fr_kv *kv) {
    fr_pages_free(kv->k, kv->bytes);
    *kv = (fr_kv){0};
}

int fr_kv_scratch(fr_kv *kv, int parent, int pos, int join) {
    assert(kv->n_scratch < FR_MAX_SCRATCH && parent < kv->n_scratch);
    int s = kv->n_scratch++;
    uint64_t *bits = kv->ancestors[s];
    if (parent >= 0)
        memcpy(bits, kv->ancestors[parent], sizeof kv->ancestors[s]);
    else
        memset(bits, 0, sizeof kv->ancestors[s]);
    bits[s / 64] |= UINT64_C(1) << (s % 64);
    kv->pos[s] = pos;
    kv->join[s] = (int16_t)join;
    return s;
}

// Moves one slot of every layer and head. K: one f16 lane of a block; V: a row.
static void move_slot(fr_kv *kv, int from, int to) {
    int hd = kv->head_dim;
    for (int plane = 0; plane < kv->n_layer * kv->n_kv; plane++) {
        uint16_t *k = kv->k + (size_t)plane * kv->capacity * hd;
        uint16_t *v = kv->v + (size_t)plane * kv->capacity * hd;
        uint16_t *k_from =
            k + (size_t)(from / FR_KEY_BLOCK) * FR_KEY_BLOCK * hd + from % FR_KEY_BLOCK;
        uint16_t *k_to = k + (size_t)(to / FR_KEY_BLOCK) * FR_KEY_BLOCK * hd + to % FR_KEY_BLOCK;
        for (int i = 0; i < hd; i++)
            k_to[i * FR_KEY_BLOCK] = k_from[i * FR_KEY_BLOCK];
        memcpy(v + (size_t)to * hd, v + (size_t)from * hd, sizeof *v * hd);
    }
}

void fr_kv_commit(fr_kv *kv, const int *path, int n) {
    assert(kv->n_committed + n <= kv->n_ctx);
    // The path rises and path[i] >= i, so moving down in ascending order never overwrites what is
    // still to move.
    for (int i = 0; i < n; i++) {
        assert(path[i] >= i && path[i] < kv->n_scratch && kv->join[path[i]] == 0);
        assert(i == 0 || path[i] > path[i - 1]);
        if (path[i] != i) move_slot(kv, kv->n_committed + path[i], kv->n_committed + i);
    }
    kv->n_committed += n;
    kv->n_scratch = 0;
    assert(fr_kv_check(kv));
}

void fr_kv_repeat(fr_kv *kv, int n) {
    assert(kv->n_committed > 0 && n <= kv->n_ctx);
    for (int s = kv->n_committed; s < n; s++)
        move_slot(kv, s - kv->n_committed, s);
    if (n > kv->n_committed) kv->n_committed = n;
    kv->n_scratch = 0;
}

void fr_kv_drop_scratch(fr_kv *kv) {
    kv->n_scratch = 0;
}

void fr_kv_truncate(fr_kv *kv, int n_committed) {
    assert(n_committed >= 0 && n_committed <= kv->n_committed);
    kv->n_committed = n_committed;
    kv->n_scratch = 0;
}

bool fr_kv_check(const fr_kv *kv) {
    if (kv->n_committed < 0 || kv->n_committed > kv->n_ctx) return false;
    if (kv->n_scratch < 0 || kv->n_scratch > FR_MAX_SCRATCH) return false;
    for (int s = 0; s < kv->n_scratch; s++)
        for (int w = 0; w < FR_MAX_SCRATCH / 64; w++) {
            int top = s - 64 * w; // bits above the slot's own must be clear
            uint64_t above = top < 0 ? ~UINT64_C(0) : top >= 63 ? 0 : ~UINT64_C(0) << (top + 1);
            if (kv->ancestors[s][w] & above) return false;
        }
    return true;
}
