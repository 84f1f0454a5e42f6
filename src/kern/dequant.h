// dequant.h — quantized rows to f32: embedding rows, and the truth that tests compare with.
//
// The value of every element is a fixed f32 expression of what the block stores. d, m and dmin are
// f16 (mxfp4's d a power of two), q the element's small integer, s and n the 6-bit (q6_k: 8-bit;
// q2_k: 4-bit) scale and minimum of its sub-block:
//
//     f32 f16 bf16            the value itself
//     q4_0 q5_0 q8_0 iq4_nl   d · q        q4_0: 0..15 less 8, q5_0: 0..31 less 16, iq4_nl: table
//     mxfp4 mxfp4_ollama      d · q        table
//     q4_1 q5_1               d · q + m
//     q2_k q4_k q5_k          (d · s) · q − (dmin · n)
//     iq2_xxs iq2_xs iq2_s    (d/8 · s) · q  s odd, 1..31; table
//     iq3_xxs iq3_s           (d/4 · s) · q  iq3_s: d · s; s odd, 1..31; table
//     q3_k q6_k iq4_xs        (d · s) · q  q3_k: q less 4, s less 32; q6_k: q less 32; iq4_xs: s
//                                          less 32, table
//
// Every product is exact in f32 (at most 24 significant bits, exponents far from the ends; mxfp4's
// from 2^128 on are infinite); only the addition and the subtraction round, to nearest even. So
// any implementation of these formulas gives the same bits, also with a fused multiply-add.
#ifndef FR_KERN_DEQUANT_H
#define FR_KERN_DEQUANT_H
#include "kern/qtype.h"

// dst[0..n) = the values of n elements of `type` at src; n is a multiple of the type's block
// (asserted). src needs no alignment beyond 1; dst overlaps nothing. Scales that are not finite
// give what the expression gives.
void fr_dequant_row(fr_type type, const void *restrict src, float *restrict dst, int64_t n);

// The 16 values that the types choose from: iq4_nl and iq4_xs; mxfp4, twice those of the format
// (E2M1 of the OCP's Microscaling Formats 1.0); and the I-quants of 2 and 3 bits.
extern const int8_t fr_iq4_values[16], fr_mxfp4_values[16];
extern const int8_t fr_iq2_values[16], fr_iq3_xxs_values[16], fr_iq3_s_values[16];

#endif
