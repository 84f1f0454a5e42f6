// attend.h — what the two kinds of K and V share.
#ifndef FR_KERN_AVX512_ATTEND_H
#define FR_KERN_AVX512_ATTEND_H
#include "kern/avx512/avx512.h"
#include "kern/avx512/isa.h"

enum { FR_ATTEND_TILE = 8 }; // query rows that are handled together

// One tile of query rows: p points to rows of `stride` weights, slots [start, end) count.
typedef struct fr_attend_tile {
    const fr_attend *job;
    int row0, rows;
    int start, end; // start: a multiple of 16
    size_t stride;
    float *p;
    float *query; // room for the queries in another form, 2 * head_dim floats each
} fr_attend_tile;

// Scores of the tile's rows and 16 keys, or several blocks of them, from `slot` on.
typedef void fr_attend_score_fn(const fr_attend_tile *t, int slot);
// Some vectors of the output from d on, times `inverse`; `lanes` cuts a single one.
typedef void fr_attend_value_fn(const fr_attend_tile *t, int d, __mmask16 lanes,
                                const float *inverse);

typedef struct fr_attend_reader {             // what depends on the type of K and V, by rows - 1
    void (*prepare)(const fr_attend_tile *t); // the queries; or NULL
    struct {
        fr_attend_score_fn *one, *many;
        int blocks; // of `many`: as many as fill the registers
    } scores[FR_ATTEND_TILE];
    fr_attend_value_fn *values[FR_ATTEND_TILE][4]; // by log2 of the vectors; NULL: too many
} fr_attend_reader;

void fr_attend_tiles(const fr_attend *job, const fr_attend_reader *read);

// The functions of constant size, from a file's own `score` and `value`, and their table.
#define FR_ATTEND_SCORE(rows, blocks)                                                              \
    static void score_##rows##_##blocks(const fr_attend_tile *t, int slot) {                       \
        score(rows, blocks, t, slot);                                                              \
    }
#define FR_ATTEND_VALUE(rows, parts)                                                               \
    static void value_##rows##_##parts(const fr_attend_tile *t, int d, __mmask16 lanes,            \
                                       const float *inverse) {                                     \
        value(rows, parts, t, d, lanes, inverse);                                                  \
    }
// clang-format off
#define FR_ATTEND_FUNCTIONS \
    FR_ATTEND_SCORE(1, 1) FR_ATTEND_SCORE(2, 1) FR_ATTEND_SCORE(3, 1) FR_ATTEND_SCORE(4, 1) \
    FR_ATTEND_SCORE(5, 1) FR_ATTEND_SCORE(6, 1) FR_ATTEND_SCORE(7, 1) FR_ATTEND_SCORE(8, 1) \
    FR_ATTEND_SCORE(1, 8) FR_ATTEND_SCORE(2, 4) FR_ATTEND_SCORE(3, 4) FR_ATTEND_SCORE(4, 2) \
    FR_ATTEND_SCORE(5, 2) FR_ATTEND_SCORE(6, 2) FR_ATTEND_SCORE(7, 2) FR_ATTEND_SCORE(8, 2) \
    FR_ATTEND_VALUE(1, 1) FR_ATTEND_VALUE(2, 1) FR_ATTEND_VALUE(3, 1) FR_ATTEND_VALUE(4, 1) \
    FR_ATTEND_VALUE(5, 1) FR_ATTEND_VALUE(6, 1) FR_ATTEND_VALUE(7, 1) FR_ATTEND_VALUE(8, 1) \
    FR_ATTEND_VALUE(1, 2) FR_ATTEND_VALUE(2, 2) FR_ATTEND_VALUE(3, 2) FR_ATTEND_VALUE(4, 2) \
    FR_ATTEND_VALUE(5, 2) FR_ATTEND_VALUE(6, 2) FR_ATTEND_VALUE(7, 2) FR_ATTEND_VALUE(8, 2) \
    FR_ATTEND_VALUE(1, 4) FR_ATTEND_VALUE(2, 4) FR_ATTEND_VALUE(3, 4) FR_ATTEND_VALUE(4, 4) \
    FR_ATTEND_VALUE(1, 8) FR_ATTEND_VALUE(2, 8)
#define FR_ATTEND_SCORES { \
    {score_1_1, score_1_8, 8}, {score_2_1, score_2_4, 4}, {score_3_1, score_3_4, 4}, {score_4_1, score_4_2, 2}, \
    {score_5_1, score_5_2, 2}, {score_6_1, score_6_2, 2}, {score_7_1, score_7_2, 2}, {score_8_1, score_8_2, 2}}
#define FR_ATTEND_VALUES { \
    {value_1_1, value_1_2, value_1_4, value_1_8}, {value_2_1, value_2_2, value_2_4, value_2_8}, \
    {value_3_1, value_3_2, value_3_4, NULL},      {value_4_1, value_4_2, value_4_4, NULL}, \
    {value_5_1, value_5_2, NULL, NULL},           {value_6_1, value_6_2, NULL, NULL}, \
    {value_7_1, value_7_2, NULL, NULL},           {value_8_1, value_8_2, NULL, NULL}}
// clang-format on

#endif
