// math.c — sine and cosine, logarithm, exponential and power of doubles: the argument is brought
// near 0 or 1, then a fixed series is summed.
#include "kern/math.h"

static double from_bits(uint64_t u) {
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint64_t to_bits(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

// Adding and taking away 1.5 * 2^52 rounds to the nearest integer (even).
static double round_even(double x) {
    return (x + 0x1.8p52) - 0x1.8p52;
}

// The Taylor series at 0 up to r^15: next term below 5e-17 for |r| <= pi/4.
static double sin_near_zero(double r) {
    double z = r * r;
    double p = -1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return r + r * (z * p);
}

// The Taylor series at 0 up to r^16: next term below 3e-18.
static double cos_near_zero(double r) {
    double z = r * r;
    double p = 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    return 1.0 - (0.5 * z - (z * z) * p);
}

void fr_sincos(double x, double *sine, double *cosine) {
    if (!(x > -1e9 && x < 1e9)) x = 0;
    // pi/2 in three pieces of 29 bits and a rest: k has at most 24 bits up to 1e7, so that its
    // products with the pieces are exact (Cody and Waite).
    const double piece1 = 0x1.921fb54p+0, piece2 = 0x1.10b4611p-30, piece3 = 0x1.4c4c662p-59,
                 rest = 0x1.1701b839a2520p-88;
    double k = round_even(x * 0x1.45f306dc9c883p-1);
    double r = ((x - k * piece1) - k * piece2) - k * piece3 - k * rest;
    double s = sin_near_zero(r), c = cos_near_zero(r);
    int64_t quadrant = (int64_t)k & 3;
    *sine = quadrant == 0 ? s : quadrant == 1 ? c : quadrant == 2 ? -s : -c;
    *cosine = quadrant == 0 ? c : quadrant == 1 ? -s : quadrant == 2 ? -c : s;
}

// ln 2 in a piece of 32 bits, whose product with an exponent is exact, and the rest.
static const double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;

double fr_log(double x) {
    if (!(x > 0)) return x == 0 ? -__builtin_inf() : __builtin_nan("");
    if (x == __builtin_inf()) return x;
    int64_t e = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        e = -54;
    }
    // x = 2^e m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh s with s = (m-1)/(m+1).
    uint64_t u = to_bits(x);
    uint64_t shifted = u - 0x3fe6a09e667f3bcdu;
    e += (int64_t)shifted >> 52;
    double m = from_bits(u - (shifted & 0xfff0000000000000u));
    double f = m - 1.0;
    double s = f / (2.0 + f), z = s * s;
    double p = 1.0 / 23; // the next term is below 1e-19
    p = p * z + 1.0 / 21;
    p = p * z + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    // 2s = f - s f, which keeps the exact f in front of what is rounded.
    double low = s * f - 2.0 * (s * (z * p));
    return (double)e * LN2_HIGH + ((double)e * LN2_LOW - low + f);
}

double fr_exp_f64(double x) {
    if (x != x) return x;
    if (x > 709.79) return __builtin_inf();
    if (x < -745.14) return 0;
    double k = round_even(x * 0x1.71547652b82fep+0);
    double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double p = 1.0 / 6227020800.0; // Taylor up to r^13: next term below 5e-18 for |r| <= ln(2)/2
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = 1.0 + (r + (r * r) * p);
    // 2^k by two factors, since 2^1024 and 2^-1074 are not normal numbers.
    int64_t n = (int64_t)k, half = n / 2;
    return p * from_bits((uint64_t)(half + 1023) << 52) *
           from_bits((uint64_t)(n - half + 1023) << 52);
}

double fr_pow(double x, double y) {
    return fr_exp_f64(y * fr_log(x));
}
