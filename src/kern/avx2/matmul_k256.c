// matmul_k256.c — products with superblocks of 256: Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_XS IQ2_S.
//
// Panel, then superblock, then column tile; y of the panel lives in L1. A superblock is 8 *parts*
// of 32 k (8 k-groups); scales are unpacked once per superblock, codes in the tile, by
// the first one for the others (KEEP).
#include "kern/avx2/unpack_k256.h"

typedef struct job {
    const uint8_t *codes; // the packed block after its scales, or unpacked codes [8 parts][8
                          // groups][64 or, masked, 128 bytes]
    const uint8_t *bits;  // the codes' upper bits, where they lie apart
    uint8_t *keep;        // KEEP: where unpacked codes go
    const int8_t *table;  // types with a table
    const scales *s;
    const int8_t *q;        // column 0 of the tile; columns lie 256 apart
    const float *dx;        // [column][2]
    const int16_t *sums;    // [column][16 or 8]
    const int32_t *starts;  // types with starts: [column][16], see prepare_starts
    float *y;               // [column][16]
    __m256i (*is)[TILE][2]; // [2 groups] scaled sums of 128 k: memory of the tile's
    fr_stream *stream;      // points: lines_of 32 k, where they are unpacked
} job;
typedef void tile_fn(const job *j);

// ---------------------------------------------------------------- tile
// What a tile reads of one part; everything moves on by constant steps.
typedef struct cursor {
    fr_stream stream;
    const uint8_t *codes, *bits;
    uint8_t *keep;
    const int8_t *table, *q;
    const int32_t *starts;
    const __m256i (*sc)[2];
} cursor;

// Whether the scaled sums lie in memory. For three columns and more there are not enough registers
// for them, and gcc does worse than to leave them there; wide codes have no other sums. (Measured.)
FR_INLINE bool in_memory(fr_type t, int columns) {
    if (is_wide(t)) return false;
    return columns > 3 || t == FR_TYPE_Q4_K || (columns == 3 && t != FR_TYPE_Q6_K);
}

// is[c][h] = from[c][h] + the scaled sums of run r of a part.
FR_INLINE void add_run(fr_type t, int kind, int columns, cursor *at, int odd, int r,
                       const __m256i from[TILE][2], __m256i is[TILE][2]) {
    const int run = run_of(t);
    __m256i acc[TILE][2];
    FR_UNROLL
    for (int c = 0; c < columns; c++)
        acc[c][0] = acc[c][1] =
            has_starts(t) ? broadcast(at->starts + 16 * c + 4 * r) : _mm256_setzero_si256();
    FR_UNROLL
    for (int i = 0; i < run; i++) {
        const int g = r * run + i;
        ask_at(&at->stream, kind, lines_of(t), g);
        const uint8_t *flat_codes = at->codes + 64 * g;
        const __m256i w0 = kind == FLAT ? load(flat_codes)
                                        : codes_of(t, at->table, at->codes, at->bits, odd, g),
                      w1 = kind == FLAT
                               ? load(flat_codes + 32)
                               : codes_of(t, at->table, at->codes + 32, at->bits + 32, odd, g);
        if (kind == KEEP) keep_codes(at->keep + 512 * odd + 64 * g, w0, w1);
        mul_group(acc, is_wide(t), i == 0 && !has_starts(t), columns, w0, w1,
                  at->q + 32 * odd + 4 * g, 256);
    }
    __m256i sc[2] = {at->sc[subs_of(t) == 16 ? r * run / 4 : odd][0],
                     at->sc[subs_of(t) == 16 ? r * run / 4 : odd][1]};
    if (columns > 2) {
        FR_PIN(sc[0]);
        FR_PIN(sc[1]);
    }
    FR_UNROLL
    for (int i = 0; i < 2 * columns; i++) {
        const __m256i scaled = _mm256_madd_epi16(acc[i / 2][i % 2], sc[i % 2]);
        is[i / 2][i % 2] = _mm256_add_epi32(from[i / 2][i % 2], scaled);
        if (!in_memory(t, columns)) FR_PIN(is[i / 2][i % 2]);
    }
}

// The runs are written out: gcc honours an unroll request of a single turn only with a warning.
FR_INLINE void add_part(fr_type t, int kind, int columns, cursor *at, int odd,
                        const __m256i from[TILE][2], __m256i is[TILE][2]) {
    const int runs = 8 / run_of(t);
    if (kind == FLAT && is_wide(t)) {
        FR_UNROLL
        for (int g = 0; g < 8; g++)
            mul_masked(is, columns, at->codes + 128 * g, at->sc[subs_of(t) == 16 ? g / 4 : 0],
                       at->q + 4 * g, 256);
        return;
    }
    add_run(t, kind, columns, at, odd, 0, from, is);
    if (runs >= 2) add_run(t, kind, columns, at, odd, 1, is, is);
    if (runs >= 4) {
        add_run(t, kind, columns, at, odd, 2, is, is);
        add_run(t, kind, columns, at, odd, 3, is, is);
    }
    if (runs == 8) {
        add_run(t, kind, columns, at, odd, 4, is, is);
        add_run(t, kind, columns, at, odd, 5, is, is);
        add_run(t, kind, columns, at, odd, 6, is, is);
        add_run(t, kind, columns, at, odd, 7, is, is);
    }
}

// One step of the chain, see docs/numerics.md: y after 128 k more.
FR_INLINE __m256 step_chain(fr_type t, const __m256i *pair, __m256 d, __m256 m, const int16_t *sums,
                            __m256i is, const float *dx, __m256 y) {
    const __m256 sum = _mm256_cvtepi32_ps(is);
    __m256 u;
    if (has_min(t)) {
        __m256i ms = _mm256_setzero_si256();
        FR_UNROLL
        for (int i = 0; i < subs_of(t) / 4; i++) {
            const __m256i product = _mm256_madd_epi16(pair[i], broadcast(sums + 2 * i));
            ms = i ? _mm256_add_epi32(ms, product) : product;
        }
        u = _mm256_fmsub_ps(d, sum, _mm256_mul_ps(m, _mm256_cvtepi32_ps(ms)));
    } else {
        u = _mm256_mul_ps(d, sum);
    }
    return _mm256_fmadd_ps(u, _mm256_broadcast_ss(dx), y);
}

// The two steps of a superblock, sums in memory. What the columns share is pinned to registers: gcc
// would load it again for each, and loads are what bounds this part.
//
// Sub-blocks of 32 k: both halves of a column side by side, so that they share its broadcasts.
FR_INLINE void finish_32(int columns, const job *j) {
    const scales *s = j->s;
    const int16_t *all_sums = j->sums;
    const float *all_dx = j->dx;
    float *all_y = j->y;
    __m256i(*is)[TILE][2] = j->is;
    __m256i pair[4][2];
    __m256 m[2] = {s->m[0], s->m[1]};
    FR_PIN(m[0]);
    FR_PIN(m[1]);
    FR_UNROLL
    for (int i = 0; i < 8; i++) {
        pair[i / 2][i % 2] = s->pair[i / 2][i % 2];
        FR_PIN(pair[i / 2][i % 2]);
    }
    FR_UNROLL
    for (int c = 0; c < columns; c++) {
        float *out = all_y + 16 * c;
        __m256 y[2] = {_mm256_load_ps(out), _mm256_load_ps(out + 8)};
        FR_UNROLL
        for (int i = 0; i < 4; i++) {
            const int g = i / 2, h = i % 2;
            const int16_t *sums = all_sums + 8 * c + 4 * g;
            const __m256i ms =
                _mm256_add_epi32(_mm256_madd_epi16(pair[2 * g][h], broadcast(sums)),
                                 _mm256_madd_epi16(pair[2 * g + 1][h], broadcast(sums + 2)));
            const __m256 min = _mm256_mul_ps(m[h], _mm256_cvtepi32_ps(ms));
            const __m256 u = _mm256_fmsub_ps(s->d[h], _mm256_cvtepi32_ps(is[g][c][h]), min);
            y[h] = _mm256_fmadd_ps(u, _mm256_broadcast_ss(all_dx + 2 * c + g), y[h]);
            if (h) {
                FR_PIN(y[0]);
                FR_PIN(y[1]);
            }
        }
        _mm256_store_ps(out, y[0]);
        _mm256_store_ps(out + 8, y[1]);
    }
}

// Sub-blocks of 16 k: twice as many pairs, one half after the other.
FR_INLINE void finish_16(fr_type t, int columns, const job *j) {
    const int pairs = has_min(t) ? subs_of(t) / 4 : 0; // of sub-blocks, in a group
    const scales *s = j->s;
    for (int h = 0; h < 2; h++) {
        __m256i pair[8];
        FR_UNROLL
        for (int i = 0; i < 2 * pairs; i++) {
            pair[i] = s->pair[i][h];
            FR_PIN(pair[i]);
        }
        __m256 d = s->d[h], m = d;
        FR_PIN(d);
        if (has_min(t)) {
            m = s->m[h];
            FR_PIN(m);
        }
        FR_UNROLL
        for (int c = 0; c < columns; c++) {
            const int16_t *sums = j->sums + subs_of(t) * c;
            const float *dx = j->dx + 2 * c;
            float *y = j->y + 16 * c + 8 * h;
            const __m256 half =
                step_chain(t, pair, d, m, sums, j->is[0][c][h], dx, _mm256_load_ps(y));
            _mm256_store_ps(y, step_chain(t, pair + pairs, d, m, sums + 2 * pairs, j->is[1][c][h],
                                          dx + 1, half));
        }
    }
}

// One step, sums in registers.
FR_INLINE void finish_group(fr_type t, int columns, const job *j, size_t group,
                            __m256i is[TILE][2]) {
    const int subs = subs_of(t);
    const scales *s = j->s;
    const __m256i(*pairs)[2] = s->pair + (size_t)(subs / 4) * group;
    const int16_t *sums = j->sums + (size_t)(subs / 2) * group;
    const float *dx = j->dx + group;
    float *y = j->y;
    FR_UNROLL
    for (int c = 0; c < columns; c++) {
        FR_UNROLL
        for (int h = 0; h < 2; h++) {
            __m256i pair[4];
            FR_UNROLL
            for (int i = 0; i < 4; i++)
                if (has_min(t) && i < subs / 4) pair[i] = pairs[i][h];
            float *out = y + 16 * c + 8 * h;
            const __m256 m = has_min(t) ? s->m[h] : s->d[h];
            _mm256_store_ps(out, step_chain(t, pair, s->d[h], m, sums + subs * c, is[c][h],
                                            dx + 2 * c, _mm256_load_ps(out)));
        }
    }
}

// is = from + the sums of `step` parts, and on to the next ones.
FR_INLINE void take_turn(fr_type t, int kind, int columns, int step, cursor *at,
                         const __m256i from[TILE][2], __m256i is[TILE][2]) {
    if (kind != FLAT) fr_scout(&at->stream);
    add_part(t, kind, columns, at, 0, from, is);
    if (step == 2) add_part(t, kind, columns, at, 1, is, is);
    at->codes += kind == FLAT ? flat_bytes_of(t) : step * part_bytes_of(t);
    at->bits += 64 * step;
    at->keep += 512 * step;
    at->q += 32 * step;
    at->starts++;
    at->sc += subs_of(t) / 8 * step;
}

// The loops must stay loops (FR_HIDE_VALUE): a superblock written out is more code than the core
// keeps decoded.
FR_INLINE void tile(fr_type t, int kind, int columns, const job *j) {
    const int step = kind != FLAT && has_pairs(t) ? 2 : 1; // parts of one turn
    cursor at = {.codes = j->codes,
                 .bits = j->bits,
                 .stream = *j->stream,
                 .keep = j->keep,
                 .table = j->table,
                 .q = j->q,
                 .starts = j->starts,
                 .sc = j->s->sc};
    if (in_memory(t, columns)) {
        static const __m256i zeros[TILE][2];
        const __m256i(*from)[2] = zeros;
        __m256i(*is)[2] = j->is[0];
        int turns = 8 / step;
        FR_HIDE_VALUE(turns);
        FR_HIDE_VALUE(from);
        do {
            take_turn(t, kind, columns, step, &at, from, is);
            from = is;
            if (turns == 4 / step + 1) from = zeros, is += TILE, at.starts += 4;
        } while (--turns);
        if (subs_of(t) == 8)
            finish_32(columns, j);
        else
            finish_16(t, columns, j);
        j->stream->at = at.stream.at;
        return;
    }
    for (size_t group = 0; group < 2; group++) {
        __m256i is[TILE][2];
        FR_UNROLL
        for (int i = 0; i < 2 * columns; i++)
            is[i / 2][i % 2] = kind == FLAT && is_wide(t) ? j->s->correction[group][i % 2]
                                                          : _mm256_setzero_si256();
        int turns = 4 / step;
        FR_HIDE_VALUE(turns);
        do
            take_turn(t, kind, columns, step, &at, is, is);
        while (--turns);
        at.starts += 4;
        FR_HIDE_VALUE(group);
        finish_group(t, columns, j, group, is);
    }
    j->stream->at = at.stream.at;
}

// ---------------------------------------------------------------- codes into L1
// Masked; the correction of their products goes to s->correction.
FR_INLINE void flatten_masked(fr_type t, const int8_t *table, uint8_t *flat, const uint8_t *codes,
                              scales *s, fr_stream *stream) {
    const int runs = subs_of(t) / 8; // sub-blocks of a part
    s->correction[0][0] = s->correction[0][1] = s->correction[1][0] = s->correction[1][1] =
        _mm256_setzero_si256();
    for (int part = 0; part < 8; part++) {
        fr_scout(stream);
        __m256i pairs[2][2];
        for (int i = 0; i < 4; i++)
            pairs[i / 2][i % 2] = _mm256_setzero_si256();
        FR_UNROLL
        for (int i = 0; i < 16; i++) {
            const int g = i / 2, h = i % 2;
            if (h) ask_at(stream, KEEP, lines_of(t), g);
            store_masked(flat + 128 * g + 32 * h, codes_of(t, table, codes + 32 * h, NULL, 0, g),
                         &pairs[g * runs / 8][h]);
        }
        for (int i = 0; i < 2 * runs; i++) {
            __m256i *correction = &s->correction[part / 4][i % 2];
            const __m256i scaled =
                _mm256_madd_epi16(pairs[i / 2][i % 2], s->sc[part * runs + i / 2][i % 2]);
            *correction = _mm256_add_epi32(*correction, scaled);
        }
        flat += flat_bytes_of(t);
        codes += part_bytes_of(t);
    }
}

// ---------------------------------------------------------------- starts of Q3_K and Q6_K
// A sum of code * x that starts at -offset * (sum of x) ends as the sum of (code - offset) * x, so
// the offset needs no step of its own. Eight products of a six-bit code and an x may leave the
// range of int16 on the way. But int16 wraps around, and the final sum, of (code - 32) * x, is in
// range (at most 8 * 32 * 127). So a whole sub-block stays in int16.
enum { START_CELLS = 1024 }; // of a superblock and column, 64 bytes each

// out[column][16] for n columns of one superblock: the starts of a dword's two int16 sums, those of
// sub-block 8i + 2j + odd at 8i + 4 * odd + j.
FR_INLINE void prepare_starts(fr_type t, int32_t *out, const int8_t *q, int n) {
    for (int i = 0; i < 2 * n; i++, out += 8, q += 128) {
        __m256i v[4], sum[2];
        FR_UNROLL
        for (int j = 0; j < 4; j++) // 16 k in each half
            v[j] = _mm256_maddubs_epi16(_mm256_set1_epi8((char)offset_of(t)),
                                        _mm256_load_si256((const __m256i *)(q + 32 * j)));
        FR_UNROLL
        for (int j = 0; j < 2; j++)
            sum[j] = _mm256_add_epi16(_mm256_unpacklo_epi32(v[2 * j], v[2 * j + 1]),
                                      _mm256_unpackhi_epi32(v[2 * j], v[2 * j + 1]));
        const __m256i all = _mm256_add_epi16(_mm256_unpacklo_epi64(sum[0], sum[1]),
                                             _mm256_unpackhi_epi64(sum[0], sum[1]));
        _mm256_store_si256((__m256i *)out, _mm256_sub_epi16(_mm256_setzero_si256(), all));
    }
}

// ---------------------------------------------------------------- panels
// n columns as tiles, the first of `first` (0: as wide as the others).
typedef struct cut {
    int n, first, tiles;
} cut;

FR_INLINE cut cut_columns(fr_type t, int n, bool flat) {
    const int most = flat ? flat_max(t) : TILE;
    // A tile of five columns that unpacks and keeps codes of Q5_K needs more registers than it has.
    const int first = flat && t == FR_TYPE_Q5_K ? 4 : 0;
    return (cut){n, first, (first > 0) + (n - first + most - 1) / most};
}

FR_INLINE int end_of_tile(const cut *of, int i) {
    if (!of->first) return of->n * (i + 1) / of->tiles;
    return of->first + (of->n - of->first) * i / (of->tiles - 1);
}

// Columns [c0, c0 + n), n <= COLUMNS, for panels [p0, p1). tiles: for 1 to 6 columns with packed
// codes, then for 3 and more with unpacked ones: 4 and more divide into such.
FR_INLINE void columns_of(fr_type t, tile_fn *const tiles[2][TILE], float *y, int ldy,
                          const fr_act *a, const fr_matrix *w, int p0, int p1, int c0, int n) {
    const int blocks = w->k / 256, subs = subs_of(t);
    const bool flat = n > direct_max(t);
    const bool unpacked = flat && is_wide(t);
    const cut columns = cut_columns(t, n, flat);
    fr_stream stream = fr_stream_over(NULL, (size_t)block_bytes_of(t),
                                      8 * lines_of(t) * (flat ? 1 : columns.tiles));
    const size_t header = fr_panel_header_bytes(t, w->k);
    const int16_t *sums = subs == 16 ? a->s16 : a->s32;
    _Alignas(64) float out[COLUMNS * 16];
    _Alignas(64) uint8_t codes[8192];
    // Starts of the first superblocks stay, those of the rest are made again for every panel.
    _Alignas(64) int32_t starts[16 * START_CELLS];
    const int slots = START_CELLS / n;
    __m256i is[2][TILE][2];
    scales s;
    const fr_qtype *of = fr_qtype_of((uint32_t)w->type);
    for (int p = p0; p < p1; p++) {
        const uint8_t *panel = w->panels + (size_t)p * w->panel_bytes;
        for (int i = 0; i < 16 * n; i += 8)
            _mm256_store_ps(out + i, _mm256_setzero_ps());
        for (int b = 0; b < blocks; b++) {
            const uint8_t *block = panel + header + (size_t)b * (size_t)block_bytes_of(t);
            const size_t cell = (size_t)b * (size_t)a->n + (size_t)c0;
            unpack_scales(t, of, &s, panel + 32 * (size_t)b, block);
            stream.at = block + AHEAD;
            if (unpacked) flatten_masked(t, of->table, codes, block + codes_at(t), &s, &stream);
            int32_t *start = starts + 16 * n * (b < slots ? b : slots - 1);
            if (has_starts(t) && (p == p0 || (blocks > slots && b >= slots - 1)))
                prepare_starts(t, start, a->q + 256 * cell, n);
            for (int i = 0, c = 0; i < columns.tiles; i++) {
                const int next = end_of_tile(&columns, i), width = next - c;
                const int kind = !flat ? DIRECT : i || is_wide(t) ? FLAT : KEEP;
                const job j = {.codes = kind == FLAT ? codes : block + codes_at(t),
                               .bits = block + bits_at(t),
                               .keep = codes,
                               .table = of->table,
                               .s = &s,
                               .q = a->q + 256 * (cell + (size_t)c),
                               .dx = a->d + 2 * (cell + (size_t)c),
                               .sums = sums + (size_t)subs * (cell + (size_t)c),
                               .starts = start + 16 * c,
                               .y = out + 16 * c,
                               .is = is,
                               .stream = &stream};
                tiles[kind][width - 1](&j);
                c = next;
            }
        }
        fr_avx2_store_panel(y + (size_t)c0 * (size_t)ldy + 16 * (size_t)p, ldy, out, n,
                            w->m - 16 * p);
    }
}

// clang-format off
FR_MATMUL(q2_k, FR_TYPE_Q2_K)
FR_MATMUL(q3_k, FR_TYPE_Q3_K)
FR_MATMUL(q4_k, FR_TYPE_Q4_K)
FR_MATMUL(q5_k, FR_TYPE_Q5_K)
FR_MATMUL(q6_k, FR_TYPE_Q6_K)
FR_MATMUL_WIDE(iq4_xs, FR_TYPE_IQ4_XS)
FR_MATMUL_WIDE(iq2_s, FR_TYPE_IQ2_S)
// clang-format on
