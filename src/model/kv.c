// kv.c — the KV cache: opening it, taking scratch slots, then what moves or drops slots (commit,
// truncate, copy), last the check of the invariant and reading as floats.
#include "model/kv.h"
#include "base/alloc.h"
#include "kern/half.h"
#include <assert.h>
#include <string.h>

static int capacity_of(const fr_config *c, int n_ctx) {
    return (n_ctx + fr_most_rows(c) + FR_KV_BLOCK - 1) / FR_KV_BLOCK * FR_KV_BLOCK;
}

static const struct {
    const char *name;
    fr_kv_form k, v;
} types[FR_KV_TYPES] = {
    [FR_KV_F16] = {"f16", FR_FORM_F16, FR_FORM_F16},
    [FR_KV_Q8_0] = {"q8_0", FR_FORM_Q8_0, FR_FORM_Q8_0},
    [FR_KV_F16_Q8_0] = {"f16+q8_0", FR_FORM_F16, FR_FORM_Q8_0},
};

const char *fr_kv_type_name(fr_kv_type type) {
    return types[type].name;
}

fr_status fr_kv_type_of(fr_kv_type *type, const char *name, fr_error *err) {
    *type = FR_KV_F16;
    if (!name) return FR_OK;
    for (int i = 0; i < FR_KV_TYPES; i++)
        if (!strcmp(name, types[i].name)) {
            *type = (fr_kv_type)i;
            return FR_OK;
        }
    return fr_fail(err, FR_EARG, "kv-type: expected f16, q8_0 or f16+q8_0, found '%.40s'", name);
}

bool fr_kv_holds(fr_kv_type type, int head_dim) {
    const bool any = types[type].k == FR_FORM_F16 && types[type].v == FR_FORM_F16;
    return any || head_dim % 32 == 0;
}

static size_t plane_bytes(const fr_config *c, int n_ctx, fr_kv_form form) {
    return (size_t)(capacity_of(c, n_ctx) / FR_KV_BLOCK) * fr_kv_block_bytes(form, c->head_dim);
}

size_t fr_kv_bytes(const fr_config *c, int n_ctx, fr_kv_type type) {
    const size_t heads = (size_t)c->n_layer * (size_t)c->n_kv;
    return heads * (plane_bytes(c, n_ctx, types[type].k) + plane_bytes(c, n_ctx, types[type].v));
}

// Lets the system allocate the memory of every head's first slots now, because in the first pass
// all threads would wait for it.
static void touch(fr_kv *kv) {
    const size_t heads = (size_t)kv->n_layer * (size_t)kv->n_kv;
    for (size_t i = 0; i < heads; i++) {
        ((volatile uint8_t *)kv->k)[i * kv->k_plane] = 0;
        ((volatile uint8_t *)kv->v)[i * kv->v_plane] = 0;
    }
}

fr_status fr_kv_open(fr_kv *kv, const fr_config *c, int n_ctx, fr_kv_type type, fr_error *err) {
    *kv = (fr_kv){.type = type,
                  .k_form = types[type].k,
                  .v_form = types[type].v,
                  .n_layer = c->n_layer,
                  .n_kv = c->n_kv,
                  .head_dim = c->head_dim,
                  .n_ctx = n_ctx,
                  .max_scratch = fr_most_rows(c)};
    if (!fr_kv_holds(type, c->head_dim))
        return fr_fail(err, FR_EUNSUP,
                       "kv-type %s: expected heads of a multiple of 32 values, found %d; f16 "
                       "takes any",
                       types[type].name, c->head_dim);
    kv->k_plane = plane_bytes(c, n_ctx, kv->k_form);
    kv->v_plane = plane_bytes(c, n_ctx, kv->v_form);
    kv->bytes = fr_kv_bytes(c, n_ctx, type);
    if (!(kv->k = fr_pages_alloc(kv->bytes)))
        return fr_fail(
            err, FR_ENOMEM,
            "KV cache for %d tokens: cannot get %zu bytes; a smaller context takes fewer", n_ctx,
            kv->bytes);
    kv->v = kv->k + (size_t)kv->n_layer * (size_t)kv->n_kv * kv->k_plane;
    touch(kv);
    return FR_OK;
}

void fr_kv_close(fr_kv *kv) {
    fr_pages_free(kv->k, kv->bytes);
    *kv = (fr_kv){0};
}

int fr_kv_scratch(fr_kv *kv, int parent, int pos, int join) {
    assert(kv->n_scratch < kv->max_scratch && parent < kv->n_scratch);
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

// One slot's `bytes` of a part of a block, from lane i to lane j: `unit` bytes of a slot lie
// together, then come those of the next.
static inline void copy_lane(uint8_t *to, size_t j, const uint8_t *from, size_t i, size_t bytes,
                             size_t unit) {
    for (size_t at = 0; at < bytes; at += unit)
        memcpy(to + at * FR_KV_BLOCK + j * unit, from + at * FR_KV_BLOCK + i * unit, unit);
}

// Bytes of a slot that lie together: of f16 values, of codes, of scales.
typedef struct units {
    size_t f16, code, scale;
} units;

// Moves one slot of a head's keys or values, within a plane or to another one's.
static inline void move_lane(uint8_t *to_plane, const uint8_t *from_plane, fr_kv_form form,
                             size_t head_dim, units unit, int from, int to) {
    const size_t block = fr_kv_block_bytes(form, (int)head_dim), codes = FR_KV_BLOCK * head_dim;
    const size_t i = (size_t)from % FR_KV_BLOCK, j = (size_t)to % FR_KV_BLOCK;
    const uint8_t *a = from_plane + (size_t)(from / FR_KV_BLOCK) * block;
    uint8_t *b = to_plane + (size_t)(to / FR_KV_BLOCK) * block;
    if (form == FR_FORM_F16) {
        copy_lane(b, j, a, i, 2 * head_dim, unit.f16);
        return;
    }
    copy_lane(b, j, a, i, head_dim, unit.code);
    copy_lane(b + codes, j, a + codes, i, head_dim / 16, unit.scale);
}

// Moves one slot of every layer and head; `source` may be kv itself.
static void move_slot(fr_kv *kv, const fr_kv *source, int from, int to) {
    const size_t hd = (size_t)kv->head_dim;
    for (size_t head = 0; head < (size_t)kv->n_layer * (size_t)kv->n_kv; head++) {
        move_lane(kv->k + head * kv->k_plane, source->k + head * source->k_plane, kv->k_form, hd,
                  (units){2, 4, 2}, from, to);
        move_lane(kv->v + head * kv->v_plane, source->v + head * source->v_plane, kv->v_form, hd,
                  (units){2 * hd, hd, hd / 16}, from, to);
    }
}

void fr_kv_commit(fr_kv *kv, const int *path, int n) {
    assert(kv->n_committed + n <= kv->n_ctx);
    // The path rises and path[i] >= i, so moving down in ascending order never overwrites what is
    // still to move.
    for (int i = 0; i < n; i++) {
        assert(path[i] >= i && path[i] < kv->n_scratch && kv->join[path[i]] == 0);
        assert(i == 0 || path[i] > path[i - 1]);
        if (path[i] != i) move_slot(kv, kv, kv->n_committed + path[i], kv->n_committed + i);
    }
    kv->n_committed += n;
    kv->n_scratch = 0;
    assert(fr_kv_is_sound(kv));
}

void fr_kv_repeat(fr_kv *kv, int n) {
    assert(kv->n_committed > 0 && n <= kv->n_ctx);
    for (int s = kv->n_committed; s < n; s++)
        move_slot(kv, kv, s - kv->n_committed, s);
    if (n > kv->n_committed) kv->n_committed = n;
    kv->n_scratch = 0;
    assert(fr_kv_is_sound(kv));
}

void fr_kv_drop_scratch(fr_kv *kv) {
    kv->n_scratch = 0;
}

void fr_kv_keep_scratch(fr_kv *kv, int n) {
    assert(n >= 0 && n <= kv->n_scratch);
    kv->n_scratch = n;
    assert(fr_kv_is_sound(kv));
}

void fr_kv_truncate(fr_kv *kv, int n_committed) {
    assert(n_committed >= 0 && n_committed <= kv->n_committed);
    kv->n_committed = n_committed;
    kv->n_scratch = 0;
    assert(fr_kv_is_sound(kv));
}

void fr_kv_copy(fr_kv *kv, const fr_kv *from, int n) {
    assert(n >= 0 && n <= kv->n_ctx && n <= from->n_committed && kv->type == from->type);
    assert(kv->n_layer == from->n_layer && kv->n_kv == from->n_kv);
    assert(kv->head_dim == from->head_dim);
    const size_t blocks = ((size_t)n + FR_KV_BLOCK - 1) / FR_KV_BLOCK;
    const size_t k_bytes = blocks * fr_kv_block_bytes(kv->k_form, kv->head_dim);
    const size_t v_bytes = blocks * fr_kv_block_bytes(kv->v_form, kv->head_dim);
    for (size_t head = 0; head < (size_t)kv->n_layer * (size_t)kv->n_kv; head++) {
        memcpy(kv->k + head * kv->k_plane, from->k + head * from->k_plane, k_bytes);
        memcpy(kv->v + head * kv->v_plane, from->v + head * from->v_plane, v_bytes);
    }
    kv->n_committed = n;
    kv->n_scratch = 0;
    kv->stretched = from->stretched;
    assert(fr_kv_is_sound(kv));
}

void fr_kv_copy_more(fr_kv *kv, const fr_kv *from, int n) {
    assert(n <= kv->n_ctx && n <= from->n_committed && kv->type == from->type);
    assert(kv->n_layer == from->n_layer && kv->n_kv == from->n_kv);
    assert(kv->head_dim == from->head_dim && kv->stretched == from->stretched);
    for (; kv->n_committed < n; kv->n_committed++)
        move_slot(kv, from, kv->n_committed, kv->n_committed);
    kv->n_scratch = 0;
    assert(fr_kv_is_sound(kv));
}

void fr_kv_stretch(fr_kv *kv, bool stretched) {
    if (kv->stretched == stretched) return;
    fr_kv_truncate(kv, 0);
    kv->stretched = stretched;
}

bool fr_kv_is_sound(const fr_kv *kv) {
    if (kv->n_committed < 0 || kv->n_committed > kv->n_ctx) return false;
    if (kv->n_scratch < 0 || kv->n_scratch > kv->max_scratch) return false;
    if (kv->max_scratch > FR_MAX_SCRATCH) return false;
    for (int s = 0; s < kv->n_scratch; s++) {
        if (!(kv->ancestors[s][s / 64] >> s % 64 & 1) || kv->join[s] < 0) return false;
        for (int w = 0; w < FR_MAX_SCRATCH / 64; w++) {
            int top = s - 64 * w; // bits above the slot's own must be clear
            uint64_t above = top < 0 ? ~UINT64_C(0) : top >= 63 ? 0 : ~UINT64_C(0) << (top + 1);
            if (kv->ancestors[s][w] & above) return false;
        }
    }
    return true;
}

void fr_kv_read(const fr_kv *kv, int layer, int first, int n, float *k, float *v) {
    assert(kv->type == FR_KV_F16 && first >= 0 && first + n <= kv->n_ctx + kv->max_scratch);
    const size_t hd = (size_t)kv->head_dim, block = FR_KV_BLOCK * hd; // halves of one head
    for (int i = 0; i < n; i++)
        for (int head = 0; head < kv->n_kv; head++) {
            const size_t slot = (size_t)(first + i), lane = slot % FR_KV_BLOCK;
            const size_t at = slot / FR_KV_BLOCK * block;
            const uint16_t *from_k = (const uint16_t *)fr_kv_k(kv, layer, head) + at + lane;
            const uint16_t *from_v = (const uint16_t *)fr_kv_v(kv, layer, head) + at + lane * hd;
            for (size_t j = 0; j < hd; j++, k++, v++) {
                *k = fr_f16_to_f32(from_k[j * FR_KV_BLOCK]);
                *v = fr_f16_to_f32(from_v[j]);
            }
        }
}
