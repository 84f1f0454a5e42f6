#include "train/block/unrolled_batch.h"
#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "kern/half.h"
#include "train/block/features.h"
#include "train/learner/tally.h"
#include "train/math/layers.h"
#include <math.h>

enum { COUNTS_NOT = -2 };

// ---------------------------------------------------------------- a batch
static bool counts(const fr_sample *s, int row) {
    const int both = FR_ROW_ANSWER | FR_ROW_DISTRIBUTION;
    return row < s->n && (s->flags[row] & both) == both;
}

static bool is_base(const fr_sample *s, int row, int depth) {
    for (int k = 1; k <= depth; k++)
        if (row >= 1 && counts(s, row + k)) return true;
    return false;
}

static void read_halves(float *to, const uint16_t *from, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = fr_f16_to_f32(from[i]);
}

static void read_taps(const fr_unrolled_batch *b, const fr_sample *s, int i, float *to) {
    const fr_unrolled *c = b->chain;
    const size_t d = (size_t)c->shape.d, whole = (size_t)(s->whole ? s->whole : s->n);
    for (int t = 0; t < c->shape.taps; t++, to += d) {
        const float *gain = fr_param_w(c->params, c->at.taps_norm) + (size_t)t * d;
        read_halves(to,
                    b->tap[t] < 0 ? s->final + (size_t)i * d
                                  : s->tap + ((size_t)b->tap[t] * whole + (size_t)i) * d,
                    d);
        fr_norm_forward(to, to, gain, 1, c->shape.d);
    }
}

static void read_rows(fr_unrolled_batch *b, const fr_sample *s, int first) {
    fr_unrolled *c = b->chain;
    const size_t d = (size_t)c->shape.d;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < s->n; i++) {
        read_halves(c->state + (size_t)(first + i) * d, s->final + (size_t)i * d, d);
        read_taps(b, s, i, c->taps + (size_t)(first + i) * (size_t)c->shape.taps * d);
        fr_model_embed(b->target, s->ids[i + 1], c->embedding + (size_t)(first + i) * d);
        c->position[first + i] = i;
    }
}

// Guess k of base n reads the token after row i + k - 1 of its sample, where there is such a row.
static void set_tokens(fr_unrolled_batch *b, int n, const fr_sample *s, int first) {
    for (int k = b->ahead ? 1 : 2; k <= b->depth; k++) {
        const int row = b->at[n] + k - 1;
        b->chain->token[k + b->ahead][n] = b->real[n] && row < s->n ? first + row : -1;
    }
}

static void set_bases(fr_unrolled_batch *b, const fr_sample *s, int first, float feed,
                      uint64_t noise) {
    fr_unrolled *c = b->chain;
    for (int i = 0; i < s->n; i++) {
        if (!is_base(s, i, b->depth)) continue;
        const int n = c->bases.n++;
        c->row[n] = first + i;
        b->sample[n] = s;
        b->at[n] = i;
        b->real[n] = fr_uniform(noise, (uint64_t)n) < (double)feed;
        set_tokens(b, n, s, first);
    }
}

void fr_unrolled_batch_set(fr_unrolled_batch *b, const fr_batch *batch, float feed,
                           uint64_t noise) {
    fr_unrolled *c = b->chain;
    int rows = 0;
    c->bases.n = 0;
    b->extra = 0;
    for (int i = 0; i < batch->n; i++) {
        c->row0[i] = rows;
        c->base0[i] = c->bases.n;
        read_rows(b, &batch->sample[i], rows);
        set_bases(b, &batch->sample[i], rows, feed, noise);
        rows += batch->sample[i].n;
    }
    c->row0[batch->n] = c->rows = rows;
    c->base0[batch->n] = c->bases.n;
    c->bases.contexts = batch->n;
}

// ---------------------------------------------------------------- the loss of a guess
void fr_unrolled_batch_list(fr_unrolled_batch *b, int k) {
    const float weight = fr_loss_weight(k);
    b->counted = 0;
    for (int n = 0; n < b->chain->bases.n; n++) {
        b->all[k][n] = (fr_loss_got){NAN, COUNTS_NOT, NAN};
        if (!counts(b->sample[n], b->at[n] + k)) continue;
        b->base[b->counted] = n;
        b->last[b->counted] = b->chain->row[n] + k - 1;
        b->want[b->counted++] = (fr_loss_row){b->sample[n], b->at[n] + k, weight};
    }
}

void fr_unrolled_batch_keep(fr_unrolled_batch *b, int k) {
    for (int i = 0; i < b->counted; i++)
        b->all[k][b->base[i]] = b->got[i];
}

void fr_unrolled_batch_feature(fr_unrolled_batch *b, int k, float by, const float *std) {
    fr_unrolled *c = b->chain;
    const size_t d = (size_t)c->shape.d;
    const float *g = c->step[k + b->ahead].g;
    double sum = 0;
    if (by <= 0) return;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < b->counted; i++) {
        const size_t n = (size_t)b->base[i], f = (size_t)(c->row[n] + k);
        b->distance[i] = b->got[i].nats == b->got[i].nats
                             ? fr_smooth_l1(c->dg + n * d, g + n * d, c->state + f * d, std,
                                            by * b->want[i].weight, c->shape.d)
                             : 0; // it has no loss
    }
    for (int i = 0; i < b->counted; i++)
        sum += (double)(by * b->want[i].weight) * (double)b->distance[i];
    b->extra += sum;
}

void fr_unrolled_batch_tally(const fr_unrolled_batch *b, fr_tally *tally) {
    for (int n = 0; n < b->chain->bases.n; n++) {
        bool alive = true;
        for (int k = 1; k <= b->depth; k++) {
            if (b->all[k][n].rank == COUNTS_NOT)
                alive = false;
            else
                fr_tally_count(tally, k - 1, fr_loss_weight(k), &b->all[k][n], &alive);
        }
    }
    tally->loss += b->extra;
}

// ---------------------------------------------------------------- opening
fr_status fr_unrolled_batch_open(fr_unrolled_batch *b, fr_unrolled *chain, const fr_model *target,
                                 int depth, fr_error *err) {
    const size_t n = (size_t)chain->shape.max_rows;
    *b = (fr_unrolled_batch){
        .target = target, .chain = chain, .depth = depth, .ahead = chain->shape.given};
    b->sample = fr_alloc_array(n, sizeof *b->sample);
    b->at = fr_alloc_array(n, sizeof *b->at);
    b->real = fr_alloc_array(n, sizeof *b->real);
    b->base = fr_alloc_array(n, sizeof *b->base);
    b->last = fr_alloc_array(n, sizeof *b->last);
    b->want = fr_alloc_array(n, sizeof *b->want);
    b->got = fr_alloc_array(n, sizeof *b->got);
    b->distance = fr_alloc_array(n, sizeof *b->distance);
    bool ok =
        b->sample && b->at && b->real && b->base && b->last && b->want && b->got && b->distance;
    for (int k = 1; k <= depth; k++)
        ok = (b->all[k] = fr_alloc_array(n, sizeof *b->all[k])) && ok;
    b->bytes = n * (sizeof *b->sample + 3 * sizeof(int) + sizeof *b->real + sizeof *b->want +
                    (1 + (size_t)depth) * sizeof *b->got + sizeof *b->distance);
    return ok ? FR_OK : fr_fail(err, FR_ENOMEM, "train: no memory for %zu rows", n);
}

void fr_unrolled_batch_close(fr_unrolled_batch *b) {
    fr_free(b->sample), fr_free(b->at), fr_free(b->real), fr_free(b->base), fr_free(b->last);
    fr_free(b->want), fr_free(b->got), fr_free(b->distance);
    for (int k = 1; k <= FR_DEPTHS; k++)
        fr_free(b->all[k]);
    *b = (fr_unrolled_batch){0};
}
