// repack.h — GGUF rows to panels and back.
//
// A panel holds 16 consecutive weight rows, interleaved so that dword lane i of every 64-byte
// vector belongs to row i and holds 4 consecutive k (a *k-group*) of it: no kernel ever sums across
// lanes. Sizes are those of the GGUF bytes (MXFP4 +5.9 %, Q3_K
// +3.6 %, IQ4_XS +1.5 %: scales unpacked), or more: the I-quants of 2 and 3 bits take 4.4 or 4.6. "vec"
// below is 64 bytes: 16 lanes of 4 bytes; "byte b" of a lane is the b-th k of its group; g counts
// k-groups inside a block (32 k: 8 groups; 16 k: 4 groups).
//
//   header  d[nblk][16], f16 (MXFP4: bf16), padded to 64 bytes, of the types whose row in types.def
//           has `head` (nblk = k / block). The others keep d (and m or dmin) inside the block. Then the
//           blocks, `panel` bytes each, ascending in k:
//
//   Q4_0, IQ4_NL, MXFP4  4 vec N0..N3: low nibble of Nt = group t, high nibble = group t+4
//   Q4_1    f16 d[16], f16 m[16], 4 vec as Q4_0
//   Q5_0    1 vec H, 4 vec as Q4_0: bit g of byte b of H = fifth bit of byte b of group g
//   Q5_1    f16 d[16], f16 m[16], 1 vec H, 4 vec
//   Q8_0    8 vec: group g = code ^ 0x80 (u8 = code + 128)
//   Q4_K    f16 d[16], f16 dmin[16], 3 vec U0 U1 U2 = bytes 0-3, 4-7, 8-11 of the row's packed
//           6-bit scales, then 32 vec: low nibble of vec t = sub-block 2*(t/8), group t%8; high
//           nibble = sub-block 2*(t/8)+1, same group
//   Q5_K    as Q4_K up to U2, then 8 vec H_j (sub-block j; bits as Q5_0), then 32 vec as Q4_K
//   Q6_K    int8 sc[16][16] (sub-block, row), then per sub-block of 16 k 3 vec A B C:
//           low 6 bits = groups 0 1 2; top 2 bits of A, B, C = bits 0-1, 2-3, 4-5 of group 3;
//           code - 32
//   Q3_K    int8 sc[16][16] (already minus 32), then 16 vec (sub-block j: bits 2g, 2g+1 of each
//           byte = low bits of group g), then 8 vec (sub-blocks 2i and 2i+1: bit g, bit 4+g of
//           each byte = third bit of group g); code - 4
//   Q2_K    f16 d[16], f16 dmin[16], u8 sm[16][16] (low nibble scale, high nibble min), then 16 vec
//           as Q3_K's first
//   IQ4_XS  int8 sc[8][16] (already minus 32), then per sub-block of 32 k 4 vec as IQ4_NL; in the
//           same way IQ2_XXS, IQ3_XXS and IQ3_S, whose scales are odd and whose nibbles are 8 *
//           minus + level
//   IQ2_S, IQ2_XS  int8 sc[16][16], then as IQ2_XXS
//   F32 F16 BF16  element [k][16]
#ifndef FR_KERN_REPACK_H
#define FR_KERN_REPACK_H
#include "kern/dequant.h"
#include "kern/kern.h"

size_t fr_repack_panel_bytes(fr_type type, int k); // 0 when k is not a multiple of the type's block
// Panels [p0, p1) of a matrix of m rows; src: GGUF rows, first row of the matrix first; dst: the
// matrix' panel 0.
void fr_repack_panels(fr_type type, uint8_t *dst, const uint8_t *src, int m, int k, int p0, int p1);
// One panel of n_rows rows (1..16; the lanes of missing rows are those of a row of zeros), 64-byte
// aligned or not; writes fr_repack_panel_bytes.
void fr_repack_panel(fr_type type, uint8_t *dst, const uint8_t *rows, int n_rows, int k);
// Row `row` of a packed matrix as f32: the same values as fr_dequant_row gives for the GGUF row.
void fr_unpack_row(const fr_matrix *w, int row, float *dst);
// The same wherever the weights lie, in panels or in place.
void fr_matrix_row(const fr_matrix *w, int row, float *dst);

// One block of one lane of a panel, spelled out: what the reference kernels and fr_unpack_row read.
typedef struct fr_lane_block {
    int sub;          // values in a sub-block (16 or 32)
    float d, m;       // scale; what FR_MIN_ADDED adds or the dmin of FR_MIN_SCALED, else 0
    int sc[16];       // scale of each sub-block; 1 for blocks of 32
    int mn[16];       // its min code (FR_MIN_SCALED), else 0
    int8_t code[256]; // codes, the offset subtracted or the value of the table taken
} fr_lane_block;
// Block `b` of lane `lane` of a panel of quantised weights (not F32, F16, BF16).
void fr_panel_lane(fr_type type, const uint8_t *panel, int k, int b, int lane, fr_lane_block *out);
// Bytes of the header in front of a panel's blocks (0 for most types), and of one block of 16 rows.
size_t fr_panel_header_bytes(fr_type type, int k);
size_t fr_panel_block_bytes(fr_type type);

#endif
