#include "decode/tree_option.h"
#include "base/map.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fr_status read_shape(fr_shape *shape, const char *path, fr_error *err) {
    fr_map map;
    fr_error why = {0};
    fr_status st = fr_map_open(&map, path, err);
    if (st) return st;
    st = fr_shape_read(shape, (const char *)map.data, map.bytes, &why);
    fr_map_close(&map);
    return st ? fr_fail(err, st, "%s: %s", path, why.text) : FR_OK;
}

fr_status fr_tree_size_read(fr_tree_size *out, const char *words, fr_error *err) {
    char *end;
    out->nodes = out->shape.n = 0;
    if (!words || !strcmp(words, "auto")) return FR_OK;
    const long n = strtol(words, &end, 10);
    if (end != words && !*end) {
        if (n < 1 || n >= FR_TREE_MAX)
            return fr_fail(err, FR_EARG, "tree: expected 1 to %d nodes, found %.60s",
                           FR_TREE_MAX - 1, words);
        out->nodes = (int)n + 1; // and the root
        return FR_OK;
    }
    if (access(words, F_OK))
        return fr_fail(err, FR_EARG, "tree: expected auto, 1 to %d nodes or a file, found '%.200s'",
                       FR_TREE_MAX - 1, words);
    return read_shape(&out->shape, words, err);
}
