// save.h — output files that are whole or not there.
#ifndef FR_BASE_SAVE_H
#define FR_BASE_SAVE_H
#include "base/status.h"

// Writes n bytes beside `path` and renames: a reader sees the old file or the new one. FR_EIO; then
// nothing is left behind and an old file stays as it was.
fr_status fr_save(const char *path, const char *bytes, size_t n, fr_error *err);
// Whether that could be done, told before the work whose result it is to hold. FR_EIO; changes
// nothing.
fr_status fr_save_check(const char *path, fr_error *err);

// Makes every folder on the way to `path` that is missing. FR_EIO.
fr_status fr_make_folders(const char *path, fr_error *err);

// For writers of their own. All bytes, in pieces that an interrupt may cut; false with errno.
bool fr_write_all(int fd, const void *data, size_t bytes);
// After a rename: brings the entry of `path` in its folder to disk. Best effort, as not every file
// system can.
void fr_sync_folder(const char *path);

#endif
