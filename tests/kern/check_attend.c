// check_attend.c — attention over random trees: every instruction set against ref/, bit for bit,
// and each row against plain decoding, where its ancestors were committed one after another.
#include "check.h"
#include "kern/half.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_Q = FR_ATTEND_ROWS, GAP = 3 }; // GAP: floats between two outputs, which nobody may touch

typedef struct tree {
    fr_kv_form k_form, v_form;
    int committed, scratch, head_dim, n_q;
    int parent[FR_MAX_SCRATCH]; // -1: hangs under the committed context
    int32_t pos[FR_MAX_SCRATCH];
    int node[MAX_Q]; // the scratch slot that a query row belongs to; -1: none, sees only the
                     // context
    fr_view view[MAX_Q];
    const float *q[MAX_Q];
    const fr_view *views[MAX_Q];
    uint8_t *k, *v;
    float *work;
    float scale, cap, sinks[MAX_Q];
    bool sinks_count;
} tree;

static size_t plane_bytes(const tree *t, fr_kv_form form) {
    const int slots = t->committed + t->scratch;
    return (size_t)((slots + FR_KV_BLOCK - 1) / FR_KV_BLOCK) * fr_kv_block_bytes(form, t->head_dim);
}

static void make_shape(check *c, tree *t) {
    static const int dims[] = {64, 64, 80, 96, 128, 256, 4, 8, 12, 20, 24, 60, 100};
    static const int wide[] = {32, 64, 64, 96, 128, 160, 256}; // multiples of 32
    static const float caps[] = {50, 20, 5, 0.5f, 1e-20f, 1e30f};
    static const int contexts[] = {0, 1, 15, 16, 17, 31, 32, 33, 128};
    t->k_form = (fr_kv_form)check_below(c, FR_KV_FORMS);
    t->v_form = (fr_kv_form)check_below(c, FR_KV_FORMS);
    const bool any = t->k_form == FR_FORM_F16 && t->v_form == FR_FORM_F16;
    t->head_dim = any ? dims[check_below(c, sizeof dims / sizeof *dims)]
                      : wide[check_below(c, sizeof wide / sizeof *wide)];
    t->committed = check_below(c, 3) ? check_below(c, 90) : contexts[check_below(c, 9)];
    if (!check_below(c, 12)) t->committed += 500;
    t->scratch = check_below(c, 4) ? check_below(c, 40) : check_below(c, FR_MAX_SCRATCH + 1);
    if (!check_below(c, 10)) t->scratch = 0;
    if (t->committed + t->scratch == 0) t->committed = 1;
    t->n_q = 1 + check_below(c, check_below(c, 2) ? 8 : MAX_Q);
    t->scale = check_uniform(c, 0.05f, 0.3f);
    t->sinks_count = check_below(c, 3) == 0;
    for (int r = 0; r < t->n_q; r++) // some above all scores, some that count for nothing
        t->sinks[r] = check_uniform(c, -4, 4) * (check_below(c, 6) ? 1 : 40);
    t->cap = check_below(c, 2) ? 0.0f : caps[check_below(c, sizeof caps / sizeof *caps)];
}

static void make_parents(check *c, tree *t) {
    const int kind = check_below(c, 3); // bushy, near a chain, a chain
    for (int i = 0; i < t->scratch; i++) {
        const int back = kind == 0 ? i + 1 : kind == 1 ? 3 : 1;
        t->parent[i] = i - 1 - check_below(c, back < i + 1 ? back : i + 1);
        t->pos[i] = t->parent[i] < 0 ? t->committed : t->pos[t->parent[i]] + 1;
    }
}

// A row belongs to a node and sees it, its ancestors and the context inside a window.
static void make_rows(check *c, tree *t, const float *q) {
    const int fixed =
        check_below(c, 2) ? 0 : check_below(c, t->committed + 1); // first of most rows
    for (int r = 0; r < t->n_q; r++) {
        t->node[r] =
            t->scratch && (!t->committed || check_below(c, 8)) ? check_below(c, t->scratch) : -1;
        t->view[r] =
            (fr_view){.first = check_below(c, 4) ? fixed : check_below(c, t->committed + 1)};
        if (t->node[r] < 0 && t->view[r].first == t->committed) t->view[r].first--;
        for (int i = t->node[r]; i >= 0; i = t->parent[i])
            t->view[r].scratch[i / 64] |= UINT64_C(1) << (i % 64);
        t->q[r] = q + r * t->head_dim;
        t->views[r] = &t->view[r];
    }
}

static float *random_floats(check *c, int n, float size) {
    float *x = check_buffer((size_t)n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = check_uniform(c, -size, size);
    return x;
}

static void make_cache(check *c, tree *t) {
    const int slots = t->committed + t->scratch;
    t->k = check_buffer(plane_bytes(t, t->k_form)); // unused lanes stay NaN
    t->v = check_buffer(plane_bytes(t, t->v_form));
    t->work = check_buffer(fr_attend_work_floats(slots, t->head_dim) * sizeof(float));
    float *key = random_floats(c, t->head_dim, 1), *value = random_floats(c, t->head_dim, 1);
    for (int s = 0; s < slots; s++) {
        const float size = check_below(c, 10) ? 1.5f : 12.0f; // some weights underflow
        for (int d = 0; d < t->head_dim; d++) {
            key[d] = check_uniform(c, -size, size);
            value[d] = check_uniform(c, -2, 2);
        }
        c->ref->store_k[t->k_form](t->k, s, t->head_dim, key);
        c->ref->store_v[t->v_form](t->v, s, t->head_dim, value);
    }
}

static float *attend(const fr_kern *kern, const tree *t, bool *gaps_intact) {
    const int stride = t->head_dim + GAP;
    const size_t floats = (size_t)(t->n_q * stride - GAP);
    float *out = check_buffer(floats * sizeof *out), *o[MAX_Q], poison;
    for (int r = 0; r < t->n_q; r++)
        o[r] = out + r * stride;
    kern->attend(&(fr_attend){.n_q = t->n_q,
                              .head_dim = t->head_dim,
                              .q = t->q,
                              .o = o,
                              .view = t->views,
                              .k = t->k,
                              .v = t->v,
                              .k_form = t->k_form,
                              .v_form = t->v_form,
                              .committed = t->committed,
                              .scratch = t->scratch,
                              .pos = t->pos,
                              .scale = t->scale,
                              .cap = t->cap,
                              .sink = t->sinks_count ? t->sinks : NULL,
                              .work = t->work});
    memset(&poison, CHECK_POISON, sizeof poison);
    for (int r = 0; r + 1 < t->n_q; r++)
        for (int i = 0; i < GAP; i++)
            if (memcmp(o[r] + t->head_dim + i, &poison, sizeof poison)) *gaps_intact = false;
    return out;
}

// Bytes of one slot, as committing moves them: `unit` of them lie together, then come those of the
// next slot. `to` and `from` are parts of blocks.
static void move_lane(uint8_t *to, int j, const uint8_t *from, int i, int bytes, int unit) {
    for (int at = 0; at < bytes; at += unit)
        memcpy(to + at * FR_KV_BLOCK + j * unit, from + at * FR_KV_BLOCK + i * unit, (size_t)unit);
}

static void move_slot(const tree *plain, int to, const tree *t, int from) {
    const int b = FR_KV_BLOCK, d = t->head_dim, i = from % b, j = to % b;
    const size_t k_block = fr_kv_block_bytes(t->k_form, d),
                 v_block = fr_kv_block_bytes(t->v_form, d);
    uint8_t *k = plain->k + (size_t)(to / b) * k_block, *v = plain->v + (size_t)(to / b) * v_block;
    const uint8_t *k0 = t->k + (size_t)(from / b) * k_block;
    const uint8_t *v0 = t->v + (size_t)(from / b) * v_block;
    if (t->k_form == FR_FORM_F16) {
        move_lane(k, j, k0, i, 2 * d, 2);
    } else {
        move_lane(k, j, k0, i, d, 4);
        move_lane(k + b * d, j, k0 + b * d, i, d / 16, 2);
    }
    if (t->v_form == FR_FORM_F16) {
        move_lane(v, j, v0, i, 2 * d, 2 * d);
    } else {
        move_lane(v, j, v0, i, d, d);
        move_lane(v + b * d, j, v0 + b * d, i, d / 16, d / 16);
    }
}

// Row r alone in a plain cache that holds its path and nothing else.
static bool equals_plain_decoding(const fr_kern *kern, const tree *t, int r,
                                  const float *expected) {
    int path[FR_MAX_SCRATCH], depth = 0;
    for (int i = t->node[r]; i >= 0; i = t->parent[i])
        path[depth++] = i;
    tree plain = {.k_form = t->k_form,
                  .v_form = t->v_form,
                  .committed = t->committed + depth,
                  .head_dim = t->head_dim,
                  .n_q = 1,
                  .scale = t->scale,
                  .cap = t->cap,
                  .sinks = {t->sinks[r]},
                  .sinks_count = t->sinks_count};
    plain.k = check_buffer(plane_bytes(&plain, t->k_form));
    plain.v = check_buffer(plane_bytes(&plain, t->v_form));
    plain.work = check_buffer(fr_attend_work_floats(plain.committed, t->head_dim) * sizeof(float));
    plain.view[0].first = t->view[r].first;
    plain.views[0] = &plain.view[0];
    plain.q[0] = t->q[r];
    for (int s = 0; s < plain.committed; s++) {
        const int i = s - t->committed;
        move_slot(&plain, s, t, i < 0 ? s : t->committed + path[depth - 1 - i]);
    }
    bool intact = true;
    const float *found = attend(kern, &plain, &intact);
    return intact && !memcmp(expected, found, (size_t)t->head_dim * sizeof(float));
}

// Values that f16 and q8_0 both hold exactly: 2^-8 times whole numbers up to 127, which every group
// reaches. What V is kept as then changes nothing, whatever K is kept as.
static void forms_of_v_agree(check *c, tree *t, int number) {
    if (t->head_dim % 32) return;
    const int slots = t->committed + t->scratch;
    uint8_t *v[FR_KV_FORMS];
    for (int form = 0; form < FR_KV_FORMS; form++)
        v[form] = check_buffer(plane_bytes(t, (fr_kv_form)form));
    float *value = random_floats(c, t->head_dim, 1);
    for (int s = 0; s < slots; s++) {
        for (int d = 0; d < t->head_dim; d++)
            value[d] = 0x1p-8f * (float)(d % 32 ? check_below(c, 255) - 127 : 127);
        for (int form = 0; form < FR_KV_FORMS; form++)
            c->kern->store_v[form](v[form], s, t->head_dim, value);
    }
    const float *o[FR_KV_FORMS];
    bool intact = true;
    for (int form = 0; form < FR_KV_FORMS; form++) {
        tree other = *t;
        other.v = v[form], other.v_form = (fr_kv_form)form;
        o[form] = attend(c->kern, &other, &intact);
    }
    const size_t bytes = (size_t)(t->n_q * (t->head_dim + GAP) - GAP) * sizeof(float);
    check_case(c, intact && !memcmp(o[FR_FORM_F16], o[FR_FORM_Q8_0], bytes),
               "attend tree %d: values as f16 and as q8_0 differ, head_dim %d rows %d", number,
               t->head_dim, t->n_q);
}

static bool sees(const tree *t, int r, int slot) {
    const int i = slot - t->committed;
    return i < 0 ? slot >= t->view[r].first : t->view[r].scratch[i / 64] >> (i % 64) & 1;
}

// Slots whose K and V were not finite, as the pass stores them (layer.c): a NaN in K, zeros in V.
// At most four, of those that row r does not see; how many.
static int break_slots(check *c, tree *t, int r, int slot[4]) {
    float *key = random_floats(c, t->head_dim, 1), *value = random_floats(c, t->head_dim, 1);
    key[0] = NAN;
    memset(value, 0, (size_t)t->head_dim * sizeof *value);
    int n = 0;
    for (int tries = 0; tries < 40 && n < 4; tries++) {
        const int s = check_below(c, t->committed + t->scratch);
        if (sees(t, r, s)) continue;
        c->ref->store_k[t->k_form](t->k, s, t->head_dim, key);
        c->ref->store_v[t->v_form](t->v, s, t->head_dim, value);
        slot[n++] = s;
    }
    return n;
}

// Broken slots change nothing for the rows that do not see them (`before`: what these gave when
// nothing was broken), and leave no number to those that do.
static void broken_slots_spoil_whoever_sees_them(check *c, tree *t, const float *before,
                                                 int number) {
    int slot[4];
    const int broken = break_slots(c, t, check_below(c, t->n_q), slot);
    const size_t bytes = (size_t)t->head_dim * sizeof(float);
    bool intact = true;
    const float *found = broken ? attend(c->kern, t, &intact) : before;
    for (int r = 0; r < t->n_q && broken; r++) {
        bool spoilt = false, ok = intact;
        for (int i = 0; i < broken; i++)
            spoilt |= sees(t, r, slot[i]);
        const float *o = found + r * (t->head_dim + GAP), *o0 = before + r * (t->head_dim + GAP);
        if (!spoilt) ok &= !memcmp(o, o0, bytes);
        for (int d = 0; d < t->head_dim && spoilt; d++)
            ok &= isnan(o[d]);
        check_case(c, ok, "attend tree %d row %d: %d broken slots, which it %s: forms %d %d",
                   number, r, broken, spoilt ? "sees" : "does not see", t->k_form, t->v_form);
    }
}

static void one_tree(check *c, tree *t, int number) {
    make_shape(c, t);
    make_parents(c, t);
    make_rows(c, t, random_floats(c, MAX_Q * t->head_dim, 1));
    make_cache(c, t);
    bool intact = true;
    const float *expected = attend(c->ref, t, &intact), *found = attend(c->kern, t, &intact);
    const int stride = t->head_dim + GAP;
    const size_t bytes = (size_t)(t->n_q * stride - GAP) * sizeof(float);
    bool finite = true;
    for (int r = 0; r < t->n_q; r++)
        for (int d = 0; d < t->head_dim; d++)
            if (!(found[r * stride + d] > -3 && found[r * stride + d] < 3))
                finite = false; // of V's size
    check_case(
        c, intact && finite && !memcmp(expected, found, bytes) && check_fronts_intact(),
        "attend tree %d: forms %d %d committed %d scratch %d head_dim %d rows %d cap %g sinks %d",
        number, t->k_form, t->v_form, t->committed, t->scratch, t->head_dim, t->n_q, (double)t->cap,
        t->sinks_count);
    for (int i = 0; i < 3; i++) {
        const int r = check_below(c, t->n_q);
        check_case(c, equals_plain_decoding(c->kern, t, r, found + r * stride),
                   "attend tree %d row %d (node %d) differs from plain decoding", number, r,
                   t->node[r]);
    }
    forms_of_v_agree(c, t, number);
    broken_slots_spoil_whoever_sees_them(c, t, found, number);
    check_release();
}

void check_attend(check *c) {
    tree *t = malloc(sizeof *t);
    for (int i = 0; t && i < (c->quick ? 80 : 1000); i++)
        one_tree(c, t, i);
    check_case(c, t != NULL, "attend: no memory");
    free(t);
}
