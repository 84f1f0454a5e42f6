// bind.c — vectors, matrices and stacks of them. In the first run b->bytes and its like add up; in
// the second they are places.
#include "model/bind.h"
#include "kern/dequant.h"
#include "kern/repack.h"

static const fr_gguf_tensor *find(fr_binder *b, const char *name, bool required) {
    const fr_gguf_tensor *t = fr_gguf_tensor_find(b->m->gguf, name);
    if (!t && required)
        b->status = fr_fail(b->err, FR_EDATA, "%s: expected a tensor, found none", name);
    if (t) b->bound[t - fr_gguf_tensor_at(b->m->gguf, 0)] = true;
    return t;
}

static const float *take_floats(fr_binder *b, const fr_gguf_tensor *t, int m, int n) {
    const size_t count = (size_t)m * (size_t)n;
    if (!b->fill) {
        b->bytes += FR_ARENA_ROUND(count * sizeof(float));
        b->total += t->bytes;
        return NULL;
    }
    b->done += t->bytes;
    float *v = fr_arena_take(&b->m->arena, count * sizeof(float));
    for (int i = 0; i < n; i++)
        fr_dequant_row(
            t->type, (const uint8_t *)t->data + (size_t)fr_qtype_row_bytes(t->type, m) * (size_t)i,
            v + (size_t)m * (size_t)i, m);
    return v;
}

const float *fr_bind_vector(fr_binder *b, const char *name, int n, bool required) {
    if (b->status) return NULL;
    const fr_gguf_tensor *t = find(b, name, required);
    if (!t) return NULL;
    if (t->n_dims != 1 || t->ne[0] != n) {
        b->status = fr_fail(b->err, FR_EDATA, "%s: expected [%d], found %d dimensions, [%lld,%lld]",
                            name, n, t->n_dims, (long long)t->ne[0], (long long)t->ne[1]);
        return NULL;
    }
    return take_floats(b, t, n, 1);
}

const float *fr_bind_table(fr_binder *b, const char *name, int m, int n, bool required) {
    if (b->status) return NULL;
    const fr_gguf_tensor *t = find(b, name, required);
    if (!t) return NULL;
    if (t->n_dims != 2 || t->ne[0] != m || t->ne[1] != n) {
        b->status =
            fr_fail(b->err, FR_EDATA, "%s: expected [%d,%d], found %d dimensions, [%lld,%lld]",
                    name, m, n, t->n_dims, (long long)t->ne[0], (long long)t->ne[1]);
        return NULL;
    }
    return take_floats(b, t, m, n);
}

static fr_matrix shape_of(fr_type type, int m, int k) {
    return (fr_matrix){.type = type,
                       .m = m,
                       .k = k,
                       .n_panels = (m + FR_PANEL - 1) / FR_PANEL,
                       .panel_bytes = fr_repack_panel_bytes(type, k)};
}

// Room for the panels of a matrix whose rows begin `begin` bytes into its tensor; w is of its shape.
static void place_panels(fr_binder *b, const fr_matrix *w, const fr_matrix *bound,
                         const fr_gguf_tensor *t, size_t begin) {
    const size_t bytes = bound->panel_bytes * (size_t)bound->n_panels;
    if (!b->fill) {
        if (b->weights == FR_WEIGHTS_PACKED) b->packed_bytes += FR_ARENA_ROUND(bytes);
        if (bound->panel_bytes > b->panel_bytes) b->panel_bytes = bound->panel_bytes;
        b->total += (uint64_t)fr_qtype_row_bytes(bound->type, bound->k) * (uint64_t)bound->m;
        b->n_matrices++;
        return;
    }
    b->m->weights_bytes += bytes;
    if (b->weights == FR_WEIGHTS_IN_PLACE) return;
    b->matrices[b->n_matrices++] = (fr_repack){t, begin, w, b->panels};
    b->panels += FR_ARENA_ROUND(bytes);
}

// The matrix itself, in the second run: its panels are the next ones.
static void set_matrix(const fr_binder *b, fr_matrix *w, const fr_matrix *bound,
                       const fr_gguf_tensor *t, size_t begin) {
    *w = *bound;
    if (b->weights == FR_WEIGHTS_IN_PLACE)
        w->rows = (const uint8_t *)t->data + begin;
    else
        w->panels = b->panels;
}

// What a row reads of n matrices of this shape.
static void count_row(fr_binder *b, const fr_matrix *w, int n) {
    b->m->row_bytes += (uint64_t)n * w->panel_bytes * (uint64_t)w->n_panels;
    b->m->macs_per_row += (uint64_t)n * (uint64_t)w->m * (uint64_t)w->k;
}

static void place_matrix(fr_binder *b, fr_matrix *w, const fr_matrix *bound,
                         const fr_gguf_tensor *t, size_t begin) {
    if (b->fill) {
        set_matrix(b, w, bound, t, begin);
        count_row(b, w, 1);
    }
    place_panels(b, w, bound, t, begin);
}

void fr_bind_rows(fr_binder *b, fr_matrix *w, const char *name, int first, int m, int rows_total,
                  int k) {
    if (b->status) return;
    const fr_gguf_tensor *t = find(b, name, true);
    if (!t) return;
    if (t->n_dims != 2 || t->ne[0] != k || t->ne[1] != rows_total) {
        b->status =
            fr_fail(b->err, FR_EDATA, "%s: expected [%d,%d], found %d dimensions, [%lld,%lld]",
                    name, k, rows_total, t->n_dims, (long long)t->ne[0], (long long)t->ne[1]);
        return;
    }
    const fr_matrix bound = shape_of(t->type, m, k);
    const size_t begin = (size_t)fr_qtype_row_bytes(t->type, k) * (size_t)first;
    place_matrix(b, w, &bound, t, begin);
}

void fr_bind_matrix(fr_binder *b, fr_matrix *w, const char *name, int m, int k) {
    fr_bind_rows(b, w, name, 0, m, m, k);
}

void fr_bind_row(fr_binder *b, fr_matrix *w, const char *name, int k) {
    if (b->status) return;
    const fr_gguf_tensor *t = find(b, name, true);
    if (!t) return;
    if (t->ne[0] != k || t->n_dims > 2 || (t->n_dims == 2 && t->ne[1] != 1)) {
        b->status = fr_fail(b->err, FR_EDATA, "%s: expected [%d], found %d dimensions, [%lld,%lld]",
                            name, k, t->n_dims, (long long)t->ne[0], (long long)t->ne[1]);
        return;
    }
    const fr_matrix bound = shape_of(t->type, 1, k);
    place_matrix(b, w, &bound, t, 0);
}

void fr_bind_stack(fr_binder *b, fr_stack *s, const char *name, fr_bind_experts e) {
    if (b->status) return;
    const fr_gguf_tensor *t = find(b, name, true);
    if (!t) return;
    if (t->n_dims != 3 || t->ne[0] != e.k || t->ne[1] != e.rows_total || t->ne[2] != e.n) {
        b->status = fr_fail(b->err, FR_EDATA,
                            "%s: expected [%d,%d,%d], found %d dimensions, [%lld,%lld,%lld]", name,
                            e.k, e.rows_total, e.n, t->n_dims, (long long)t->ne[0],
                            (long long)t->ne[1], (long long)t->ne[2]);
        return;
    }
    const size_t row = (size_t)fr_qtype_row_bytes(t->type, e.k);
    const size_t begin = row * (size_t)e.first, source = row * (size_t)e.rows_total;
    const fr_matrix bound = shape_of(t->type, e.m, e.k);
    const size_t bytes = bound.panel_bytes * (size_t)bound.n_panels;
    if (b->fill) {
        set_matrix(b, &s->first, &bound, t, begin);
        s->stride = b->weights == FR_WEIGHTS_IN_PLACE ? source : FR_ARENA_ROUND(bytes);
        count_row(b, &s->first, e.used);
        b->m->expert_bytes += (uint64_t)e.used * bytes;
    }
    for (int i = 0; i < e.n; i++)
        place_panels(b, &s->first, &bound, t, begin + source * (size_t)i);
}
