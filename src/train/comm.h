// comm.h — one training on several machines: sums and messages among its processes.
//
// With MPI (the build option FR_MPI) the processes are those that mpirun started; without it there
// is one. All calls are made by all processes in the same order. What MPI itself cannot do ends
// the program, as is its way.
#ifndef FR_TRAIN_COMM_H
#define FR_TRAIN_COMM_H
#include "base/status.h"

typedef struct fr_comm {
    int rank, n; // this process, and how many there are
} fr_comm;

fr_status fr_comm_open(fr_comm *c, fr_error *err); // once in a process; FR_EUNSUP
// The end of the work; a code other than 0 takes the other processes down too.
void fr_comm_close(fr_comm *c, int code);
void fr_comm_sum_floats(const fr_comm *c, float *x, size_t n);   // in place, in all processes
void fr_comm_sum_doubles(const fr_comm *c, double *x, size_t n); // in place, in all processes
void fr_comm_share(const fr_comm *c, void *data, size_t bytes);  // from process 0 to all

#endif
