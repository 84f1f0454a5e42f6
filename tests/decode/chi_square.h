// chi_square.h — whether counts follow a distribution.
#ifndef FR_TESTS_DECODE_CHI_SQUARE_H
#define FR_TESTS_DECODE_CHI_SQUARE_H
#include <math.h>

// Pearson's statistic over `cells` cells; *df: one less than the cells that can be hit. Infinite
// where one was hit that cannot be.
static inline double chi_square(const long *count, const double *p, int cells, int *df) {
    double n = 0, mass = 0, chi = 0;
    *df = -1;
    for (int i = 0; i < cells; i++) {
        n += (double)count[i];
        mass += p[i];
    }
    for (int i = 0; i < cells; i++) {
        const double expected = n * p[i] / mass, d = (double)count[i] - expected;
        if (p[i] <= 0 && count[i]) return INFINITY;
        if (p[i] <= 0) continue;
        chi += d * d / expected;
        ++*df;
    }
    return chi;
}

// What is exceeded once in a million. Wilson and Hilferty (1931): the cube root of chi-square / df
// is about normal; this far out that errs upwards (7 degrees of freedom: 41.9, exactly 40.5).
static inline double chi_square_limit(int df) {
    const double v = 2.0 / (9.0 * df), z = 4.753424; // P(normal > z) = 1e-6
    return df * pow(1 - v + z * sqrt(v), 3);
}

#endif
