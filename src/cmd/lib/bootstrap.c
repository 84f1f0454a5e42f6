// bootstrap.c — prompts drawn again and again.
#include "cmd/lib/bootstrap.h"
#include "base/alloc.h"
#include <math.h>
#include <stdlib.h>

// SplitMix64 [Steele, Lea, Flood 2014].
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double ratio_of_a_draw(const fr_share *shares, int n, uint64_t *state) {
    double numerator = 0, denominator = 0;
    while (!(denominator > 0)) { // a draw of only empty shares has no value
        for (int i = 0; i < n; i++) {
            const fr_share *s = &shares[draw(state) % (uint64_t)n];
            numerator += s->numerator;
            denominator += s->denominator;
        }
    }
    return numerator / denominator;
}

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

fr_status fr_bootstrap_ratio(fr_interval *to, const fr_share *shares, int n, fr_error *err) {
    bool some = false;
    for (int i = 0; i < n; i++)
        some |= shares[i].denominator > 0;
    *to = (fr_interval){NAN, NAN};
    if (n < 2 || !some) return FR_OK;
    double *ratios = fr_alloc_array(FR_BOOTSTRAPS, sizeof *ratios);
    if (!ratios) return fr_fail(err, FR_ENOMEM, "bootstrap: no memory for %d draws", FR_BOOTSTRAPS);
    uint64_t state = 0;
    for (int i = 0; i < FR_BOOTSTRAPS; i++)
        ratios[i] = ratio_of_a_draw(shares, n, &state);
    qsort(ratios, FR_BOOTSTRAPS, sizeof *ratios, by_size);
    const int outside = FR_BOOTSTRAPS / 40; // 2.5 % on each side
    *to = (fr_interval){ratios[outside - 1], ratios[FR_BOOTSTRAPS - outside]};
    fr_free(ratios);
    return FR_OK;
}
