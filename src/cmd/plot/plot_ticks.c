// plot_ticks.c — round numbers for axes.
#include "cmd/plot/plot.h"
#include <math.h>

enum { MANY_TICKS = 12, LINEAR_STEPS = 8 };
static const double slack = 1e-9; // 0.2 must count as 2e-1 however it was computed

// The i-th round number, i of any sign.
static double tick_of(fr_plot_steps steps, bool decades, int i) {
    static const double mantissa[] = {1, 2, 5};
    if (steps == FR_PLOT_POWERS_OF_TWO) return ldexp(1, i);
    if (decades) return pow(10, i);
    const int decade = (int)floor(i / 3.0);
    return mantissa[i - 3 * decade] * pow(10, decade);
}

static int list_ticks(fr_plot_steps steps, bool decades, double lo, double hi,
                      double ticks[FR_PLOT_TICKS]) {
    const double base = steps == FR_PLOT_POWERS_OF_TWO ? 2 : 10, per_base = decades ? 1 : 3;
    int i = (int)(floor(log(lo) / log(base)) * (steps == FR_PLOT_DECIMAL ? per_base : 1)) - 1,
        n = 0;
    while (tick_of(steps, decades, i + 1) <= lo * (1 + slack))
        i++;
    do
        ticks[n++] = tick_of(steps, decades, i++);
    while (n < FR_PLOT_TICKS && (n < 2 || ticks[n - 1] < hi * (1 - slack)));
    return n;
}

// The least round step that takes at most LINEAR_STEPS to span what lies between.
static int list_linear(bool whole, double lo, double hi, double ticks[FR_PLOT_TICKS]) {
    const double span = hi > lo ? hi - lo : whole ? 1 : fabs(hi) + (hi == 0);
    int i = 3 * (int)floor(log10(span / LINEAR_STEPS)) - 1;
    while (tick_of(FR_PLOT_DECIMAL, false, i) < span / LINEAR_STEPS * (1 - slack) ||
           (whole && i < 0))
        i++;
    const double step = tick_of(FR_PLOT_DECIMAL, false, i);
    const double first = floor(lo / step + slack);
    int n = 0;
    do
        ticks[n] = (first + n) * step;
    while (++n < FR_PLOT_TICKS && (n < 2 || ticks[n - 1] < hi - slack * span));
    return n;
}

int fr_plot_ticks(fr_plot_steps steps, double lo, double hi, double ticks[FR_PLOT_TICKS]) {
    if (steps == FR_PLOT_LINEAR || steps == FR_PLOT_COUNTS)
        return list_linear(steps == FR_PLOT_COUNTS, lo, hi, ticks);
    const int n = list_ticks(steps, false, lo, hi, ticks);
    return n > MANY_TICKS && steps == FR_PLOT_DECIMAL ? list_ticks(steps, true, lo, hi, ticks) : n;
}
