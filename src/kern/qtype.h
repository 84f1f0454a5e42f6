// qtype.h — the tensor types that this engine reads, from the rows of types.def.
//
// The values are the ids that GGUF files use. A tensor of n elements is n / block blocks of `bytes`
// bytes, one after another; rows never share a block. The layouts of the blocks themselves stand in
// dequant.c.
#ifndef FR_KERN_QTYPE_H
#define FR_KERN_QTYPE_H
#include "kern/types.def"
#include <stdint.h>

typedef enum fr_type {
#define ROW(id, NAME, ...) FR_TYPE_##NAME = id,
    FR_TYPES(ROW, ROW, ROW, ROW, ROW)
#undef ROW
        FR_TYPE_LIMIT // above every id
} fr_type;

// The types that a switch does not serve, as one case: `case FR_TYPES_BUT_K:`.
#define FR_NO_ROW(...)
// clang-format off
#define FR_OTHER(id, NAME, ...) : case FR_TYPE_##NAME
#define FR_TYPES_BUT_B32       FR_TYPE_LIMIT FR_TYPES(FR_OTHER, FR_NO_ROW, FR_OTHER, FR_OTHER, FR_OTHER)
#define FR_TYPES_BUT_K         FR_TYPE_LIMIT FR_TYPES(FR_OTHER, FR_OTHER, FR_NO_ROW, FR_OTHER, FR_OTHER)
#define FR_TYPES_BUT_B32_AND_K                                                                     \
    FR_TYPE_LIMIT FR_TYPES(FR_OTHER, FR_NO_ROW, FR_NO_ROW, FR_OTHER, FR_OTHER)
#define FR_UNWRITTEN_TYPES                                                                         \
    FR_TYPE_LIMIT FR_TYPES(FR_NO_ROW, FR_NO_ROW, FR_NO_ROW, FR_OTHER, FR_OTHER)
// clang-format on

// What a weight type wants its input rows to be.
typedef enum fr_act_kind {
    FR_ACT_F32,  // as they are
    FR_ACT_Q32,  // int8, blocks of 32, a scale each
    FR_ACT_Q256, // int8, blocks of 256, a scale for each 128
    FR_ACT_KINDS
} fr_act_kind;

// What a type adds to scale * code.
typedef enum fr_min_kind {
    FR_MIN_NONE,
    FR_MIN_ADDED,  // m of the block
    FR_MIN_SCALED, // -(dmin of the block) * (minimum of the sub-block)
} fr_min_kind;

// How a panel keeps the scale of a block.
typedef enum fr_scale_kind {
    FR_SCALE_F16,   // as the file does
    FR_SCALE_F16_4, // the same, of which a quarter counts
    FR_SCALE_F16_8, // an eighth
    FR_SCALE_BF16,  // the file has an exponent alone, beyond the range of f16
} fr_scale_kind;

typedef struct fr_qtype {
    fr_type type;
    const char *name; // lower case, as in "q4_k"
    int block;        // elements of one block
    int bytes;        // bytes of one block
    fr_act_kind act;
    int sub; // elements that share a scale
    fr_min_kind min;
    const int8_t *table; // the 16 values that codes of 4 bits choose from; NULL: codes are values
    fr_scale_kind scale;
    int head, panel; // bytes of a block of 16 rows in a panel: in its header, and after it
} fr_qtype;

// The description of a type id as files store it. NULL when this engine cannot read that type.
const fr_qtype *fr_qtype_of(uint32_t id);

// All types that this engine reads, in the order of their ids; NULL from the last on.
const fr_qtype *fr_qtype_at(int index);

// A name for messages: of every type that GGUF files are known to hold, read by this engine or not;
// "unknown type" for the others. Never NULL.
const char *fr_qtype_name(uint32_t id);

// The part of a block's f16 scale that counts: 1, 1/4 or 1/8. Products with it are exact in f32.
static inline float fr_scale_part(fr_scale_kind kind) {
    return kind == FR_SCALE_F16_4 ? 0.25f : kind == FR_SCALE_F16_8 ? 0.125f : 1.0f;
}

// Bytes of one row of n elements, n a multiple of the type's block (asserted).
int64_t fr_qtype_row_bytes(fr_type type, int64_t n);

#endif
