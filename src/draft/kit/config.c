#include "draft/kit/config.h"
#include <stdlib.h>
#include <string.h>

fr_status fr_drafter_number(int *to, const char *option, int least, int most, fr_error *err) {
    const char *value = strchr(option, '=') + 1;
    char *end;
    const long v = strtol(value, &end, 10);
    if (end == value || *end || v < least || v > most)
        return fr_fail(err, FR_EARG, "draft option %.*s: expected %d to %d, found '%.40s'",
                       (int)(value - option - 1), option, least, most, value);
    *to = (int)v;
    return FR_OK;
}

fr_status fr_drafter_real(float *to, const char *option, int least, int most, fr_error *err) {
    const char *value = strchr(option, '=') + 1;
    char *end;
    const float v = strtof(value, &end);
    if (end == value || *end || !(v >= (float)least && v <= (float)most))
        return fr_fail(err, FR_EARG, "draft option %.*s: expected %d to %d, found '%.40s'",
                       (int)(value - option - 1), option, least, most, value);
    *to = v;
    return FR_OK;
}
