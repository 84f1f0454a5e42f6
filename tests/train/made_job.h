// made_job.h — what learners are opened on in tests: a tiny target, a draft vocabulary of some of
// its tokens, and a batch of made samples (made_data.h).
#ifndef FR_TESTS_TRAIN_MADE_JOB_H
#define FR_TESTS_TRAIN_MADE_JOB_H
#include "train/learner/learner.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "kern/repack.h"
#include "support/open_model.h"
#include "train/data/draft_vocab.h"
#include "train/made_data.h"

enum { DRAFT = 50, MADE_SAMPLES = 3 };

typedef struct job {
    fr_opened target;
    fr_shard_format form;
    fr_draft_vocab vocab; // tokens 4 to DRAFT + 3
    fr_gemm *gemm;
    fr_learner *learner; // NULL, or closed with the job
    made_sample sample[MADE_SAMPLES];
    fr_batch batch;
} job;

static inline void make_vocab(job *j) {
    const size_t n = (size_t)j->form.n_vocab, d = (size_t)j->form.d;
    j->vocab = (fr_draft_vocab){.n = DRAFT,
                                .ids = fr_alloc_array(DRAFT, sizeof(int32_t)),
                                .index = fr_alloc_array(n, sizeof(int32_t)),
                                .head = fr_alloc_array(DRAFT * d, sizeof(float))};
    for (size_t i = 0; i < n; i++)
        j->vocab.index[i] = -1;
    for (int i = 0; i < DRAFT; i++) {
        j->vocab.index[j->vocab.ids[i] = i + 4] = i;
        fr_matrix_row(&j->target.model.head, i + 4, j->vocab.head + (size_t)i * d);
    }
}

// Of a target of n_layer layers; the samples will have these taps and so long distributions.
static inline job *new_job(int n_layer, const fr_shard_format *form) {
    job *j = calloc(1, sizeof *j);
    fr_opened_open(&j->target, &(fr_tiny_options){.n_layer = n_layer}, &fr_kern_scalar, 1);
    j->form = *form;
    j->form.d = j->target.model.config.d;
    j->form.n_vocab = j->target.model.config.n_vocab;
    make_vocab(j);
    assert_int_equal(fr_gemm_open(&j->gemm, 1, FR_GEMM_F32, NULL), FR_OK);
    return j;
}

static inline void add_sample(job *j, int n, int dist_first) {
    made_sample *m = &j->sample[j->batch.n];
    make_sample(m, &j->form, (uint64_t)j->batch.n, n, dist_first);
    j->batch.sample[j->batch.n++] = m->s;
    j->batch.rows += n;
}

// Every second row is no answer's: no chain of guesses goes on over it.
static inline void leave_gaps(job *j) {
    for (int s = 0; s < j->batch.n; s++)
        for (int i = 0; i < j->batch.sample[s].n; i += 2)
            j->sample[s].flags[i] = 0;
}

// Sums over parameters of many seeds: guesses at the first distance that were right, and chains
// that came to the third one.
static inline void follow_chains(job *j, double *first, double *third) {
    fr_params *p = &j->learner->params;
    *first = *third = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fr_tally t = {0};
        for (int i = 0; i < p->n; i++)
            fr_param_random(p, i, 0.5f, seed);
        j->learner->ops->judge(j->learner, &j->batch, &t);
        *first += t.followed[0];
        *third += t.reached[2];
    }
}

static inline void close_job(job *j) {
    if (j->learner) j->learner->ops->close(j->learner);
    fr_gemm_close(j->gemm);
    fr_draft_vocab_close(&j->vocab);
    fr_opened_close(&j->target);
    free(j);
}

#endif
