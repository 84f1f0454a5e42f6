// near.h — numbers that must lie close together. cmocka's assert_float_equal lets NaN and infinity
// pass, and compares as float.
#ifndef FR_TESTS_SUPPORT_NEAR_H
#define FR_TESTS_SUPPORT_NEAR_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_near(a, b, eps) fr_near((a), (b), (eps), __FILE__, __LINE__)

static inline void fr_near(double a, double b, double eps, const char *file, int line) {
    if (fabs(a - b) <= eps) return;
    print_error("%.17g and %.17g: expected a difference of %g at most\n", a, b, eps);
    _fail(file, line);
}

#endif
