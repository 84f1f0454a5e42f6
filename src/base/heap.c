#include "base/heap.h"
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>

enum { HEAPS = 8, LARGE = 1 << 20 };

void fr_heap_of_many_threads(void) {
    mallopt(M_ARENA_MAX, HEAPS);
    mallopt(M_MMAP_THRESHOLD, LARGE); // once it is set, it no longer grows with freed blocks
    mallopt(M_TRIM_THRESHOLD, LARGE);
}

void fr_heap_give_back(void) {
    malloc_trim(0);
}
#else
void fr_heap_of_many_threads(void) {}

void fr_heap_give_back(void) {}
#endif
