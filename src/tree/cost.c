#include "tree/cost.h"

static double at(const fr_cost *c, const double *seconds, int rows) {
    if (rows <= 0 || c->n == 0) return 0;
    int i = 1;
    while (i < c->n - 1 && c->rows[i] < rows)
        i++;
    if (c->n == 1 || rows <= c->rows[0]) return seconds[0];
    const double part = (double)(rows - c->rows[i - 1]) / (c->rows[i] - c->rows[i - 1]);
    const double s = seconds[i - 1] + part * (seconds[i] - seconds[i - 1]);
    return s > 0 ? s : 0;
}

double fr_cost_pass(const fr_cost *c, int rows, int logits, int context) {
    if (rows <= 0) return 0;
    return at(c, c->trunk, rows) + at(c, c->head, logits) + context * (c->key + c->key_row * rows);
}
