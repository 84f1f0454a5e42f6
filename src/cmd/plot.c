// plot.c — ticks, axes, curves and legend.
#include "cmd/plot.h"
#include "text/utf8.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 760, HEIGHT = 500, LEFT = 70, RIGHT = 738, BOTTOM = 444, MANY_TICKS = 12 };
// The legend runs in lines between the titles and the curves. Letters are taken to be 7 wide.
enum { LEGEND_TOP = 90, LEGEND_LINE = 20, SWATCH = 30, LETTER = 7, GAP = 8 };

// Light by default; viewers that know of dark paper take the second half.
static const char style[] =
    "<style>\n"
    ".paper{fill:#fff}.ink{fill:#1c2126}.soft{fill:#59636e}\n"
    ".grid{stroke:#e1e5ea}.axis{stroke:#59636e}\n"
    ".limit{stroke:#6b7682;stroke-width:1.6}.band{fill:#8a949f;fill-opacity:.22}\n"
    ".line{stroke-width:2}.thin{stroke-width:1.2;stroke-dasharray:5 4}\n"
    ".limit,.line,.thin{fill:none;stroke-linejoin:round}\n"
    ".s0{stroke:#1668b8}.s1{stroke:#c2530a}.s2{stroke:#1d7f46}\n"
    ".s3{stroke:#8a3fa8}.s4{stroke:#b3283d}.s5{stroke:#7a6a00}\n"
    ".d0{fill:#1668b8}.d1{fill:#c2530a}.d2{fill:#1d7f46}\n"
    ".d3{fill:#8a3fa8}.d4{fill:#b3283d}.d5{fill:#7a6a00}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".paper{fill:#14181d}.ink{fill:#e8ebee}.soft{fill:#a4aeb9}\n"
    ".grid{stroke:#2b323a}.axis{stroke:#8d98a4}\n"
    ".limit{stroke:#9aa5b1}.band{fill:#9aa5b1}\n"
    ".s0{stroke:#5fb0f5}.s1{stroke:#f39a55}.s2{stroke:#58c98a}\n"
    ".s3{stroke:#cf93ea}.s4{stroke:#f3808f}.s5{stroke:#d9c64a}\n"
    ".d0{fill:#5fb0f5}.d1{fill:#f39a55}.d2{fill:#58c98a}\n"
    ".d3{fill:#cf93ea}.d4{fill:#f3808f}.d5{fill:#d9c64a}\n"
    "}\n</style>\n";

// ---------------------------------------------------------------- ticks

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
    const double slack = 1e-9; // 0.2 must count as 2e-1 however it was computed
    int i = (int)(floor(log(lo) / log(base)) * (steps == FR_PLOT_DECIMAL ? per_base : 1)) - 1,
        n = 0;
    while (tick_of(steps, decades, i + 1) <= lo * (1 + slack))
        i++;
    do
        ticks[n++] = tick_of(steps, decades, i++);
    while (n < FR_PLOT_TICKS && (n < 2 || ticks[n - 1] < hi * (1 - slack)));
    return n;
}

int fr_plot_ticks(fr_plot_steps steps, double lo, double hi, double ticks[FR_PLOT_TICKS]) {
    const int n = list_ticks(steps, false, lo, hi, ticks);
    return n > MANY_TICKS && steps == FR_PLOT_DECIMAL ? list_ticks(steps, true, lo, hi, ticks) : n;
}

// ---------------------------------------------------------------- text

fr_status fr_plot_escape(fr_buffer *out, const char *text, fr_error *err) {
    const uint8_t *p = (const uint8_t *)text;
    fr_status st = FR_OK;
    for (size_t n = strlen(text); n && !st;) {
        const fr_utf8_step step = fr_utf8_next(p, n);
        const bool known = step.kind == FR_UTF8_WHOLE && step.code >= 0x20 && step.code != 0x7f &&
                           step.code != 0xfffe && step.code != 0xffff;
        const char *put = !known             ? "\uFFFD"
                          : step.code == '&' ? "&amp;"
                          : step.code == '<' ? "&lt;"
                          : step.code == '>' ? "&gt;"
                          : step.code == '"' ? "&quot;"
                                             : NULL;
        st = put ? fr_buffer_add(out, put, strlen(put), err)
                 : fr_buffer_add(out, p, (size_t)step.bytes, err);
        p += step.bytes;
        n -= (size_t)step.bytes;
    }
    return st;
}

typedef struct pen { // keeps the first failure
    const fr_plot *plot;
    fr_buffer *out;
    fr_error *err;
    fr_status st;
    double x[FR_PLOT_TICKS], y[FR_PLOT_TICKS], top; // top: of the curves, below the legend
    int n_x, n_y;
} pen;

__attribute__((format(printf, 2, 3))) static void put(pen *p, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!p->st) p->st = fr_buffer_add(p->out, text, (size_t)n, p->err);
}

static void put_text(pen *p, const char *attributes, double x, double y, const char *text) {
    put(p, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    if (!p->st) p->st = fr_plot_escape(p->out, text, p->err);
    put(p, "</text>\n");
}

// ---------------------------------------------------------------- the picture

static double x_of(const pen *p, double x) {
    return LEFT + (RIGHT - LEFT) * log(x / p->x[0]) / log(p->x[p->n_x - 1] / p->x[0]);
}

static double y_of(const pen *p, double y) {
    return BOTTOM - (BOTTOM - p->top) * log(y / p->y[0]) / log(p->y[p->n_y - 1] / p->y[0]);
}

static void choose_axes(pen *p) {
    double x_lo = INFINITY, x_hi = 0, y_lo = INFINITY, y_hi = 0;
    for (int i = 0; i < p->plot->n_series; i++)
        for (int k = 0; k < p->plot->series[i].n; k++) {
            const fr_plot_point at = p->plot->series[i].points[k];
            x_lo = fmin(x_lo, at.x), x_hi = fmax(x_hi, at.x);
            y_lo = fmin(y_lo, at.y), y_hi = fmax(y_hi, at.y);
        }
    p->n_x = fr_plot_ticks(FR_PLOT_POWERS_OF_TWO, x_lo, x_hi, p->x);
    p->n_y = fr_plot_ticks(FR_PLOT_DECIMAL, y_lo, y_hi, p->y);
}

static void put_axes(pen *p) {
    char number[32];
    for (int i = 0; i < p->n_x; i++) {
        const double x = x_of(p, p->x[i]);
        put(p, "<path class=\"grid\" d=\"M%.1f %.0f V%d\"/>\n", x, p->top, BOTTOM);
        snprintf(number, sizeof number, "%.10g", p->x[i]);
        put_text(p, "class=\"soft\" text-anchor=\"middle\"", x, BOTTOM + 19, number);
    }
    for (int i = 0; i < p->n_y; i++) {
        const double y = y_of(p, p->y[i]);
        put(p, "<path class=\"grid\" d=\"M%d %.1f H%d\"/>\n", LEFT, y, RIGHT);
        snprintf(number, sizeof number, "%.10g", p->y[i]);
        put_text(p, "class=\"soft\" text-anchor=\"end\"", LEFT - 8, y + 4, number);
    }
    put(p, "<path class=\"axis\" fill=\"none\" d=\"M%d %.0f V%d H%d\"/>\n", LEFT, p->top, BOTTOM,
        RIGHT);
    put_text(p, "class=\"ink\" text-anchor=\"middle\"", 0.5 * (LEFT + RIGHT), BOTTOM + 42,
             p->plot->x_label);
    put(p, "<g transform=\"translate(20 %.0f) rotate(-90)\">", 0.5 * (p->top + BOTTOM));
    put_text(p, "class=\"ink\" text-anchor=\"middle\"", 0, 0, p->plot->y_label);
    put(p, "</g>\n");
}

// The attributes of a stroke of this style.
static void put_stroke(pen *p, const fr_plot_series *s) {
    if (s->style == FR_PLOT_LINE) put(p, "class=\"line s%d\"", s->color);
    if (s->style == FR_PLOT_DASHED) put(p, "class=\"thin s%d\"", s->color);
    if (s->style == FR_PLOT_LIMIT) put(p, "class=\"limit\"");
    if (s->style == FR_PLOT_BAND) put(p, "class=\"band\"");
}

static void put_series(pen *p, const fr_plot_series *s) {
    put(p, "<path ");
    put_stroke(p, s);
    put(p, " d=\"");
    for (int i = 0; i < s->n; i++)
        put(p, "%c%.1f %.1f", i ? 'L' : 'M', x_of(p, s->points[i].x), y_of(p, s->points[i].y));
    put(p, "%s\"/>\n", s->style == FR_PLOT_BAND ? "Z" : "");
    for (int i = 0; i < s->n && s->style == FR_PLOT_LINE; i++)
        put(p, "<circle class=\"d%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\"/>\n", s->color,
            x_of(p, s->points[i].x), y_of(p, s->points[i].y));
}

static void put_swatch(pen *p, const fr_plot_series *s, double x, double y) {
    put(p, "<path ");
    put_stroke(p, s);
    if (s->style == FR_PLOT_BAND)
        put(p, " d=\"M%.0f %.0f h%d v10 h-%dZ\"/>\n", x, y - 9, SWATCH, SWATCH);
    else
        put(p, " d=\"M%.0f %.0f h%d\"/>\n", x, y - 4, SWATCH);
    if (s->style == FR_PLOT_LINE)
        put(p, "<circle class=\"d%d\" cx=\"%.0f\" cy=\"%.0f\" r=\"3.2\"/>\n", s->color,
            x + SWATCH / 2, y - 4);
}

static void put_legend(pen *p) {
    double x = LEFT, y = LEGEND_TOP;
    for (int i = 0; i < p->plot->n_series; i++) {
        const fr_plot_series *s = &p->plot->series[i];
        if (!s->label) continue;
        const double width = SWATCH + GAP + LETTER * (double)strlen(s->label);
        if (x > LEFT && x + width > RIGHT) {
            x = LEFT;
            y += LEGEND_LINE;
        }
        put_swatch(p, s, x, y);
        put_text(p, "class=\"ink\"", x + SWATCH + GAP, y, s->label);
        x += width + 2 * GAP;
    }
    p->top = y + LEGEND_LINE;
}

fr_status fr_plot_svg(const fr_plot *plot, fr_buffer *out, fr_error *err) {
    pen p = {.plot = plot, .out = out, .err = err};
    choose_axes(&p);
    put(&p,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    if (!p.st) p.st = fr_buffer_add(out, style, sizeof style - 1, err);
    put(&p, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", WIDTH, HEIGHT);
    put_text(&p, "class=\"ink\" font-size=\"17\" font-weight=\"bold\"", LEFT, 28, plot->title);
    put_text(&p, "class=\"soft\"", LEFT, 48, plot->subtitle);
    put_text(&p, "class=\"soft\"", LEFT, 66, plot->note);
    put_legend(&p);
    put_axes(&p);
    for (int i = 0; i < plot->n_series; i++)
        put_series(&p, &plot->series[i]);
    put(&p, "</svg>\n");
    return p.st;
}
