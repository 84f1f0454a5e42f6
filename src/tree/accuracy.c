#include "tree/accuracy.h"
#include <assert.h>

double fr_accuracy_rate(const fr_accuracy *a, int depth, int rank) {
    assert(depth >= 1 && rank >= 0);
    if (depth > FR_ACCURACY_DEPTHS || rank >= FR_ACCURACY_RANKS || !a->tried[depth - 1]) return 0;
    return (double)a->right[depth - 1][rank] / (double)a->tried[depth - 1];
}
