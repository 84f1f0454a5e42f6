// control_group.c — finds this process' group in /proc/self/cgroup, then goes up from its folder to
// the root. In a container the path may be the host's: then the root's files alone are there.
#include "base/control_group.h"
#include "base/system_file.h"
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 512, VERSION_1_NO_LIMIT_BITS = 60 }; // in version 1 a huge number means "no limit"

// Whether a comma-separated list of `n` bytes has `name`.
static bool lists(const char *list, size_t n, const char *name) {
    const size_t bytes = strlen(name);
    for (const char *end = list + n; list < end; list += strcspn(list, ",:") + 1)
        if (strcspn(list, ",:") == bytes && !strncmp(list, name, bytes)) return true;
    return false;
}

// The group of a line "NUMBER:CONTROLLERS:PATH" where it is that of `controller` ("": version 2).
static bool group_of_line(char *line, const char *controller, char group[GROUP]) {
    char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
    if (!path) return false;
    const size_t n = (size_t)(path - list - 1);
    if (*controller ? !lists(list + 1, n, controller) : n) return false;
    path[strcspn(path, "\n")] = 0;
    snprintf(group, GROUP, "%s", strcmp(path + 1, "/") ? path + 1 : "");
    return true;
}

static void read_group(const char *root, const char *controller, char group[GROUP]) {
    char path[PATH_MAX], line[GROUP + 128];
    *group = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (group_of_line(line, controller, group)) break;
    if (f) fclose(f);
}

static void limit_cpus(fr_control_group *g, double quota, double period) {
    if (quota <= 0 || period <= 0) return;
    if (!g->cpus || quota / period < g->cpus) g->cpus = quota / period;
}

static void limit_memory(fr_control_group *g, uint64_t limit, uint64_t used, uint64_t cache) {
    if (limit >> VERSION_1_NO_LIMIT_BITS) return;
    used -= cache < used ? cache : used;
    used = used < limit ? used : limit;
    if (g->memory && g->memory - g->memory_used <= limit - used) return;
    g->memory = limit;
    g->memory_used = used;
}

typedef void level_fn(fr_control_group *g, const char *root, const char *folder);

static void cpus_2(fr_control_group *g, const char *root, const char *folder) {
    char path[GROUP + 96], line[64];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!fr_system_line(root, path, line, sizeof line)) return;
    const char *space = strchr(line, ' '); // "max PERIOD" is no number
    if (space) limit_cpus(g, (double)strtoll(line, NULL, 10), (double)strtoll(space, NULL, 10));
}

static void cpus_1(fr_control_group *g, const char *root, const char *folder) {
    char path[GROUP + 96];
    uint64_t quota, period;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!fr_system_number(root, path, &quota)) return; // -1: no limit
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (fr_system_number(root, path, &period)) limit_cpus(g, (double)quota, (double)period);
}

static void memory_at(fr_control_group *g, const char *root, const char *folder,
                      const char *const names[3]) {
    char path[GROUP + 96];
    uint64_t limit, used = 0, cache = 0;
    snprintf(path, sizeof path, "%s/%s", folder, names[0]);
    if (!fr_system_number(root, path, &limit)) return;
    snprintf(path, sizeof path, "%s/%s", folder, names[1]);
    fr_system_number(root, path, &used);
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    fr_system_entry(root, path, names[2], &cache);
    limit_memory(g, limit, used, cache);
}

static void memory_2(fr_control_group *g, const char *root, const char *folder) {
    static const char *const names[] = {"memory.max", "memory.current", "inactive_file"};
    memory_at(g, root, folder, names);
}

static void memory_1(fr_control_group *g, const char *root, const char *folder) {
    static const char *const names[] = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                        "total_inactive_file"};
    memory_at(g, root, folder, names);
}

static void each_level(fr_control_group *g, const char *root, const char *controller,
                       level_fn *look) {
    char group[GROUP], folder[GROUP + 64];
    read_group(root, controller, group);
    for (;;) {
        snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s%s", *controller ? "/" : "", controller,
                 group);
        look(g, root, folder);
        char *slash = strrchr(group, '/');
        if (!slash) return;
        *slash = 0;
    }
}

void fr_control_group_read(fr_control_group *g, const char *root) {
    *g = (fr_control_group){0};
    each_level(g, root, "", cpus_2);
    each_level(g, root, "", memory_2);
    each_level(g, root, "cpu", cpus_1);
    each_level(g, root, "memory", memory_1);
}

uint64_t fr_control_group_room(const fr_control_group *g, uint64_t memory) {
    if (!g->memory) return memory;
    const uint64_t left = g->memory > g->memory_used ? g->memory - g->memory_used : 0;
    return memory && memory < left ? memory : left;
}
