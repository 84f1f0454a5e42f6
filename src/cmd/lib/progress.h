// progress.h — how far long work has come: a bar on a terminal, a line every ten seconds elsewhere.
//
// Nothing shows in the first two seconds. The struct is the caller's, holds no memory and lives as
// long as one piece of work; several may follow each other in one struct. Writing goes to the FILE
// given (NULL: silent); its errors are ignored.
#ifndef FR_CMD_LIB_PROGRESS_H
#define FR_CMD_LIB_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct fr_progress {
    FILE *out; // NULL: prints nothing
    bool terminal;
    const char *unit; // what is counted, for the rate: "MB", "passes"
    double scale;     // counts of one unit: 1e6 where bytes are counted and MB are shown
    double start, shown;
    int width; // columns of the bar line that stands on the terminal now, 0: none
} fr_progress;

// `unit` must live as long as *p. out NULL: silent.
void fr_progress_open(fr_progress *p, FILE *out, const char *unit, double scale);

// `done` of `total` counts (total 0: unknown) of `what`. Cheap enough to call a thousand times a
// second. Counting starts anew with every open.
void fr_progress_show(fr_progress *p, const char *what, uint64_t done, uint64_t total);

// Wipes the bar, so that other text can be written. fine on {0} and when nothing was shown.
void fr_progress_clear(fr_progress *p);

#endif
