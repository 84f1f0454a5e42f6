// cpus.h — which CPUs this process may use.
#ifndef FR_BASE_CPUS_H
#define FR_BASE_CPUS_H
#include <stddef.h>

enum { FR_MAX_CPUS = 1024 }; // CPUs looked at; more are ignored

typedef struct fr_cpus {
    int n_allowed; // CPUs in the affinity mask, at least 1
    int n_cores;   // physical cores among them, at least 1
    int n_quota;   // whole CPUs the control group grants, at least 1; FR_MAX_CPUS: no limit
    int order[FR_MAX_CPUS]; // the allowed CPUs, one of each core first, then the siblings
} fr_cpus;

// Reads the affinity mask, the topology and the control group's quota. Cannot fail: without an
// answer of the system, one CPU for each core and no quota are assumed.
void fr_cpus_read(fr_cpus *cpus);
// The system's name of the processor, or "unknown".
void fr_cpu_name(char *name, size_t room);

#endif
