#include "base/status.h"
#include "base/clean.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

fr_status fr_fail(fr_error *err, fr_status code, const char *format, ...) {
    if (!err) return code;
    err->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->text[fr_clean(err->text, err->text, strlen(err->text))] = 0;
    return code;
}
