#include "train/math/linear_fit.h"
#include "base/alloc.h"

// A piece of rows; w; xx and yx, which becomes the residual; the direction p and its image q; the
// diagonal's inverse; a double an output.
static size_t floats(int k, int m) {
    return (size_t)FR_LINEAR_FIT_ROWS * ((size_t)k + (size_t)m) + (size_t)k * (size_t)k +
           4 * (size_t)m * (size_t)k + 2 * ((size_t)k + (size_t)m + 1);
}

size_t fr_linear_fit_bytes(int k, int m) {
    return floats(k, m) * sizeof(float);
}

fr_status fr_linear_fit_open(fr_linear_fit *f, int k, int m, int threads, fr_error *err) {
    *f = (fr_linear_fit){.k = k, .m = m};
    f->block = fr_alloc_zero(fr_linear_fit_bytes(k, m));
    if (!f->block) return fr_fail(err, FR_ENOMEM, "train: no memory for a map of %d x %d", m, k);
    f->numbers = f->block; // first: it holds doubles
    f->x = f->numbers + 2 * ((size_t)k + (size_t)m + 1);
    f->y = f->x + (size_t)FR_LINEAR_FIT_ROWS * (size_t)k;
    f->w = f->y + (size_t)FR_LINEAR_FIT_ROWS * (size_t)m;
    f->xx = f->w + (size_t)m * (size_t)k;
    f->yx = f->xx + (size_t)k * (size_t)k;
    return fr_gemm_open(&f->gemm, threads, FR_GEMM_F32, err);
}

void fr_linear_fit_close(fr_linear_fit *f) {
    fr_gemm_close(f->gemm);
    fr_free(f->block);
    *f = (fr_linear_fit){0};
}

void fr_linear_fit_add(fr_linear_fit *f, int n) {
    fr_gemm_weight(f->gemm, f->xx, f->x, f->k, f->x, f->k, n, f->k, f->k, true);
    fr_gemm_weight(f->gemm, f->yx, f->y, f->m, f->x, f->k, n, f->m, f->k, true);
}

// ---------------------------------------------------------------- conjugate gradients
static double dot(const float *a, const float *b, const float *inverse, int n) {
    double sum = 0;
    for (int j = 0; j < n; j++)
        sum += (double)a[j] * (double)b[j] * (inverse ? (double)inverse[j] : 1);
    return sum;
}

// One step of one output: w and r along p, then the next p; `now` is r D⁻¹ r. Returns the next one.
static double advance(float *w, float *r, float *p, const float *q, const float *inverse, int k,
                      double now) {
    const double bend = dot(p, q, NULL, k);
    const float by = bend > 0 ? (float)(now / bend) : 0;
    for (int j = 0; j < k; j++) {
        w[j] += by * p[j];
        r[j] -= by * q[j];
    }
    const double next = dot(r, r, inverse, k);
    const float keep = now > 0 ? (float)(next / now) : 0;
    for (int j = 0; j < k; j++)
        p[j] = inverse[j] * r[j] + keep * p[j];
    return next;
}

// Adds the ridge to the diagonal; the inverse of what stands there then.
static void weigh_diagonal(fr_linear_fit *f, float *inverse, float ridge) {
    for (int j = 0; j < f->k; j++) {
        float *at = f->xx + (size_t)j * (size_t)f->k + j;
        *at *= 1 + ridge;
        inverse[j] = *at > 0 ? 1 / *at : 0;
    }
}

bool fr_linear_fit_solve(fr_linear_fit *f, float ridge, int steps, const fr_watch *watch) {
    const size_t k = (size_t)f->k, size = (size_t)f->m * k;
    float *const r = f->yx, *const p = r + size, *const q = p + size;
    double *const now = (double *)(void *)f->numbers;
    float *const inverse = f->numbers + 2 * (size_t)f->m;
    weigh_diagonal(f, inverse, ridge);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < f->m; i++) {
        float *ri = r + (size_t)i * k, *pi = p + (size_t)i * k;
        for (size_t j = 0; j < k; j++)
            pi[j] = inverse[j] * ri[j];
        now[i] = dot(ri, ri, inverse, f->k);
    }
    for (int s = 0; s < steps; s++) {
        if (!fr_go_on(watch)) return false;
        fr_gemm_forward(f->gemm, q, f->k, p, f->k, f->xx, f->m, f->k, f->k, false);
#pragma omp parallel for schedule(static)
        for (int i = 0; i < f->m; i++) {
            const size_t at = (size_t)i * k;
            now[i] = advance(f->w + at, r + at, p + at, q + at, inverse, f->k, now[i]);
        }
    }
    return true;
}
