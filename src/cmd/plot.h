// plot.h — a picture of curves, as text in SVG: both axes logarithmic, readable on light and on
// dark paper.
//
// The field's picture of a limit: what memory bounds is level, what arithmetic bounds rises with
// the rows, and the distance to the limit is the part of it, wherever one looks.
#ifndef FR_CMD_PLOT_H
#define FR_CMD_PLOT_H
#include "base/buffer.h"

enum { FR_PLOT_COLORS = 6, FR_PLOT_TICKS = 32 };

typedef struct fr_plot_point {
    double x, y; // above 0
} fr_plot_point;

typedef enum fr_plot_style {
    FR_PLOT_LINE,   // points joined, with dots
    FR_PLOT_DASHED, // the same, thin
    FR_PLOT_LIMIT,  // grey, without dots
    FR_PLOT_BAND,   // the area inside the points, grey
} fr_plot_style;

typedef struct fr_plot_series {
    const char *label; // NULL: not in the legend
    fr_plot_style style;
    int color; // 0 .. FR_PLOT_COLORS - 1, of lines
    const fr_plot_point *points;
    int n;
} fr_plot_series;

typedef struct fr_plot { // texts: any bytes
    const char *title, *subtitle, *note;
    const char *x_label, *y_label;
    const fr_plot_series *series;
    int n_series;
} fr_plot;

// Round numbers from the last one <= lo to the first one >= hi: powers of two, or 1, 2, 5, 10, 20
// (only powers of ten where that would be many). 0 < lo <= hi. At least two, at most
// FR_PLOT_TICKS; returns how many.
typedef enum fr_plot_steps { FR_PLOT_POWERS_OF_TWO, FR_PLOT_DECIMAL } fr_plot_steps;
int fr_plot_ticks(fr_plot_steps steps, double lo, double hi, double ticks[FR_PLOT_TICKS]);

// Appends text as XML character data: markup is escaped, what is no UTF-8 or no character that XML
// knows becomes U+FFFD. FR_ENOMEM.
fr_status fr_plot_escape(fr_buffer *out, const char *text, fr_error *err);

// Appends the picture. FR_ENOMEM.
fr_status fr_plot_svg(const fr_plot *plot, fr_buffer *out, fr_error *err);

#endif
