// room.h — checks free disk space before the work that writes.
#ifndef FR_BASE_ROOM_H
#define FR_BASE_ROOM_H
#include "base/status.h"
#include <stdint.h>

// Room for `bytes` more beside `path`, in files of at most `largest` bytes. FR_EIO: the file system
// has less free, or files may not grow so long (RLIMIT_FSIZE); the sentence names both numbers. A
// file system that does not say how much is free counts as having room.
fr_status fr_room_check(const char *path, uint64_t bytes, uint64_t largest, fr_error *err);

#endif
