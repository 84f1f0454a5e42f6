#include "lab/train/gauss.h"
#include "base/alloc.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static const double NOISE = 1e-3; // variance of a value beside what points explain
static const double PI = 3.14159265358979323846;

fr_status fr_gauss_open(fr_gauss *g, int d, int most, fr_error *err) {
    *g = (fr_gauss){.d = d, .most = most};
    const size_t n = (size_t)most;
    g->x = fr_alloc_array(n * (size_t)d, sizeof *g->x);
    g->y = fr_alloc_array(n, sizeof *g->y);
    g->chol = fr_alloc_array(n * n, sizeof *g->chol);
    g->alpha = fr_alloc_array(n, sizeof *g->alpha);
    g->column = fr_alloc_array(n, sizeof *g->column);
    if (g->x && g->y && g->chol && g->alpha && g->column) return FR_OK;
    fr_gauss_close(g);
    return fr_fail(err, FR_ENOMEM, "search: no memory for %d points", most);
}

void fr_gauss_close(fr_gauss *g) {
    double *const owned[] = {g->x, g->y, g->chol, g->alpha, g->column};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        fr_free(owned[i]);
    *g = (fr_gauss){0};
}

void fr_gauss_add(fr_gauss *g, const double *x, double y) {
    assert(g->n < g->most);
    memcpy(g->x + (size_t)g->n * (size_t)g->d, x, sizeof *x * (size_t)g->d);
    g->y[g->n++] = y;
}

static double covariance(const fr_gauss *g, const double *a, const double *b, double length) {
    double sum = 0;
    for (int i = 0; i < g->d; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return exp(-sum / (2 * length * length));
}

static const double *point(const fr_gauss *g, int i) {
    return g->x + (size_t)i * (size_t)g->d;
}

// Solves L z = b in place.
static void solve_lower(const fr_gauss *g, double *b) {
    for (int i = 0; i < g->n; i++) {
        const double *row = g->chol + (size_t)i * (size_t)g->most;
        for (int k = 0; k < i; k++)
            b[i] -= row[k] * b[k];
        b[i] /= row[i];
    }
}

// The Cholesky factor for one length, alpha by it, and how likely the values are (log, but for a
// constant).
static double factor(fr_gauss *g, double length) {
    double likelihood = 0;
    for (int i = 0; i < g->n; i++) {
        double *row = g->chol + (size_t)i * (size_t)g->most;
        for (int j = 0; j <= i; j++) {
            const double *other = g->chol + (size_t)j * (size_t)g->most;
            double sum = covariance(g, point(g, i), point(g, j), length) + (i == j ? NOISE : 0);
            for (int k = 0; k < j; k++)
                sum -= row[k] * other[k];
            row[j] = i == j ? sqrt(sum > 1e-12 ? sum : 1e-12) : sum / other[j];
        }
        likelihood -= log(row[i]);
        g->alpha[i] = (g->y[i] - g->mean) / g->spread;
    }
    solve_lower(g, g->alpha);
    for (int i = 0; i < g->n; i++)
        likelihood -= 0.5 * g->alpha[i] * g->alpha[i];
    for (int i = g->n - 1; i >= 0; i--) {
        for (int k = i + 1; k < g->n; k++)
            g->alpha[i] -= g->chol[(size_t)k * (size_t)g->most + (size_t)i] * g->alpha[k];
        g->alpha[i] /= g->chol[(size_t)i * (size_t)g->most + (size_t)i];
    }
    g->length = length;
    return likelihood;
}

void fr_gauss_fit(fr_gauss *g) {
    static const double lengths[] = {0.25, 0.5, 1, 2, 4}; // of the root of d
    double sum = 0, squares = 0, best = 0, likeliest = -INFINITY;
    g->best = -INFINITY;
    for (int i = 0; i < g->n; i++) {
        sum += g->y[i];
        squares += g->y[i] * g->y[i];
        if (g->y[i] > g->best) g->best = g->y[i];
    }
    g->mean = sum / g->n;
    const double variance = squares / g->n - g->mean * g->mean;
    g->spread = variance > 1e-18 ? sqrt(variance) : 1;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const double length = lengths[i] * sqrt(g->d), likelihood = factor(g, length);
        if (likelihood <= likeliest) continue;
        likeliest = likelihood;
        best = length;
    }
    factor(g, best);
}

void fr_gauss_predict(const fr_gauss *g, const double *x, double *mean, double *deviation) {
    double sum = 0, left = 1 + NOISE;
    for (int i = 0; i < g->n; i++) {
        g->column[i] = covariance(g, x, point(g, i), g->length);
        sum += g->column[i] * g->alpha[i];
    }
    solve_lower(g, g->column);
    for (int i = 0; i < g->n; i++)
        left -= g->column[i] * g->column[i];
    *mean = g->mean + g->spread * sum;
    *deviation = g->spread * sqrt(left > 0 ? left : 0);
}

double fr_gauss_improvement(const fr_gauss *g, const double *x) {
    double mean, deviation;
    fr_gauss_predict(g, x, &mean, &deviation);
    if (!(deviation > 0)) return 0;
    const double z = (mean - g->best) / deviation;
    return (mean - g->best) * 0.5 * erfc(-z / sqrt(2)) +
           deviation * exp(-0.5 * z * z) / sqrt(2 * PI);
}
