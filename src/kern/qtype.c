// qtype.c — the rows of types.def as a table.
#include "kern/qtype.h"
#include "kern/dequant.h"
#include <assert.h>
#include <stddef.h>

// clang-format off
#define ROW(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel, ...)           \
    [FR_TYPE_##NAME] = {FR_TYPE_##NAME, #name, block, bytes, FR_ACT_##act, sub, FR_MIN_##min,      \
                        table, FR_SCALE_##scale, head, panel},
static const fr_qtype types[FR_TYPE_LIMIT] = {FR_TYPES(ROW, ROW, ROW, ROW, ROW)};

#define UNREAD(id, name) {id, #name},
static const struct { uint32_t id; const char *name; } unread[] = {FR_UNREAD_TYPES(UNREAD)};
// clang-format on

const fr_qtype *fr_qtype_of(uint32_t id) {
    if (id >= FR_TYPE_LIMIT || !types[id].name) return NULL;
    return &types[id];
}

const fr_qtype *fr_qtype_at(int index) {
    for (uint32_t id = 0; id < FR_TYPE_LIMIT; id++)
        if (types[id].name && !index--) return &types[id];
    return NULL;
}

const char *fr_qtype_name(uint32_t id) {
    const fr_qtype *t = fr_qtype_of(id);
    if (t) return t->name;
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        if (unread[i].id == id) return unread[i].name;
    return "unknown type";
}

int64_t fr_qtype_row_bytes(fr_type type, int64_t n) {
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    assert(t && n >= 0 && n % t->block == 0);
    return n / t->block * t->bytes;
}
