// save.c — write beside, then rename.
#include "base/save.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A device or a folder must not be replaced by a file.
static fr_status open_beside(const char *path, char part[PATH_MAX], int *fd, fr_error *err) {
    struct stat s;
    if (!stat(path, &s) && !S_ISREG(s.st_mode))
        return fr_fail(err, FR_EIO, "%s: expected a file, found %s", path,
                       S_ISDIR(s.st_mode) ? "a folder" : "a device");
    const int n = snprintf(part, PATH_MAX, "%s.%ld.part", path, (long)getpid());
    if (n < 0 || n >= PATH_MAX) return fr_fail(err, FR_EIO, "%.100s...: too long a path", path);
    *fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*fd < 0) return fr_fail(err, FR_EIO, "%s: %s", path, strerror(errno));
    return FR_OK;
}

static bool write_all(int fd, const char *bytes, size_t n) {
    while (n) {
        const ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        bytes += done;
        n -= (size_t)done;
    }
    return !fsync(fd);
}

fr_status fr_save(const char *path, const char *bytes, size_t n, fr_error *err) {
    char part[PATH_MAX];
    int fd, why = 0;
    const fr_status st = open_beside(path, part, &fd, err);
    if (st) return st;
    if (!write_all(fd, bytes, n)) why = errno;
    if (close(fd) && !why) why = errno;
    if (!why && rename(part, path)) why = errno;
    if (!why) return FR_OK;
    unlink(part);
    return fr_fail(err, FR_EIO, "%s: %s", path, strerror(why));
}

fr_status fr_save_check(const char *path, fr_error *err) {
    char part[PATH_MAX];
    int fd;
    const fr_status st = open_beside(path, part, &fd, err);
    if (st) return st;
    close(fd);
    unlink(part);
    return FR_OK;
}
