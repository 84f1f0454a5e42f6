// map.h — a whole file, read-only, in memory.
//
// The mapping is the file's own pages: reading copies nothing, and a page that was released is read
// from the file again. Where the file system cannot map, the file is read into memory instead.
// If another program shortens the file while it is mapped, or its disk fails, reading it raises
// SIGBUS. So files are to be replaced by renaming, never in place. The library installs no handler;
// forerun catches the signal and names the file (cmd/lib/bus.c).
#ifndef FR_BASE_MAP_H
#define FR_BASE_MAP_H
#include "base/status.h"

typedef struct fr_map {
    const uint8_t *data; // page aligned; never NULL once open, even for an empty file
    size_t bytes;
    bool is_copy; // read into memory, not mapped
} fr_map;

// Opens a regular file (no pipe, no folder): FR_EIO with path and reason when that fails, FR_ENOMEM
// when the address space has no room.
fr_status fr_map_open(fr_map *m, const char *path, fr_error *err);
void fr_map_close(fr_map *m); // {0} and an already closed one are fine

// Gives the memory of the pages that lie wholly inside [offset, offset + bytes) back to the system;
// they can still be read, from the file. Hints: they cannot fail.
void fr_map_release(const fr_map *m, size_t offset, size_t bytes);
void fr_map_prefetch(const fr_map *m, size_t offset, size_t bytes); // soon read, in order

#endif
