// status.h — the result of functions that can fail: a status plus one sentence.
#ifndef FR_BASE_STATUS_H
#define FR_BASE_STATUS_H
#include "forerun.h"

// Writes the sentence into *err (if not NULL) and returns `code`, so that a failing function ends
// in one line. The sentence names what, where, expected, found. It has no newline at its end;
// control bytes in it are shown as '?'.
fr_status fr_fail(fr_error *err, fr_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
