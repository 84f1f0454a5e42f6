#include "train/block/features.h"
#include "train/math/vector.h"
#include <math.h>
#include <stddef.h>

void fr_channel_spread(float *std, const float *f, const int *position, int n, int d) {
    float most = 0;
#pragma omp parallel for schedule(static)
    for (int c = 0; c < d; c++) {
        double sum = 0, squares = 0;
        int count = 0;
        for (int i = 0; i < n; i++) {
            if (!position[i]) continue;
            const double x = (double)f[(size_t)i * (size_t)d + (size_t)c];
            sum += x, squares += x * x, count++;
        }
        const double mean = count ? sum / count : 0,
                     rest = count ? squares / count - mean * mean : 1;
        std[c] = (float)sqrt(rest > 0 ? rest : 0);
    }
    for (int c = 0; c < d; c++)
        most = std[c] > most ? std[c] : most;
    const float least = most > 0 ? 1e-3f * most : 1;
    for (int c = 0; c < d; c++)
        std[c] = std[c] > least ? std[c] : least;
}

FR_CLONES float fr_smooth_l1(float *dg, const float *g, const float *f, const float *std,
                             float weight, int d) {
    const float share = weight / (float)d;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < d; i++) {
        const float z = (g[i] - f[i]) / std[i], a = fabsf(z);
        const float inside = z < -1 ? -1.0f : z > 1 ? 1.0f : z;
        sum += a < 1 ? 0.5f * z * z : a - 0.5f;
        dg[i] += share * inside / std[i];
    }
    return sum / (float)d;
}
