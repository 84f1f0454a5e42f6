// save.c — write beside, then rename.
//
// A file that is being written is called PATH.PID.part (PATH.PID-1.part where another thread of the
// process writes PATH too) and locked by its writer. If nobody has it locked and its process is
// gone, it was left by a kill; the next writer of PATH removes it.
#include "base/save.h"
#include "base/path.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// The process that wrote `file` as a part of `name` (12 for "a.gguf.12.part" or "a.gguf.12-1.part"
// and "a.gguf"); 0: it is no part of it.
static long part_owner(const char *file, const char *name) {
    const size_t n = strlen(name);
    if (strncmp(file, name, n) != 0 || file[n] != '.' || !isdigit((unsigned char)file[n + 1]))
        return 0;
    char *end;
    const long pid = strtol(file + n + 1, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1])) (void)strtol(end + 1, &end, 10);
    return pid > 0 && pid < INT_MAX && !strcmp(end, ".part") ? pid : 0;
}

static bool lives(long pid) {
    return pid != (long)getpid() && (!kill((pid_t)pid, 0) || errno != ESRCH);
}

// The lock decides, as process numbers are used again, and those of another machine or container
// mean nothing here. Where a file system has no locks, the number decides.
static void remove_if_left(int folder, const char *file, long pid) {
    struct stat s;
    if (lives(pid)) return;
    const int fd = openat(folder, file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    if (!locked && !fstat(fd, &s) && S_ISREG(s.st_mode)) (void)unlinkat(folder, file, 0);
    close(fd);
}

void fr_save_sweep(const char *path) {
    char folder[PATH_MAX];
    if (!fr_path_folder_of(folder, path)) return;
    DIR *dir = opendir(folder);
    for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
        const long pid = part_owner(d->d_name, fr_path_name(path));
        if (pid) remove_if_left(dirfd(dir), d->d_name, pid);
    }
    if (dir) closedir(dir);
}

// The name of the part; `other`: of so many threads of this process, which write the same path.
static bool name_part(fr_saving *s, int other) {
    char tail[32] = "";
    if (other) snprintf(tail, sizeof tail, "-%d", other);
    const int n = snprintf(s->part, sizeof s->part, "%s.%ld%s.part", s->file, (long)getpid(), tail);
    return n > 0 && n < (int)sizeof s->part;
}

// Makes the part and locks it. Between the two steps another process may have removed it as a left
// one.
static bool open_part(fr_saving *s) {
    enum { THREADS = 1000 };
    struct stat now;
    for (int other = 0;;) {
        s->fd = open(s->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (s->fd < 0 && errno == EEXIST && ++other < THREADS && name_part(s, other)) continue;
        if (s->fd < 0) return false;
        int failed;
        do
            failed = flock(s->fd, LOCK_EX);
        while (failed && errno == EINTR);
        if (!fstat(s->fd, &now) && now.st_nlink) return true;
        close(s->fd);
    }
}

// A device or a folder must not be replaced by a file.
fr_status fr_save_begin(fr_saving *s, const char *path, fr_error *err) {
    struct stat there;
    s->path = path;
    s->fd = -1;
    const bool replaced = !stat(path, &there);
    if (replaced && !S_ISREG(there.st_mode))
        return fr_fail(err, FR_EIO, "%s: expected a file, found %s", path,
                       S_ISDIR(there.st_mode) ? "a folder" : "a device");
    if (!fr_path_follow(s->file, path) || !name_part(s, 0))
        return fr_fail(err, FR_EIO, "%.100s...: too long a path", path);
    fr_save_sweep(s->file);
    if (!open_part(s)) return fr_fail(err, FR_EIO, "%s: %s", path, strerror(errno));
    if (replaced) (void)fchmod(s->fd, there.st_mode & 0777); // where a file system has them
    return FR_OK;
}

void fr_save_drop(fr_saving *s) {
    if (s->fd < 0) return;
    (void)unlink(s->part);
    close(s->fd);
    s->fd = -1;
}

// After a rename: brings the entry of `path` in its folder to disk. Best effort, as not every file
// system can.
static void sync_folder(const char *path) {
    char dir[PATH_MAX];
    if (!fr_path_folder_of(dir, path)) return;
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

// Closed last: the lock must hold as long as the part has its name.
fr_status fr_save_finish(fr_saving *s, fr_error *err) {
    if (fsync(s->fd) || rename(s->part, s->file)) {
        const int why = errno;
        fr_save_drop(s);
        return fr_fail(err, FR_EIO, "%s: %s", s->path, strerror(why));
    }
    close(s->fd);
    s->fd = -1;
    sync_folder(s->file);
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

fr_status fr_make_folders(const char *path, mode_t mode, fr_error *err) {
    char dir[PATH_MAX];
    if (strlen(path) >= sizeof dir) return fr_fail(err, FR_EIO, "%.80s...: too long a path", path);
    strcpy(dir, path);
    for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        const bool is_last = !strchr(slash + strspn(slash, "/"), '/');
        *slash = 0;
        if (mkdir(dir, is_last ? mode : 0777) && errno != EEXIST)
            return fr_fail(err, FR_EIO, "%s: %s", dir, strerror(errno));
        *slash = '/';
    }
    return FR_OK;
}

fr_status fr_save(const char *path, const char *bytes, size_t n, fr_error *err) {
    fr_saving s;
    const fr_status st = fr_save_begin(&s, path, err);
    if (st) return st;
    if (fr_write_all(s.fd, bytes, n)) return fr_save_finish(&s, err);
    const int why = errno;
    fr_save_drop(&s);
    return fr_fail(err, FR_EIO, "%s: %s", path, strerror(why));
}

fr_status fr_save_check(const char *path, fr_error *err) {
    fr_saving s;
    const fr_status st = fr_save_begin(&s, path, err);
    if (!st) fr_save_drop(&s);
    return st;
}
