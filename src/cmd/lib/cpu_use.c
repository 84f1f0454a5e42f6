// cpu_use.c — /proc/stat against this process' own clock.
#include "cmd/lib/cpu_use.h"
#include "base/clock.h"
#include <stdio.h>
#include <unistd.h>

bool fr_cpu_use_parse(const char *line, double tick, double *busy, double *stolen) {
    unsigned long long user, nice, system, idle, wait, irq, softirq, steal;
    if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
               &wait, &irq, &softirq, &steal) != 8)
        return false;
    *busy = tick * ((double)user + (double)nice + (double)system + (double)irq + (double)softirq);
    *stolen = tick * (double)steal;
    return true;
}

fr_cpu_use fr_cpu_use_now(void) {
    fr_cpu_use u = {.wall = fr_seconds()};
    struct timespec t;
    if (!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
        u.own = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    char line[256];
    const long ticks = sysconf(_SC_CLK_TCK);
    FILE *f = fopen("/proc/stat", "r");
    if (f && ticks > 0 && fgets(line, sizeof line, f))
        fr_cpu_use_parse(line, 1.0 / (double)ticks, &u.busy, &u.stolen);
    if (f) fclose(f);
    return u;
}

fr_cpu_others fr_cpu_use_others(fr_cpu_use from, fr_cpu_use to) {
    const double wall = to.wall - from.wall, own = to.own - from.own;
    const double programs = to.busy - from.busy - own, host = to.stolen - from.stolen;
    // What counting in ticks may be wrong by: a twentieth of one processor, and a fiftieth of this
    // program's own use.
    const double error = 0.05 * wall + 0.02 * own;
    fr_cpu_others others = {0};
    if (wall > 0 && programs > error) others.programs = programs / wall;
    if (wall > 0 && host > error) others.host = host / wall;
    return others;
}
