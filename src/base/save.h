// save.h — output files that are whole or not there.
#ifndef FR_BASE_SAVE_H
#define FR_BASE_SAVE_H
#include "base/status.h"
#include <limits.h>
#include <sys/types.h>

// Writes n bytes beside `path` and renames: a reader sees the old file or the new one, with its
// permissions. A link stays one, as the file that it leads to is written. FR_EIO; then nothing is
// left over, and an old file stays as it was.
fr_status fr_save(const char *path, const char *bytes, size_t n, fr_error *err);
// Checks that this could be done, before the work whose result is to be written; `path` stays as it
// is. What killed processes left beside it is removed. FR_EIO.
fr_status fr_save_check(const char *path, fr_error *err);

// Makes every folder on the way to `path` that is missing: the last one with `mode`, all others
// with 0777, both less the umask. FR_EIO.
fr_status fr_make_folders(const char *path, mode_t mode, fr_error *err);

// The same for callers that write themselves: a file beside `path`, written through fd, takes its
// place in the end. Beginning removes what killed processes left of the same path, never what a
// living one writes.
typedef struct fr_saving {
    const char *path;    // borrowed
    char file[PATH_MAX]; // the path with links followed
    int fd;
    char part[PATH_MAX];
} fr_saving;
fr_status fr_save_begin(fr_saving *s, const char *path, fr_error *err); // FR_EIO: nothing is open
// Syncs the file and renames it to `path`; FR_EIO: it is dropped. Nothing is open afterwards.
fr_status fr_save_finish(fr_saving *s, fr_error *err);
void fr_save_drop(fr_saving *s);      // as if it had never begun
void fr_save_sweep(const char *path); // removes what was left, and no more

// All bytes, in pieces that an interrupt may cut; false with errno.
bool fr_write_all(int fd, const void *data, size_t bytes);

#endif
