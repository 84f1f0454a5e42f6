#include "base/status.h"
#include <stdarg.h>
#include <stdio.h>

fr_status fr_fail(fr_error *err, fr_status code, const char *format, ...) {
    if (!err) return code;
    err->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    for (unsigned char *c = (unsigned char *)err->text; *c; c++)
        if (*c < 0x20 || *c == 0x7f) *c = '?';
    return code;
}
