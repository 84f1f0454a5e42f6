#include "tree/cost.h"
#include <assert.h>
#include <math.h>

// Rows up to the last point, which take what `rows` do but for whole tiles; how many tiles.
static int tiles_beyond(const fr_cost *c, int *rows) {
    const int last = c->rows[c->n - 1];
    if (*rows <= last || last < 2 * FR_COST_TILE) return 0;
    const int tiles = (*rows - last + FR_COST_TILE - 1) / FR_COST_TILE;
    *rows -= tiles * FR_COST_TILE;
    return tiles;
}

static double at(const fr_cost *c, const double *seconds, int rows) {
    if (rows <= 0 || c->n == 0) return 0;
    const int tiles = tiles_beyond(c, &rows), last = c->rows[c->n - 1];
    if (tiles)
        return at(c, seconds, rows) +
               tiles * (at(c, seconds, last) - at(c, seconds, last - FR_COST_TILE));
    int i = 1;
    while (i < c->n - 1 && c->rows[i] < rows)
        i++;
    if (c->n == 1 || rows <= c->rows[0]) return seconds[0];
    const double part = (double)(rows - c->rows[i - 1]) / (c->rows[i] - c->rows[i - 1]);
    const double s = seconds[i - 1] + part * (seconds[i] - seconds[i - 1]);
    return s > 0 ? s : 0;
}

static double experts_at(const fr_cost *c, int rows) {
    const int last = c->n ? c->rows[c->n - 1] : 0;
    return at(c, c->experts, rows < last ? rows : last);
}

// Seconds of the experts that one timed pass read and a text's would not.
static double saved_experts(const fr_cost *c, int rows) {
    return c->expert > 0 ? c->expert * c->shared * (experts_at(c, rows) - c->experts[0]) : 0;
}

static double trunk_at(const fr_cost *c, int rows) {
    const double seconds = at(c, c->trunk, rows) - saved_experts(c, rows);
    return seconds > 0 ? seconds : 0;
}

double fr_cost_pass(const fr_cost *c, int rows, int logits, int context) {
    if (rows <= 0) return 0;
    return trunk_at(c, rows) + at(c, c->head, logits) + context * (c->key + c->key_row * rows);
}

// The layers before the one from which resumed rows continue run only the other rows.
static double saved_below(const fr_cost *c, int rows, const fr_extra_rows *extra, int context) {
    return extra->below *
           (fr_cost_pass(c, rows, 0, context) - fr_cost_pass(c, rows - extra->resumed, 0, context));
}

double fr_cost_with(const fr_cost *c, int rows, const fr_extra_rows *extra, int context) {
    const double alone = fr_cost_pass(c, rows, rows, context);
    if (!extra) return alone;
    const double saved = extra->resumed ? saved_below(c, rows, extra, context) : 0;
    if (extra->rows == 0) return alone - saved;
    const double all = fr_cost_pass(c, rows + extra->rows, rows, context);
    const double heads = at(c, c->head, rows + extra->logits) - at(c, c->head, rows);
    return alone - saved + extra->trunk / extra->rows * (all - alone) + heads + extra->attention;
}

double fr_cost_experts(const fr_cost *c, int rows, const fr_extra_rows *extra) {
    const double alone = experts_at(c, rows);
    if (!extra) return alone;
    const double saved =
        extra->resumed ? extra->below * (alone - experts_at(c, rows - extra->resumed)) : 0;
    if (extra->rows == 0) return alone - saved;
    return alone - saved + extra->trunk / extra->rows * (experts_at(c, rows + extra->rows) - alone);
}

fr_cost fr_cost_guess(int n, int used, int layers, double part) {
    fr_cost c = {.n = 6,
                 .rows = {1, 2, 4, 8, 16, 32},
                 .trunk = {0.85, 0.907, 1.02, 1.45, 2.6, 5.1},
                 .head = {0.15, 0.16, 0.18, 0.25, 0.45, 0.9}};
    if (!n) return c;
    c.expert = part * c.trunk[0] / (used * layers);
    for (int i = 0; i < c.n; i++) {
        c.experts[i] = layers * n * (1 - pow(1 - (double)used / n, c.rows[i]));
        c.trunk[i] += c.expert * (c.experts[i] - used * layers);
    }
    return c;
}

bool fr_cost_is_sound(const fr_cost *c) {
    if (c->n < 0 || c->n > FR_COST_POINTS) return false;
    for (int i = 0; i < c->n; i++) {
        if (c->rows[i] < (i ? c->rows[i - 1] + 1 : 1)) return false;
        if (!(c->trunk[i] >= 0 && c->head[i] >= 0 && c->experts[i] >= 0)) return false;
    }
    if (!(c->expert >= 0 && c->shared >= -1 && c->shared <= 1)) return false;
    return c->key >= 0 && c->key_row >= 0;
}

void fr_cost_keys(fr_cost *c, double one, int rows, double many) {
    assert(rows >= 2);
    if (one < 0) one = 0; // below the noise
    if (many < one) many = one;
    c->key_row = (many - one) / (rows - 1);
    c->key = one - c->key_row;
    if (c->key >= 0) return;
    c->key = 0;
    c->key_row = many / rows;
}

void fr_cost_set_expert(fr_cost *c, double seconds) {
    for (int i = 1; i < c->n; i++) {
        const double more = c->experts[i] - c->experts[0], most = c->trunk[i] - c->trunk[0];
        if (more > 0 && seconds * more > most) seconds = most / more;
    }
    c->expert = seconds > 0 ? seconds : 0;
}

// The lowest line between a point before i and one after it, at i.
static double line_below(const fr_cost *c, const double *seconds, int i) {
    double lowest = seconds[i];
    for (int a = 0; a < i; a++)
        for (int b = i + 1; b < c->n; b++) {
            const double part = (double)(c->rows[i] - c->rows[a]) / (c->rows[b] - c->rows[a]);
            const double line = seconds[a] + part * (seconds[b] - seconds[a]);
            if (line < lowest) lowest = line;
        }
    return lowest;
}

// Whether one more row than at the point before fills another tile.
static bool begins_tile(const fr_cost *c, int i) {
    return i > 0 && c->rows[i] == c->rows[i - 1] + 1 && c->rows[i - 1] % FR_COST_TILE == 0;
}

static void smooth(const fr_cost *c, double *seconds) {
    const double tiles = 13.0 / 12;
    double most[FR_COST_POINTS];
    for (int i = c->n - 2; i >= 0; i--)
        if (seconds[i] > seconds[i + 1]) seconds[i] = seconds[i + 1];
    for (int i = 0; i < c->n; i++)
        most[i] = tiles * line_below(c, seconds, i);
    for (int i = 1; i < c->n - 1; i++)
        if (seconds[i] > most[i] && !begins_tile(c, i)) seconds[i] = most[i];
}

void fr_cost_smooth(fr_cost *c) {
    for (int i = 0; i < c->n; i++)
        c->trunk[i] -= c->expert * (c->experts[i] - c->experts[0]);
    smooth(c, c->trunk);
    smooth(c, c->head);
    for (int i = 0; i < c->n; i++)
        c->trunk[i] += c->expert * (c->experts[i] - c->experts[0]);
    assert(fr_cost_is_sound(c));
}
