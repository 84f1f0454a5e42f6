// cpu_use.h — the use of the processors: by this program, by others, or by the host of a virtual
// machine.
#ifndef FR_CMD_LIB_CPU_USE_H
#define FR_CMD_LIB_CPU_USE_H
#include <stdbool.h>

typedef struct fr_cpu_use { // seconds since some moment, summed over processors
    double wall, own;
    double busy, stolen; // of the whole machine: used by any process; held back by the host
} fr_cpu_use;

typedef struct fr_cpu_others { // processors that were not there for this program, on average
    double programs, host;
} fr_cpu_others;

// Busy and stolen stay 0 if the system does not report them.
fr_cpu_use fr_cpu_use_now(void);
// The first line of /proc/stat, in ticks of `tick` seconds; false when it is not such a line.
bool fr_cpu_use_parse(const char *line, double tick, double *busy, double *stolen);
// Between two moments. What lies within the error of counting in ticks is 0.
fr_cpu_others fr_cpu_use_others(fr_cpu_use from, fr_cpu_use to);

#endif
