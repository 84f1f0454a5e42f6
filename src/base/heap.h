// heap.h — what the C library does with memory that was freed: it keeps it, by default as much as
// was ever used by the largest of many threads.
#ifndef FR_BASE_HEAP_H
#define FR_BASE_HEAP_H

// Few heaps for all threads, and large blocks go back to the system at once. Of the whole process,
// so a program does this and the library does not.
void fr_heap_of_many_threads(void);

// Gives back what lies free. It looks through all of the heap: for the end of what was large.
void fr_heap_give_back(void);

#endif
