// cpus.c — reads the control group's quota and the affinity mask, then lists the CPUs allowed: one
// of each core first, the siblings after them. The processor's name comes from /proc/cpuinfo.
#define _GNU_SOURCE
#include "base/cpus.h"
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The first line of a small system file; false when it cannot be read.
static bool read_line(const char *path, char *line, int size) {
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool ok = fgets(line, size, f) != NULL;
    fclose(f);
    return ok;
}

// A core is named by the first CPU of its sibling list ("0,64" or "2-3"). That CPU itself may lie
// outside the mask.
static int core_of(int cpu) {
    char path[96], line[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (!read_line(path, line, sizeof line)) return cpu;
    char *end;
    long first = strtol(line, &end, 10);
    return end != line && first >= 0 && first < FR_MAX_CPUS ? (int)first : cpu;
}

// Lowers *quota to what "QUOTA PERIOD" grants, in whole CPUs; "max" and nonsense grant everything.
static void apply_quota(const char *quota_text, const char *period_text, int *quota) {
    long long q = strtoll(quota_text, NULL, 10), p = strtoll(period_text, NULL, 10);
    if (q <= 0 || p <= 0) return;
    long long whole = q / p > 0 ? q / p : 1;
    if (whole < *quota) *quota = (int)whole;
}

static void apply_cpu_max(const char *folder, int *quota) {
    char path[640], line[64];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", folder);
    if (!read_line(path, line, sizeof line)) return;
    char *space = strchr(line, ' ');
    if (space) apply_quota(line, space + 1, quota);
}

// In version 2 every group up to the root may have a limit; version 1 has it in one usual place.
static int read_quota(void) {
    int quota = FR_MAX_CPUS;
    char group[512], q[64], p[64];
    if (read_line("/proc/self/cgroup", group, sizeof group) && !strncmp(group, "0::/", 4)) {
        char *folder = group + 3;
        folder[strcspn(folder, "\n")] = 0;
        for (char *slash; folder[0] && (slash = strrchr(folder, '/')); *slash = 0)
            apply_cpu_max(folder, &quota);
    }
    apply_cpu_max("", &quota);
    if (read_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", q, sizeof q) &&
        read_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", p, sizeof p))
        apply_quota(q, p, &quota);
    return quota;
}

void fr_cpus_read(fr_cpus *cpus) {
    cpu_set_t allowed, seen_core;
    int sibling[FR_MAX_CPUS], n_siblings = 0;
    *cpus = (fr_cpus){.n_quota = read_quota()};
    CPU_ZERO(&allowed);
    CPU_ZERO(&seen_core);
    if (sched_getaffinity(0, sizeof allowed, &allowed)) CPU_SET(0, &allowed);
    for (int cpu = 0; cpu < FR_MAX_CPUS && cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
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
