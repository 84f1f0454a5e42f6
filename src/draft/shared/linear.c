// linear.c — repacks a matrix into panels when it is opened. A product quantises its rows, then the
// threads multiply them with their shares of the panels.
#include "draft/shared/linear.h"
#include "kern/repack.h"
#include <assert.h>
#include <string.h>

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
    if (p0 < p1) fr_repack_panels(j->w->type, j->panels, j->rows, j->w->m, j->w->k, p0, p1);
}

fr_status fr_matrix_open(fr_matrix *w, fr_type type, const void *rows, int m, int k, fr_pool *pool,
                         const char *what, fr_error *err) {
    *w = (fr_matrix){.type = type,
                     .m = m,
                     .k = k,
                     .n_panels = (m + FR_PANEL - 1) / FR_PANEL,
                     .panel_bytes = fr_repack_panel_bytes(type, k)};
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
    for (int i = 0; i < FR_LINEAR_INPUTS * FR_ACT_KINDS; i++) {
        const fr_act_kind kind = (fr_act_kind)(i % FR_ACT_KINDS);
        if (kind == FR_ACT_F32) continue;
        void **act = &l->act[i / FR_ACT_KINDS][kind];
        if ((*act = fr_alloc_zero(fr_act_bytes(kind, max_rows, max_k)))) continue;
        fr_linear_close(l);
        return fr_fail(err, FR_ENOMEM, "drafter: cannot get memory for %d rows of %d values",
                       max_rows, max_k);
    }
    return FR_OK;
}

void fr_linear_close(fr_linear *l) {
    for (int i = 0; i < FR_LINEAR_INPUTS; i++)
        for (int kind = 0; kind < FR_ACT_KINDS; kind++)
            fr_free(l->act[i][kind]);
    *l = (fr_linear){0};
}

typedef struct run_job {
    fr_linear *l;
    const fr_linear_product *product;
    int n_products, n;
} run_job;

enum {
    PIECE_BYTES = 32 << 10, // of weights that a thread takes at least
    MOST = 16,              // products of one run
};

// The rows of all products as their weights want them; this thread's share of the blocks.
static void quantize(const run_job *j, fr_act act[MOST], int t, int nt) {
    int input = 0;
    bool have[FR_ACT_KINDS] = {false};
    for (int i = 0; i < j->n_products; i++) {
        const fr_linear_product *p = &j->product[i];
        const fr_act_kind kind = fr_act_kind_of(p->w->type);
        if (i && p->x != p[-1].x) {
            input++;
            memset(have, 0, sizeof have);
        }
        fr_act_place(&act[i], kind, j->n, p->w->k, j->l->act[input][kind]);
        act[i].x = p->x;
        act[i].ldx = p->ldx;
        if (kind == FR_ACT_F32 || have[kind]) continue;
        have[kind] = true;
        int b0, b1;
        fr_pool_share(p->w->k / (kind == FR_ACT_Q256 ? 256 : 32), t, nt, &b0, &b1);
        j->l->kern->quantize(&act[i], p->x, p->ldx, b0, b1);
    }
}

// Panels [p0, p1) of all products laid end to end.
static void multiply(const run_job *j, const fr_act act[MOST], int p0, int p1) {
    for (int i = 0; i < j->n_products && p1 > 0; i++) {
        const fr_linear_product *p = &j->product[i];
        const int all = p->w->n_panels, from = p0 > 0 ? p0 : 0, to = p1 < all ? p1 : all;
        if (from < to) j->l->kern->matmul[p->w->type](p->y, p->ldy, &act[i], p->w, from, to);
        p0 -= all;
        p1 -= all;
    }
}

static void run_share(void *arg, int t, int nt) {
    const run_job *j = arg;
    fr_pool *pool = j->l->pool;
    fr_act act[MOST];
    int p0, p1, panels = 0;
    size_t panel_bytes = 1;
    quantize(j, act, t, nt);
    for (int i = 0; i < j->n_products; i++) {
        const fr_matrix *w = j->product[i].w;
        panels += w->n_panels;
        if (w->panel_bytes > panel_bytes) panel_bytes = w->panel_bytes;
    }
    fr_pool_deal(pool, t, panels);
    fr_pool_barrier(pool);
    const int least = 1 + (int)((PIECE_BYTES - 1) / panel_bytes);
    while (fr_pool_take(pool, t, least, &p0, &p1))
        multiply(j, act, p0, p1);
}

void fr_linear_run(fr_linear *l, const fr_linear_product *products, int n_products, int n) {
    assert(n >= 1 && n <= l->max_rows && n_products >= 1 && n_products <= MOST);
    for (int i = 0; i < n_products; i++)
        assert(products[i].w->k <= l->max_k);
    fr_pool_run(l->pool, run_share, &(run_job){l, products, n_products, n});
}
