// clean.h — text from outside, such as names of files and what files say, for a terminal or a log.
#ifndef FR_BASE_CLEAN_H
#define FR_BASE_CLEAN_H
#include <stdbool.h>
#include <stddef.h>

// Writes the text to `to` (`bytes` bytes of room; it may be the text itself) and returns how many bytes
// it became. A '?' stands for each control character (C0 and C1), for each character that changes the
// direction of writing or separates lines, and for each byte that is not part of a character in UTF-8.
size_t fr_clean(char *to, const char *text, size_t bytes);

// The same piece by piece, for bytes > 0: returns the length of the next piece, at least 1. *shown:
// the piece stays as it is; else a '?' stands for it.
size_t fr_clean_next(const char *text, size_t bytes, bool *shown);

#endif
