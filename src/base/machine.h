// machine.h — the machine as a whole, from the system (cpus.h: the part that this process may
// use).
#ifndef FR_BASE_MACHINE_H
#define FR_BASE_MACHINE_H
#include <stdbool.h>
#include <stdint.h>

typedef enum fr_on_off { FR_UNKNOWN, FR_OFF, FR_ON } fr_on_off;

typedef struct fr_machine { // 0 and "": unknown
    int n_cpus, n_cores;    // CPUs and physical cores that are online
    bool is_virtual;        // a hypervisor runs it
    uint64_t memory, available;
    uint64_t swap, swap_used;
    char huge_pages[16]; // transparent ones: "always", "madvise", "never"
    char governor[32], clock_driver[32];
    fr_on_off turbo;
    bool turbo_by_intel;            // switched by intel_pstate's own file
    uint64_t clock_khz, clock_most; // the highest clock that is allowed; that the CPU has
} fr_machine;

// `root` as in system_file.h. Cannot fail.
void fr_machine_read(fr_machine *m, const char *root);

#endif
