// matmul_k.c — products with the K types on AMX tiles.
//
// group of panels -> superblock -> panel -> span of rows: the scales of a superblock are folded into
// its codes (fold.h) and the planes multiplied with two tiles of rows; what follows the sums is computed
// while the next span is in the tiles. Of 128 k, a panel and 16 rows Q4_K takes 64 cycles of the tiles and
// 144 vector operations. Two of these go in a cycle, but while a tile product runs only one that
// multiplies or converts: together 136 cycles, measured.
#include "kern/amx/amx.h"
#include "kern/amx/fold.h"
#include "kern/amx/tile.h"
#include "kern/avx512/avx512.h"

enum { GROUP = 2 }; // panels that go through a superblock of the rows together, which stays in L1

// A superblock of a panel times a span of rows.
typedef struct k_span {
    const fr_act *a;
    const fr_k_scales *s;
    size_t cell; // of the first row
    float *y;    // [rows][16]
    fr_span rows;
    _Alignas(64) int32_t c[2][2][FR_SPAN][FR_PANEL]; // sums: [half][lo, hi]
} k_span;

typedef void k_multiply_fn(k_span *t, const fr_folded *f, fr_stream *ahead);
typedef void k_finish_fn(const k_span *t, fr_stream *ahead);

// The sums of a half of one row; c: the row's in plane lo.
FR_INLINE __m512i k_sum(const fr_type type, const int32_t *c) {
    const int shift = fr_fold_shift(type);
    const __m512i lo = _mm512_load_si512(c);
    if (type == FR_TYPE_Q3_K) return _mm512_sub_epi32(_mm512_setzero_si512(), lo);
    if (!shift) return lo;
    const __m512i hi = _mm512_load_si512(c + FR_SPAN * FR_PANEL);
    return _mm512_add_epi32(lo, _mm512_slli_epi32(hi, (unsigned)shift));
}

// What follows the integer sums.
FR_INLINE void k_finish(const fr_type type, const k_span *t, fr_stream *ahead) {
    const int n_sums = 256 / fr_k_sub(type), mins = 64 / fr_k_sub(type), rows = t->rows.n;
    const int16_t *sums = (fr_k_sub(type) == 32 ? t->a->s32 : t->a->s16) + t->cell * (size_t)n_sums;
    const float *d = t->a->d + t->cell * 2;
    const int32_t *c = t->c[0][0][0];
    float *y = t->y;
    fr_stream stream = *ahead;
    fr_k_scales s;
    s.d = t->s->d;
    if (fr_k_has_dmin(type)) {
        s.dmin = t->s->dmin;
        FR_UNROLL
        for (int i = 0; i < 2 * mins; i++)
            s.mins[i] = t->s->mins[i];
    }
    for (int r = 0; r < rows; r++, sums += n_sums, d += 2, y += FR_PANEL, c += FR_PANEL) {
        if (r == t->rows.second) c = t->c[0][0][FR_AMX_TILE];
        fr_ask(&stream);
        __m512 so_far = _mm512_load_ps(y);
        FR_UNROLL
        for (int half = 0; half < 2; half++) {
            const __m512i is = k_sum(type, c + 2 * half * FR_SPAN * FR_PANEL);
            __m512i ms = _mm512_setzero_si512();
            if (fr_k_has_dmin(type))
                ms = fr_k_min_sum(type, s.mins + half * mins, sums + half * n_sums / 2);
            so_far =
                fr_k_chain(type, &s, _mm512_cvtepi32_ps(is), ms, _mm512_set1_ps(d[half]), so_far);
        }
        _mm512_store_ps(y, so_far);
    }
    ahead->at = stream.at;
}

// c += a * b. Planes are unsigned where v is; of the two bytes of v, the lower one is.
#define MULTIPLY(plane, c, a, b)                                                                   \
    do {                                                                                           \
        if (type == FR_TYPE_Q3_K || (fr_fold_shift(type) == 8 && (plane)))                         \
            _tile_dpbssd(c, a, b);                                                                 \
        else                                                                                       \
            _tile_dpbsud(c, a, b);                                                                 \
    } while (0)

// 64 k of a tile of rows.
#define PAIR(pair, a, lo, hi)                                                                      \
    do {                                                                                           \
        _tile_loadd(a, q + 64 * (pair), 256);                                                      \
        fr_ask(&stream);                                                                           \
        _tile_loadd(6, f->b[pair][0], 64);                                                         \
        MULTIPLY(0, lo, a, 6);                                                                     \
        fr_ask(&stream);                                                                           \
        if (two) _tile_loadd(7, f->b[pair][1], 64);                                                \
        if (two) MULTIPLY(1, hi, a, 7);                                                            \
    } while (0)

#define HALF(half, lo, hi)                                                                         \
    do {                                                                                           \
        _tile_zero(lo);                                                                            \
        if (two) _tile_zero(hi);                                                                   \
        PAIR(2 * (half), 4, lo, hi);                                                               \
        PAIR(2 * (half) + 1, 5, lo, hi);                                                           \
    } while (0)

#define STORE(half, tile, lo, hi)                                                                  \
    do {                                                                                           \
        _tile_stored(lo, t->c[half][0][FR_AMX_TILE * (tile)], 64);                                 \
        if (two) _tile_stored(hi, t->c[half][1][FR_AMX_TILE * (tile)], 64);                        \
    } while (0)

// A half's sums are stored after the next half's products, when they are there.
FR_INLINE void k_multiply(const fr_type type, k_span *t, const fr_folded *f, fr_stream *ahead) {
    fr_stream stream = *ahead;
    const bool two = fr_fold_shift(type) != 0;
    const int8_t *q = t->a->q + t->cell * 256;
    for (int i = 0; i < t->rows.tiles; i++, q += 256 * t->rows.second) {
        HALF(0, 0, 1);
        if (i) STORE(1, i - 1, 2, 3);
        HALF(1, 2, 3);
        STORE(0, i, 0, 1);
    }
    STORE(1, t->rows.tiles - 1, 2, 3);
    FR_TILES_STORED();
    ahead->at = stream.at;
}

// Points of a superblock of one panel: k-groups that are folded, tiles that are loaded, rows that end.
FR_INLINE int k_points(int n) {
    return 64 + 8 * ((n + FR_AMX_TILE - 1) / FR_AMX_TILE) + n;
}

// n rows of a, from `first` on, times some panels from p on, into out[panels][n][16]; from there they
// go to y.
FR_INLINE void k_group(const fr_type type, const int panels, k_multiply_fn *multiply,
                       k_finish_fn *finish, float *out, const float *y, int ldy, const fr_act *a,
                       int first, int n, const fr_matrix *w, int p) {
    const int n_blocks = a->k / 256, bytes = fr_k_layout_of(type).bytes;
    const size_t header = fr_k_header(type, n_blocks);
    const uint8_t *from = w->panels + (size_t)p * w->panel_bytes;
    const size_t group = (size_t)panels * w->panel_bytes;
    fr_stream stream =
        fr_stream_over(from + fr_ahead_of(panels, group), group, n_blocks * panels * k_points(n));
    const fr_k_table table = fr_k_table_of(type, w->type);
    fr_k_scales s[2];
    fr_folded f;
    k_span spans[2], *now = &spans[0], *before = NULL;
    int turn = 0;
    memset(out, 0, (size_t)(panels * n) * FR_PANEL * sizeof *out);
    for (int b = 0; b < n_blocks; b++)
        for (int j = 0; j < panels; j++, turn ^= 1) {
            const uint8_t *panel = from + (size_t)j * w->panel_bytes,
                          *block = panel + header + (size_t)b * (size_t)bytes;
            fr_k_scales_of(type, &s[turn], panel, block, b, &table);
            fr_fold(type, &f, block, &s[turn], table.u8, &stream);
            fr_ask_for_results(y + FR_PANEL * (size_t)(p + j), ldy, n, b, n_blocks);
            for (int r = 0; r < n; r += now->rows.n) {
                if (before) now = &spans[before == &spans[0]];
                now->a = a;
                now->s = &s[turn];
                now->cell = (size_t)b * (size_t)a->n + (size_t)(first + r);
                now->y = out + FR_PANEL * (j * n + r);
                now->rows = fr_next_span(r, n);
                multiply(now, &f, &stream);
                if (before) finish(before, &stream);
                before = now;
            }
        }
    finish(before, &stream);
}

// n rows of a, from `first` on; y: of the first of them.
FR_INLINE void k_part(const fr_type type, k_multiply_fn *multiply, k_finish_fn *finish, float *y,
                      int ldy, const fr_act *a, int first, int n, const fr_matrix *w, int p0,
                      int p1) {
    _Alignas(64) float out[GROUP * FR_AMX_ROWS * FR_PANEL];
    fr_tiles_open(n, 16);
    for (int p = p0, panels; p < p1; p += panels) {
        panels = p1 - p < GROUP ? p1 - p : GROUP;
        k_group(type, panels, multiply, finish, out, y, ldy, a, first, n, w, p);
        for (int j = 0; j < panels; j++)
            fr_panel_out(y, ldy, w, p + j, out + FR_PANEL * (j * n), n);
    }
    _tile_release();
}

FR_INLINE void k_matmul(const fr_type type, k_multiply_fn *multiply, k_finish_fn *finish, float *y,
                        int ldy, const fr_act *a, const fr_matrix *w, int p0, int p1) {
    for (int r = 0; r < a->n; r += FR_AMX_ROWS)
        k_part(type, multiply, finish, y + (size_t)r * (size_t)ldy, ldy, a, r, fr_amx_part(a->n, r),
               w, p0, p1);
}

// From `least` rows on by tiles.
#define KERNEL(name, type, least)                                                                  \
    static void name##_multiply(k_span *t, const fr_folded *f, fr_stream *ahead) {                 \
        k_multiply(type, t, f, ahead);                                                             \
    }                                                                                              \
    static void name##_finish(const k_span *t, fr_stream *ahead) {                                 \
        k_finish(type, t, ahead);                                                                  \
    }                                                                                              \
    void fr_matmul_##name##_amx(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0,    \
                                int p1) {                                                          \
        if (fr_tiles_pay(least, a->n))                                                             \
            k_matmul(type, name##_multiply, name##_finish, y, ldy, a, w, p0, p1);                  \
        else                                                                                       \
            fr_matmul_##name##_avx512(y, ldy, a, w, p0, p1);                                       \
    }

KERNEL(q2_k, FR_TYPE_Q2_K, 6)
KERNEL(q3_k, FR_TYPE_Q3_K, 7)
KERNEL(q4_k, FR_TYPE_Q4_K, 9)
KERNEL(q5_k, FR_TYPE_Q5_K, 9)
KERNEL(q6_k, FR_TYPE_Q6_K, 9)
KERNEL(iq4_xs, FR_TYPE_IQ4_XS, 10)
KERNEL(iq2_s, FR_TYPE_IQ2_S, 10)
