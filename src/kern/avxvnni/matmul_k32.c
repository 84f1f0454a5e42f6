// matmul_k32.c — products with blocks of 32, AVX-VNNI: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 IQ4_NL MXFP4.
//
// Panel, then chunk of up to 8 blocks (256 k), then column tile; y of the panel lives in L1.
#include "kern/avxvnni/tile.h"

enum { CHUNK = 8 };

typedef struct job {
    int blocks, stride; // blocks of this chunk; rows between one block of an activation array and
                        // the next
    int start_stride;   // the same of `start`
    const uint8_t *head, *block; // the chunk's first scales and packed block
    const uint8_t *codes;        // or its unpacked codes [block][8 groups][64 bytes]
    const int8_t *q;             // [block][stride][32], from the tile's first column
    const float *dx, *ds;        // [block][stride]
    const int32_t *start;        // [block][start_stride] -offset * (sum of x)
    float *y;                    // [column][16]
    fr_stream *stream;           // points: points_of a block
} job;
typedef void tile_fn(const job *j);

// Codes of k-group g (0..7) of a block, as u8; `block` already points at the wanted half.
FR_INLINE __m256i codes_of(const fr_type t, const uint8_t *block, int g) {
    const fr_b32_layout at = fr_b32_layout_of(t);
    if (t == FR_TYPE_Q8_0) return load(block + 64 * g);
    const __m256i v = load(block + at.lo + 64 * (g % 4));
    const __m256i nibbles = g < 4 ? low_nibble(v) : high_nibble(v);
    if (t == FR_TYPE_Q5_0 || t == FR_TYPE_Q5_1)
        return _mm256_or_si256(nibbles, bit_to(load(block + at.hi), g, 4));
    const int8_t *table = fr_b32_table(t);
    return table ? values_of(table, at.offset, nibbles) : nibbles;
}

FR_INLINE int bytes_of_32(const fr_type t) { // with its d, wherever that lies
    return fr_b32_layout_of(t).bytes + (fr_b32_layout_of(t).header ? 32 : 0);
}

// ---------------------------------------------------------------- tile
// The step of the chain after 32 k, see docs/numerics.md.
FR_INLINE void finish_block(const fr_type t, const int columns, const job *j, const uint8_t *head,
                            size_t cell, __m256i acc[WIDTH][2]) {
    const bool mins = fr_b32_layout_of(t).mins;
    FR_UNROLL
    for (int c = 0; c < columns; c++) {
        const __m256 dx = _mm256_broadcast_ss(j->dx + cell + (size_t)c);
        FR_UNROLL
        for (int h = 0; h < 2; h++) {
            float *y = j->y + 16 * c + 8 * h;
            const __m256 dd = _mm256_mul_ps(load_scales(t, head + 16 * h), dx);
            __m256 sum = _mm256_fmadd_ps(dd, _mm256_cvtepi32_ps(acc[c][h]), _mm256_load_ps(y));
            if (mins)
                sum = _mm256_fmadd_ps(load_half(head + 32 + 16 * h),
                                      _mm256_broadcast_ss(j->ds + cell + (size_t)c), sum);
            _mm256_store_ps(y, sum);
        }
    }
}

FR_INLINE void tile(const fr_type t, const int kind, const int columns, const job *j) {
    const bool flat = kind == UNPACKED;
    const fr_b32_layout at = fr_b32_layout_of(t);
    fr_stream stream = *j->stream;
    for (int b = 0; b < j->blocks; b++) {
        const size_t cell = (size_t)b * (size_t)j->stride;
        if (kind == ASKING && b % 2 == 0) fr_scout(&stream);
        const uint8_t *block = j->block + (size_t)b * (size_t)at.bytes;
        const int8_t *q = j->q + 32 * cell;
        __m256i acc[WIDTH][2];
        FR_UNROLL
        for (int c = 0; c < columns; c++)
            acc[c][0] = acc[c][1] =
                at.offset ? broadcast(j->start + b * j->start_stride + c) : _mm256_setzero_si256();
        FR_UNROLL
        for (int g = 0; g < 8; g++) {
            fr_ask_at(&stream, points_of(kind, bytes_of_32(t)), g, 8);
            const uint8_t *codes = j->codes + 512 * b + 64 * g;
            const __m256i w0 = flat ? load(codes) : codes_of(t, block, g);
            const __m256i w1 = flat ? load(codes + 32) : codes_of(t, block + 32, g);
            dot_group(acc, columns, w0, w1, q + 4 * g, 32);
        }
        finish_block(t, columns, j, at.header ? j->head + 32 * b : block, cell, acc);
    }
    j->stream->at = stream.at;
}

// ---------------------------------------------------------------- panels
FR_INLINE void flatten(const fr_type t, uint8_t *flat, const uint8_t *block, int blocks,
                       fr_stream *stream) {
    const int bytes = fr_b32_layout_of(t).bytes;
    for (int b = 0; b < blocks; b++, block += bytes, flat += 512) {
        if (b % 2 == 0) fr_scout(stream);
        FR_UNROLL
        for (int i = 0; i < 16; i++) {
            fr_ask_at(stream, unpacking_points(bytes_of_32(t)), i, 16);
            _mm256_store_si256((__m256i *)(flat + 32 * i),
                               codes_of(t, block + 32 * (i % 2), i / 2));
        }
    }
}

// What the accumulators of a chunk start at: start[block][n].
FR_INLINE void start_sums(const fr_type t, int32_t *start, const int32_t *s, int stride, int n,
                          int blocks) {
    for (int b = 0; b < blocks; b++, start += n, s += stride)
        for (int i = 0; i < n; i++)
            start[i] = -fr_b32_layout_of(t).offset * s[i];
}

// Up to so many columns codes are unpacked in the tile, else once into L1: where the cycles of the
// stores (counted, not timed) are less than what all tiles save.
FR_INLINE int direct_columns(const fr_type t) {
    if (t == FR_TYPE_Q8_0) return COLUMNS;
    return t == FR_TYPE_Q5_0 || t == FR_TYPE_Q5_1 ? 8 : 16;
}

// Columns [c0, c0 + n), n <= COLUMNS, for panels [p0, p1).
FR_INLINE void columns_of(const fr_type t, tile_fn *const tiles[VNNI_KINDS][WIDTH], float *y,
                          int ldy, const fr_act *a, const fr_matrix *w, int p0, int p1, int c0,
                          int n) {
    const fr_b32_layout at = fr_b32_layout_of(t);
    const int blocks = w->k / 32;
    const int kind = first_kind(n, direct_columns(t));
    const bool flat = kind == UNPACKED;
    fr_stream stream = fr_stream_over(NULL, (size_t)at.bytes, all_points(kind, bytes_of_32(t), n));
    _Alignas(64) float out[COLUMNS * 16];
    _Alignas(64) uint8_t codes[CHUNK * 512];
    int32_t start[CHUNK * COLUMNS];
    for (int p = p0; p < p1; p++) {
        const uint8_t *panel = w->panels + (size_t)p * w->panel_bytes;
        for (int i = 0; i < 16 * n; i += 8)
            _mm256_store_ps(out + i, _mm256_setzero_ps());
        for (int b = 0; b < blocks; b += CHUNK) {
            const size_t cell = (size_t)b * (size_t)a->n + (size_t)c0;
            job j = {.blocks = blocks - b < CHUNK ? blocks - b : CHUNK,
                     .stride = a->n,
                     .start_stride = n,
                     .head = panel + 32 * (size_t)b,
                     .block = panel + (at.header ? fr_scales_bytes(blocks) : 0) +
                              (size_t)b * (size_t)at.bytes,
                     .codes = codes,
                     .stream = &stream};
            if (at.offset) start_sums(t, start, a->s + cell, a->n, n, j.blocks);
            stream.at = j.block + AHEAD;
            if (flat) flatten(t, codes, j.block, j.blocks, &stream);
            for (int c = 0, width; c < n; c += width) {
                width = fr_tile_width(c, n, WIDTH);
                j.q = a->q + 32 * (cell + (size_t)c);
                j.dx = a->d + cell + c;
                j.ds = a->ds + cell + c;
                j.start = start + c;
                j.y = out + 16 * c;
                tiles[kind_at(c, kind)][width - 1](&j);
            }
        }
        fr_avx2_store_panel(y + (size_t)c0 * (size_t)ldy + 16 * (size_t)p, ldy, out, n,
                            w->m - 16 * p);
    }
}

// clang-format off
FR_VNNI_MATMUL(q4_0, FR_TYPE_Q4_0)
FR_VNNI_MATMUL(q4_1, FR_TYPE_Q4_1)
FR_VNNI_MATMUL(q5_0, FR_TYPE_Q5_0)
FR_VNNI_MATMUL(q5_1, FR_TYPE_Q5_1)
FR_VNNI_MATMUL_DIRECT(q8_0, FR_TYPE_Q8_0)
FR_VNNI_MATMUL(iq4_nl, FR_TYPE_IQ4_NL)
FR_VNNI_MATMUL(mxfp4, FR_TYPE_MXFP4)
// clang-format on
