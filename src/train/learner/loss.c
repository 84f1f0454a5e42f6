#include "train/learner/loss.h"
#include "base/alloc.h"
#include "train/math/layers.h"
#include "train/math/vector.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { LANES = 16 };

float fr_loss_weight(int k) {
    return (float)pow(0.8, k - 1);
}

fr_status fr_loss_open(fr_loss *l, const fr_draft_vocab *vocab, fr_gemm *gemm, int top,
                       fr_error *err) {
    assert(top >= 1 && top <= FR_SHARD_TOP);
    *l = (fr_loss){
        .vocab = vocab, .gemm = gemm, .top = top, .ld = (vocab->n + LANES - 1) / LANES * LANES};
    l->logits = fr_alloc_array((size_t)FR_LOSS_CHUNK * (size_t)l->ld, sizeof(float));
    if (!l->logits) return fr_fail(err, FR_ENOMEM, "train: no memory for %d logits", l->ld);
    return FR_OK;
}

fr_status fr_loss_first(fr_loss *l, float weight, fr_error *err) {
    l->first_weight = weight;
    l->first = fr_alloc_array((size_t)FR_LOSS_CHUNK * (size_t)l->ld, sizeof(float));
    return l->first ? FR_OK : fr_fail(err, FR_ENOMEM, "train: no memory for %d logits", l->ld);
}

void fr_loss_close(fr_loss *l) {
    fr_free(l->logits);
    fr_free(l->first);
    *l = (fr_loss){0};
}

size_t fr_loss_bytes(const fr_loss *l) {
    return (l->first ? 2 : 1) * (size_t)FR_LOSS_CHUNK * (size_t)l->ld * sizeof(float);
}

// ---------------------------------------------------------------- one row
typedef struct teacher { // a distribution on the draft vocabulary
    int n;               // 0: nothing to learn
    int id[FR_SHARD_TOP];
    float p[FR_SHARD_TOP];
} teacher;

static void take_dist(teacher *t, const fr_draft_vocab *v, const fr_sample *s, int row, int top) {
    const size_t at = (size_t)(row - s->dist_first) * (size_t)top;
    float sum = 0;
    t->n = 0;
    if (s->dist_id[at] < 0 || v->index[s->dist_id[at]] < 0) return;
    for (int i = 0; i < top; i++) {
        const int32_t id = s->dist_id[at + (size_t)i];
        if (id < 0 || v->index[id] < 0) continue;
        t->id[t->n] = v->index[id];
        t->p[t->n] = expf(fr_f16_to_f32(s->dist_lp[at + (size_t)i]));
        sum += t->p[t->n++];
    }
    for (int i = 0; i < t->n; i++)
        t->p[i] /= sum;
}

static void take_teacher(teacher *t, const fr_draft_vocab *v, const fr_sample *s, int row, int top,
                         bool hard) {
    if (s->flags[row] & FR_ROW_DISTRIBUTION && !hard) {
        take_dist(t, v, s, row, top);
        return;
    }
    const int id = v->index[s->ids[row + 1]];
    *t = (teacher){.n = id >= 0, .id = {id}, .p = {1}};
}

// n is a multiple of LANES in all of these.
FR_CLONES static float largest(const float *z, int n) {
    float lane[LANES], most;
    for (int k = 0; k < LANES; k++)
        lane[k] = z[k];
    for (int i = LANES; i < n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] = z[i + k] > lane[k] ? z[i + k] : lane[k];
    most = lane[0];
    for (int k = 1; k < LANES; k++)
        most = lane[k] > most ? lane[k] : most;
    return most;
}

// z = e^(z - shift); the sum.
FR_CLONES static float exponentials(float *z, int n, float shift) {
    float lane[LANES] = {0}, sum = 0;
    for (int i = 0; i < n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            z[i + k] = fr_vector_exp(z[i + k] - shift);
            lane[k] += z[i + k];
        }
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

FR_CLONES static void scale(float *z, int n, float by) {
    for (int i = 0; i < n; i++)
        z[i] *= by;
}

// How many of z[0, n) are above x, or also equal to it.
FR_CLONES static int above(const float *z, int n, float x) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += z[i] > x;
    return count;
}
FR_CLONES static int above_or_equal(const float *z, int n, float x) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += z[i] >= x;
    return count;
}

// Equal logits rank by their place, so that no two share a rank.
static int rank_of(const float *z, int n, int id) {
    if (id < 0) return -1;
    return above_or_equal(z, id, z[id]) + above(z + id + 1, n - id - 1, z[id]);
}

// Logits become weight * (softmax - p), in place.
static void run_row(const fr_loss *l, float *z, const fr_loss_row *row, bool learns,
                    fr_loss_got *got) {
    const int n = l->vocab->n;
    teacher t = {0};
    *got = (fr_loss_got){NAN, -1, NAN};
    if (row->sample) {
        take_teacher(&t, l->vocab, row->sample, row->row, l->top, l->hard);
        got->rank = rank_of(z, n, l->vocab->index[row->sample->ids[row->row + 1]]);
    }
    if (!t.n) {
        scale(z, n, 0);
        return;
    }
    for (int i = n; i < l->ld; i++)
        z[i] = -INFINITY;
    double expected = 0;
    for (int i = 0; i < t.n; i++)
        expected += (double)t.p[i] * (double)z[t.id[i]];
    const float most = largest(z, l->ld), sum = exponentials(z, l->ld, most);
    got->nats = (float)((double)most + log((double)sum) - expected);
    if (!learns) return;
    scale(z, n, row->weight / sum);
    for (int i = 0; i < t.n; i++)
        z[t.id[i]] -= row->weight * t.p[i];
}

// The first term's own logits become its gradient: that of its own loss and that of all terms'.
static void run_first_row(const fr_loss *l, float *z, const float *all, const fr_loss_row *row,
                          fr_loss_got *got) {
    fr_loss_got own;
    fr_loss_row weighed = *row;
    weighed.weight *= l->first_weight;
    run_row(l, z, &weighed, true, &own);
    fr_rows_add_one(z, all, l->vocab->n);
    got->first = own.nats;
}

// ---------------------------------------------------------------- all rows
static void run_chunk(fr_loss *l, const fr_loss_term *terms, int n_terms, const fr_loss_row *rows,
                      int at, int n, fr_loss_got *got) {
    const int v = l->vocab->n;
    const bool learns = terms->dx != NULL, apart = learns && l->first && n_terms > 1;
    for (int t = 0; t < n_terms; t++) {
        fr_gemm_forward(l->gemm, l->logits, l->ld, terms[t].x + (size_t)at * (size_t)terms[t].ldx,
                        terms[t].ldx, terms[t].w, n, v, terms[t].k, t > 0);
        if (apart && !t) memcpy(l->first, l->logits, (size_t)n * (size_t)l->ld * sizeof *l->first);
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) {
        float *z = l->logits + (size_t)i * (size_t)l->ld;
        run_row(l, z, &rows[at + i], learns, &got[at + i]);
        if (apart)
            run_first_row(l, l->first + (size_t)i * (size_t)l->ld, z, &rows[at + i], &got[at + i]);
    }
    if (!learns) return;
    for (int t = 0; t < n_terms; t++) {
        const fr_loss_term *term = &terms[t];
        const size_t skip = (size_t)at * (size_t)term->ldx;
        const float *into = apart && !t ? l->first : l->logits;
        fr_gemm_input(l->gemm, term->dx + skip, term->ldx, into, l->ld, term->w, n, v, term->k,
                      false);
        if (term->dw)
            fr_gemm_weight(l->gemm, term->dw, into, l->ld, term->x + skip, term->ldx, n, v, term->k,
                           true);
    }
}

void fr_loss_run(fr_loss *l, const fr_loss_term *terms, int n_terms, const fr_loss_row *rows, int n,
                 fr_loss_got *got) {
    for (int at = 0; at < n; at += FR_LOSS_CHUNK)
        run_chunk(l, terms, n_terms, rows, at, n - at < FR_LOSS_CHUNK ? n - at : FR_LOSS_CHUNK,
                  got);
}
