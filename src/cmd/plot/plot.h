// plot.h — a picture of numbers, as text in SVG, readable on light and on dark paper: curves, bars
// side by side, intervals, marks.
//
// With both axes logarithmic it can show a roofline: the bound by memory is level, the bound by
// arithmetic rises with the rows, and the vertical distance to the limit shows everywhere which
// fraction of it is reached.
#ifndef FR_CMD_PLOT_PLOT_H
#define FR_CMD_PLOT_PLOT_H
#include "base/buffer.h"

enum { FR_PLOT_COLORS = 6, FR_PLOT_TICKS = 32 };

typedef struct fr_plot_point {
    double x, y;      // above 0 where the axis is logarithmic
    double low, high; // an interval around y, drawn where low < high
} fr_plot_point;

typedef enum fr_plot_style {
    FR_PLOT_LINE,   // points joined, with dots
    FR_PLOT_DASHED, // the same, thin
    FR_PLOT_LIMIT,  // grey, without dots
    FR_PLOT_BAND,   // the area inside the points, grey
    FR_PLOT_BARS,   // from 0, beside those of other series; x axis of counts or groups
    FR_PLOT_MARK,   // an upright line at the one point's x
} fr_plot_style;

typedef struct fr_plot_series {
    const char *label; // NULL: not in the legend
    fr_plot_style style;
    int color; // 0 ..; from FR_PLOT_COLORS on the same ones again, pale
    const fr_plot_point *points;
    int n;
} fr_plot_series;

typedef enum fr_plot_steps {
    FR_PLOT_POWERS_OF_TWO, // logarithmic
    FR_PLOT_DECIMAL,       // logarithmic
    FR_PLOT_LINEAR,
    FR_PLOT_COUNTS, // linear, whole numbers
} fr_plot_steps;

typedef struct fr_plot {                 // texts: any bytes
    const char *title, *subtitle, *note; // note: or NULL
    const char *x_label, *y_label;
    fr_plot_steps x_steps, y_steps;
    bool y_from_zero;          // of a linear axis; bars need it
    const char *const *groups; // names of x = 0, 1, ... instead of numbers; or NULL
    int n_groups;
    const fr_plot_series *series; // at least one point in all
    int n_series;
} fr_plot;

// Round numbers from the last one <= lo to the first one >= hi: powers of two, or 1, 2, 5, 10, 20
// (only powers of ten where that would be many), 0 < lo <= hi; or equally far apart by 1, 2 or 5
// times a power of ten. At least two, at most FR_PLOT_TICKS; returns how many.
int fr_plot_ticks(fr_plot_steps steps, double lo, double hi, double ticks[FR_PLOT_TICKS]);

// Appends the picture. FR_ENOMEM.
fr_status fr_plot_svg(const fr_plot *plot, fr_buffer *out, fr_error *err);
// Writes it to a file. FR_ENOMEM, FR_EIO.
fr_status fr_plot_save(const fr_plot *plot, const char *path, fr_error *err);

#endif
