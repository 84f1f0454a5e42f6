// progress.c — bars and lines.
#include "cmd/lib/progress.h"
#include "base/clock.h"
#include <string.h>
#include <unistd.h>

static const double quiet_seconds = 2, bar_seconds = 0.1, line_seconds = 10;
enum { BAR = 24 };

void fr_progress_open(fr_progress *p, FILE *out, const char *unit, double scale) {
    *p = (fr_progress){.out = out, .unit = unit, .scale = scale};
    p->terminal = out && isatty(fileno(out));
    p->start = p->shown = fr_seconds();
}

// "1:05" or "2:03:04".
static void span(char *text, size_t room, double seconds) {
    const long s = seconds > 0 && seconds < 1e7 ? (long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(text, room, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, room, "%ld:%02ld", s / 60, s % 60);
}

static int line(const fr_progress *p, char *text, size_t room, const char *what, uint64_t done,
                uint64_t total, double passed) {
    const double rate = passed > 0 ? (double)done / passed : 0;
    char left[32], bar[BAR + 1];
    if (!total || done > total) {
        span(left, sizeof left, passed);
        return snprintf(text, room, "%s: %.0f %s, %.1f %s/s, %s so far", what,
                        (double)done / p->scale, p->unit, rate / p->scale, p->unit, left);
    }
    if (done)
        span(left, sizeof left, (double)(total - done) / rate);
    else
        snprintf(left, sizeof left, "-:--"); // not known yet
    const int full = (int)((double)done / (double)total * BAR);
    memset(bar, '-', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = 0;
    return snprintf(text, room, "%s: %s%s%s%3.0f %% of %.0f %s, %.1f %s/s, %s left", what,
                    p->terminal ? "[" : "", p->terminal ? bar : "", p->terminal ? "] " : "",
                    100.0 * (double)done / (double)total, (double)total / p->scale, p->unit,
                    rate / p->scale, p->unit, left);
}

void fr_progress_show(fr_progress *p, const char *what, uint64_t done, uint64_t total) {
    if (!p->out) return;
    const double now = fr_seconds(), passed = now - p->start;
    if (passed < quiet_seconds) return;
    if (now - p->shown < (p->terminal ? bar_seconds : line_seconds)) return;
    p->shown = now;
    char text[256];
    int n = line(p, text, sizeof text, what, done, total, passed);
    if (n >= (int)sizeof text) n = (int)sizeof text - 1;
    if (!p->terminal) {
        fprintf(p->out, "%s\n", text);
    } else {
        fprintf(p->out, "\r%s%*s", text, p->width > n ? p->width - n : 0, "");
        p->width = n;
    }
    fflush(p->out);
}

void fr_progress_clear(fr_progress *p) {
    if (!p->width) return;
    fprintf(p->out, "\r%*s\r", p->width, "");
    fflush(p->out);
    p->width = 0;
}
