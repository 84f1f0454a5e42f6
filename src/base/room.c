#include "base/room.h"
#include "base/path.h"
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

static double mb(uint64_t bytes) {
    return 1e-6 * (double)bytes;
}

fr_status fr_room_check(const char *path, uint64_t bytes, uint64_t largest, fr_error *err) {
    struct statvfs disk;
    struct rlimit limit;
    char file[PATH_MAX], folder[PATH_MAX];
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < largest)
        return fr_fail(err, FR_EIO,
                       "%s: expected to write a file of %.1f MB, found a limit of %.1f MB "
                       "(ulimit -f)",
                       path, mb(largest), mb(limit.rlim_cur));
    if (!fr_path_follow(file, path) || !fr_path_folder_of(folder, file) || statvfs(folder, &disk) ||
        !disk.f_blocks)
        return FR_OK;
    const uint64_t free_bytes = (uint64_t)disk.f_bavail * (uint64_t)disk.f_frsize;
    if (free_bytes >= bytes) return FR_OK;
    return fr_fail(err, FR_EIO, "%s: expected about %.1f MB of free disk, found %.1f MB", path,
                   mb(bytes), mb(free_bytes));
}
