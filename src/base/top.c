// top.c — most blocks hold nothing that is larger than the least value found so far, which vectors
// of four, which every CPU has, see at once.
#include "base/top.h"
#include "base/lanes.h"
#include <math.h>
#include <stdbool.h>

enum { BLOCK = 32 };

// Whether any of a block's values is larger than `least`. NaN is not.
static bool has_larger(const float *x, float least) {
    fr_f32x4 most = fr_f32x4_all(least);
    for (int i = 0; i < BLOCK; i += 4) {
        const fr_f32x4 v = fr_f32x4_load(x + i);
        most = fr_f32x4_either(v > most, v, most);
    }
    return most[0] > least || most[1] > least || most[2] > least || most[3] > least;
}

int fr_top(const float *x, int n, int most, int32_t *index, float *value) {
    int m = 0;
    float least = -INFINITY; // to come into the list
    for (int begin = 0; begin < n; begin += BLOCK) {
        const int end = begin + BLOCK < n ? begin + BLOCK : n;
        if (end - begin == BLOCK && !has_larger(x + begin, least)) continue;
        for (int i = begin; i < end; i++) {
            if (!(x[i] > least) || isinf(x[i])) continue;
            int k = m < most ? m++ : m - 1;
            for (; k > 0 && value[k - 1] < x[i]; k--) { // earlier ones win ties
                value[k] = value[k - 1];
                index[k] = index[k - 1];
            }
            value[k] = x[i];
            index[k] = i;
            if (m == most) least = value[m - 1];
        }
    }
    return m;
}
