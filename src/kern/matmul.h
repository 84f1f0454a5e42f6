// matmul.h — the product kernels, fr_matmul_<type>_<set>, and which of them each set takes, from
// the rows of types.def.
#ifndef FR_KERN_MATMUL_H
#define FR_KERN_MATMUL_H
#include "kern/kern.h"

#define ROW(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel, avx2, avxvnni, \
            avx512, amx)                                                                           \
    fr_matmul_fn fr_matmul_##name##_scalar, fr_matmul_##name##_##avx2,                             \
        fr_matmul_##name##_##avxvnni, fr_matmul_##name##_##avx512, fr_matmul_##name##_##amx;
FR_TYPES(ROW, ROW, ROW, ROW, FR_NO_ROW)
#undef ROW

// The initialiser of fr_kern.matmul: FR_MATMULS(avx2).
// clang-format off
#define FR_MATMULS(set)                                                                            \
    {FR_TYPES(FR_MATMUL_##set, FR_MATMUL_##set, FR_MATMUL_##set, FR_MATMUL_##set,                \
              FR_LIKE_##set)}
#define FR_MATMUL_scalar(id, NAME, name, ...) FR_MATMUL_ENTRY(NAME, name, scalar)
#define FR_MATMUL_avx2(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel,            \
                       avx2, avxvnni, avx512, amx) FR_MATMUL_ENTRY(NAME, name, avx2)
#define FR_MATMUL_avxvnni(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel,         \
                          avx2, avxvnni, avx512, amx) FR_MATMUL_ENTRY(NAME, name, avxvnni)
#define FR_MATMUL_avx512(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel,          \
                         avx2, avxvnni, avx512, amx) FR_MATMUL_ENTRY(NAME, name, avx512)
#define FR_MATMUL_amx(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel,             \
                      avx2, avxvnni, avx512, amx) FR_MATMUL_ENTRY(NAME, name, amx)
#define FR_LIKE_scalar(...)  FR_LIKE_ENTRY(__VA_ARGS__, scalar)
#define FR_LIKE_avx2(...)    FR_LIKE_ENTRY(__VA_ARGS__, avx2)
#define FR_LIKE_avxvnni(...) FR_LIKE_ENTRY(__VA_ARGS__, avxvnni)
#define FR_LIKE_avx512(...)  FR_LIKE_ENTRY(__VA_ARGS__, avx512)
#define FR_LIKE_amx(...)     FR_LIKE_ENTRY(__VA_ARGS__, amx)
#define FR_LIKE_ENTRY(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel,      \
                      like, set) FR_MATMUL_ENTRY(NAME, like, set)
#define FR_MATMUL_ENTRY(NAME, name, set) [FR_TYPE_##NAME] = fr_matmul_##name##_##set,
// clang-format on

#endif
