// qtype.h — the tensor types that this engine reads, with the layout of their blocks.
//
// The values are the ids that GGUF files use. A tensor of n elements is n / block blocks of `bytes`
// bytes, one after another; rows never share a block. The layouts of the blocks themselves stand in
// dequant.c.
#ifndef FR_KERN_QTYPE_H
#define FR_KERN_QTYPE_H
#include <stdint.h>

typedef enum fr_type {
    FR_TYPE_F32 = 0,
    FR_TYPE_F16 = 1,
    FR_TYPE_Q4_0 = 2,
    FR_TYPE_Q4_1 = 3,
    FR_TYPE_Q5_0 = 6,
    FR_TYPE_Q5_1 = 7,
    FR_TYPE_Q8_0 = 8,
    FR_TYPE_Q2_K = 10,
    FR_TYPE_Q3_K = 11,
    FR_TYPE_Q4_K = 12,
    FR_TYPE_Q5_K = 13,
    FR_TYPE_Q6_K = 14,
    FR_TYPE_IQ4_NL = 20,
    FR_TYPE_IQ4_XS = 23,
    FR_TYPE_BF16 = 30,
} fr_type;
enum { FR_TYPE_LIMIT = 31 };

// All values by the block that they have, for a switch that serves one of these groups and has no
// `default`: `case FR_FLOAT_TYPES:`. A new type has to be written into its group, and then does not
// compile where a switch lacks it.
// clang-format off
#define FR_FLOAT_TYPES FR_TYPE_F32: case FR_TYPE_F16: case FR_TYPE_BF16
#define FR_B32_TYPES                                                                               \
    FR_TYPE_Q4_0: case FR_TYPE_Q4_1: case FR_TYPE_Q5_0: case FR_TYPE_Q5_1: case FR_TYPE_Q8_0:      \
    case FR_TYPE_IQ4_NL
#define FR_K_TYPES                                                                                 \
    FR_TYPE_Q2_K: case FR_TYPE_Q3_K: case FR_TYPE_Q4_K: case FR_TYPE_Q5_K: case FR_TYPE_Q6_K:      \
    case FR_TYPE_IQ4_XS
// clang-format on

typedef struct fr_qtype {
    fr_type type;
    const char *name; // lower case, as in "q4_k"
    int block;        // elements of one block
    int bytes;        // bytes of one block
} fr_qtype;

// The description of a type id as files store it. NULL when this engine cannot read that type.
const fr_qtype *fr_qtype_of(uint32_t id);

// A name for messages: of every type that GGUF files are known to hold, read by this engine or not;
// "unknown type" for the others. Never NULL.
const char *fr_qtype_name(uint32_t id);

// Bytes of one row of n elements, n a multiple of the type's block (asserted).
int64_t fr_qtype_row_bytes(fr_type type, int64_t n);

#endif
