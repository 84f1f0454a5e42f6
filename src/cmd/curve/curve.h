// curve.h — what `curve` measured, between measuring (curve.c) and showing (report.c).
#ifndef FR_CMD_CURVE_CURVE_H
#define FR_CMD_CURVE_CURVE_H
#include "cmd/lib/cmd.h"
#include "cmd/lib/cpu_use.h"
#include "cmd/lib/timings.h"
#include "cmd/plot/plot.h"
#include "model/phase.h"

enum { FR_CURVE_ROWS = 64, FR_CURVE_CONTEXTS = FR_PLOT_COLORS };

typedef struct fr_curve {
    fr_engine_info info;
    int32_t rows[FR_CURVE_ROWS], contexts[FR_CURVE_CONTEXTS];
    int n_rows, n_contexts;
    fr_cell *cells;              // [n_contexts][n_rows]
    fr_summary *summaries;       // the same
    fr_rates *probed;            // one for every pass
    int n_passes;                // of all cells
    double (*phases)[FR_PHASES]; // of each cell: seconds in each phase, all its passes together;
    // NULL: not requested
    double experts[FR_CURVE_ROWS]; // that passes of rows[i] read, of all layers, on average; 0: the
    // model has none
    uint64_t expert_bytes;  // of all that one row reads
    fr_rates typical, best; // median and most of each rate probed
    fr_cpu_others others;   // meanwhile
} fr_curve;

static inline fr_summary *fr_curve_at(const fr_curve *c, int context, int row) {
    return &c->summaries[context * c->n_rows + row];
}

// Bytes of weights that a pass of rows[i] reads.
double fr_curve_bytes(const fr_curve *c, int i);

json_t *fr_curve_json(const fr_curve *c); // NULL: no memory
void fr_curve_print(const fr_curve *c);   // tables and bars, on stdout
// Prints one line to stderr if the machine was shared.
void fr_curve_warn(const fr_curve *c);
// The picture, into a file. FR_ENOMEM, FR_EIO.
fr_status fr_curve_plot(const fr_curve *c, const char *path, fr_error *err);

#endif
