// map.c — a whole file, read-only, in memory.
#define _GNU_SOURCE
#include "base/map.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// mmap refuses empty files; this stands in for their content.
static const uint8_t nothing[1];

// Reads up to the end. Files below /sys end before their size.
static fr_status read_into(fr_map *m, void *to, size_t bytes, int fd, const char *path,
                           fr_error *err) {
    size_t n = 0;
    while (n < bytes) {
        const ssize_t got = pread(fd, (uint8_t *)to + n, bytes - n, (off_t)n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fr_fail(err, FR_EIO, "%s: %m", path);
        if (!got) break;
        n += (size_t)got;
    }
    *m = (fr_map){to, n, true};
    return FR_OK;
}

// Reads a file that its file system cannot map, and keeps only the pages that it fills.
static fr_status copy_descriptor(fr_map *m, int fd, size_t bytes, const char *path, fr_error *err) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return fr_fail(err, FR_ENOMEM, "%s: cannot get %zu bytes to read it", path, bytes);
    const fr_status st = read_into(m, p, bytes, fd, path, err);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t kept = st ? 0 : (m->bytes + page - 1) / page * page;
    if (kept < bytes) munmap((uint8_t *)p + kept, bytes - kept);
    if (!st && !kept) *m = (fr_map){nothing, 0, false};
    return st;
}

static fr_status map_descriptor(fr_map *m, int fd, const char *path, fr_error *err) {
    struct stat info;
    if (fstat(fd, &info)) return fr_fail(err, FR_EIO, "%s: %m", path);
    if (!S_ISREG(info.st_mode)) return fr_fail(err, FR_EIO, "%s: is not a regular file", path);
    if ((uint64_t)info.st_size > SIZE_MAX / 2)
        return fr_fail(err, FR_ENOMEM, "%s: too large for this machine's address space", path);
    const size_t bytes = (size_t)info.st_size;
    if (!bytes) {
        *m = (fr_map){nothing, 0, false};
        return FR_OK;
    }
    void *p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p != MAP_FAILED)
        *m = (fr_map){p, bytes, false};
    else if (errno == ENOMEM)
        return fr_fail(err, FR_ENOMEM, "%s: mapping %zu bytes: %m", path, bytes);
    else
        return copy_descriptor(m, fd, bytes, path, err);
    return FR_OK;
}

fr_status fr_map_open(fr_map *m, const char *path, fr_error *err) {
    *m = (fr_map){0};
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return fr_fail(err, FR_EIO, "%s: %m", path);
    const fr_status st = map_descriptor(m, fd, path, err);
    close(fd);
    return st;
}

void fr_map_close(fr_map *m) {
    if (m->data && m->data != nothing) munmap((void *)m->data, m->bytes);
    *m = (fr_map){0};
}

static void advise(const fr_map *m, size_t begin, size_t end, int advice) {
    if (begin >= end || m->data == nothing || m->is_copy)
        return; // advice may drop the pages of a copy
    // A hint: a kernel that does not know it loses nothing.
    (void)madvise((void *)(m->data + begin), end - begin, advice);
}

void fr_map_release(const fr_map *m, size_t offset, size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (offset > m->bytes || bytes > m->bytes - offset) return;
    const size_t end = offset + bytes;
    // The page that holds the file's last byte belongs to its last range.
    const size_t last = end == m->bytes ? end : end / page * page;
    advise(m, (offset + page - 1) / page * page, last, MADV_DONTNEED);
}

void fr_map_prefetch(const fr_map *m, size_t offset, size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (offset > m->bytes || bytes > m->bytes - offset) return;
    advise(m, offset / page * page, offset + bytes, MADV_WILLNEED);
}
