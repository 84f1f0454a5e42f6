#include "kern/kern.h"

// Each row has its weights, its query and its output in the kernel's own form. All rows share 128
// values as floats, with room between columns.
size_t fr_attend_work_floats(int slots, int head_dim) {
    const size_t weights = (((size_t)slots + 15) & ~(size_t)15) + 32;
    const size_t head = ((size_t)head_dim + 15) & ~(size_t)15;
    return FR_ATTEND_ROWS * (weights + 2 * head) + (128 + 1) * head + 64;
}
