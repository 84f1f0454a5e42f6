// machine.c — /proc/cpuinfo and /proc/meminfo, then the settings in /sys.
#include "base/machine.h"
#include "base/cpus.h"
#include "base/system_file.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU "/sys/devices/system/cpu"

typedef struct core {
    long socket, number;
} core;

typedef struct cores {
    core of[FR_MAX_CPUS];
    int n;
    long socket; // of the CPU whose lines are read
} cores;

static void note_core(cores *c, long number) {
    for (int i = 0; i < c->n; i++)
        if (c->of[i].socket == c->socket && c->of[i].number == number) return;
    if (c->n < FR_MAX_CPUS) c->of[c->n++] = (core){c->socket, number};
}

static void read_cpu_line(fr_machine *m, cores *c, const char *line) {
    const char *colon = strchr(line, ':');
    if (!colon) return;
    if (!strncmp(line, "processor", 9)) m->n_cpus++;
    if (!strncmp(line, "physical id", 11)) c->socket = strtol(colon + 1, NULL, 10);
    if (!strncmp(line, "core id", 7)) note_core(c, strtol(colon + 1, NULL, 10));
    if (!strncmp(line, "flags", 5) && strstr(line, " hypervisor")) m->is_virtual = true;
}

static void read_cpus(fr_machine *m, const char *root) {
    char path[PATH_MAX], line[8192];
    cores c = {.n = 0};
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        read_cpu_line(m, &c, line);
    if (f) fclose(f);
    m->n_cores = c.n;
}

static void read_memory(fr_machine *m, const char *root) {
    uint64_t total = 0, available = 0, swap = 0, swap_free = 0;
    fr_system_entry(root, "/proc/meminfo", "MemTotal", &total);
    fr_system_entry(root, "/proc/meminfo", "MemAvailable", &available);
    fr_system_entry(root, "/proc/meminfo", "SwapTotal", &swap);
    fr_system_entry(root, "/proc/meminfo", "SwapFree", &swap_free);
    m->memory = total << 10;
    m->available = available << 10;
    m->swap = swap << 10;
    m->swap_used = (swap > swap_free ? swap - swap_free : 0) << 10;
}

// The word in brackets: "always [madvise] never".
static void read_huge_pages(fr_machine *m, const char *root) {
    char line[96];
    if (!fr_system_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line))
        return;
    const char *open = strchr(line, '['), *close = open ? strchr(open, ']') : NULL;
    if (close)
        snprintf(m->huge_pages, sizeof m->huge_pages, "%.*s", (int)(close - open - 1), open + 1);
}

static void read_turbo(fr_machine *m, const char *root) {
    uint64_t v;
    if (fr_system_number(root, CPU "/intel_pstate/no_turbo", &v)) {
        m->turbo = v ? FR_OFF : FR_ON;
        m->turbo_by_intel = true;
    } else if (fr_system_number(root, CPU "/cpufreq/boost", &v)) {
        m->turbo = v ? FR_ON : FR_OFF;
    }
}

void fr_machine_read(fr_machine *m, const char *root) {
    *m = (fr_machine){0};
    read_cpus(m, root);
    read_memory(m, root);
    read_huge_pages(m, root);
    read_turbo(m, root);
    fr_system_line(root, CPU "/cpu0/cpufreq/scaling_governor", m->governor, sizeof m->governor);
    fr_system_line(root, CPU "/cpu0/cpufreq/scaling_driver", m->clock_driver,
                   sizeof m->clock_driver);
    fr_system_number(root, CPU "/cpu0/cpufreq/scaling_max_freq", &m->clock_khz);
    fr_system_number(root, CPU "/cpu0/cpufreq/cpuinfo_max_freq", &m->clock_most);
}
