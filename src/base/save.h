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

#endif
