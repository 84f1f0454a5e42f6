// learn_unigram.c — its learner: scores b of the draft vocabulary, by cross entropy of softmax(b).
#include "base/alloc.h"
#include "train/learner/loss.h"
#include "train/learner/pack_write.h"
#include "train/learner/tally.h"

typedef struct unigram {
    fr_learner learner;
    fr_loss loss;
    int scores, max_rows;
    float *ones;  // [max_rows]: the input of every row
    float *slope; // [max_rows]: its gradient, which goes nowhere
    fr_loss_row *want;
    fr_loss_got *got;
} unigram;

static int list_rows(unigram *u, const fr_batch *batch) {
    int n = 0;
    for (int s = 0; s < batch->n; s++)
        for (int i = 0; i < batch->sample[s].n && n < u->max_rows; i++)
            if (batch->sample[s].flags[i] & FR_ROW_ANSWER)
                u->want[n++] = (fr_loss_row){&batch->sample[s], i, 1};
    return n;
}

static void run(unigram *u, const fr_batch *batch, bool learns, fr_tally *tally) {
    const int n = list_rows(u, batch);
    const fr_loss_term term = {.x = u->ones,
                               .ldx = 1,
                               .k = 1,
                               .w = fr_param_w(&u->learner.params, u->scores),
                               .dx = learns ? u->slope : NULL,
                               .dw = learns ? fr_param_grad(&u->learner.params, u->scores) : NULL};
    fr_loss_run(&u->loss, &term, 1, u->want, n, u->got);
    for (int i = 0; i < n; i++) {
        bool alive = true;
        fr_tally_count(tally, 0, 1, &u->got[i], &alive);
    }
}

static void learn(fr_learner *l, const fr_batch *batch, uint64_t noise, fr_tally *tally) {
    (void)noise;
    run((unigram *)l, batch, true, tally);
}

static void judge(fr_learner *l, const fr_batch *batch, fr_tally *tally) {
    run((unigram *)l, batch, false, tally);
}

static void write_pack(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    fr_gguf_writer_u32(w, "forerun.heads", (uint32_t)l->depth);
    fr_pack_params(w, &l->params, type);
}

static size_t workspace(const fr_learner *l) {
    const unigram *u = (const unigram *)l;
    return fr_loss_bytes(&u->loss) +
           (size_t)u->max_rows * (2 * sizeof *u->ones + sizeof *u->want + sizeof *u->got);
}

static void close_unigram(fr_learner *l) {
    unigram *u = (unigram *)l;
    fr_params_free(&l->params);
    fr_loss_close(&u->loss);
    fr_free(u->ones);
    fr_free(u->slope);
    fr_free(u->want);
    fr_free(u->got);
    fr_free(u);
}

static const fr_learner_ops OPS = {.learn = learn,
                                   .judge = judge,
                                   .write = write_pack,
                                   .workspace = workspace,
                                   .close = close_unigram};

static fr_status open_unigram(fr_learner **out, const fr_learner_config *config, fr_error *err) {
    unigram *u = fr_alloc_zero(sizeof *u);
    *out = NULL;
    if (!u) return fr_fail(err, FR_ENOMEM, "train: no memory");
    u->learner = (fr_learner){.ops = &OPS,
                              .name = "unigram",
                              .target = config->target,
                              .vocab = config->vocab,
                              .gemm = config->gemm,
                              .rate = 0.1,
                              .depth = config->depth ? config->depth : 1};
    const size_t rows = (size_t)(u->max_rows = config->max_rows);
    u->scores = fr_params_add(&u->learner.params, "unigram.scores", 1, config->vocab->n);
    fr_status st = fr_params_alloc(&u->learner.params, err);
    if (!st) st = fr_loss_open(&u->loss, config->vocab, config->gemm, config->format->top, err);
    u->ones = fr_alloc_array(rows, sizeof *u->ones);
    u->slope = fr_alloc_array(rows, sizeof *u->slope);
    u->want = fr_alloc_array(rows, sizeof *u->want);
    u->got = fr_alloc_array(rows, sizeof *u->got);
    if (!st && (!u->ones || !u->slope || !u->want || !u->got))
        st = fr_fail(err, FR_ENOMEM, "train: no memory for %zu rows", rows);
    if (st) {
        close_unigram(&u->learner);
        return st;
    }
    for (size_t i = 0; i < rows; i++)
        u->ones[i] = 1;
    *out = &u->learner;
    return FR_OK;
}

extern const fr_learner_method fr_learn_unigram;
const fr_learner_method fr_learn_unigram = {
    .name = "unigram", .open = open_unigram, .batch_rows = 256};
