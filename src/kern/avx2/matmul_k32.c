// matmul_k32.c — products with blocks of 32: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 IQ4_NL MXFP4.
//
// Panel, then chunk of up to 8 blocks (256 k), then column tile; y of the panel lives in L1.
#include "kern/avx2/tile.h"

enum { CHUNK = 8 };

typedef struct job {
    int blocks,
        stride; // blocks in this chunk; rows between one block of an activation array and the next
    const uint8_t *head;  // f16 of the chunk's first block, when they stand in front of the panel
    const uint8_t *block; // the chunk's first packed block
    uint8_t *codes;       // its unpacked codes [block][8 groups][64 or, masked, 128 bytes]
    const __m256i (*correction)[2]; // masked: [block][half], of their products
    const int8_t *q;                // [block][stride][32], from the tile's first column
    const float *dx, *ds;           // [block][stride]
    const int32_t *s;               // [block][stride]
    float *y;                       // [column][16]
    fr_stream *stream;              // points: lines_of a block, where it is unpacked
} job;
typedef void tile_fn(const job *j);

// ---------------------------------------------------------------- types
FR_INLINE bool has_min(fr_type t) {
    return fr_b32_layout_of(t).mins;
}

FR_INLINE int offset_shift(fr_type t) { // the offset of codes is 1 << this; -1: none
    return t == FR_TYPE_Q4_0 ? 3 : t == FR_TYPE_Q5_0 || t == FR_TYPE_MXFP4 ? 4 : -1;
}

FR_INLINE int codes_at(fr_type t) { // where the vectors begin in a block
    return has_min(t) ? 64 : 0;
}

FR_INLINE int block_bytes_of(fr_type t) {
    return fr_b32_layout_of(t).bytes;
}

FR_INLINE int lines_of(fr_type t) { // of a block and, where it lies in front of the panel, its d
    return fr_lines(block_bytes_of(t) + (has_min(t) ? 0 : 32));
}

// Codes of k-group g of a block; `codes` already points at the wanted half.
FR_INLINE __m256i codes_of(fr_type t, const uint8_t *codes, int g) {
    if (t == FR_TYPE_Q8_0)
        return _mm256_xor_si256(load(codes + 64 * g), _mm256_set1_epi8((char)0x80));
    const bool fifth = t == FR_TYPE_Q5_0 || t == FR_TYPE_Q5_1;
    const __m256i v = load(codes + (fifth ? 64 : 0) + 64 * (g % 4));
    const __m256i nibbles = g < 4 ? low_nibble(v) : high_nibble(v);
    if (fifth) return _mm256_or_si256(nibbles, bit_to(load(codes), g, 4));
    const int8_t *table = fr_b32_table(t);
    return table ? values_of(table, is_wide(t) ? 0 : fr_b32_layout_of(t).offset, nibbles) : nibbles;
}

// ---------------------------------------------------------------- tile
// sum[c][h] = or += the sums of run r of a block.
FR_INLINE void sum_run(fr_type t, int kind, int columns, const uint8_t *codes, uint8_t *keep,
                       const int8_t *q, int r, __m256i sum[TILE][2], fr_stream *stream) {
    const int run = run_of(t);
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i acc[TILE][2];
    FR_UNROLL
    for (int i = 0; i < run; i++) {
        const int g = r * run + i;
        ask_at(stream, kind, lines_of(t), g);
        const __m256i w0 = kind == FLAT ? load(codes + 64 * g) : codes_of(t, codes, g);
        const __m256i w1 = kind == FLAT ? load(codes + 64 * g + 32) : codes_of(t, codes + 32, g);
        if (kind == KEEP) keep_codes(keep + 64 * g, w0, w1);
        mul_group(acc, is_wide(t), i == 0, columns, w0, w1, q + 4 * g, 32);
    }
    FR_UNROLL
    for (int i = 0; i < 2 * columns; i++) {
        const __m256i widened = _mm256_madd_epi16(acc[i / 2][i % 2], ones);
        sum[i / 2][i % 2] = r == 0 ? widened : _mm256_add_epi32(sum[i / 2][i % 2], widened);
        FR_PIN(sum[i / 2][i % 2]);
    }
}

FR_INLINE void sum_masked(int columns, const uint8_t *codes, const int8_t *q,
                          const __m256i correction[2], __m256i sum[TILE][2]) {
    const __m256i ones = _mm256_set1_epi16(1), both[2] = {ones, ones};
    FR_UNROLL
    for (int c = 0; c < columns; c++)
        sum[c][0] = correction[0], sum[c][1] = correction[1];
    FR_UNROLL
    for (int g = 0; g < 8; g++)
        mul_masked(sum, columns, codes + 128 * g, both, q + 4 * g, 32);
}

// The runs are written out: gcc honours an unroll request of a single turn only with a warning.
FR_INLINE void sum_block(fr_type t, int kind, int columns, const uint8_t *codes, uint8_t *keep,
                         const int8_t *q, __m256i sum[TILE][2], fr_stream *stream) {
    const int runs = 8 / run_of(t);
    sum_run(t, kind, columns, codes, keep, q, 0, sum, stream);
    if (runs >= 2) sum_run(t, kind, columns, codes, keep, q, 1, sum, stream);
    if (runs == 8) {
        sum_run(t, kind, columns, codes, keep, q, 2, sum, stream);
        sum_run(t, kind, columns, codes, keep, q, 3, sum, stream);
        sum_run(t, kind, columns, codes, keep, q, 4, sum, stream);
        sum_run(t, kind, columns, codes, keep, q, 5, sum, stream);
        sum_run(t, kind, columns, codes, keep, q, 6, sum, stream);
        sum_run(t, kind, columns, codes, keep, q, 7, sum, stream);
    }
}

// What a tile reads of one block; moves on by constant steps.
typedef struct cursor {
    uint8_t *keep;
    const uint8_t *head, *block, *codes;
    const __m256i (*correction)[2];
    const int8_t *q;
    const float *dx, *ds;
    const int32_t *s;
} cursor;

// The step of the chain after 32 k, see docs/numerics.md.
FR_INLINE void finish_block(fr_type t, int columns, const cursor *at, float *y,
                            __m256i sum[TILE][2]) {
    const __m256 d[2] = {load_scales(t, at->head), load_scales(t, at->head + 16)};
    __m256 m[2] = {d[0], d[1]};
    if (has_min(t)) m[0] = load_half(at->head + 32), m[1] = load_half(at->head + 48);
    FR_UNROLL
    for (int c = 0; c < columns; c++) {
        const __m256 dx = _mm256_broadcast_ss(at->dx + c);
        __m256i offset = _mm256_setzero_si256();
        if (offset_shift(t) >= 0)
            offset = _mm256_slli_epi32(broadcast(at->s + c), offset_shift(t) & 31);
        FR_UNROLL
        for (int h = 0; h < 2; h++) {
            const __m256i whole =
                offset_shift(t) >= 0 ? _mm256_sub_epi32(sum[c][h], offset) : sum[c][h];
            float *out = y + 16 * c + 8 * h;
            __m256 v = _mm256_fmadd_ps(_mm256_mul_ps(d[h], dx), _mm256_cvtepi32_ps(whole),
                                       _mm256_load_ps(out));
            if (has_min(t)) v = _mm256_fmadd_ps(m[h], _mm256_broadcast_ss(at->ds + c), v);
            _mm256_store_ps(out, v);
        }
    }
}

FR_INLINE void tile(fr_type t, int kind, int columns, const job *j) {
    const size_t stride = (size_t)j->stride;
    fr_stream stream = *j->stream;
    float *y = j->y;
    cursor at = {.head = has_min(t) ? j->block : j->head,
                 .block = j->block,
                 .codes = kind == FLAT ? j->codes : j->block + codes_at(t),
                 .keep = j->codes,
                 .correction = j->correction,
                 .q = j->q,
                 .dx = j->dx,
                 .ds = j->ds,
                 .s = j->s};
    for (int turns = j->blocks; turns; turns--) {
        __m256i sum[TILE][2];
        if (kind != FLAT && turns % 2) fr_scout(&stream);
        if (kind == FLAT && is_wide(t))
            sum_masked(columns, at.codes, at.q, *at.correction, sum);
        else
            sum_block(t, kind, columns, at.codes, at.keep, at.q, sum, &stream);
        if (columns > 2) FR_HIDE_VALUE(y); // stays in memory: gcc would keep a copy on the stack
        finish_block(t, columns, &at, y, sum);
        at.head += has_min(t) ? block_bytes_of(t) : 32;
        at.block += block_bytes_of(t);
        at.keep += 512;
        at.codes += kind == FLAT ? flat_bytes_of(t) : block_bytes_of(t);
        at.correction++;
        at.q += 32 * stride;
        at.dx += stride;
        at.ds += stride;
        at.s += stride;
    }
    j->stream->at = stream.at;
}

// Codes of 8 bits into L1, masked; the correction of their products goes to `correction`.
FR_INLINE void flatten_masked(fr_type t, uint8_t *flat, __m256i (*correction)[2],
                              const uint8_t *block, int blocks, fr_stream *stream) {
    for (int b = 0; b < blocks; b++, block += block_bytes_of(t), flat += flat_bytes_of(t)) {
        if (b % 2 == 0) fr_scout(stream);
        __m256i pairs[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        FR_UNROLL
        for (int i = 0; i < 16; i++) {
            const int g = i / 2, h = i % 2;
            if (h) ask_at(stream, KEEP, lines_of(t), g);
            store_masked(flat + 128 * g + 32 * h, codes_of(t, block + codes_at(t) + 32 * h, g),
                         &pairs[h]);
        }
        for (int h = 0; h < 2; h++)
            correction[b][h] = _mm256_madd_epi16(pairs[h], _mm256_set1_epi16(1));
    }
}

// ---------------------------------------------------------------- panels
// Columns [c0, c0 + n), n <= COLUMNS, for panels [p0, p1). tiles: for 1 to 6 columns with packed
// codes, then for 3 and more with unpacked ones: 4 and more divide into such.
FR_INLINE void columns_of(fr_type t, tile_fn *const tiles[2][TILE], float *y, int ldy,
                          const fr_act *a, const fr_matrix *w, int p0, int p1, int c0, int n) {
    const int blocks = w->k / 32;
    const bool flat = n > direct_max(t);
    const int most = flat ? flat_max(t) : TILE, n_tiles = (n + most - 1) / most;
    const bool unpacked = flat && is_wide(t);
    fr_stream stream =
        fr_stream_over(NULL, (size_t)block_bytes_of(t), lines_of(t) * (flat ? 1 : n_tiles));
    const size_t header = fr_panel_header_bytes(t, w->k);
    _Alignas(64) float out[COLUMNS * 16];
    _Alignas(64) uint8_t codes[CHUNK * 1024];
    __m256i correction[CHUNK][2];
    for (int p = p0; p < p1; p++) {
        const uint8_t *panel = w->panels + (size_t)p * w->panel_bytes;
        for (int i = 0; i < 16 * n; i += 8)
            _mm256_store_ps(out + i, _mm256_setzero_ps());
        for (int b = 0; b < blocks; b += CHUNK) {
            const size_t cell = (size_t)b * (size_t)a->n + (size_t)c0;
            const uint8_t *block = panel + header + (size_t)b * (size_t)block_bytes_of(t);
            job j = {.blocks = blocks - b < CHUNK ? blocks - b : CHUNK,
                     .stride = a->n,
                     .head = panel + 32 * (size_t)b,
                     .block = block,
                     .codes = codes,
                     .correction = correction,
                     .stream = &stream};
            stream.at = block + AHEAD;
            if (unpacked) flatten_masked(t, codes, correction, block, j.blocks, &stream);
            for (int i = 0, c = 0; i < n_tiles; i++) {
                const int next = n * (i + 1) / n_tiles, width = next - c;
                j.q = a->q + 32 * (cell + (size_t)c);
                j.dx = a->d + cell + c;
                j.ds = a->ds + cell + c;
                j.s = a->s + cell + c;
                j.y = out + 16 * c;
                tiles[!flat ? DIRECT : i || is_wide(t) ? FLAT : KEEP][width - 1](&j);
                c = next;
            }
        }
        fr_avx2_store_panel(y + (size_t)c0 * (size_t)ldy + 16 * (size_t)p, ldy, out, n,
                            w->m - 16 * p);
    }
}

// clang-format off
FR_MATMUL(q4_0, FR_TYPE_Q4_0)
FR_MATMUL(q4_1, FR_TYPE_Q4_1)
FR_MATMUL(q5_0, FR_TYPE_Q5_0)
FR_MATMUL(q5_1, FR_TYPE_Q5_1)
FR_MATMUL_WIDE(q8_0, FR_TYPE_Q8_0)
FR_MATMUL_WIDE(iq4_nl, FR_TYPE_IQ4_NL)
FR_MATMUL(mxfp4, FR_TYPE_MXFP4)
// clang-format on
