// heap.h — gives freed memory back to the system. By default the C library keeps most of it, in a heap
// for each of many threads.
#ifndef FR_BASE_HEAP_H
#define FR_BASE_HEAP_H

// Lets all threads share few heaps, and freed large blocks go back to the system at once. It changes
// the whole process, so a program calls it and the library does not.
void fr_heap_of_many_threads(void);

// Gives back what lies free. It walks through all heaps: call it after large work only.
void fr_heap_give_back(void);

#endif
