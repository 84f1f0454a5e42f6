// matmul_k256.c — products with superblocks of 256, AVX-VNNI: Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_XS
// IQ2_S.
//
// Panel, then superblock, then column tile; y of the panel and the scaled sums of a tile live in
// L1. A superblock is four times 64 k (16 k-groups). Q4_K's high nibbles are left where they are,
// 16 times too large: so are then the even sub-blocks' scales, and d is 16 times smaller; all
// exact.
#include "kern/avxvnni/scales.h"

typedef struct job {
    const uint8_t *codes; // the packed superblock, or unpacked codes [4][16 groups][64 bytes]
    const scales *s;
    const int8_t *table;  // types with a table
    const int8_t *q;      // column 0 of the tile; columns lie 256 apart
    const float *dx;      // [column][2]
    const int16_t *sums;  // [column][16 or 8] of the codes of x
    const int32_t *start; // [column][16 or 8] -offset * sums
    float *y;             // [column][16]
    __m256i *is;          // [2][WIDTH][2] scaled sums of 64 k: memory of the tile's
    fr_stream *stream;    // points: points_of 64 k
} job;
typedef void tile_fn(const job *j);

// ---------------------------------------------------------------- codes
// Codes of k-group g (0..15) of 64 k as u8; lo and hi already point at the wanted half.
FR_INLINE __m256i codes_of(const fr_type t, const int8_t *table, const uint8_t *lo,
                           const uint8_t *hi, int g) {
    switch (t) {
    case FR_TYPE_Q2_K:
        return bit_pairs(load(lo + 64 * (g / 4)), g % 4);
    case FR_TYPE_Q3_K:
        return _mm256_or_si256(bit_pairs(load(lo + 64 * (g / 4)), g % 4),
                               bit_to(load(hi + 64 * (g / 8)), g % 8, 2));
    case FR_TYPE_Q4_K: {
        const __m256i v = load(lo + 64 * (g % 8));
        return g < 8 ? low_nibble(v) : _mm256_andnot_si256(_mm256_set1_epi8(15), v);
    }
    case FR_TYPE_Q5_K: {
        const __m256i v = load(lo + 64 * (g % 8));
        return _mm256_or_si256(g < 8 ? low_nibble(v) : high_nibble(v),
                               bit_to(load(hi + 64 * (g / 8)), g % 8, 4));
    }
    case FR_TYPE_Q6_K:
        return q6_codes(lo + 192 * (g / 4), g % 4);
    case FR_TYPE_IQ4_XS:
    case FR_TYPE_IQ2_S: {
        const __m256i v = load(lo + 256 * (g / 8) + 64 * (g % 4));
        return values_of(table, 128, g % 8 < 4 ? low_nibble(v) : high_nibble(v));
    }
    case FR_TYPES_BUT_K:
        break;
    }
    assert(!"a K type");
    return _mm256_setzero_si256();
}

FR_INLINE int bytes_of_64(const fr_type t) {
    return fr_k_layout_of(t).bytes / 4;
}

// ---------------------------------------------------------------- tile
// acc * sc + is, the sum of a sub-block scaled; `is` only where it is not the first.
FR_INLINE __m256i add_scaled(const fr_type t, __m256i acc, __m256i sc, bool first,
                             const __m256i *is) {
    if (fr_k_scaling_of(t) == FR_K_FLOAT) {
        // From +0, so that a product of -0 leaves no trace.
        const __m256 so_far =
            first ? _mm256_setzero_ps() : _mm256_load_ps((const float *)(const void *)is);
        return _mm256_castps_si256(
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(acc), _mm256_castsi256_ps(sc), so_far));
    }
    if (fr_k_scaling_of(t) == FR_K_INT16)
        return first ? _mm256_madd_epi16(acc, sc) : dot_pairs(load(is), acc, sc);
    const __m256i product = _mm256_mullo_epi32(acc, sc);
    return first ? product : _mm256_add_epi32(load(is), product);
}

// Sub-block i of 64 k, whose scales and start are at sc and start: into or onto is[WIDTH][2].
FR_INLINE void add_sub_block(const fr_type t, const int kind, const int columns,
                             const int8_t *table, const uint8_t *lo, const uint8_t *hi,
                             const int8_t *q, int i, const __m256i (*sc)[2], const int32_t *start,
                             __m256i *is, fr_stream *stream) {
    const int groups = fr_k_sub(t) / 4, subs = 256 / fr_k_sub(t);
    __m256i acc[WIDTH][2];
    FR_UNROLL
    for (int c = 0; c < columns; c++)
        acc[c][0] = acc[c][1] =
            fr_k_has_dmin(t) ? _mm256_setzero_si256() : broadcast(start + subs * c + i);
    FR_UNROLL
    for (int g = i * groups; g < (i + 1) * groups; g++) {
        fr_ask_at(stream, points_of(kind, bytes_of_64(t)), g, 16);
        FR_HIDE(stream->at); // or gcc keeps vectors of Q2_K on the stack
        const bool flat = kind == UNPACKED;
        const __m256i w0 = flat ? load(lo + 64 * g) : codes_of(t, table, lo, hi, g);
        const __m256i w1 = flat ? load(lo + 64 * g + 32) : codes_of(t, table, lo + 32, hi + 32, g);
        dot_group(acc, columns, w0, w1, q + 4 * g, 256);
    }
    FR_HIDE(is);
    FR_UNROLL
    for (int c = 0; c < 2 * columns; c++)
        _mm256_store_si256(is + c, add_scaled(t, acc[c / 2][c % 2], sc[i][c % 2], i == 0, is + c));
}

// The step of the chain after 128 k, see docs/numerics.md.
FR_INLINE void finish_group(const fr_type t, const int columns, const job *j, int group) {
    const int subs = 256 / fr_k_sub(t), pairs = subs / 4; // of sub-blocks, in this group
    FR_UNROLL
    for (int c = 0; c < columns; c++) {
        const __m256 dx = _mm256_broadcast_ss(j->dx + 2 * c + group);
        FR_UNROLL
        for (int h = 0; h < 2; h++) {
            const __m256i *is = j->is + 2 * c + h;
            float *y = j->y + 16 * c + 8 * h;
            __m256 sum, u;
            if (fr_k_scaling_of(t) == FR_K_FLOAT)
                sum = _mm256_add_ps(_mm256_castsi256_ps(load(is)),
                                    _mm256_castsi256_ps(load(is + 2 * WIDTH)));
            else
                sum = _mm256_cvtepi32_ps(_mm256_add_epi32(load(is), load(is + 2 * WIDTH)));
            if (fr_k_has_dmin(t)) {
                __m256i ms = _mm256_setzero_si256();
                FR_UNROLL
                for (int i = 0; i < pairs; i++)
                    ms = dot_pairs(ms, j->s->mins[pairs * group + i][h],
                                   broadcast(j->sums + subs * c + 2 * (pairs * group + i)));
                u = _mm256_fmsub_ps(j->s->d[h], sum,
                                    _mm256_mul_ps(j->s->m[h], _mm256_cvtepi32_ps(ms)));
            } else {
                u = _mm256_mul_ps(j->s->d[h], sum);
            }
            _mm256_store_ps(y, _mm256_fmadd_ps(u, dx, _mm256_load_ps(y)));
        }
    }
}

FR_INLINE void tile(const fr_type t, const int kind, const int columns, const job *j) {
    const fr_k_layout at = fr_k_layout_of(t);
    const int subs = 64 / fr_k_sub(t);
    const bool flat = kind == UNPACKED;
    const uint8_t *lo = flat ? j->codes : j->codes + at.lo, *hi = j->codes + at.hi;
    fr_stream stream = *j->stream;
    const int8_t *q = j->q;
    const __m256i(*sc)[2] = j->s->sc;
    const int32_t *start = j->start;
    int two = 2;
    FR_HIDE(two);
    for (int group = 0; group < two; group++) {
        for (int turn = 0; turn < two; turn++) { // 64 k
            __m256i *is = j->is + 2 * WIDTH * turn;
            if (kind == ASKING) fr_scout(&stream);
            add_sub_block(t, kind, columns, j->table, lo, hi, q, 0, sc, start, is, &stream);
            add_sub_block(t, kind, columns, j->table, lo, hi, q, 1, sc, start, is, &stream);
            if (subs == 4) {
                add_sub_block(t, kind, columns, j->table, lo, hi, q, 2, sc, start, is, &stream);
                add_sub_block(t, kind, columns, j->table, lo, hi, q, 3, sc, start, is, &stream);
            }
            lo += flat ? 1024 : at.lo_step, hi += at.hi_step;
            q += 64, sc += subs, start += subs;
        }
        finish_group(t, columns, j, group);
    }
    j->stream->at = stream.at;
}

// ---------------------------------------------------------------- panels
FR_INLINE void flatten(const fr_type t, const int8_t *table, uint8_t *flat, const uint8_t *block,
                       fr_stream *stream) {
    const fr_k_layout at = fr_k_layout_of(t);
    const uint8_t *lo = block + at.lo, *hi = block + at.hi;
    for (int turn = 0; turn < 4; turn++) {
        fr_scout(stream);
        FR_UNROLL
        for (int g = 0; g < 16; g++) {
            fr_ask_at(stream, unpacking_points(bytes_of_64(t)), g, 16);
            __m256i *to = (__m256i *)(flat + 64 * g);
            _mm256_store_si256(to, codes_of(t, table, lo, hi, g));
            _mm256_store_si256(to + 1, codes_of(t, table, lo + 32, hi + 32, g));
        }
        lo += at.lo_step, hi += at.hi_step, flat += 1024;
    }
}

// What the accumulators of a superblock start at, of n sums of x.
FR_INLINE void start_sums(const fr_type t, int32_t *start, const int16_t *sums, int n) {
    for (int i = 0; i < n; i++)
        start[i] = -fr_k_offset(t) * sums[i];
}

// Up to so many columns codes are unpacked in the tile, else once into L1: where the cycles of the
// stores (counted, not timed) are less than what all tiles save.
FR_INLINE int direct_columns(const fr_type t) {
    if (t == FR_TYPE_Q4_K) return COLUMNS; // one vpand
    return t == FR_TYPE_Q3_K || t == FR_TYPE_Q5_K ? 4 : 8;
}

// Columns [c0, c0 + n), n <= COLUMNS, for panels [p0, p1).
FR_INLINE void columns_of(const fr_type t, tile_fn *const tiles[VNNI_KINDS][WIDTH], float *y,
                          int ldy, const fr_act *a, const fr_matrix *w, int p0, int p1, int c0,
                          int n) {
    const int blocks = w->k / 256, subs = 256 / fr_k_sub(t), bytes = fr_k_layout_of(t).bytes;
    const int kind = first_kind(n, direct_columns(t));
    const bool flat = kind == UNPACKED;
    fr_stream stream = fr_stream_over(NULL, (size_t)bytes, 4 * all_points(kind, bytes_of_64(t), n));
    const size_t header = fr_k_header(t, blocks);
    const int16_t *sums = subs == 16 ? a->s16 : a->s32;
    _Alignas(64) float out[COLUMNS * 16];
    _Alignas(64) uint8_t codes[4096];
    _Alignas(64) __m256i is[2 * WIDTH * 2];
    int32_t start[COLUMNS * 16];
    scales s;
    const fr_qtype *of = fr_qtype_of((uint32_t)w->type);
    for (int p = p0; p < p1; p++) {
        const uint8_t *panel = w->panels + (size_t)p * w->panel_bytes;
        for (int i = 0; i < 16 * n; i += 8)
            _mm256_store_ps(out + i, _mm256_setzero_ps());
        for (int b = 0; b < blocks; b++) {
            const uint8_t *block = panel + header + (size_t)b * (size_t)bytes;
            const size_t cell = (size_t)b * (size_t)a->n + (size_t)c0;
            unpack_scales(t, of, &s, panel + 32 * (size_t)b, block);
            if (!fr_k_has_dmin(t)) start_sums(t, start, sums + (size_t)subs * cell, subs * n);
            stream.at = block + AHEAD;
            if (flat) flatten(t, of->table, codes, block, &stream);
            for (int c = 0, width; c < n; c += width) {
                width = fr_tile_width(c, n, WIDTH);
                const job j = {.codes = flat ? codes : block,
                               .s = &s,
                               .table = of->table,
                               .q = a->q + 256 * (cell + (size_t)c),
                               .dx = a->d + 2 * (cell + (size_t)c),
                               .sums = sums + (size_t)subs * (cell + (size_t)c),
                               .start = start + subs * c,
                               .y = out + 16 * c,
                               .is = is,
                               .stream = &stream};
                tiles[kind_at(c, kind)][width - 1](&j);
            }
        }
        fr_avx2_store_panel(y + (size_t)c0 * (size_t)ldy + 16 * (size_t)p, ldy, out, n,
                            w->m - 16 * p);
    }
}

// clang-format off
FR_VNNI_MATMUL(q2_k, FR_TYPE_Q2_K)
FR_VNNI_MATMUL(q3_k, FR_TYPE_Q3_K)
FR_VNNI_MATMUL_DIRECT(q4_k, FR_TYPE_Q4_K)
FR_VNNI_MATMUL(q5_k, FR_TYPE_Q5_K)
FR_VNNI_MATMUL(q6_k, FR_TYPE_Q6_K)
FR_VNNI_MATMUL(iq4_xs, FR_TYPE_IQ4_XS)
FR_VNNI_MATMUL(iq2_s, FR_TYPE_IQ2_S)
// clang-format on
