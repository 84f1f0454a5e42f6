#include "base/sized.h"
#include <string.h>

enum { ABSURD = 1 << 16 }; // bytes: no struct of an interface; a size that was never set

fr_status fr_sized_read(void *to, size_t known, const void *from, const char *name, fr_error *err) {
    size_t size = known;
    if (from) memcpy(&size, from, sizeof size);
    // A member is at most as large as a size_t and aligned, so a multiple of that size cuts none.
    if (size < sizeof size || size > ABSURD || size % sizeof size)
        return fr_fail(err, FR_EARG, "%s: expected size to be sizeof(%s), found %zu", name, name,
                       size);
    const char *bytes = from;
    for (size_t i = known; from && i < size; i++)
        if (bytes[i])
            return fr_fail(err, FR_EARG,
                           "%s: expected %zu bytes, and 0 beyond, found something at %zu of %zu: "
                           "it asks for what only a newer library can do",
                           name, known, i, size);
    memset(to, 0, known);
    if (from) memcpy(to, from, size < known ? size : known);
    memcpy(to, &known, sizeof known);
    return FR_OK;
}
