// timings.c — medians, fractions and turns.
#include "cmd/lib/timings.h"
#include <math.h>
#include <stdlib.h>

static const double agreement = 0.10;

double fr_limit(fr_rates rates, double bytes, double macs) {
    const double reading = bytes / rates.read, multiplying = macs / rates.products;
    return reading > multiplying ? reading : multiplying;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double fr_median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, ascending);
    return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

void fr_rates_summarize(const fr_rates *rates, int n, double *room, fr_rates *median,
                        fr_rates *most) {
    for (int i = 0; i < n; i++)
        room[i] = rates[i].read;
    median->read = fr_median(room, n); // sorts
    most->read = room[n - 1];
    for (int i = 0; i < n; i++)
        room[i] = rates[i].products;
    median->products = fr_median(room, n);
    most->products = room[n - 1];
}

typedef struct judged { // a sample: how far its probes differ, what it reached
    double difference, fraction;
} judged;

static int by_difference(const void *a, const void *b) {
    return ascending(&((const judged *)a)->difference, &((const judged *)b)->difference);
}

static judged judge(const fr_timing *s, double bytes, double macs) {
    const double before = fr_limit(s->before, bytes, macs), after = fr_limit(s->after, bytes, macs);
    return (judged){(before > after ? before / after : after / before) - 1,
                    0.5 * (before + after) / s->seconds};
}

fr_summary fr_cell_summarize(const fr_cell *cell, double bytes, double macs) {
    double seconds[FR_SAMPLES_MOST], fraction[FR_SAMPLES_MOST];
    judged all[FR_SAMPLES_MOST];
    fr_summary s = {0};
    for (int i = 0; i < cell->n; i++) {
        seconds[i] = cell->sample[i].seconds;
        all[i] = judge(&cell->sample[i], bytes, macs);
    }
    qsort(all, (size_t)cell->n, sizeof *all, by_difference);
    while (s.counted < cell->n &&
           (s.counted < FR_SAMPLES_LEAST || all[s.counted].difference <= agreement)) {
        fraction[s.counted] = all[s.counted].fraction;
        s.counted++;
    }
    s.fraction = fr_median(fraction, s.counted);
    s.median = fr_median(seconds, cell->n);
    s.least = seconds[0];
    return s;
}

int fr_cells_next(const fr_cell *cells, int n_cells, bool time_is_up) {
    int next = -1;
    double least = INFINITY;
    for (int i = 0; i < n_cells; i++) {
        const fr_cell *c = &cells[i];
        if (!c->n) return i;
        if (c->n >= (time_is_up ? FR_SAMPLES_LEAST : FR_SAMPLES_MOST)) continue;
        const double weight = c->n * sqrt(c->sample[c->n - 1].seconds);
        if (weight >= least) continue;
        least = weight;
        next = i;
    }
    return next;
}
