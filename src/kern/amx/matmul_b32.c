// matmul_b32.c — products with the types of 32 k a block on AMX tiles.
//
// panel -> four blocks -> span of rows: a block is half the depth of a tile, and its sums have a
// tile of their own. Of a block, a panel and 16 rows the tiles take 16 cycles, storing their sums 14
// and what follows 48 to 64 vector operations, two a cycle: these add, too (matmul_k.c).
#include "kern/amx/amx.h"
#include "kern/amx/tile.h"
#include "kern/avx512/avx512.h"
#include "kern/avx512/unpack.h"

enum { BATCH = 4 }; // blocks that go through the tiles together

typedef struct b32_batch {                    // of a panel
    _Alignas(64) uint8_t codes[BATCH][8][64]; // signed: [block][k-group][lane]
    __m512 d[BATCH], m[BATCH];
} b32_batch;

// Some blocks of a panel times a span of rows.
typedef struct b32_span {
    const fr_act *a;
    size_t cell; // of the first block and row; the next block's is a->n further
    float *y;    // [rows][16]
    fr_span rows;
    fr_stream *stream; // points: k-groups that are unpacked, tiles that are loaded, rows that end
    _Alignas(64) int32_t c[BATCH][FR_SPAN][FR_PANEL]; // sums
} b32_span;

FR_INLINE void b32_unpack(const fr_type type, const int count, b32_batch *u, const uint8_t *panel,
                          int b, int n_blocks, fr_stream *stream) {
    const fr_b32_layout at = fr_b32_layout_of(type);
    const size_t header = at.header ? fr_scales_bytes(n_blocks) : 0;
    const uint8_t *block = panel + header + (size_t)b * (size_t)at.bytes;
    FR_UNROLL
    for (int i = 0; i < count; i++, block += at.bytes) {
        u->d[i] = fr_b32_scales(type, at.header ? panel + 32 * (size_t)(b + i) : block);
        if (at.mins) u->m[i] = fr_load_f16(block + 32);
        FR_UNROLL
        for (int g = 0; g < 8; g++) {
            fr_ask(stream);
            const __m512i offset = _mm512_set1_epi8((char)at.offset);
            _mm512_store_si512(u->codes[i][g],
                               _mm512_sub_epi8(fr_b32_codes(type, block, g), offset));
        }
    }
    FR_TILES_READ();
}

// What follows the integer sums.
FR_INLINE void b32_finish(const fr_type type, const int count, const b32_batch *u,
                          const b32_span *t) {
    const bool mins = fr_b32_layout_of(type).mins;
    const size_t n = (size_t)t->a->n;
    const float *d = t->a->d + t->cell, *ds = t->a->ds + t->cell;
    const int32_t *c = t->c[0][0];
    float *y = t->y;
    fr_stream stream = *t->stream;
    __m512 dw[BATCH], mw[BATCH];
    FR_UNROLL
    for (int i = 0; i < count; i++) {
        dw[i] = u->d[i];
        if (mins) mw[i] = u->m[i];
    }
    for (int r = 0; r < t->rows.n; r++, d++, ds++, y += FR_PANEL, c += FR_PANEL) {
        if (r == t->rows.second) c = t->c[0][FR_AMX_TILE];
        fr_ask(&stream);
        __m512 so_far = _mm512_load_ps(y);
        FR_UNROLL
        for (int i = 0; i < count; i++) {
            const __m512i sum = _mm512_load_si512(c + i * FR_SPAN * FR_PANEL);
            const __m512 scale = _mm512_mul_ps(dw[i], _mm512_set1_ps(d[(size_t)i * n]));
            so_far = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(sum), so_far);
            if (mins) so_far = _mm512_fmadd_ps(mw[i], _mm512_set1_ps(ds[(size_t)i * n]), so_far);
        }
        _mm512_store_ps(y, so_far);
    }
    t->stream->at = stream.at;
}

#define BLOCK(i, a, b)                                                                             \
    do {                                                                                           \
        _tile_zero(i);                                                                             \
        _tile_loadd(a, q + 32 * n * (i), 32);                                                      \
        fr_ask(t->stream);                                                                         \
        _tile_loadd(b, u->codes[i], 64);                                                           \
        _tile_dpbssd(i, a, b);                                                                     \
    } while (0)

FR_INLINE void b32_multiply(const int count, b32_span *t, const b32_batch *u) {
    const size_t n = (size_t)t->a->n;
    const int8_t *q = t->a->q + t->cell * 32;
    for (int i = 0; i < t->rows.tiles; i++, q += 32 * t->rows.second) {
        BLOCK(0, 4, 6);
        if (count > 1) {
            BLOCK(1, 5, 7);
            BLOCK(2, 4, 6);
            BLOCK(3, 5, 7);
        }
        _tile_stored(0, t->c[0][FR_AMX_TILE * i], 64);
        if (count > 1) {
            _tile_stored(1, t->c[1][FR_AMX_TILE * i], 64);
            _tile_stored(2, t->c[2][FR_AMX_TILE * i], 64);
            _tile_stored(3, t->c[3][FR_AMX_TILE * i], 64);
        }
    }
    FR_TILES_STORED();
}

// n rows of a, from `first` on, times `count` blocks, BATCH or one, from b on; y[n][16].
FR_INLINE void b32_blocks(const fr_type type, const int count, float *y, const fr_act *a, int first,
                          int n, const uint8_t *panel, int b, fr_stream *stream) {
    b32_batch u;
    b32_span spans[2], *now = &spans[0], *before = NULL;
    b32_unpack(type, count, &u, panel, b, a->k / 32, stream);
    for (int r = 0; r < n; r += now->rows.n) {
        if (before) now = &spans[before == &spans[0]];
        now->a = a;
        now->cell = (size_t)b * (size_t)a->n + (size_t)(first + r);
        now->y = y + FR_PANEL * r;
        now->rows = fr_next_span(r, n);
        now->stream = stream;
        b32_multiply(count, now, &u);
        if (before) b32_finish(type, count, &u, before);
        before = now;
    }
    b32_finish(type, count, &u, before);
}

// n rows of a, from `first` on; y: of the first of them.
FR_INLINE void b32_part(const fr_type type, float *y, int ldy, const fr_act *a, int first, int n,
                        const fr_matrix *w, int p0, int p1) {
    _Alignas(64) float out[FR_AMX_ROWS * FR_PANEL];
    const int n_blocks = a->k / 32, tiles = (n + FR_AMX_TILE - 1) / FR_AMX_TILE;
    const int points = n_blocks * (8 + tiles) + (n_blocks / BATCH + n_blocks % BATCH) * n;
    fr_tiles_open(n, 8);
    for (int p = p0; p < p1; p++) {
        const uint8_t *panel = w->panels + (size_t)p * w->panel_bytes;
        fr_stream stream = fr_stream_over(panel + FR_AHEAD, w->panel_bytes, points);
        memset(out, 0, (size_t)n * FR_PANEL * sizeof *out);
        for (int b = 0; b < n_blocks / BATCH; b++) {
            fr_ask_for_results(y + FR_PANEL * (size_t)p, ldy, n, b, n_blocks / BATCH);
            b32_blocks(type, BATCH, out, a, first, n, panel, BATCH * b, &stream);
        }
        for (int b = n_blocks / BATCH * BATCH; b < n_blocks; b++)
            b32_blocks(type, 1, out, a, first, n, panel, b, &stream);
        fr_panel_out(y, ldy, w, p, out, n);
    }
    _tile_release();
}

FR_INLINE void b32_matmul(const fr_type type, float *y, int ldy, const fr_act *a,
                          const fr_matrix *w, int p0, int p1) {
    for (int r = 0; r < a->n; r += FR_AMX_ROWS)
        b32_part(type, y + (size_t)r * (size_t)ldy, ldy, a, r, fr_amx_part(a->n, r), w, p0, p1);
}

// The second tile of rows costs as much as the first: it has to be half full.
FR_INLINE bool b32_tiles_pay(int n) {
    return fr_tiles_pay(FR_AMX_TILE, n) && (n == FR_AMX_TILE || 2 * n >= 3 * FR_AMX_TILE);
}

#define KERNEL(name, type)                                                                         \
    void fr_matmul_##name##_amx(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0,    \
                                int p1) {                                                          \
        if (b32_tiles_pay(a->n))                                                                   \
            b32_matmul(type, y, ldy, a, w, p0, p1);                                                \
        else                                                                                       \
            fr_matmul_##name##_avx512(y, ldy, a, w, p0, p1);                                       \
    }

KERNEL(q4_0, FR_TYPE_Q4_0)
KERNEL(q4_1, FR_TYPE_Q4_1)
KERNEL(q5_0, FR_TYPE_Q5_0)
KERNEL(q5_1, FR_TYPE_Q5_1)
KERNEL(q8_0, FR_TYPE_Q8_0)
KERNEL(iq4_nl, FR_TYPE_IQ4_NL)
KERNEL(mxfp4, FR_TYPE_MXFP4)
