// layout.h — where things lie in the blocks of a panel (kern/repack.h has the whole layout), as
// constants that a kernel template folds: blocks of 32 k ("b32") and superblocks of 256 ("k").
#ifndef FR_KERN_LAYOUT_H
#define FR_KERN_LAYOUT_H
#include "kern/dequant.h"
#include "kern/tile.h"
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

// Bytes of a block of 16 rows, after the header.
enum {
#define ROW(id, NAME, name, block, bytes, act, sub, min, table, scale, head, panel, ...)           \
    FR_BYTES_##NAME = panel,
    FR_TYPES(ROW, ROW, ROW, ROW, ROW)
#undef ROW
};

// Bytes of n_blocks scales of 16 lanes in front of a panel's blocks.
FR_INLINE size_t fr_scales_bytes(int n_blocks) {
    return ((size_t)n_blocks * 32 + 63) & ~(size_t)63;
}

// ---------------------------------------------------------------- blocks of 32
typedef struct fr_b32_layout {
    int bytes, hi, lo; // of a block; where the fifth bits and the codes begin
    int offset;        // code - offset is the value, codes as u8
    bool header, mins; // d in the panel's header; d and m in the block
} fr_b32_layout;

FR_INLINE fr_b32_layout fr_b32_layout_of(const fr_type type) {
    switch (type) {
    case FR_TYPE_Q4_0:
        return (fr_b32_layout){FR_BYTES_Q4_0, 0, 0, 8, true, false};
    case FR_TYPE_Q4_1:
        return (fr_b32_layout){FR_BYTES_Q4_1, 0, 64, 0, false, true};
    case FR_TYPE_Q5_0:
        return (fr_b32_layout){FR_BYTES_Q5_0, 0, 64, 16, true, false};
    case FR_TYPE_Q5_1:
        return (fr_b32_layout){FR_BYTES_Q5_1, 64, 128, 0, false, true};
    case FR_TYPE_Q8_0:
        return (fr_b32_layout){FR_BYTES_Q8_0, 0, 0, 128, true, false};
    case FR_TYPE_IQ4_NL: // as value + 128
        return (fr_b32_layout){FR_BYTES_IQ4_NL, 0, 0, 128, true, false};
    case FR_TYPE_MXFP4: // as value + 16
        return (fr_b32_layout){FR_BYTES_MXFP4, 0, 0, 16, true, false};
    case FR_TYPES_BUT_B32:
        break;
    }
    assert(!"a type with blocks of 32");
    return (fr_b32_layout){0};
}

// The values of a type whose codes choose from a table, else NULL.
FR_INLINE const int8_t *fr_b32_table(const fr_type type) {
    return type == FR_TYPE_IQ4_NL ? fr_iq4_values : type == FR_TYPE_MXFP4 ? fr_mxfp4_values : NULL;
}

FR_INLINE bool fr_b32_bf16(const fr_type type) { // scales are bf16, not f16
    return type == FR_TYPE_MXFP4;
}

// ---------------------------------------------------------------- superblocks
// clang-format off
// Comparisons: with a switch or a table gcc spends the kernels' registers in another way.
#define FR_HAS_DMIN(id, NAME, name, block, bytes, act, sub, min, ...)                              \
    || (FR_MIN_##min == FR_MIN_SCALED && type == FR_TYPE_##NAME)
#define FR_HAS_SUB_32(id, NAME, name, block, bytes, act, sub, ...)                                 \
    || (sub == 32 && type == FR_TYPE_##NAME)
// clang-format on
FR_INLINE bool fr_k_has_dmin(const fr_type type) {
    return false FR_TYPES(FR_NO_ROW, FR_NO_ROW, FR_HAS_DMIN, FR_NO_ROW, FR_NO_ROW);
}

// k in a sub-block: 16 or 32.
FR_INLINE int fr_k_sub(const fr_type type) {
    return false FR_TYPES(FR_NO_ROW, FR_NO_ROW, FR_HAS_SUB_32, FR_NO_ROW, FR_NO_ROW) ? 32 : 16;
}

// Codes choose from a table. Their kernels serve types of LIKE: table and part of the scale are
// those of the matrix' type.
FR_INLINE bool fr_k_has_table(const fr_type type) {
    return type == FR_TYPE_IQ4_XS || type == FR_TYPE_IQ2_S;
}

// The number to subtract from the u8 codes of the types without dmin.
FR_INLINE int fr_k_offset(const fr_type type) {
    return type == FR_TYPE_Q6_K ? 32 : type == FR_TYPE_Q3_K ? 4 : 128; // tables: value + 128
}

// How a tile multiplies the sum of a sub-block by its scale. All three ways are exact. The plain
// one, vpmulld, is two operations on Intel, so the others serve where the numbers are small enough.
typedef enum fr_k_scaling {
    // Q2_K Q3_K: a sum of 16 k fits 16 bits. A product of pairs with (scale, 0).
    FR_K_INT16,
    // Q4_K Q5_K: f32 holds the scaled sums of 64 k (Q4_K: of 128) exactly. Adding two such parts
    // rounds once, as converting their integer sum would.
    FR_K_FLOAT,
    // The others: vpmulld.
    FR_K_INT32,
} fr_k_scaling;

FR_INLINE fr_k_scaling fr_k_scaling_of(const fr_type type) {
    if (type == FR_TYPE_Q2_K || type == FR_TYPE_Q3_K) return FR_K_INT16;
    return type == FR_TYPE_Q4_K || type == FR_TYPE_Q5_K ? FR_K_FLOAT : FR_K_INT32;
}

// Bytes of a superblock, and where its codes begin: main vectors at `lo`, `lo_step` bytes for each
// 64 k; vectors of upper bits at `hi`, likewise.
typedef struct fr_k_layout {
    int bytes, lo, lo_step, hi, hi_step;
} fr_k_layout;

FR_INLINE fr_k_layout fr_k_layout_of(const fr_type type) {
    switch (type) {
    case FR_TYPE_Q2_K:
        return (fr_k_layout){FR_BYTES_Q2_K, 320, 256, 0, 0};
    case FR_TYPE_Q3_K:
        return (fr_k_layout){FR_BYTES_Q3_K, 256, 256, 1280, 128};
    case FR_TYPE_Q4_K:
        return (fr_k_layout){FR_BYTES_Q4_K, 256, 512, 0, 0};
    case FR_TYPE_Q5_K:
        return (fr_k_layout){FR_BYTES_Q5_K, 768, 512, 256, 128};
    case FR_TYPE_Q6_K:
        return (fr_k_layout){FR_BYTES_Q6_K, 256, 768, 0, 0};
    case FR_TYPE_IQ4_XS:
        return (fr_k_layout){FR_BYTES_IQ4_XS, 128, 512, 0, 0};
    case FR_TYPE_IQ2_S:
        return (fr_k_layout){FR_BYTES_IQ2_S, 256, 512, 0, 0};
    case FR_TYPES_BUT_K:
        break;
    }
    assert(!"a K type");
    return (fr_k_layout){0};
}

// Bytes of the header before the first superblock.
FR_INLINE size_t fr_k_header(const fr_type type, int n_blocks) {
    return fr_k_has_dmin(type) ? 0 : fr_scales_bytes(n_blocks);
}

#endif
