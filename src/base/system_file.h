// system_file.h — small files of /proc and /sys.
//
// `root` stands in front of every path: "" is this system, a test gives a folder of its own. What
// cannot be read is simply not known.
#ifndef FR_BASE_SYSTEM_FILE_H
#define FR_BASE_SYSTEM_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The first line without its newline. False: not readable, and `line` is "".
bool fr_system_line(const char *root, const char *path, char *line, size_t room);
// The whole number that the file begins with.
bool fr_system_number(const char *root, const char *path, uint64_t *value);
// The number after `key` in a file of lines "KEY NUMBER" or "KEY: NUMBER".
bool fr_system_entry(const char *root, const char *path, const char *key, uint64_t *value);

#endif
