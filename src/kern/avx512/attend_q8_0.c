// K and V as int8 with a scale for 32. vpdpbusd wants one side unsigned: the keys' codes plus 128,
// and -128 times the sum of the query's codes to begin with.
#include "kern/avx512/attend.h"

typedef struct query { // of one row, in its place of t->query
    float *d;
    int32_t *sum; // of 32 codes
    int8_t *code;
} query;

static query query_of(const fr_attend_tile *t, int row) {
    const int head_dim = t->job->head_dim, blocks = head_dim / 32;
    float *d = t->query + (size_t)row * (size_t)head_dim;
    int32_t *sum = (int32_t *)(void *)(d + 2 * blocks);
    return (query){d, sum, (int8_t *)(sum + blocks)};
}

static void prepare(const fr_attend_tile *t) {
    const int head_dim = t->job->head_dim, blocks = head_dim / 32;
    for (int r = 0; r < t->rows; r++) {
        const query q = query_of(t, r);
        const fr_act act = {.kind = FR_ACT_Q32,
                            .n = 1,
                            .k = head_dim,
                            .q = q.code,
                            .d = q.d,
                            .ds = q.d + blocks,
                            .s = q.sum};
        fr_quantize_avx512(&act, t->job->q[t->row0 + r], head_dim, 0, blocks);
    }
}

// Scores of `rows` rows and `blocks` blocks of 16 keys from `slot` on. The chains lie in memory:
// the integer sums of a group take the registers.
FR_INLINE void score(const int rows, const int blocks, const fr_attend_tile *t, int slot) {
    const int head_dim = t->job->head_dim;
    const size_t block = fr_kv_block_bytes(FR_KV_Q8_0, head_dim);
    const uint8_t *k = (const uint8_t *)t->job->k + (size_t)(slot / FR_KEY_BLOCK) * block;
    const uint8_t *d = k + FR_KEY_BLOCK * head_dim;
    float *s = t->p + slot;
    query q[FR_ATTEND_TILE];
    FR_UNROLL
    for (int r = 0; r < rows; r++)
        q[r] = query_of(t, r);
    for (int part = 0; part < head_dim / 32; part++, d += 2 * FR_KEY_BLOCK) {
        __m512i sum[16];
        FR_UNROLL
        for (int i = 0; i < rows * blocks; i++)
            sum[i] = _mm512_set1_epi32(-128 * q[i % rows].sum[part]);
        for (int g = 8 * part; g < 8 * part + 8; g++, k += 4 * FR_KEY_BLOCK) {
            FR_UNROLL
            for (int b = 0; b < blocks; b++) {
                const __m512i code = _mm512_loadu_si512((const void *)(k + (size_t)b * block));
                const __m512i key = _mm512_xor_si512(code, _mm512_set1_epi8((char)0x80));
                FR_UNROLL
                for (int r = 0; r < rows; r++) {
                    sum[b * rows + r] =
                        _mm512_dpbusd_epi32(sum[b * rows + r], key, fr_dword(q[r].code + 4 * g));
                    FR_PIN(sum[b * rows + r]);
                }
            }
        }
        const __mmask16 later = (__mmask16)(part ? 0xffff : 0); // the chains begin at +0
        FR_UNROLL
        for (int b = 0; b < blocks; b++) {
            const __m512 scale = fr_load_f16(d + (size_t)b * block);
            FR_UNROLL
            for (int r = 0; r < rows; r++) {
                float *chain = s + (size_t)r * t->stride + 16 * b;
                const __m512 factor = _mm512_mul_ps(_mm512_set1_ps(q[r].d[part]), scale);
                _mm512_storeu_ps(chain,
                                 _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(sum[b * rows + r]),
                                                 _mm512_maskz_loadu_ps(later, chain)));
            }
        }
    }
    const __m512 scale = _mm512_set1_ps(t->job->scale);
    FR_UNROLL
    for (int r = 0; r < rows; r++) {
        FR_UNROLL
        for (int b = 0; b < blocks; b++) {
            float *chain = s + (size_t)r * t->stride + 16 * b;
            _mm512_storeu_ps(chain, _mm512_mul_ps(_mm512_loadu_ps(chain), scale));
        }
    }
}

// `parts` vectors of the output from d on. head_dim is a multiple of 32, so no lane is cut.
FR_INLINE void value(const int rows, const int parts, const fr_attend_tile *t, int d,
                     __mmask16 lanes, const float *inverse) {
    const int head_dim = t->job->head_dim;
    const size_t block = fr_kv_block_bytes(FR_KV_Q8_0, head_dim);
    const float *p = t->p + t->start;
    __m512 o[16];
    (void)lanes;
    FR_UNROLL
    for (int i = 0; i < rows * parts; i++)
        o[i] = _mm512_setzero_ps();
    for (int slot = t->start; slot < t->end; slot++, p++) {
        const uint8_t *v = (const uint8_t *)t->job->v + (size_t)(slot / FR_KEY_BLOCK) * block;
        const uint8_t *code = v + slot % FR_KEY_BLOCK * head_dim + d;
        const uint8_t *scale = v + FR_KEY_BLOCK * head_dim + slot % FR_KEY_BLOCK * (head_dim / 16);
        __m512 x[8];
        FR_UNROLL
        for (int i = 0; i < parts; i++) {
            uint16_t h;
            memcpy(&h, scale + (d + 16 * i) / 32 * 2, sizeof h);
            const __m512i c = _mm512_cvtepi8_epi32(
                _mm_loadu_si128((const __m128i *)(const void *)(code + 16 * i)));
            x[i] =
                _mm512_mul_ps(_mm512_cvtph_ps(_mm256_set1_epi16((short)h)), _mm512_cvtepi32_ps(c));
        }
        FR_UNROLL
        for (int r = 0; r < rows; r++) {
            const __m512 weight = _mm512_set1_ps(p[(size_t)r * t->stride]);
            FR_UNROLL
            for (int i = 0; i < parts; i++)
                o[r * parts + i] = _mm512_fmadd_ps(weight, x[i], o[r * parts + i]);
        }
    }
    FR_UNROLL
    for (int r = 0; r < rows; r++) {
        float *out = t->job->o[t->row0 + r] + d;
        FR_UNROLL
        for (int i = 0; i < parts; i++)
            _mm512_storeu_ps(out + 16 * i,
                             _mm512_mul_ps(o[r * parts + i], _mm512_set1_ps(inverse[r])));
    }
}

FR_ATTEND_FUNCTIONS

void fr_attend_q8_0_avx512(const fr_attend *job) {
    static const fr_attend_reader read = {
        .prepare = prepare, .scores = FR_ATTEND_SCORES, .values = FR_ATTEND_VALUES};
    fr_attend_tiles(job, &read);
}
