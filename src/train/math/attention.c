#include "train/math/attention.h"
#include "base/alloc.h"
#include "train/math/vector.h"
#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { TILE = 64 }; // queries whose scores are in the cache together

fr_status fr_attention_open(fr_attention *a, int n_head, int n_kv, int head_dim, int max_rows,
                            int threads, fr_error *err) {
    *a = (fr_attention){n_head, n_kv, head_dim, threads, (max_rows + 15) / 16 * 16, NULL};
    if (!(a->scratch = fr_alloc_array(fr_attention_bytes(a), 1)))
        return fr_fail(err, FR_ENOMEM, "train: no memory for attention");
    return FR_OK;
}

void fr_attention_close(fr_attention *a) {
    fr_free(a->scratch);
    a->scratch = NULL;
}

size_t fr_attention_bytes(const fr_attention *a) {
    return (size_t)a->threads * 2 * TILE * (size_t)a->max_rows * sizeof(float);
}

// ---------------------------------------------------------------- one query
FR_CLONES static float dot(const float *a, const float *b, int n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

FR_CLONES static void add_scaled(float *to, const float *from, float by, int n) {
#pragma omp simd
    for (int i = 0; i < n; i++)
        to[i] += by * from[i];
}

FR_CLONES static float largest(const float *x, int n) {
    float m = x[0];
#pragma omp simd reduction(max : m)
    for (int i = 0; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}

// x = exp(scale x - shift); returns the sum.
FR_CLONES static float exponentials(float *x, float scale, float shift, int n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) {
        x[i] = fr_vector_exp(x[i] * scale - shift);
        sum += x[i];
    }
    return sum;
}

FR_CLONES static void multiply_all(float *x, float by, int n) {
    for (int i = 0; i < n; i++)
        x[i] *= by;
}

// Gradient into scores: ds = p (dp - d) scale.
FR_CLONES static void score_gradients(float *dp, const float *p, float d, float scale, int n) {
#pragma omp simd
    for (int i = 0; i < n; i++)
        dp[i] = p[i] * (dp[i] - d) * scale;
}

// ---------------------------------------------------------------- tiles of queries of one head
typedef struct tile { // queries [first, first + n) of a context, head `head`
    const fr_attention *a;
    const fr_attention_step *s;
    int first, n, head;
    int row0, cols; // their context's first row; rows of it that the last query sees
    float *p, *dp;  // [n][cols] of the thread
} tile;

static int seen(const tile *t, int i) { // rows of k0 that query i of the tile sees
    return t->s->bases->row[t->first + i] - t->row0 + 1;
}

static size_t query_at(const tile *t, int i) {
    const size_t width = (size_t)t->a->n_head * (size_t)t->a->head_dim;
    return (size_t)(t->first + i) * width + (size_t)t->head * (size_t)t->a->head_dim;
}

static size_t key_width(const tile *t) {
    return (size_t)t->a->n_kv * (size_t)t->a->head_dim;
}

static size_t key_head(const tile *t) { // first number of its key head in a row of keys
    return (size_t)(t->head / (t->a->n_head / t->a->n_kv)) * (size_t)t->a->head_dim;
}

static size_t key0_at(const tile *t) {
    return (size_t)t->row0 * key_width(t) + key_head(t);
}

static size_t own_key_at(const tile *t, int i) {
    return (size_t)(t->first + i) * key_width(t) + key_head(t);
}

static void tile_scores(const tile *t) {
    const fr_attention_step *s = t->s;
    const int hd = t->a->head_dim;
    fr_gemm_tile(FR_GEMM_NT, t->p, t->cols, s->q + query_at(t, 0), t->a->n_head * hd,
                 s->k0 + key0_at(t), (int)key_width(t), t->n, t->cols, hd, false);
}

static void tile_forward(const tile *t) {
    const fr_attention_step *s = t->s;
    const int hd = t->a->head_dim;
    const float scale = 1.0f / sqrtf((float)hd);
    float own[TILE][FR_ATTENTION_STEPS + 1];
    tile_scores(t);
    for (int i = 0; i < t->n; i++) {
        float *p = t->p + (size_t)i * (size_t)t->cols;
        const int sees = seen(t, i);
        float top = largest(p, sees) * scale;
        for (int j = 2; j <= s->step; j++) {
            own[i][j] = scale * dot(s->q + query_at(t, i), s->k[j] + own_key_at(t, i), hd);
            top = own[i][j] > top ? own[i][j] : top;
        }
        float sum = exponentials(p, scale, top, sees);
        for (int j = 2; j <= s->step; j++)
            sum += own[i][j] = fr_vector_exp(own[i][j] - top);
        multiply_all(p, 1 / sum, sees);
        memset(p + sees, 0, (size_t)(t->cols - sees) * sizeof *p);
        for (int j = 2; j <= s->step; j++)
            own[i][j] /= sum;
        s->lse[(size_t)(t->first + i) * (size_t)t->a->n_head + (size_t)t->head] = top + logf(sum);
    }
    fr_gemm_tile(FR_GEMM_NN, s->o + query_at(t, 0), t->a->n_head * hd, t->p, t->cols,
                 s->v0 + key0_at(t), (int)key_width(t), t->n, hd, t->cols, false);
    for (int i = 0; i < t->n; i++)
        for (int j = 2; j <= s->step; j++)
            add_scaled(s->o + query_at(t, i), s->v[j] + own_key_at(t, i), own[i][j], hd);
}

typedef struct gradients {
    const float *d_o;
    float *dq, *dk0, *dv0;
    float *const *dk, *const *dv;
} gradients;

// The keys of query i's own base: adds to its dq, and to the dk[j], dv[j] of its base.
static void own_backward(const tile *t, const gradients *g, int i, float lse, float d,
                         float scale) {
    const fr_attention_step *s = t->s;
    const int hd = t->a->head_dim;
    const size_t q = query_at(t, i), k = own_key_at(t, i);
    for (int j = 2; j <= s->step; j++) {
        const float p = fr_vector_exp(scale * dot(s->q + q, s->k[j] + k, hd) - lse);
        const float ds = p * (dot(g->d_o + q, s->v[j] + k, hd) - d) * scale;
        add_scaled(g->dv[j] + k, g->d_o + q, p, hd);
        add_scaled(g->dk[j] + k, s->q + q, ds, hd);
        add_scaled(g->dq + q, s->k[j] + k, ds, hd);
    }
}

// With D = sum of do * o over a head: ds = p (dp - D), as the sum of p dp over all that is seen is
// D.
static void tile_backward(const tile *t, const gradients *g) {
    const fr_attention_step *s = t->s;
    const int hd = t->a->head_dim, ldq = t->a->n_head * hd, ldk = (int)key_width(t);
    const float scale = 1.0f / sqrtf((float)hd);
    const size_t q = query_at(t, 0), k = key0_at(t);
    float d[TILE], lse[TILE];
    tile_scores(t);
    fr_gemm_tile(FR_GEMM_NT, t->dp, t->cols, g->d_o + q, ldq, s->v0 + k, ldk, t->n, t->cols, hd,
                 false);
    for (int i = 0; i < t->n; i++) {
        float *p = t->p + (size_t)i * (size_t)t->cols, *dp = t->dp + (size_t)i * (size_t)t->cols;
        const int sees = seen(t, i);
        lse[i] = s->lse[(size_t)(t->first + i) * (size_t)t->a->n_head + (size_t)t->head];
        d[i] = dot(g->d_o + query_at(t, i), s->o + query_at(t, i), hd);
        exponentials(p, scale, lse[i], sees);
        score_gradients(dp, p, d[i], scale, sees);
        memset(p + sees, 0, (size_t)(t->cols - sees) * sizeof *p);
        memset(dp + sees, 0, (size_t)(t->cols - sees) * sizeof *dp);
    }
    fr_gemm_tile(FR_GEMM_NN, g->dq + q, ldq, t->dp, t->cols, s->k0 + k, ldk, t->n, hd, t->cols,
                 false);
    if (g->dk0)
        fr_gemm_tile(FR_GEMM_TN, g->dk0 + k, ldk, t->dp, t->cols, s->q + q, ldq, t->cols, hd, t->n,
                     true);
    if (g->dv0)
        fr_gemm_tile(FR_GEMM_TN, g->dv0 + k, ldk, t->p, t->cols, g->d_o + q, ldq, t->cols, hd, t->n,
                     true);
    for (int i = 0; i < t->n; i++)
        own_backward(t, g, i, lse[i], d[i], scale);
}

// ---------------------------------------------------------------- all of them
// Heads of a group add to the same keys: one thread takes them, one after the other.
static void run_group(const fr_attention *a, const fr_attention_step *s, const gradients *g,
                      int task, int thread) {
    const fr_bases *b = s->bases;
    const int context = task / a->n_kv, group = a->n_head / a->n_kv, end = b->base0[context + 1];
    const int first_head = task % a->n_kv * group;
    float *scratch = a->scratch + (size_t)thread * 2 * TILE * (size_t)a->max_rows;
    for (int head = first_head; head < first_head + group; head++)
        for (int first = b->base0[context]; first < end; first += TILE) {
            const int n = end - first < TILE ? end - first : TILE;
            const tile t = {.a = a,
                            .s = s,
                            .first = first,
                            .n = n,
                            .head = head,
                            .row0 = b->row0[context],
                            .cols = b->row[first + n - 1] - b->row0[context] + 1,
                            .p = scratch,
                            .dp = scratch + (size_t)TILE * (size_t)a->max_rows};
            if (g)
                tile_backward(&t, g);
            else
                tile_forward(&t);
        }
}

static void run(const fr_attention *a, const fr_attention_step *s, const gradients *g) {
    const int tasks = s->bases->contexts * a->n_kv;
#pragma omp parallel for schedule(dynamic) num_threads(a->threads)
    for (int task = 0; task < tasks; task++) {
#ifdef _OPENMP
        run_group(a, s, g, task, omp_get_thread_num());
#else
        run_group(a, s, g, task, 0);
#endif
    }
}

void fr_attention_forward(const fr_attention *a, const fr_attention_step *s) {
    run(a, s, NULL);
}

void fr_attention_backward(const fr_attention *a, const fr_attention_step *s, const float *d_o,
                           float *dq, float *dk0, float *dv0, float *const *dk, float *const *dv) {
    run(a, s, &(gradients){d_o, dq, dk0, dv0, dk, dv});
}
