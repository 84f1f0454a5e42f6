#include "base/decimal.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The fewest digits that read back as x (finite, positive), and the decimal exponent of the first.
// Where the nearest decimal of some length does not read back, its neighbours may: below a power of
// two the next number is half as far away as above.
static int shortest_digits(double x, char digits[20], int *exponent) {
    for (int n = 1; n <= 17; n++) {
        char text[40], again[48];
        snprintf(text, sizeof text, "%.*e", n - 1, x);
        const char *e = strchr(text, 'e');
        int k = 0;
        for (const char *c = text; c < e; c++)
            if (*c >= '0' && *c <= '9') digits[k++] = *c; // whatever the locale's decimal point is
        digits[k] = 0;
        *exponent = atoi(e + 1);
        const uint64_t middle = strtoull(digits, NULL, 10);
        static const int step[] = {0, 1, -1};
        for (int i = 0; i < 3; i++) {
            const uint64_t near = middle + (uint64_t)step[i];
            snprintf(again, sizeof again, "%llue%d", (unsigned long long)near, *exponent - (n - 1));
            if (strtod(again, NULL) != x) continue;
            snprintf(digits, 20, "%llu", (unsigned long long)near);
            const int length = (int)strlen(digits);
            *exponent += length - n; // 9 + 1 has a digit more
            return length;
        }
    }
    return (int)strlen(digits);
}

void fr_decimal_repr(double x, char out[FR_DECIMAL_MAX]) {
    char digits[20] = "0";
    int exponent = 0, n = 1;
    const char *sign = signbit(x) ? "-" : "";
    if (!isfinite(x)) {
        strcpy(out, isnan(x) ? "nan" : signbit(x) ? "-inf" : "inf");
        return;
    }
    if (x != 0) n = shortest_digits(fabs(x), digits, &exponent);
    while (n > 1 && digits[n - 1] == '0')
        digits[--n] = 0;
    if (exponent < -4 || exponent >= 16)
        snprintf(out, FR_DECIMAL_MAX, "%s%c%s%se%+03d", sign, digits[0], n > 1 ? "." : "",
                 digits + 1, exponent);
    else if (exponent < 0)
        snprintf(out, FR_DECIMAL_MAX, "%s0.%.*s%s", sign, -exponent - 1, "0000", digits);
    else if (n <= exponent + 1)
        snprintf(out, FR_DECIMAL_MAX, "%s%s%.*s.0", sign, digits, exponent + 1 - n,
                 "0000000000000000");
    else
        snprintf(out, FR_DECIMAL_MAX, "%s%.*s.%s", sign, exponent + 1, digits,
                 digits + exponent + 1);
}
