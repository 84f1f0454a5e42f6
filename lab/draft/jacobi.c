#include "lab/draft/jacobi.h"
#include "decode/draw/sampler.h"
#include <assert.h>

enum { SEED = 11 }; // of what enters at the end: any number does

static void fill(fr_jacobi *j, int k, const int32_t *ids, int n_ids) {
    j->id[k] = ids[(int)(fr_uniform(SEED, j->filled++) * n_ids)];
    j->age[k] = 0;
}

bool fr_jacobi_is_sound(const fr_jacobi *j) {
    if (j->width < 1 || j->width > FR_JACOBI_WIDTH) return false;
    for (int k = 1; k <= j->width; k++)
        if (j->id[k] < 0 || j->age[k] >= FR_JACOBI_AGES) return false;
    return true;
}

void fr_jacobi_begin(fr_jacobi *j, const int32_t *ids, int n_ids) {
    j->filled = 0;
    for (int k = 1; k <= j->width; k++)
        fill(j, k, ids, n_ids);
    assert(fr_jacobi_is_sound(j));
}

// The place of guess k now is that of guess k + taken before. The row of the guess in front of that
// one says what stands there.
void fr_jacobi_move(fr_jacobi *j, int taken, const int32_t *next, const int32_t *ids, int n_ids) {
    for (int k = 1; k <= j->width; k++) {
        const int before = k + taken, row = before - 1;
        const int32_t said = row <= j->width ? next[row] : -1;
        const int32_t old = before <= j->width ? j->id[before] : -1;
        if (said < 0 && old < 0) {
            fill(j, k, ids, n_ids);
            continue;
        }
        int age = old >= 0 ? j->age[before] : 0;
        if (said >= 0) age = said != old ? 1 : age < FR_JACOBI_AGES - 1 ? age + 1 : age;
        j->id[k] = said >= 0 ? said : old;
        j->age[k] = (uint8_t)age;
    }
    assert(fr_jacobi_is_sound(j));
}
