// model_find.c — what a model's name means, for programs that embed the library.
#include "catalog/catalog.h"
#include "forerun.h"
#include <string.h>

fr_status fr_model_find(char *path, size_t room, const char *name, fr_error *err) {
    char found[PATH_MAX];
    const fr_status st = fr_model_path(found, name, err);
    if (st) return st;
    const size_t bytes = strlen(found) + 1;
    if (bytes > room)
        return fr_fail(err, FR_EARG, "path: expected room for %zu bytes, found %zu", bytes, room);
    memcpy(path, found, bytes);
    return FR_OK;
}
