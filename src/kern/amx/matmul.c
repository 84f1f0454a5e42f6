// matmul.c — products with the K types on AMX tiles.
//
// A tile product sums 64 k, two of them a group of 128, but a sub-block's scale changes every 16 or
// 32 k. So the scale is folded into the weights: v = code * sc needs 14 bits at most, and
// v = 64*hi + lo with hi = v >> 6 and lo = v & 63 are two int8 matrices; then
//   is = sum v*x = 64 * (sum hi*x) + (sum lo*x), exactly.
// Blocks of 32 (Q4_0 ... IQ4_NL) have a float scale every 32 k: half a tile of depth and a store of
// the sums for each. By count that is no gain worth its code, so they stay with AVX-512.
//
// Tiles: A = 16 rows of activations, 64 k each (as the quantiser lays them out); B = 16 k-groups of
// a panel (as the packer interleaves them); C = 16 rows by 16 outputs.
#include "kern/amx/amx.h"
#include "kern/avx512/avx512.h"
#include "kern/avx512/tile.h"
#include "kern/avx512/unpack.h"

enum { AMX_TILE = 16 }; // rows of a tile

// v of one superblock: [64 k][hi, lo][k-group][lane]
typedef struct folded {
    _Alignas(64) uint8_t b[4][2][16][64];
} folded;

typedef struct sums {
    _Alignas(64) int32_t hi[AMX_TILE][FR_PANEL], lo[AMX_TILE][FR_PANEL];
} sums;

// Whether v ever needs the upper part.
FR_INLINE bool has_hi(const fr_type type) {
    return type != FR_TYPE_Q2_K; // at most 3 * 15
}

// Multiplies the codes of a superblock by their scales and splits the products.
FR_INLINE void fold(const fr_type type, folded *f, const uint8_t *block, const fr_k_scales *s) {
    const fr_k_layout at = fr_k_layout_of(type);
    const uint8_t *lo = block + at.lo, *hi = block + at.hi;
    const __m512i low_byte = _mm512_set1_epi16(0xff), six = _mm512_set1_epi8(63);
    const int subs = 64 / fr_k_sub(type), groups = 16 / subs;
    for (int pair = 0; pair < 4; pair++, lo += at.lo_step, hi += at.hi_step) {
        FR_UNROLL
        for (int j = 0; j < subs; j++) {
            const __m512i sc = s->sc[pair * subs + j], factor = fr_pairs(sc, sc);
            FR_UNROLL
            for (int g = j * groups; g < (j + 1) * groups; g++) {
                const __m512i w = fr_k_codes(type, lo, hi, g);
                const __m512i even = _mm512_mullo_epi16(_mm512_and_si512(w, low_byte), factor);
                const __m512i odd = _mm512_mullo_epi16(_mm512_srli_epi16(w, 8), factor);
                const __m512i both = fr_select(low_byte, even, _mm512_slli_epi16(odd, 8));
                _mm512_store_si512(f->b[pair][1][g], _mm512_and_si512(both, six));
                if (has_hi(type))
                    _mm512_store_si512(
                        f->b[pair][0][g],
                        fr_select(low_byte, _mm512_srli_epi16(even, 6), _mm512_slli_epi16(odd, 2)));
            }
        }
    }
    // The tile loads are invisible to the compiler as reads of f.
    __asm__ volatile("" ::: "memory");
}

// 64 k of one tile of rows: tile numbers are part of the instructions, hence a macro.
#define STEP(c_hi, c_lo, a, q, f, pair)                                                            \
    do {                                                                                           \
        _tile_loadd(a, (q) + 64 * (pair), 256);                                                    \
        _tile_loadd(7, (f)->b[pair][1], 64);                                                       \
        _tile_dpbssd(c_lo, a, 7);                                                                  \
        if (has_hi(type)) {                                                                        \
            _tile_loadd(6, (f)->b[pair][0], 64);                                                   \
            _tile_dpbssd(c_hi, a, 6);                                                              \
        }                                                                                          \
    } while (0)

#define HALF(c_hi, c_lo, a, q, f, half, out)                                                       \
    do {                                                                                           \
        _tile_zero(c_lo);                                                                          \
        if (has_hi(type)) _tile_zero(c_hi);                                                        \
        STEP(c_hi, c_lo, a, q, f, 2 * (half));                                                     \
        STEP(c_hi, c_lo, a, q, f, 2 * (half) + 1);                                                 \
        _tile_stored(c_lo, (out)->lo, 64);                                                         \
        if (has_hi(type)) _tile_stored(c_hi, (out)->hi, 64);                                       \
        __asm__ volatile("" ::: "memory");                                                         \
    } while (0)

// Sums of one half of a superblock for a full tile of rows, or for the last, shorter one.
FR_INLINE void half_sums(const fr_type type, sums *out, const int8_t *q, const folded *f, int half,
                         bool full) {
    if (full)
        HALF(0, 1, 2, q, f, half, out);
    else
        HALF(3, 4, 5, q, f, half, out);
}

// One superblock times rows [r0, r0 + n) of a; y[n][16].
FR_INLINE void rows_of_block(const fr_type type, const folded *f, const fr_k_scales *s,
                             const fr_act *a, int b, int r0, int n, float *y) {
    const int n_sums = 256 / fr_k_sub(type), mins = 64 / fr_k_sub(type);
    const int16_t *group_sums = fr_k_sub(type) == 32 ? a->s32 : a->s16;
    for (int i = 0; i < n; i += AMX_TILE) {
        const int rows = n - i < AMX_TILE ? n - i : AMX_TILE;
        const size_t cell = (size_t)b * (size_t)a->n + (size_t)(r0 + i);
        for (int half = 0; half < 2; half++) {
            sums c;
            half_sums(type, &c, a->q + cell * 256, f, half, rows == AMX_TILE);
            const int16_t *part = group_sums + cell * (size_t)n_sums + half * n_sums / 2;
            const float *d = a->d + cell * 2 + (size_t)half;
            for (int r = 0; r < rows; r++) {
                float *out = y + 16 * (i + r);
                __m512i is = _mm512_load_si512(c.lo[r]);
                if (has_hi(type))
                    is = _mm512_add_epi32(is, _mm512_slli_epi32(_mm512_load_si512(c.hi[r]), 6));
                const __m512i ms = fr_k_min_sum(type, s->mins + half * mins, part + n_sums * r);
                const __m512i sum = fr_k_has_dmin(type) ? is : _mm512_add_epi32(is, ms);
                _mm512_store_ps(out, fr_k_chain(type, s, _mm512_cvtepi32_ps(sum), ms,
                                                _mm512_set1_ps(d[2 * r]), _mm512_load_ps(out)));
            }
        }
    }
}

// What LDTILECFG reads: bytes of a row and rows, by tile.
typedef struct tile_config {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

static void configure(int n) {
    const int rest = n % AMX_TILE ? n % AMX_TILE : AMX_TILE;
    _Alignas(64) tile_config c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = (uint8_t)(i >= 3 && i <= 5 ? rest : AMX_TILE);
    }
    __asm__ volatile("" ::"r"(&c) : "memory");
    _tile_loadconfig(&c);
}

FR_INLINE void amx_matmul(const fr_type type, float *y, int ldy, const fr_act *a,
                          const fr_matrix *w, int p0, int p1, int r0, int n) {
    _Alignas(64) float out[FR_MAX_ROWS * FR_PANEL];
    const int n_blocks = a->k / 256, bytes = fr_k_layout_of(type).bytes;
    configure(n);
    for (int p = p0; p < p1; p++) {
        const uint8_t *panel = w->panels + (size_t)p * w->panel_bytes;
        const uint8_t *block = panel + fr_k_header(type, n_blocks);
        for (int i = 0; i < n; i++)
            _mm512_store_ps(out + 16 * i, _mm512_setzero_ps());
        for (int b = 0; b < n_blocks; b++, block += bytes) {
            fr_k_scales s;
            folded f;
            fr_stream_ahead(block, bytes);
            fr_k_scales_of(type, &s, panel, block, b);
            if (!fr_k_has_dmin(type)) fr_k_mins_signed(type, &s);
            fold(type, &f, block, &s);
            rows_of_block(type, &f, &s, a, b, r0, n, out);
        }
        for (int i = 0; i < n; i++)
            _mm512_mask_storeu_ps(y + (size_t)(r0 + i) * (size_t)ldy + (size_t)p * FR_PANEL,
                                  fr_panel_lanes(w, p), _mm512_load_ps(out + 16 * i));
    }
    _tile_release();
}

#define KERNEL(name, type)                                                                         \
    void fr_matmul_##name##_amx(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0,    \
                                int p1) {                                                          \
        if (a->n < FR_AMX_ROWS) {                                                                  \
            fr_matmul_##name##_avx512(y, ldy, a, w, p0, p1);                                       \
            return;                                                                                \
        }                                                                                          \
        for (int r = 0; r < a->n; r += FR_MAX_ROWS)                                                \
            amx_matmul(type, y, ldy, a, w, p0, p1, r,                                              \
                       a->n - r < FR_MAX_ROWS ? a->n - r : FR_MAX_ROWS);                           \
    }

KERNEL(q2_k, FR_TYPE_Q2_K)
KERNEL(q3_k, FR_TYPE_Q3_K)
KERNEL(q4_k, FR_TYPE_Q4_K)
KERNEL(q5_k, FR_TYPE_Q5_K)
KERNEL(q6_k, FR_TYPE_Q6_K)
KERNEL(iq4_xs, FR_TYPE_IQ4_XS)
