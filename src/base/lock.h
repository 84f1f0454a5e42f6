// lock.h — one writer of an output at a time.
//
// Whoever writes PATH holds a lock on PATH.lock, a small file with the number of the process. The
// system ends the lock with the process, however that ends. A file that is left over is taken
// over by the next writer.
#ifndef FR_BASE_LOCK_H
#define FR_BASE_LOCK_H
#include "base/status.h"
#include <limits.h>

typedef struct fr_lock { // {0}: nothing is held
    bool held;
    int fd;
    char file[PATH_MAX];
} fr_lock;

// For the file or folder of `path`, with links followed; it need not exist. FR_EIO: another process
// holds the lock (named), or PATH.lock cannot be made or is not a lock file of forerun. If the file
// system has no locks, nothing is guarded.
fr_status fr_lock_take(fr_lock *l, const char *path, fr_error *err);
void fr_lock_drop(fr_lock *l); // removes PATH.lock; {0} is fine

#endif
