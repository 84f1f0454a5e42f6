// made_data.h — small training data whose tokens can be learned: shards for tests.
//
// A token is mostly followed by (5 t + 3) mod 61; the state of a row is a fixed function of the
// token that comes, as a target's would be.
#ifndef FR_TESTS_TRAIN_MADE_DATA_H
#define FR_TESTS_TRAIN_MADE_DATA_H
#include "kern/half.h"
#include "train/data/shard.h"
#include <math.h>
#include <stdlib.h>

enum { MADE_ROWS = 60, MADE_WIDTH = 128, MADE_TAPS = 2, MADE_WORDS = 61 };

typedef struct made_sample { // a sample with memory of its own
    fr_sample s;
    int32_t ids[MADE_ROWS + 1], dist_id[MADE_ROWS * FR_SHARD_TOP];
    uint8_t flags[MADE_ROWS];
    uint16_t final[MADE_ROWS * MADE_WIDTH], tap[MADE_TAPS * MADE_ROWS * MADE_WIDTH];
    uint16_t dist_lp[MADE_ROWS * FR_SHARD_TOP];
} made_sample;

static inline float made_state(int token, int i, int layer) {
    return sinf(0.37f * (float)((token + 1) * (i + 1)) + (float)layer) * (layer ? 2.0f : 1.0f);
}

// n rows, of which those from dist_first on are of an answer. The distribution gives the token that
// came 0.7 and top - 1 others the rest.
static inline void make_sample(made_sample *m, const fr_shard_format *f, uint64_t key, int n,
                               int dist_first) {
    unsigned seed = (unsigned)key + 1;
    m->ids[0] = (int32_t)(key % MADE_WORDS); // each key's question is another one
    for (int i = 0; i < n; i++) {
        const bool odd = rand_r(&seed) % 8 == 0;
        m->ids[i + 1] = odd ? rand_r(&seed) % MADE_WORDS : (5 * m->ids[i] + 3) % MADE_WORDS;
        if (!i) m->ids[1] = (int32_t)(key / MADE_WORDS % MADE_WORDS);
        m->flags[i] = i >= dist_first ? FR_ROW_ANSWER | FR_ROW_DISTRIBUTION : 0;
        for (int k = 0; k < f->d; k++) {
            m->final[i * f->d + k] = fr_f16_from_f32(made_state(m->ids[i + 1], k, 0));
            for (int t = 0; t < f->n_taps; t++)
                m->tap[(t * n + i) * f->d + k] =
                    fr_f16_from_f32(made_state(m->ids[i + 1], k, t + 1));
        }
    }
    for (int i = dist_first; i < n; i++)
        for (int r = 0; r < f->top; r++) {
            const int at = (i - dist_first) * f->top + r;
            m->dist_id[at] = r ? (m->ids[i + 1] + r) % MADE_WORDS : m->ids[i + 1];
            m->dist_lp[at] = fr_f16_from_f32(logf(r ? 0.3f / (float)(f->top - 1) : 0.7f));
        }
    m->s = (fr_sample){.key = key,
                       .n = n,
                       .dist_first = dist_first,
                       .ids = m->ids,
                       .flags = m->flags,
                       .final = m->final,
                       .tap = f->n_taps ? m->tap : NULL,
                       .dist_id = m->dist_id,
                       .dist_lp = m->dist_lp};
}

// A folder of samples with keys first .. first + count - 1, of 8 to 60 rows.
static inline fr_status make_shards(const char *dir, const fr_shard_format *f, uint64_t first,
                                    int count, fr_error *err) {
    fr_shard_writer *w;
    made_sample *m = calloc(1, sizeof *m);
    fr_status st = fr_shard_writer_open(&w, dir, f, err);
    for (int i = 0; m && i < count && !st; i++) {
        const int n = 8 + (int)((first + (uint64_t)i) * 17 % (MADE_ROWS - 7));
        make_sample(m, f, first + (uint64_t)i, n, n / 4);
        st = fr_shard_writer_add(w, &m->s, err);
    }
    if (!st) st = fr_shard_writer_flush(w, err);
    fr_shard_writer_close(w);
    free(m);
    return st;
}

#endif
