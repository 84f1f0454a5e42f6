#include "train/comm.h"
#ifdef FR_HAVE_MPI
#include <mpi.h>

enum { PIECE = 1 << 24 }; // counts of MPI are ints, and pieces keep its buffers small

fr_status fr_comm_open(fr_comm *c, fr_error *err) {
    *c = (fr_comm){.n = 1};
    if (MPI_Init(NULL, NULL) || MPI_Comm_rank(MPI_COMM_WORLD, &c->rank) ||
        MPI_Comm_size(MPI_COMM_WORLD, &c->n))
        return fr_fail(err, FR_EUNSUP, "train: MPI does not start");
    return FR_OK;
}

void fr_comm_close(fr_comm *c, int code) {
    int running = 0, over = 0;
    MPI_Initialized(&running);
    MPI_Finalized(&over);
    if (!running || over) return;
    if (code && c->n > 1)
        MPI_Abort(MPI_COMM_WORLD, code);
    else
        MPI_Finalize();
}

void fr_comm_sum_floats(const fr_comm *c, float *x, size_t n) {
    for (size_t at = 0; c->n > 1 && at < n; at += PIECE)
        MPI_Allreduce(MPI_IN_PLACE, x + at, n - at < PIECE ? (int)(n - at) : PIECE, MPI_FLOAT,
                      MPI_SUM, MPI_COMM_WORLD);
}

void fr_comm_sum_doubles(const fr_comm *c, double *x, size_t n) {
    for (size_t at = 0; c->n > 1 && at < n; at += PIECE)
        MPI_Allreduce(MPI_IN_PLACE, x + at, n - at < PIECE ? (int)(n - at) : PIECE, MPI_DOUBLE,
                      MPI_SUM, MPI_COMM_WORLD);
}

void fr_comm_share(const fr_comm *c, void *data, size_t bytes) {
    char *p = data;
    for (size_t at = 0; c->n > 1 && at < bytes; at += PIECE)
        MPI_Bcast(p + at, bytes - at < PIECE ? (int)(bytes - at) : PIECE, MPI_BYTE, 0,
                  MPI_COMM_WORLD);
}

#else

fr_status fr_comm_open(fr_comm *c, fr_error *err) {
    (void)err;
    *c = (fr_comm){.n = 1};
    return FR_OK;
}

void fr_comm_close(fr_comm *c, int code) {
    (void)c;
    (void)code;
}

void fr_comm_sum_floats(const fr_comm *c, float *x, size_t n) {
    (void)c;
    (void)x;
    (void)n;
}

void fr_comm_sum_doubles(const fr_comm *c, double *x, size_t n) {
    (void)c;
    (void)x;
    (void)n;
}

void fr_comm_share(const fr_comm *c, void *data, size_t bytes) {
    (void)c;
    (void)data;
    (void)bytes;
}
#endif
