// lock.c — opens PATH.lock, takes the lock and writes the process's number into the file. If
// another process holds the lock, the error names that process.
#include "base/lock.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_MOST = 32, PATIENCE = 200 }; // "forerun 12345\n"; milliseconds

// PATH.lock beside the file itself, so that all its names lead to one lock.
static fr_status name_lock(char file[PATH_MAX], const char *path, fr_error *err) {
    char *real = realpath(path, NULL);
    const char *name = real ? real : path;
    size_t n = strlen(name);
    while (n > 1 && name[n - 1] == '/')
        n--;
    const int bytes = snprintf(file, PATH_MAX, "%.*s.lock", (int)n, name);
    free(real);
    return n < PATH_MAX && bytes > 0 && bytes < PATH_MAX
               ? FR_OK
               : fr_fail(err, FR_EIO, "%.100s...: too long a path", path);
}

// Whose lock a file is; 0: empty, -1: no lock of ours.
static long read_owner(int fd) {
    char text[TEXT_MOST + 1] = "", *end = text;
    const ssize_t n = pread(fd, text, TEXT_MOST, 0);
    if (n == 0) return 0;
    if (n < 0 || strncmp(text, "forerun ", 8) != 0) return -1;
    const long pid = strtol(text + 8, &end, 10);
    return pid > 0 && !strcmp(end, "\n") ? pid : -1;
}

// False: the owner has perhaps not written its number yet. The file is empty, or still has the
// number of a process that was killed.
static bool is_settled(long pid) {
    return pid && (!kill((pid_t)pid, 0) || errno != ESRCH);
}

static fr_status tell_owner(const char *path, long pid, fr_error *err) {
    if (!pid) return fr_fail(err, FR_EIO, "%s: another process is writing it", path);
    return fr_fail(err, FR_EIO, "%s: process %ld is writing it", path, pid);
}

// *again: try once more, as the last owner has removed the file meanwhile, or (patient) the new
// owner has not written its number yet.
static fr_status try_lock(fr_lock *l, const char *path, bool patient, bool *again, fr_error *err) {
    struct stat s;
    char text[TEXT_MOST];
    *again = false;
    l->fd = open(l->file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (l->fd < 0 && errno == ENOENT)
        return fr_fail(err, FR_EIO, "%s: there is no such folder to write it in", path);
    if (l->fd < 0) return fr_fail(err, FR_EIO, "%s: %s", l->file, strerror(errno));
    const bool taken = flock(l->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    const long owner = read_owner(l->fd);
    if (owner < 0)
        return fr_fail(err, FR_EIO, "%s: expected the lock of %s, found another file", l->file,
                       path);
    *again = taken && patient && !is_settled(owner);
    if (*again) return FR_OK;
    if (taken) return tell_owner(path, owner, err);
    *again = fstat(l->fd, &s) || !s.st_nlink;
    if (*again) return FR_OK;
    const int n = snprintf(text, sizeof text, "forerun %ld\n", (long)getpid());
    if (!ftruncate(l->fd, 0) && pwrite(l->fd, text, (size_t)n, 0) == n) return FR_OK;
    const int why = errno;
    (void)unlink(l->file);
    return fr_fail(err, FR_EIO, "%s: %s", l->file, strerror(why));
}

fr_status fr_lock_take(fr_lock *l, const char *path, fr_error *err) {
    bool again;
    l->held = false;
    fr_status st = name_lock(l->file, path, err);
    if (st) return st;
    for (int i = 0; !st; i++) {
        st = try_lock(l, path, i < PATIENCE, &again, err);
        if ((st || again) && l->fd >= 0) close(l->fd);
        if (!again) break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    l->held = !st;
    return st;
}

// The file is removed while the lock is still held: it cannot be another process's file then.
void fr_lock_drop(fr_lock *l) {
    if (!l->held) return;
    (void)unlink(l->file);
    close(l->fd);
    l->held = false;
}
