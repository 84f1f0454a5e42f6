// K and V as int8 with a scale for 32. vpdpbusd wants one side unsigned: the keys' codes plus 128,
// and -128 times the sum of the query's codes to begin with. Values become floats once for all
// rows.
#include "kern/avx512/attend.h"

typedef struct query { // of one row, in its place of w->query
    float *d;
    int32_t *sum; // of 32 codes
    int8_t *code;
} query;

static query query_of(const fr_query_block *w, int row) {
    const int blocks = w->job->head_dim / 32;
    float *d = w->query + (size_t)row * w->width;
    int32_t *sum = (int32_t *)(void *)(d + 2 * blocks);
    return (query){d, sum, (int8_t *)(sum + blocks)};
}

static void prepare(const fr_query_block *w) {
    const int head_dim = w->job->head_dim, blocks = head_dim / 32;
    for (int r = 0; r < w->job->n_q; r++) {
        const query q = query_of(w, r);
        const fr_act act = {.kind = FR_ACT_Q32,
                            .n = 1,
                            .k = head_dim,
                            .q = q.code,
                            .d = q.d,
                            .ds = q.d + blocks,
                            .s = q.sum};
        fr_quantize_avx512(&act, w->job->q[r], head_dim, 0, blocks);
    }
}

// One step of every chain: the integer sums of a group of 32 values times their scales. d: those of
// the keys, the next block's `block` bytes after. The chains lie in memory: the integer sums take
// the registers.
FR_INLINE void step_chains(const int rows, const int blocks, const fr_query_block *w, float *s,
                           __m512i (*sum)[8], const query *q, int part, const uint8_t *d,
                           size_t block) {
    const __mmask16 later = (__mmask16)(part ? 0xffff : 0); // the chains begin at +0
    FR_UNROLL
    for (int b = 0; b < blocks; b++) {
        const __m512 scale = fr_load_f16(d + (size_t)b * block);
        FR_UNROLL
        for (int r = 0; r < rows; r++) {
            float *chain = s + (size_t)r * w->stride + 16 * b;
            const __m512 factor = _mm512_mul_ps(_mm512_set1_ps(q[r].d[part]), scale);
            _mm512_storeu_ps(chain, _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(sum[r][b]),
                                                    _mm512_maskz_loadu_ps(later, chain)));
        }
    }
}

FR_INLINE void score(const int rows, const int blocks, const fr_query_block *w, int row, int t) {
    const int head_dim = w->job->head_dim;
    const size_t block = fr_kv_block_bytes(FR_FORM_Q8_0, head_dim);
    const uint8_t *k = (const uint8_t *)fr_query_slot(w->job->k, FR_FORM_Q8_0, head_dim, t);
    const uint8_t *d = k + FR_KV_BLOCK * head_dim;
    float *s = fr_query_weights(w, row, t);
    query q[FR_QUERY_TILE];
    FR_UNROLL
    for (int r = 0; r < rows; r++)
        q[r] = query_of(w, row + r);
    for (int part = 0; part < head_dim / 32; part++, d += 2 * FR_KV_BLOCK) {
        __m512i sum[FR_QUERY_TILE][8];
        FR_UNROLL
        for (int r = 0; r < rows; r++) {
            FR_UNROLL
            for (int b = 0; b < blocks; b++)
                sum[r][b] = _mm512_set1_epi32(-128 * q[r].sum[part]);
        }
        for (int g = 8 * part; g < 8 * part + 8; g++, k += 4 * FR_KV_BLOCK) {
            FR_UNROLL
            for (int j = 0; j < 4; j++)
                fr_query_ask(rows, blocks, w, 4 * g + j);
            FR_UNROLL
            for (int b = 0; b < blocks; b++) {
                const __m512i code = _mm512_loadu_si512((const void *)(k + (size_t)b * block));
                const __m512i key = _mm512_xor_si512(code, _mm512_set1_epi8((char)0x80));
                FR_UNROLL
                for (int r = 0; r < rows; r++) {
                    sum[r][b] = _mm512_dpbusd_epi32(sum[r][b], key, fr_dword(q[r].code + 4 * g));
                    FR_PIN(sum[r][b]);
                }
            }
        }
        step_chains(rows, blocks, w, s, sum, q, part, d, block);
    }
    const __m512 scale = _mm512_set1_ps(w->job->scale);
    FR_UNROLL
    for (int r = 0; r < rows; r++) {
        FR_UNROLL
        for (int b = 0; b < blocks; b++) {
            float *chain = s + (size_t)r * w->stride + 16 * b;
            _mm512_storeu_ps(chain, _mm512_mul_ps(_mm512_loadu_ps(chain), scale));
        }
    }
}

// `parts` vectors of the value whose codes and scales begin there; head_dim is a multiple of 32, so
// no lane is cut, and from two vectors on they begin with a group.
FR_INLINE void load_value(__m512 *x, const int parts, const uint8_t *code, const uint8_t *scale) {
    __m512 d = _mm512_setzero_ps();
    FR_UNROLL
    for (int i = 0; i < parts; i++) {
        if (i % 2 == 0) {
            uint16_t h;
            memcpy(&h, scale + i, sizeof h);
            d = _mm512_cvtph_ps(_mm256_set1_epi16((short)h));
        }
        const __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(code + 16 * i));
        x[i] = _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(c)));
    }
}

static const uint8_t *values_at(const fr_query_block *w, int t) {
    return (const uint8_t *)fr_query_slot(w->job->v, FR_FORM_Q8_0, w->job->head_dim, t);
}

// A single tile converts the keys that it reads to floats; several tiles share the floats.
FR_INLINE void value(const int rows, const int parts, const fr_query_block *w, int row, int t,
                     int n, int d) {
    const int head_dim = w->job->head_dim;
    const float *p[FR_QUERY_TILE];
    __m512 o[FR_QUERY_TILE][8];
    fr_query_begin(o, p, rows, parts, w, row, t, d);
    for (int i = 0; i < n;) {
        const uint8_t *v = values_at(w, t + i), *code = v + d;
        const uint8_t *scale = v + FR_KV_BLOCK * head_dim + d / 32 * 2;
        for (const int end = n - i < FR_KV_BLOCK ? n : i + FR_KV_BLOCK; i < end; i++) {
            __m512 x[8];
            fr_query_ask(rows, parts, w, i);
            load_value(x, parts, code, scale);
            FR_UNROLL
            for (int r = 0; r < rows; r++) {
                __m512 weight = _mm512_set1_ps(p[r][i]);
                FR_PIN(weight);
                FR_UNROLL
                for (int j = 0; j < parts; j++)
                    o[r][j] = _mm512_fmadd_ps(weight, x[j], o[r][j]);
            }
            code += head_dim;
            scale += head_dim / 16;
        }
    }
    fr_query_end(o, rows, parts, w, row, d);
}

static void convert(const fr_query_block *w, int t, int n) {
    const int head_dim = w->job->head_dim;
    for (int i = t; i < t + n; i++) {
        const uint8_t *v = values_at(w, i), *code = v + i % FR_KV_BLOCK * head_dim;
        const uint8_t *scale = v + FR_KV_BLOCK * head_dim + i % FR_KV_BLOCK * (head_dim / 16);
        float *y = w->y + 16 * (i - t);
        for (int d = 0; d < head_dim; d += 32, y += 2 * w->y_vector) {
            __m512 x[2];
            load_value(x, 2, code + d, scale + d / 16);
            _mm512_store_ps(y, x[0]);
            _mm512_store_ps(y + w->y_vector, x[1]);
        }
    }
}

FR_INLINE void shared(const int rows, const int parts, const fr_query_block *w, int row, int t,
                      int n, int d) {
    fr_query_sum(rows, parts, FR_QUERY_F32, w, row, t, n, d, w->y + (size_t)(d / 16) * w->y_vector,
                 64, w->y_vector * sizeof(float));
}

FR_QUERY_SIZES(FR_QUERY_SCORE, score)
FR_QUERY_SIZES(FR_QUERY_VALUE, value)
FR_QUERY_SIZES(FR_QUERY_VALUE, shared)

const fr_query_keys fr_keys_q8_0_avx512 = {
    .form = FR_FORM_Q8_0, .prepare = prepare, .score = FR_QUERY_TABLE(score)};
const fr_query_values fr_values_q8_0_avx512 = {.form = FR_FORM_Q8_0,
                                               .value = FR_QUERY_TABLE(value),
                                               .convert = convert,
                                               .shared = FR_QUERY_TABLE(shared)};
