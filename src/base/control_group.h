// control_group.h — what the control groups of this process leave it of CPUs and memory.
#ifndef FR_BASE_CONTROL_GROUP_H
#define FR_BASE_CONTROL_GROUP_H
#include <stdint.h>

typedef struct fr_control_group {
    double cpus;          // CPUs granted; 0: no limit
    uint64_t memory;      // bytes granted; 0: no limit
    uint64_t memory_used; // ... and used of them, without the file cache that gives way
} fr_control_group;

// Both versions of control groups, and every group up to the root: the tightest limits count.
// `root` as in system_file.h. Cannot fail: a file that is not readable sets no limit.
void fr_control_group_read(fr_control_group *g, const char *root);
// Bytes that the groups leave this process of `memory` bytes of the machine. Where it is not known
// how many those are (0), what the groups leave.
uint64_t fr_control_group_room(const fr_control_group *g, uint64_t memory);

#endif
