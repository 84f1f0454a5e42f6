// counted.h — every way of the library to memory and threads, counted, and failed on demand.
//
// The linker (--wrap) leads malloc, calloc, realloc, aligned_alloc, posix_memalign, mmap and
// pthread_create of the whole program here. Calls inside shared libraries are not seen.
#ifndef FR_TESTS_OOM_COUNTED_H
#define FR_TESTS_OOM_COUNTED_H
#include <stdbool.h>

// From now on the n-th call (from 1) fails, and with `on` all later ones too; 0: none. Resets the
// count.
void counted_fail(int n, bool on);
int counted_calls(void);       // since the last counted_fail
int counted_failures(void);    // calls that were failed since then
long long counted_bytes(void); // that malloc and its like were asked for since then
long counted_live(void);       // blocks, mappings and threads that are not given back

#endif
