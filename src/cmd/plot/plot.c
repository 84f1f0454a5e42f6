// plot.c — axes, curves, bars and legend.
#include "cmd/plot/plot.h"
#include "base/save.h"
#include "cmd/plot/markup.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 760, LEFT = 70, RIGHT = 738, TALL = 334, BELOW = 56, LEGEND_MOST = 100 };
// The legend runs in lines between the titles and the curves. Letters are taken to be 7 wide.
enum {
    LEGEND_TOP = 90,
    LEGEND_LINE = 20,
    SWATCH = 30,
    LETTER = 7,
    GAP = 8,
    CAP = 4,
    BAR_MOST = 90
};

// Light by default; viewers that know of dark paper take the second half.
static const char style[] =
    "<style>\n"
    ".paper{fill:#fff}.ink{fill:#1c2126}.soft{fill:#59636e}\n"
    ".grid{stroke:#e1e5ea}.axis{stroke:#59636e}\n"
    ".limit{stroke:#6b7682;stroke-width:1.6}.band{fill:#8a949f;fill-opacity:.22}\n"
    ".line{stroke-width:2}.thin{stroke-width:1.2;stroke-dasharray:5 4}\n"
    ".mark{stroke-width:1.8;stroke-dasharray:2 3}.whisker{stroke:#1c2126;stroke-width:1.4}\n"
    ".limit,.line,.thin,.mark,.whisker{fill:none;stroke-linejoin:round}.pale{opacity:.5}\n"
    ".s0{stroke:#1668b8}.s1{stroke:#c2530a}.s2{stroke:#1d7f46}\n"
    ".s3{stroke:#8a3fa8}.s4{stroke:#b3283d}.s5{stroke:#7a6a00}\n"
    ".d0{fill:#1668b8}.d1{fill:#c2530a}.d2{fill:#1d7f46}\n"
    ".d3{fill:#8a3fa8}.d4{fill:#b3283d}.d5{fill:#7a6a00}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".paper{fill:#14181d}.ink{fill:#e8ebee}.soft{fill:#a4aeb9}\n"
    ".grid{stroke:#2b323a}.axis{stroke:#8d98a4}\n"
    ".limit{stroke:#9aa5b1}.band{fill:#9aa5b1}.whisker{stroke:#e8ebee}\n"
    ".s0{stroke:#5fb0f5}.s1{stroke:#f39a55}.s2{stroke:#58c98a}\n"
    ".s3{stroke:#cf93ea}.s4{stroke:#f3808f}.s5{stroke:#d9c64a}\n"
    ".d0{fill:#5fb0f5}.d1{fill:#f39a55}.d2{fill:#58c98a}\n"
    ".d3{fill:#cf93ea}.d4{fill:#f3808f}.d5{fill:#d9c64a}\n"
    "}\n</style>\n";

typedef struct axis {
    bool logarithmic;
    double lo, hi, from, to; // values; where they lie in the picture
    double tick[FR_PLOT_TICKS];
    int n; // ticks
} axis;

typedef struct pen {
    const fr_plot *plot;
    fr_markup m;
    axis x, y;
    double top, bottom; // of the curves
    int n_bars;         // series of bars
} pen;

static double place(const axis *a, double v) {
    const double part =
        a->logarithmic ? log(v / a->lo) / log(a->hi / a->lo) : (v - a->lo) / (a->hi - a->lo);
    return a->from + (a->to - a->from) * part;
}

static void put_text(pen *p, const char *attributes, double x, double y, const char *text) {
    fr_markup_put(&p->m, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    fr_markup_text(&p->m, text);
    fr_markup_raw(&p->m, "</text>\n");
}

// ---------------------------------------------------------------- axes

static axis axis_of(fr_plot_steps steps, double lo, double hi) {
    axis a = {.logarithmic = steps == FR_PLOT_POWERS_OF_TWO || steps == FR_PLOT_DECIMAL};
    a.n = fr_plot_ticks(steps, lo, hi, a.tick);
    a.lo = a.tick[0];
    a.hi = a.tick[a.n - 1];
    return a;
}

// Bars stand around their x: half a step more on both sides, with ticks at the values alone.
static void make_room_for_bars(axis *x, double lo, double hi) {
    int n = 0;
    for (int i = 0; i < x->n; i++)
        if (x->tick[i] >= lo - 0.5 && x->tick[i] <= hi + 0.5) x->tick[n++] = x->tick[i];
    x->n = n;
    x->lo = lo - 0.5;
    x->hi = hi + 0.5;
}

static void choose_axes(pen *p) {
    double x_lo = INFINITY, x_hi = -INFINITY, y_lo = INFINITY, y_hi = -INFINITY;
    for (int i = 0; i < p->plot->n_series; i++) {
        const fr_plot_series *s = &p->plot->series[i];
        p->n_bars += s->style == FR_PLOT_BARS;
        for (int k = 0; k < s->n; k++) {
            const fr_plot_point at = s->points[k];
            x_lo = fmin(x_lo, at.x), x_hi = fmax(x_hi, at.x);
            if (s->style == FR_PLOT_MARK) continue;
            const bool interval = at.low < at.high;
            y_lo = fmin(y_lo, interval ? fmin(at.y, at.low) : at.y);
            y_hi = fmax(y_hi, interval ? fmax(at.y, at.high) : at.y);
        }
    }
    p->x = axis_of(p->plot->groups ? FR_PLOT_COUNTS : p->plot->x_steps, x_lo, x_hi);
    if (p->plot->groups) {
        make_room_for_bars(&p->x, 0, p->plot->n_groups - 1);
        p->x.n = 0; // names stand there
    } else if (p->n_bars) {
        make_room_for_bars(&p->x, x_lo, x_hi);
    }
    p->y = axis_of(p->plot->y_steps, p->plot->y_from_zero ? fmin(0, y_lo) : y_lo, y_hi);
    p->x.from = LEFT;
    p->x.to = RIGHT;
    p->y.from = p->bottom;
    p->y.to = p->top;
}

// Cut to `letters` bytes, not within a character.
static const char *cut(char room[LEGEND_MOST], const char *text, int letters) {
    if (letters > LEGEND_MOST - 4) letters = LEGEND_MOST - 4;
    if ((int)strlen(text) <= letters) return text;
    int n = letters - 1;
    while (n > 0 && ((uint8_t)text[n] & 0xC0) == 0x80)
        n--;
    snprintf(room, LEGEND_MOST, "%.*s\u2026", n, text);
    return room;
}

// Long names stand on two lines in turn. Returns where the lowest stands.
static double put_groups(pen *p) {
    const double step = (RIGHT - LEFT) / (double)p->plot->n_groups;
    bool wide = false;
    for (int i = 0; i < p->plot->n_groups; i++)
        wide |= LETTER * (double)strlen(p->plot->groups[i]) > step;
    for (int i = 0; i < p->plot->n_groups; i++) {
        char room[LEGEND_MOST];
        put_text(p, "class=\"ink\" text-anchor=\"middle\"", place(&p->x, i),
                 p->bottom + (wide && i % 2 ? 34 : 18),
                 cut(room, p->plot->groups[i], (int)((wide ? 2 : 1) * step / LETTER)));
    }
    return p->bottom + (wide ? 34 : 18);
}

static void put_axes(pen *p) {
    char number[32];
    for (int i = 0; i < p->x.n; i++) {
        const double x = place(&p->x, p->x.tick[i]);
        if (!p->n_bars)
            fr_markup_put(&p->m, "<path class=\"grid\" d=\"M%.1f %.0f V%.0f\"/>\n", x, p->top,
                          p->bottom);
        snprintf(number, sizeof number, "%.10g", p->x.tick[i]);
        put_text(p, "class=\"soft\" text-anchor=\"middle\"", x, p->bottom + 19, number);
    }
    const double lowest = p->plot->groups ? put_groups(p) : p->bottom + 19;
    for (int i = 0; i < p->y.n; i++) {
        const double y = place(&p->y, p->y.tick[i]);
        fr_markup_put(&p->m, "<path class=\"grid\" d=\"M%d %.1f H%d\"/>\n", LEFT, y, RIGHT);
        snprintf(number, sizeof number, "%.10g", p->y.tick[i]);
        put_text(p, "class=\"soft\" text-anchor=\"end\"", LEFT - 8, y + 4, number);
    }
    fr_markup_put(&p->m, "<path class=\"axis\" fill=\"none\" d=\"M%d %.0f V%.0f H%d\"/>\n", LEFT,
                  p->top, p->bottom, RIGHT);
    put_text(p, "class=\"ink\" text-anchor=\"middle\"", 0.5 * (LEFT + RIGHT),
             fmin(lowest + 23, p->bottom + BELOW - 6), p->plot->x_label);
    fr_markup_put(&p->m, "<g transform=\"translate(20 %.0f) rotate(-90)\">",
                  0.5 * (p->top + p->bottom));
    put_text(p, "class=\"ink\" text-anchor=\"middle\"", 0, 0, p->plot->y_label);
    fr_markup_raw(&p->m, "</g>\n");
}

// ---------------------------------------------------------------- series

// The attributes of a stroke or an area of this style.
static void put_class(pen *p, const fr_plot_series *s) {
    static const char *const classes[] = {
        [FR_PLOT_LINE] = "line s", [FR_PLOT_DASHED] = "thin s", [FR_PLOT_LIMIT] = "limit",
        [FR_PLOT_BAND] = "band",   [FR_PLOT_BARS] = "d",        [FR_PLOT_MARK] = "mark s"};
    if (s->style == FR_PLOT_LIMIT || s->style == FR_PLOT_BAND)
        fr_markup_put(&p->m, "class=\"%s\"", classes[s->style]);
    else
        fr_markup_put(&p->m, "class=\"%s%d%s\"", classes[s->style], s->color % FR_PLOT_COLORS,
                      s->color / FR_PLOT_COLORS % 2 ? " pale" : "");
}

static void put_dot(pen *p, const fr_plot_series *s, double x, double y) {
    fr_markup_put(&p->m, "<circle class=\"d%d%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\"/>\n",
                  s->color % FR_PLOT_COLORS, s->color / FR_PLOT_COLORS % 2 ? " pale" : "", x, y);
}

static void put_whisker(pen *p, const fr_plot_point *at, double x, double width) {
    if (at->low >= at->high) return;
    const double low = place(&p->y, at->low), high = place(&p->y, at->high);
    const double cap = fmin(CAP, 0.5 * width);
    fr_markup_put(
        &p->m,
        "<path class=\"whisker\" d=\"M%.1f %.1f V%.1f M%.1f %.1f h%.1f M%.1f %.1f h%.1f\"/>\n", x,
        low, high, x - cap, low, 2 * cap, x - cap, high, 2 * cap);
}

static void put_curve(pen *p, const fr_plot_series *s) {
    fr_markup_raw(&p->m, "<path ");
    put_class(p, s);
    fr_markup_raw(&p->m, " d=\"");
    for (int i = 0; i < s->n; i++)
        fr_markup_put(&p->m, "%c%.1f %.1f", i ? 'L' : 'M', place(&p->x, s->points[i].x),
                      place(&p->y, s->points[i].y));
    fr_markup_put(&p->m, "%s\"/>\n", s->style == FR_PLOT_BAND ? "Z" : "");
    for (int i = 0; i < s->n; i++) {
        const double x = place(&p->x, s->points[i].x);
        put_whisker(p, &s->points[i], x, 2 * CAP);
        if (s->style == FR_PLOT_LINE) put_dot(p, s, x, place(&p->y, s->points[i].y));
    }
}

// The index-th of the bars at every x.
static void put_bars(pen *p, const fr_plot_series *s, int index) {
    const double unit = (p->x.to - p->x.from) / (p->x.hi - p->x.lo);
    const double width = fmin(BAR_MOST, 0.8 * unit / p->n_bars);
    const double gap = width > 8 ? 2 : width > 4 ? 1 : 0;
    for (int i = 0; i < s->n; i++) {
        const double x = place(&p->x, s->points[i].x) + (index - 0.5 * p->n_bars) * width;
        const double y = place(&p->y, s->points[i].y), zero = place(&p->y, 0);
        fr_markup_raw(&p->m, "<path ");
        put_class(p, s);
        fr_markup_put(&p->m, " d=\"M%.1f %.1f H%.1f V%.1f H%.1fZ\"/>\n", x, y, x + width - gap,
                      zero, x);
        put_whisker(p, &s->points[i], x + 0.5 * (width - gap), width - gap);
    }
}

static void put_mark(pen *p, const fr_plot_series *s) {
    fr_markup_raw(&p->m, "<path ");
    put_class(p, s);
    fr_markup_put(&p->m, " d=\"M%.1f %.0f V%.0f\"/>\n", place(&p->x, s->points[0].x), p->top,
                  p->bottom);
}

static void put_all_series(pen *p) {
    int bars = 0;
    for (int i = 0; i < p->plot->n_series; i++) {
        const fr_plot_series *s = &p->plot->series[i];
        if (!s->n) continue;
        if (s->style == FR_PLOT_BARS)
            put_bars(p, s, bars++);
        else if (s->style == FR_PLOT_MARK)
            put_mark(p, s);
        else
            put_curve(p, s);
    }
}

// ---------------------------------------------------------------- legend

typedef struct entry { // of a series: where its swatch begins, and its words
    double x, y;
    const char *label; // NULL: it has none
    char room[LEGEND_MOST];
} entry;

// The entry of the next series; `at` is that of the one before it, {0} before the first.
static void next_entry(entry *at, const fr_plot_series *s) {
    if (!at->y) *at = (entry){.x = LEFT, .y = LEGEND_TOP};
    if (at->label) at->x += SWATCH + 3 * GAP + LETTER * (double)strlen(at->label);
    at->label =
        s->label && s->n ? cut(at->room, s->label, (RIGHT - LEFT - SWATCH - GAP) / LETTER) : NULL;
    if (!at->label || at->x == LEFT) return;
    if (at->x + SWATCH + GAP + LETTER * (double)strlen(at->label) <= RIGHT) return;
    at->x = LEFT;
    at->y += LEGEND_LINE;
}

static void put_swatch(pen *p, const fr_plot_series *s, double x, double y) {
    fr_markup_raw(&p->m, "<path ");
    put_class(p, s);
    if (s->style == FR_PLOT_BAND || s->style == FR_PLOT_BARS)
        fr_markup_put(&p->m, " d=\"M%.0f %.0f h%d v10 h-%dZ\"/>\n", x, y - 9, SWATCH, SWATCH);
    else if (s->style == FR_PLOT_MARK)
        fr_markup_put(&p->m, " d=\"M%.0f %.0f v14\"/>\n", x + SWATCH / 2, y - 11);
    else
        fr_markup_put(&p->m, " d=\"M%.0f %.0f h%d\"/>\n", x, y - 4, SWATCH);
    if (s->style == FR_PLOT_LINE) put_dot(p, s, x + SWATCH / 2, y - 4);
}

static void put_legend(pen *p) {
    entry at = {.label = NULL};
    for (int i = 0; i < p->plot->n_series; i++) {
        next_entry(&at, &p->plot->series[i]);
        if (!at.label) continue;
        put_swatch(p, &p->plot->series[i], at.x, at.y);
        put_text(p, "class=\"ink\"", at.x + SWATCH + GAP, at.y, at.label);
    }
}

// The curves keep their height however long the legend is.
static void choose_heights(pen *p) {
    entry at = {.y = 0};
    for (int i = 0; i < p->plot->n_series; i++)
        next_entry(&at, &p->plot->series[i]);
    p->top = fmax(at.y, LEGEND_TOP) + LEGEND_LINE;
    p->bottom = p->top + TALL;
}

fr_status fr_plot_svg(const fr_plot *plot, fr_buffer *out, fr_error *err) {
    pen p = {.plot = plot, .m = {.out = out, .err = err}};
    choose_heights(&p);
    choose_axes(&p);
    const double height = p.bottom + BELOW;
    fr_markup_put(&p.m,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
                  "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"13\">\n",
                  WIDTH, height, WIDTH, height);
    fr_markup_raw(&p.m, "<metadata>forerun " FR_VERSION "</metadata>\n"); // output_kind.c asks
    fr_markup_raw(&p.m, style);
    fr_markup_put(&p.m, "<rect class=\"paper\" width=\"%d\" height=\"%.0f\"/>\n", WIDTH, height);
    put_text(&p, "class=\"ink\" font-size=\"17\" font-weight=\"bold\"", LEFT, 28, plot->title);
    put_text(&p, "class=\"soft\"", LEFT, 48, plot->subtitle);
    if (plot->note) put_text(&p, "class=\"soft\"", LEFT, 66, plot->note);
    put_legend(&p);
    put_axes(&p);
    put_all_series(&p);
    fr_markup_raw(&p.m, "</svg>\n");
    return p.m.st;
}

fr_status fr_plot_save(const fr_plot *plot, const char *path, fr_error *err) {
    fr_buffer svg = {0};
    fr_status st = fr_plot_svg(plot, &svg, err);
    if (!st) st = fr_save(path, svg.data, svg.n, err);
    fr_buffer_free(&svg);
    return st;
}
