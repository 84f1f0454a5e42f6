// timings.h — the measured times of passes, and statistics of them.
//
// A *cell* is one point of the curve: passes of so many rows after so much context. Each pass is
// kept with the rates that were probed just before and just after it, because on a shared machine
// the limit moves as much as the time does: the part of the limit that a pass reached is that of
// its own moment.
#ifndef FR_CMD_LIB_TIMINGS_H
#define FR_CMD_LIB_TIMINGS_H
#include <stdbool.h>
#include <stdint.h>

enum { FR_SAMPLES_LEAST = 3, FR_SAMPLES_MOST = 64 }; // of a cell

typedef struct fr_rates {
    double read;     // bytes a second
    double products; // multiply-adds of 8-bit integers a second
} fr_rates;

typedef struct fr_timing {
    double seconds;
    fr_rates before, after;
} fr_timing;

typedef struct fr_cell {
    int rows, context, n;
    fr_timing sample[FR_SAMPLES_MOST];
} fr_cell;

typedef struct fr_summary {
    double least, median; // seconds of a pass
    double fraction;      // median of limit / seconds over the passes that count
    int counted;
} fr_summary;

// Seconds that a pass needs at these rates: the longer of reading and multiplying.
double fr_limit(fr_rates rates, double bytes, double macs);

// The median of n > 0 values, which are sorted for it.
double fr_median(double *values, int n);

// The median and the most of each rate over n > 0 probes. room: n values to work in.
void fr_rates_summarize(const fr_rates *rates, int n, double *room, fr_rates *median,
                        fr_rates *most);

// A pass counts when the limits by the probe before it and the one after it differ by at most 10 %.
// Where fewer than FR_SAMPLES_LEAST do, those with the least difference count. Its own limit is
// that of the mean of both. `bytes` and `macs` are those of one pass of the cell; cell->n > 0.
fr_summary fr_cell_summarize(const fr_cell *cell, double bytes, double macs);

// The cell to measure next; -1: none. Every cell gets at least FR_SAMPLES_LEAST passes. Until the
// time is up the next one is that with the smallest n * sqrt(seconds of its last pass), so that all
// medians become equally precise for the time spent; a cell gets FR_SAMPLES_MOST passes at most.
int fr_cells_next(const fr_cell *cells, int n_cells, bool time_is_up);

#endif
