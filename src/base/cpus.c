// cpus.c — reads the control group's quota and the affinity mask, then lists the CPUs allowed: one
// of each core first, the siblings after them. The processor's name comes from /proc/cpuinfo.
#define _GNU_SOURCE
#include "base/cpus.h"
#include "base/control_group.h"
#include "base/system_file.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A core is named by the first CPU of its sibling list ("0,64" or "2-3"). That CPU itself may lie
// outside the mask.
static int core_of(int cpu) {
    char path[96], line[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (!fr_system_line("", path, line, sizeof line)) return cpu;
    char *end;
    long first = strtol(line, &end, 10);
    return end != line && first >= 0 && first < FR_MAX_CPUS ? (int)first : cpu;
}

// In whole CPUs, at least one.
static int read_quota(void) {
    fr_control_group g;
    fr_control_group_read(&g, "");
    if (!g.cpus || g.cpus >= FR_MAX_CPUS) return FR_MAX_CPUS;
    return g.cpus < 1 ? 1 : (int)g.cpus;
}

void fr_cpus_read(fr_cpus *cpus) {
    // The system refuses a mask with less room than it has CPUs.
    cpu_set_t allowed[8], seen_core;
    int sibling[FR_MAX_CPUS], n_siblings = 0;
    *cpus = (fr_cpus){.n_quota = read_quota()};
    CPU_ZERO_S(sizeof allowed, allowed);
    CPU_ZERO(&seen_core);
    if (sched_getaffinity(0, sizeof allowed, allowed)) CPU_SET_S(0, sizeof allowed, allowed);
    for (int cpu = 0; cpu < FR_MAX_CPUS && cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET_S(cpu, sizeof allowed, allowed)) continue;
        int core = core_of(cpu);
        if (CPU_ISSET(core, &seen_core)) {
            sibling[n_siblings++] = cpu;
            continue;
        }
        CPU_SET(core, &seen_core);
        cpus->order[cpus->n_cores++] = cpu;
    }
    cpus->n_allowed = cpus->n_cores;
    for (int i = 0; i < n_siblings; i++)
        cpus->order[cpus->n_allowed++] = sibling[i];
    if (!cpus->n_cores) cpus->n_cores = cpus->n_allowed = 1;
}

void fr_cpu_name(char *name, size_t room) {
    char line[256];
    snprintf(name, room, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(name, room, "%s", colon + 1 + (colon[1] == ' '));
        break;
    }
    if (f) fclose(f);
}
