// act.c — the memory of quantised activations.
#include "kern/kern.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

fr_act_kind fr_act_kind_of(fr_type weight) {
    const fr_qtype *t = fr_qtype_of((uint32_t)weight);
    assert(t);
    return t->act;
}

// Where each array begins; the same walk gives the sum.
typedef struct layout {
    size_t d, s, ds, s16, s32, total;
} layout;

int fr_act_block(fr_act_kind kind) {
    return kind == FR_ACT_Q256 ? 256 : 32;
}

static size_t round64(size_t bytes) {
    return (bytes + 63) & ~(size_t)63;
}

static layout lay_out(fr_act_kind kind, int n, int k) {
    layout l = {0};
    if (kind == FR_ACT_F32 || n <= 0 || k <= 0) return l;
    const size_t block = (size_t)fr_act_block(kind);
    const size_t cells = ((size_t)k + block - 1) / block * (size_t)n; // (k-block, row) pairs
    l.d = round64(cells * block);
    if (kind == FR_ACT_Q32) {
        l.s = l.d + round64(cells * sizeof(float));
        l.ds = l.s + round64(cells * sizeof(int32_t));
        l.total = l.ds + round64(cells * sizeof(float));
    } else {
        l.s16 = l.d + round64(cells * 2 * sizeof(float));
        l.s32 = l.s16 + round64(cells * 16 * sizeof(int16_t));
        l.total = l.s32 + round64(cells * 8 * sizeof(int16_t));
    }
    return l;
}

size_t fr_act_bytes(fr_act_kind kind, int n, int k) {
    return lay_out(kind, n, k).total;
}

void fr_act_place(fr_act *a, fr_act_kind kind, int n, int k, void *memory) {
    const layout l = lay_out(kind, n, k);
    uint8_t *base = memory;
    *a = (fr_act){.kind = kind, .n = n, .k = k};
    if (kind == FR_ACT_F32) return;
    a->q = (int8_t *)base;
    a->d = (float *)(base + l.d);
    if (kind == FR_ACT_Q32) {
        a->s = (int32_t *)(base + l.s);
        a->ds = (float *)(base + l.ds);
    } else {
        a->s16 = (int16_t *)(base + l.s16);
        a->s32 = (int16_t *)(base + l.s32);
    }
}

// One cell of `size` values, of the k-block b.
#define COPY_CELL(member, size)                                                                    \
    memcpy(to->member + (b * (size_t)to->n + (size_t)at) * (size),                                 \
           from->member + (b * (size_t)from->n + (size_t)row) * (size),                            \
           (size) * sizeof *to->member)

void fr_act_copy_row(const fr_act *to, int at, const fr_act *from, int row) {
    const size_t block = (size_t)fr_act_block(to->kind),
                 cells = ((size_t)to->k + block - 1) / block;
    assert(to->kind == from->kind && to->k == from->k && to->kind != FR_ACT_F32);
    assert(at >= 0 && at < to->n && row >= 0 && row < from->n);
    for (size_t b = 0; b < cells; b++) {
        COPY_CELL(q, block);
        if (to->kind == FR_ACT_Q32) {
            COPY_CELL(d, 1);
            COPY_CELL(s, 1);
            COPY_CELL(ds, 1);
        } else {
            COPY_CELL(d, 2);
            COPY_CELL(s16, 16);
            COPY_CELL(s32, 8);
        }
    }
}
