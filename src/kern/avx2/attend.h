// attend.h — what the two kinds of K and V share: a band is the query rows of one call.
#ifndef FR_KERN_AVX2_ATTEND_H
#define FR_KERN_AVX2_ATTEND_H
#include "kern/avx2/avx2.h"
#include "kern/avx2/lanes.h"
#include <string.h>

enum {
    FR_BAND_TILE = 6,         // query rows in registers together
    FR_BAND_SHARED = 8 << 10, // floats of K or V that stay in the caches while the tiles pass
};

typedef struct fr_band {
    const fr_attend *job;
    int begin, end; // slots that any row may see; begin is the start of a key block
    int chunk;      // slots of V that become floats together
    size_t stride;  // of p
    size_t width;   // head_dim rounded up to 16
    float *p;       // scores, then weights, by row and slot - begin
    float *o;       // [row][width] outputs so far
    float *query;   // [row][width] room for the queries in another form
    float *y;       // K or V as floats: [pair of vectors][step][16]
    // What y will hold next, as it is stored, 16 values in ahead_step bytes: asked for during the
    // products, or reading and computing would take turns.
    const char *ahead;
    int ahead_step;
} fr_band;

typedef struct fr_band_reader {        // what depends on the type of K and V
    void (*prepare)(const fr_band *w); // the queries; or NULL
    void (*scores)(fr_band *w);        // of all rows and the slots [begin, end), whole blocks
    // n values from slot t on into w->y, [width / 16][n][16], columns past head_dim zero; sets what
    // is ahead.
    void (*values)(fr_band *w, int t, int n);
} fr_band_reader;

void fr_attend_band(const fr_attend *job, const fr_band_reader *reader);
// Scores of all rows from `blocks` (1 or 2) blocks of keys in w->y, [block][head_dim][16].
void fr_band_score_floats(const fr_band *w, int t, int blocks);
void fr_band_sum_floats(const fr_band *w, int t, int n);

static inline float *fr_band_weights(const fr_band *w, int row, int slot) {
    return w->p + (size_t)row * w->stride + (slot - w->begin);
}
// Rows of the tile that begins at row r: all tiles of nearly the same size.
static inline int fr_band_tile(const fr_band *w, int r) {
    const int left = w->job->n_q - r, tiles = (left + FR_BAND_TILE - 1) / FR_BAND_TILE;
    return (left + tiles - 1) / tiles;
}

#endif
