#include "draft/chimera/ngram_file.h"
#include "base/save.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

fr_status fr_ngram_file_open(fr_ngram_file *f, const char *folder, fr_error *err) {
    struct stat s;
    f->fd = f->door = -1;
    f->alone = false;
    const int n = snprintf(f->path, sizeof f->path, "%s/ngrams.mdb", folder);
    if (n < 0 || n >= (int)sizeof f->path - 8) // LMDB puts "-lock" behind it
        return fr_fail(err, FR_EIO, "n-gram store %.80s...: too long a path", folder);
    const fr_status st = fr_make_folders(f->path, err);
    if (st) return st;
    f->fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return fr_fail(err, FR_EIO, "n-gram store %s: expected a file to write to, found: %s",
                       f->path, strerror(errno));
    if (fstat(f->fd, &s) || !S_ISREG(s.st_mode)) {
        fr_ngram_file_close(f);
        return fr_fail(err, FR_EIO, "n-gram store %s: expected a file, found something else",
                       f->path);
    }
    f->device = s.st_dev;
    f->number = s.st_ino;
    return FR_OK;
}

static bool lock(int fd, int how) {
    int failed;
    do
        failed = flock(fd, how);
    while (failed && errno == EINTR);
    return !failed;
}

static bool take_door(fr_ngram_file *f) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(f->path, '/') - f->path), f->path);
    f->door = open(*folder ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->door >= 0 && lock(f->door, LOCK_EX);
}

static void give_door(fr_ngram_file *f) {
    if (f->door >= 0) close(f->door);
    f->door = -1;
}

fr_status fr_ngram_file_enter(fr_ngram_file *f, fr_error *err) {
    bool used = take_door(f);
    if (used) {
        f->alone = lock(f->fd, LOCK_EX | LOCK_NB);
        used = f->alone || (errno == EWOULDBLOCK && lock(f->fd, LOCK_SH));
    }
    if (used) return FR_OK;
    return fr_fail(err, FR_EIO, "n-gram store %s: cannot be locked: %s", f->path, strerror(errno));
}

fr_status fr_ngram_file_empty(fr_ngram_file *f, fr_error *err) {
    assert(f->alone);
    if (!ftruncate(f->fd, 0)) return FR_OK;
    return fr_fail(err, FR_EIO, "n-gram store %s: cannot be emptied: %s", f->path, strerror(errno));
}

// Exactly so many bytes, all of them on the disk; or errno.
static int take_room(const char *path, off_t bytes) {
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return errno;
    int why = ftruncate(fd, bytes) ? errno : EINTR;
    while (why == EINTR)
        why = posix_fallocate(fd, 0, bytes);
    close(fd);
    return why;
}

fr_status fr_ngram_file_take_lock_room(fr_ngram_file *f, int readers, fr_error *err) {
    assert(f->alone);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s-lock", f->path);
    const int why = take_room(path, 64 * ((off_t)readers + 2)); // a line each, two for the locks
    if (!why) return FR_OK;
    return fr_fail(err, FR_EIO, "n-gram store %s: cannot be written: %s", path, strerror(why));
}

// Going from one lock to the other lets go of it for a moment: the door is still held.
void fr_ngram_file_share(fr_ngram_file *f) {
    if (f->alone) lock(f->fd, LOCK_SH);
    f->alone = false;
    give_door(f);
}

void fr_ngram_file_leave(fr_ngram_file *f) {
    (void)take_door(f); // without it LMDB is closed all the same
}

void fr_ngram_file_close(fr_ngram_file *f) {
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
    give_door(f);
}
