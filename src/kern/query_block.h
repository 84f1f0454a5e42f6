// query_block.h — how one attention call goes over K and V. A query block is all its query rows.
//
// All rows pass over some blocks of keys (some values) before the next ones are read: K and V are
// read once for all of them. Rows go in tiles, as many as registers hold, and a tile takes one to
// eight vectors of 16 floats at once. Shared by the vector instruction sets, which differ in what
// fills a tile; ref/ computes one row after another.
#ifndef FR_KERN_QUERY_BLOCK_H
#define FR_KERN_QUERY_BLOCK_H
#include "kern/kern.h"
#include <string.h>

enum {
    FR_QUERY_TILE = 6, // query rows of a tile at most
    FR_QUERY_TILES = (FR_ATTEND_ROWS + FR_QUERY_TILE - 1) / FR_QUERY_TILE,
    FR_QUERY_VALUES = 128, // slots of V that all tiles pass over before the next ones
};

typedef struct fr_query_block {
    const fr_attend *job;
    int begin, end;              // slots that any row may see; begin is the start of a key block
    int in_line;                 // slots before it are their own positions
    int n_tiles;                 // of rows
    int row[FR_QUERY_TILES + 1]; // tile i has the rows [row[i], row[i + 1])
    size_t stride;               // of p
    size_t width;                // head_dim rounded up to 16
    float *p;                    // scores, then weights, by row and slot - begin
    float *o;                    // [row][width] outputs so far
    float *query;                // [row][width] room for the queries in another form
    float *y;                    // values as floats: [vector][slot][16]
    size_t y_vector;             // floats from one vector to the next
    // What will be read next. Every step of the products asks memory for next_step bytes of it, or
    // reading and computing would take turns.
    const char *next;
    int next_step;
} fr_query_block;

// Scores of a tile's rows and some blocks of keys from slot t on.
typedef void fr_query_score_fn(const fr_query_block *w, int row, int t);
// Adds n values from slot t on to some vectors of a tile's outputs, from column d on.
typedef void fr_query_value_fn(const fr_query_block *w, int row, int t, int n, int d);

// The functions by rows - 1 and by log2 of the blocks or vectors; NULL: too many for the registers.
typedef struct fr_query_keys {
    fr_kv_form form;
    void (*prepare)(const fr_query_block *w); // the queries; or NULL
    fr_query_score_fn *score[FR_QUERY_TILE][4];
} fr_query_keys;
typedef struct fr_query_values {
    fr_kv_form form;
    fr_query_value_fn *value[FR_QUERY_TILE][4];
    // Where several tiles are to share what is costly to read: n values from slot t on into w->y,
    // and the functions that read there. Or NULL.
    void (*convert)(const fr_query_block *w, int t, int n);
    fr_query_value_fn *shared[FR_QUERY_TILE][4];
} fr_query_values;

static inline float *fr_query_weights(const fr_query_block *w, int row, int slot) {
    return w->p + (size_t)row * w->stride + (slot - w->begin);
}

static inline fr_query_block fr_query_open(const fr_attend *job) {
    fr_query_block w = {.job = job, .begin = job->committed, .in_line = job->committed};
    uint64_t seen[FR_MAX_SCRATCH / 64] = {0};
    for (int r = 0; r < job->n_q; r++) {
        if (job->view[r]->first < w.begin) w.begin = job->view[r]->first;
        for (int i = 0; i < FR_MAX_SCRATCH / 64; i++)
            seen[i] |= job->view[r]->scratch[i];
    }
    w.begin = w.begin / FR_KV_BLOCK * FR_KV_BLOCK;
    w.end = job->committed;
    for (int i = 0; i < FR_MAX_SCRATCH / 64; i++)
        if (seen[i]) w.end = job->committed + 64 * i + 64 - __builtin_clzll(seen[i]);
    while (w.in_line < w.end && job->pos[w.in_line - job->committed] == w.in_line)
        w.in_line++;
    w.n_tiles = (job->n_q + FR_QUERY_TILE - 1) / FR_QUERY_TILE;
    for (int i = 0; i < w.n_tiles; i++) // all of nearly the same size, the largest first
        w.row[i + 1] = w.row[i] + (job->n_q - w.row[i] + w.n_tiles - i - 1) / (w.n_tiles - i);
    w.width = ((size_t)job->head_dim + 15) / 16 * 16;
    w.stride = ((size_t)(job->committed + job->scratch) + 15) / 16 * 16 + 32;
    // Pieces one after another, each a multiple of 64 bytes (fr_attend_work_floats).
    w.y_vector = 16 * (FR_QUERY_VALUES + 1); // or all vectors would share sets of the cache
    w.y = (float *)(((uintptr_t)job->work + 63) & ~(uintptr_t)63);
    w.o = w.y + (FR_QUERY_VALUES + 1) * w.width;
    w.query = w.o + FR_ATTEND_ROWS * w.width;
    w.p = w.query + FR_ATTEND_ROWS * w.width;
    return w;
}

static inline const char *fr_query_slot(const void *plane, fr_kv_form form, int head_dim, int t) {
    return (const char *)plane + (size_t)(t / FR_KV_BLOCK) * fr_kv_block_bytes(form, head_dim);
}

// Plans the prefetch of `bytes` from p on by `calls` tiles of `steps` steps each.
static inline void fr_query_plan(fr_query_block *w, const char *p, size_t bytes, int calls,
                                 int steps) {
    const size_t all = (size_t)calls * (size_t)steps;
    w->next = p;
    w->next_step = (int)((bytes + all - 1) / all);
}

// `then`: the memory that is read after the keys.
static inline void fr_query_scores(fr_query_block *w, const fr_query_keys *keys, const char *then) {
    const fr_attend *job = w->job;
    fr_query_score_fn *const *largest = keys->score[w->row[1] - 1];
    if (keys->prepare) keys->prepare(w);
    for (int t = w->begin, size; t < w->end; t += FR_KV_BLOCK << size) {
        size = 3; // whole blocks, none of them wholly after the end
        while (!largest[size] || (size && t + (FR_KV_BLOCK << size) - FR_KV_BLOCK >= w->end))
            size--;
        const int after = t + (FR_KV_BLOCK << size);
        const char *k = fr_query_slot(job->k, keys->form, job->head_dim, after);
        fr_query_plan(w, after < w->end ? k : then,
                      fr_kv_block_bytes(keys->form, job->head_dim) << size, w->n_tiles,
                      job->head_dim);
        for (int i = 0; i < w->n_tiles; i++) {
            keys->score[w->row[i + 1] - w->row[i] - 1][size](w, w->row[i], t);
            w->next += w->next_step * job->head_dim;
        }
    }
}

// The slots that are not in line add their weights p to the lanes of their positions.
static inline void fr_query_rest(const fr_query_block *w, const fr_view *view, const float *p,
                                 float lane[16]) {
    const int committed = w->job->committed, first = w->in_line - committed;
    for (int word = first / 64; word < FR_MAX_SCRATCH / 64; word++) {
        uint64_t bits = view->scratch[word];
        if (word == first / 64) bits = bits >> (first % 64) << (first % 64);
        for (; bits; bits &= bits - 1) {
            const int s = 64 * word + __builtin_ctzll(bits);
            lane[w->job->pos[s] % 16] += p[committed - w->begin + s];
        }
    }
}

// The outputs, not yet divided by the denominators.
static inline void fr_query_sums(fr_query_block *w, const fr_query_values *values) {
    const fr_attend *job = w->job;
    const bool share = values->convert && w->n_tiles > 1;
    fr_query_value_fn *const(*value)[4] = share ? values->shared : values->value;
    int most = 3;
    while (!value[w->row[1] - 1][most])
        most--;
    const int parts = ((int)w->width + (16 << most) - 1) / (16 << most);
    const size_t bytes =
        fr_kv_block_bytes(values->form, job->head_dim) * (FR_QUERY_VALUES / FR_KV_BLOCK);
    memset(w->o, 0, (size_t)job->n_q * w->width * sizeof *w->o);
    for (int t = w->begin, n; t < w->end; t += n) {
        n = w->end - t < FR_QUERY_VALUES ? w->end - t : FR_QUERY_VALUES;
        fr_query_plan(w, fr_query_slot(job->v, values->form, job->head_dim, t + n), bytes,
                      w->n_tiles * parts, n);
        if (share) values->convert(w, t, n);
        for (int d = 0, size; d < job->head_dim; d += 16 << size) {
            size = most;
            while (size && d + (16 << size) > job->head_dim)
                size--;
            for (int i = 0; i < w->n_tiles; i++) {
                value[w->row[i + 1] - w->row[i] - 1][size](w, w->row[i], t, n, d);
                w->next += w->next_step * n;
            }
        }
    }
}

#endif
