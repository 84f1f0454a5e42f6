// save.c — write beside, then rename.
#include "base/save.h"
#include "base/path.h"
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

bool fr_write_all(int fd, const void *data, size_t bytes) {
    const char *p = data;
    while (bytes) {
        // Linux moves at most 2 GB a call; smaller pieces keep an interrupt short.
        const ssize_t n = write(fd, p, bytes < 1u << 24 ? bytes : 1u << 24);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

void fr_sync_folder(const char *path) {
    char dir[PATH_MAX];
    const size_t n = fr_path_folder(path);
    if (n >= sizeof dir) return;
    snprintf(dir, sizeof dir, "%.*s", n ? (int)n : 1, n ? path : ".");
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

fr_status fr_make_folders(const char *path, fr_error *err) {
    char dir[PATH_MAX];
    if (strlen(path) >= sizeof dir) return fr_fail(err, FR_EIO, "%.80s...: too long a path", path);
    strcpy(dir, path);
    for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(dir, 0777) && errno != EEXIST)
            return fr_fail(err, FR_EIO, "%s: %s", dir, strerror(errno));
        *slash = '/';
    }
    return FR_OK;
}

fr_status fr_save(const char *path, const char *bytes, size_t n, fr_error *err) {
    char part[PATH_MAX];
    int fd, why = 0;
    const fr_status st = open_beside(path, part, &fd, err);
    if (st) return st;
    if (!fr_write_all(fd, bytes, n) || fsync(fd)) why = errno;
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
