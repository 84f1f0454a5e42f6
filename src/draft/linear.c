#include "draft/linear.h"
#include "kern/pack.h"
#include <assert.h>

// ---------------------------------------------------------------- matrices

typedef struct pack_job {
    fr_matrix *w;
    uint8_t *panels;
    const void *rows;
} pack_job;

static void pack_share(void *arg, int t, int nt) {
    const pack_job *j = arg;
    int p0, p1;
    fr_pool_share(j->w->n_panels, t, nt, &p0, &p1);
    if (p0 < p1) fr_pack_panels(j->w->type, j->panels, j->rows, j->w->m, j->w->k, p0, p1);
}

fr_status fr_matrix_open(fr_matrix *w, fr_type type, const void *rows, int m, int k, fr_pool *pool,
                         const char *what, fr_error *err) {
    *w = (fr_matrix){.type = type,
                     .m = m,
                     .k = k,
                     .n_panels = (m + FR_PANEL - 1) / FR_PANEL,
                     .panel_bytes = fr_pack_panel_bytes(type, k)};
    pack_job job = {w, fr_alloc_array((size_t)w->n_panels, w->panel_bytes), rows};
    if (!job.panels)
        return fr_fail(err, FR_ENOMEM, "%s: cannot get memory for %d x %d weights", what, m, k);
    fr_pool_run(pool, pack_share, &job);
    w->panels = job.panels;
    return FR_OK;
}

void fr_matrix_close(fr_matrix *w) {
    fr_free((void *)(uintptr_t)w->panels);
    *w = (fr_matrix){0};
}

// ---------------------------------------------------------------- products

fr_status fr_linear_open(fr_linear *l, const fr_kern *kern, fr_pool *pool, int max_rows, int max_k,
                         fr_error *err) {
    *l = (fr_linear){.kern = kern, .pool = pool, .max_rows = max_rows, .max_k = max_k};
    for (int kind = FR_ACT_Q32; kind < FR_ACT_KINDS; kind++) {
        l->act[kind] = fr_alloc_zero(fr_act_bytes((fr_act_kind)kind, max_rows, max_k));
        if (l->act[kind]) continue;
        fr_linear_close(l);
        return fr_fail(err, FR_ENOMEM, "drafter: cannot get memory for %d rows of %d values",
                       max_rows, max_k);
    }
    return FR_OK;
}

void fr_linear_close(fr_linear *l) {
    for (int kind = FR_ACT_Q32; kind < FR_ACT_KINDS; kind++)
        fr_free(l->act[kind]);
    *l = (fr_linear){0};
}

typedef struct run_job {
    fr_linear *l;
    const fr_matrix *w;
    const float *x;
    float *y;
    int n, ldx, ldy;
} run_job;

enum { PIECE_BYTES = 32 << 10 }; // of weights that a thread takes at least

static void run_share(void *arg, int t, int nt) {
    const run_job *j = arg;
    const fr_matrix *w = j->w;
    const fr_act_kind kind = fr_act_kind_of(w->type);
    fr_pool *pool = j->l->pool;
    fr_act act;
    int b0, b1, p0, p1;
    fr_act_place(&act, kind, j->n, w->k, j->l->act[kind]);
    act.x = j->x;
    act.ldx = j->ldx;
    if (kind != FR_ACT_F32) {
        fr_pool_share(w->k / (kind == FR_ACT_Q256 ? 256 : 32), t, nt, &b0, &b1);
        j->l->kern->quantize(&act, j->x, j->ldx, b0, b1);
    }
    fr_pool_deal(pool, t, w->n_panels);
    fr_pool_barrier(pool);
    const int least = 1 + (int)((PIECE_BYTES - 1) / w->panel_bytes);
    while (fr_pool_take(pool, t, least, &p0, &p1))
        j->l->kern->matmul[w->type](j->y, j->ldy, &act, w, p0, p1);
}

void fr_linear_run(fr_linear *l, const fr_matrix *w, const float *x, int ldx, int n, float *y,
                   int ldy) {
    assert(n >= 1 && n <= l->max_rows && w->k <= l->max_k);
    fr_pool_run(l->pool, run_share, &(run_job){l, w, x, y, n, ldx, ldy});
}
