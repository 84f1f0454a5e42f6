// clean.h — text from outside, such as names of files and what files say, for a terminal or a log.
#ifndef FR_BASE_CLEAN_H
#define FR_BASE_CLEAN_H
#include <stdbool.h>
#include <stddef.h>

// Writes `bytes` bytes of text to `to`, which may be the text itself; how many that became, at most as
// many. A '?' stands for each control character, of C0 and C1, for each that turns the direction of
// writing or begins a line, and for each byte that is no UTF-8.
size_t fr_clean(char *to, const char *text, size_t bytes);

// The same a piece at a time: the length of the next one, of at least a byte; shown: it stands as it is,
// else '?' for it.
size_t fr_clean_next(const char *text, size_t bytes, bool *shown);

#endif
