#include "train/attached/attached_learner.h"
#include "base/alloc.h"
#include "base/control_group.h"
#include "decode/draw/sampler.h"
#include "train/learner/tally.h"
#include <assert.h>
#include <string.h>
#include <unistd.h>

static int least(int a, int b) {
    return a < b ? a : b;
}

// ---------------------------------------------------------------- bases of a batch
// Row 0 is left out: its residuals are of another size than all others.
static bool may_be_base(const fr_sample *s, int row) {
    return row >= 1 && row + 1 < s->n && s->flags[row + 1] & FR_ROW_ANSWER;
}

static int first_row(const fr_attached_learner *a, const fr_sample *s, bool learns) {
    return learns && a->last && s->n > a->last ? s->n - a->last : 0;
}

// `points` of the rows that may be bases: drawn without repetition, every choice equally likely
// [Knuth, TAOCP 2, 3.4.2, algorithm S]; without noise evenly spaced.
static void choose_bases(fr_attached_learner *a, int sample, const uint64_t *noise) {
    const fr_sample *s = &a->batch->sample[sample];
    const int first = first_row(a, s, noise != NULL);
    int64_t count = 0, seen = 0, taken = 0;
    for (int row = first; row < s->n; row++)
        count += may_be_base(s, row);
    const int most = noise ? a->points : least(a->points, FR_ATTACHED_LEARNER_JUDGED);
    const int64_t points = count < most ? count : most;
    for (int row = first; row < s->n && taken < points; row++) {
        if (!may_be_base(s, row)) continue;
        const uint64_t place = (uint64_t)sample << 32 | (uint64_t)row;
        const bool takes =
            noise ? fr_uniform(*noise, place) * (double)(count - seen) < (double)(points - taken)
                  : (seen + 1) * points / count > seen * points / count;
        seen++;
        if (!takes) continue;
        assert(a->n_bases < a->max_bases);
        a->sample[a->n_bases] = sample;
        a->row[a->n_bases++] = row;
        taken++;
    }
}

// The context of a sample ends at its last base.
static void set_batch(fr_attached_learner *a, const fr_batch *batch, const uint64_t *noise) {
    a->batch = batch;
    a->n_bases = a->context.rows = 0;
    for (int s = 0; s < batch->n && fr_go_on(a->learner.watch); s++) {
        const int before = a->n_bases;
        a->first[s] = a->context.rows;
        choose_bases(a, s, noise);
        if (a->n_bases > before)
            fr_trunk_context_add(&a->context, batch->sample[s].ids, a->row[a->n_bases - 1] + 1);
    }
}

// ---------------------------------------------------------------- a piece
// A chain for each of the bases [at, at + n).
static void hang_chains(fr_attached_learner *a) {
    fr_trunk *t = &a->trunk;
    int b = 0;
    for (int s = 0; s < a->batch->n; s++) {
        t->row0[s] = a->first[s];
        t->base0[s] = b;
        for (; b < a->n && a->sample[a->at + b] == s; b++)
            t->row[b] = a->first[s] + a->row[a->at + b];
    }
    t->row0[a->batch->n] = a->context.rows;
    t->base0[a->batch->n] = t->chains.n = a->n;
    t->chains.contexts = a->batch->n;
}

static void list_wanted(fr_attached_learner *a) {
    for (int i = 0; i < a->guesses; i++)
        for (int b = 0; b < a->n; b++) {
            const fr_sample *s = &a->batch->sample[a->sample[a->at + b]];
            const int row = a->row[a->at + b] + i + 1;
            const bool counts = row < s->n && s->flags[row] & FR_ROW_ANSWER;
            a->want[i * a->n + b] = (fr_loss_row){counts ? s : NULL, row, fr_loss_weight(i + 1)};
        }
}

static float weight_of(const fr_attached_learner *a, int step) {
    return a->weights < 0 ? 1 / (float)a->members
                          : fr_param_w(&a->learner.params, a->weights)[step];
}

// Row b of guess i: the sum of its members' final states with their weights.
static void average(fr_attached_learner *a) {
    const size_t d = (size_t)a->context.m->config.d, n = (size_t)a->n;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < a->guesses * a->n; r++) {
        const int first = r / a->n * a->members;
        float *to = a->state + (size_t)r * d;
        memset(to, 0, d * sizeof *to);
        for (int s = first; s < first + a->members; s++) {
            const float *from = a->trunk.final + ((size_t)s * n + (size_t)(r % a->n)) * d;
            const float weight = weight_of(a, s);
            for (size_t k = 0; k < d; k++)
                to[k] += weight * from[k];
        }
    }
}

static double inner(const float *x, const float *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

// Gradients of what a step's rows say, and of its weight where that is learned.
static void average_back(fr_attached_learner *a) {
    const size_t n = (size_t)a->n * (size_t)a->context.m->config.d;
#pragma omp parallel for schedule(static)
    for (int s = 0; s < a->guesses * a->members; s++) {
        const float *from = a->dstate + (size_t)(s / a->members) * n;
        const float weight = weight_of(a, s);
        for (size_t k = 0; k < n; k++)
            a->trunk.dx[(size_t)s * n + k] = weight * from[k];
        if (a->weights >= 0)
            fr_param_grad(&a->learner.params, a->weights)[s] +=
                (float)inner(from, a->trunk.final + (size_t)s * n, n);
    }
}

static void count_piece(const fr_attached_learner *a, fr_tally *tally) {
    for (int b = 0; b < a->n; b++) {
        bool alive = true;
        for (int i = 0; i < a->guesses; i++) {
            const int r = i * a->n + b;
            if (a->want[r].sample)
                fr_tally_count(tally, i, a->want[r].weight, &a->got[r], &alive);
            else
                alive = false;
        }
    }
}

static void run_piece(fr_attached_learner *a, bool learns, fr_tally *tally) {
    const int d = a->context.m->config.d;
    const fr_params *p = &a->learner.params;
    const bool own = a->head >= 0;
    hang_chains(a);
    list_wanted(a);
    a->enter(a);
    fr_trunk_forward(&a->trunk);
    if (!fr_go_on(a->trunk.watch)) return;
    average(a);
    const fr_loss_term term = {.x = a->state,
                               .ldx = d,
                               .k = d,
                               .w = own ? fr_param_w(p, a->head) : a->learner.vocab->head,
                               .dx = learns ? a->dstate : NULL,
                               .dw = learns && own ? fr_param_grad(p, a->head) : NULL};
    fr_loss_run(&a->loss, &term, 1, a->want, a->guesses * a->n, a->got);
    count_piece(a, tally);
    if (!learns) return;
    average_back(a);
    fr_trunk_backward(&a->trunk);
    if (fr_go_on(a->trunk.watch)) a->leave(a);
}

static void run(fr_attached_learner *a, const fr_batch *batch, const uint64_t *noise,
                fr_tally *tally) {
    a->trunk.watch = a->learner.watch;
    set_batch(a, batch, noise);
    for (a->at = 0; a->at < a->n_bases && fr_go_on(a->trunk.watch); a->at += a->n) {
        a->n = least(a->n_bases - a->at, a->max_piece);
        run_piece(a, noise != NULL, tally);
    }
}

void fr_attached_learner_learn(fr_learner *l, const fr_batch *batch, uint64_t noise,
                               fr_tally *tally) {
    run((fr_attached_learner *)(void *)l, batch, &noise, tally);
}

void fr_attached_learner_judge(fr_learner *l, const fr_batch *batch, fr_tally *tally) {
    run((fr_attached_learner *)(void *)l, batch, NULL, tally);
}

// ---------------------------------------------------------------- opening
static fr_status take_memory(fr_attached_learner *a, fr_error *err) {
    const size_t bases = (size_t)a->max_bases;
    const size_t rows = (size_t)a->max_piece * (size_t)a->guesses;
    const size_t floats = rows * (size_t)a->context.m->config.d;
    a->sample = fr_alloc_array(bases, sizeof *a->sample);
    a->row = fr_alloc_array(bases, sizeof *a->row);
    a->first = fr_alloc_array(FR_BATCH_SAMPLES, sizeof *a->first);
    a->state = fr_alloc_array(floats, sizeof *a->state);
    a->dstate = fr_alloc_array(floats, sizeof *a->dstate);
    a->want = fr_alloc_array(rows, sizeof *a->want);
    a->got = fr_alloc_array(rows, sizeof *a->got);
    a->bytes = 2 * (bases + floats) * sizeof(float) + rows * (sizeof *a->want + sizeof *a->got);
    return a->sample && a->row && a->first && a->state && a->dstate && a->want && a->got
               ? FR_OK
               : fr_fail(err, FR_ENOMEM, "train: no memory for %zu rows", rows);
}

// A third of what this process may have of the memory goes into weights as floats, at most.
static bool has_room(const fr_model *m, int from) {
    const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    fr_control_group group;
    fr_control_group_read(&group, "");
    return fr_trunk_weight_bytes(m, from) < fr_control_group_room(&group, all) / 3;
}

fr_status fr_attached_learner_open(fr_attached_learner *a, const fr_learner_config *config,
                                   const fr_trunk_shape *shape, const int *taps, int n_taps,
                                   fr_error *err) {
    fr_learner *l = &a->learner;
    fr_trunk_shape of = *shape;
    const int piece = FR_ATTACHED_LEARNER_ROWS / shape->steps;
    assert(shape->steps == a->guesses * a->members);
    a->max_bases = least(a->points * FR_BATCH_SAMPLES, config->max_rows);
    a->max_piece = least(piece, a->max_bases);
    of.max_chains = a->max_piece;
    of.keeps = has_room(config->target, shape->entry[0]);
    fr_status st = fr_trunk_context_open(&a->context, config->target, shape->entry[0], taps, n_taps,
                                         config->max_rows, err);
    if (!st) st = fr_trunk_open(&a->trunk, &of, &a->context, l->gemm, err);
    if (!st) st = fr_loss_open(&a->loss, l->vocab, l->gemm, config->format->top, err);
    a->loss.hard = a->hard;
    return st ? st : take_memory(a, err);
}

void fr_attached_learner_close(fr_attached_learner *a) {
    fr_trunk_close(&a->trunk);
    fr_trunk_context_close(&a->context);
    fr_loss_close(&a->loss);
    fr_params_free(&a->learner.params);
    fr_free(a->sample), fr_free(a->row), fr_free(a->first), fr_free(a->state), fr_free(a->dstate);
    fr_free(a->want), fr_free(a->got);
}

size_t fr_attached_learner_bytes(const fr_attached_learner *a) {
    return a->bytes + a->context.bytes + a->trunk.bytes + fr_loss_bytes(&a->loss);
}

// ---------------------------------------------------------------- options
fr_status fr_attached_learner_depth(int *depth, int asked, fr_error *err) {
    *depth = asked ? asked : FR_ATTACHED_LEARNER_DEPTH;
    return *depth <= FR_ATTACHED_LEARNER_GUESSES
               ? FR_OK
               : fr_fail(err, FR_EARG, "--depth %d: expected 1 to %d tokens", asked,
                         FR_ATTACHED_LEARNER_GUESSES);
}
