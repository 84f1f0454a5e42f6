// attached_job.h — a learner of attached rows on two short texts: its slopes by differences, its pack.
#ifndef FR_TESTS_TRAIN_ATTACHED_JOB_H
#define FR_TESTS_TRAIN_ATTACHED_JOB_H
#include "support/near.h"
#include "train/attached/attached_learner.h"
#include "train/direction.h"
#include "train/learner/pack_write.h"
#include "train/made_job.h"
#include "train/method/learners.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 2, DEPTH = 3, ROWS = 120 };

static inline fr_status open_learner(job *j, const char *name, const char *const *options,
                                     fr_learner **out, fr_error *err) {
    const fr_learner_method *method;
    const fr_learner_config config = {.target = &j->target.model,
                                      .vocab = &j->vocab,
                                      .format = &j->form,
                                      .gemm = j->gemm,
                                      .depth = DEPTH,
                                      .max_rows = ROWS,
                                      .seed = 3,
                                      .options = options};
    if (fr_learner_find(&method, name, err)) fail_msg("%s", err->text);
    assert_true(method->passes);
    return method->open(out, &config, err);
}

static inline job *open_job(const char *name, const char *const *options) {
    job *j = new_job(4, &(fr_shard_format){.top = 6});
    fr_error err;
    for (int i = 0; i < SAMPLES; i++)
        add_sample(j, 14 + 9 * i, 4 + i);
    if (open_learner(j, name, options, &j->learner, &err)) fail_msg("%s", err.text);
    return j;
}

static inline fr_tally judged(job *j) {
    fr_tally t = {0};
    j->learner->ops->judge(j->learner, &j->batch, &t);
    return t;
}

static inline fr_tally learned(job *j, uint64_t noise) {
    fr_tally t = {0};
    memset(j->learner->params.grad, 0, j->learner->params.n_floats * sizeof(float));
    j->learner->ops->learn(j->learner, &j->batch, noise, &t);
    return t;
}

static inline void begin_anywhere(job *j) {
    fr_params *p = &j->learner->params;
    for (int i = 0; i < p->n; i++) {
        const bool vectors = !strcmp(p->item[i].name, "ppd.vectors");
        fr_param_random(p, i, vectors ? 1 : strncmp(p->item[i].name, "ppd", 3) ? 0.05f : 0.3f, 3);
    }
}

// ---------------------------------------------------------------- gradients
static inline double loss_of_job(void *of) {
    return judged(of).loss;
}

static inline void check_slopes(job *j, int param) {
    fr_params *p = &j->learner->params;
    const int n = p->item[param].rows * p->item[param].cols;
    for (unsigned seed = 0; seed < 3; seed++)
        check_direction(p, param, seed, (seed ? 1e-3 : 2e-4) * (n > 1000 ? 0.2 : 1), 4e-3,
                        loss_of_job, j);
}

// ---------------------------------------------------------------- packs
static inline fr_gguf *write_and_open(job *j, fr_type type, char path[64]) {
    fr_tally t = {0};
    fr_gguf *g;
    fr_error err;
    const fr_pack_facts facts = {.target_name = "tiny",
                                 .target = "0123456789abcdef0123456789abcdef",
                                 .data = (const char *const[]){"here"},
                                 .n_data = 1,
                                 .answers = "own",
                                 .command = "by hand",
                                 .judged = &t};
    snprintf(path, 64, "attached_%ld.gguf", (long)getpid());
    if (fr_pack_write(path, j->learner, &facts, type, &err)) fail_msg("%s", err.text);
    if (fr_gguf_open(&g, path, &err)) fail_msg("%s", err.text);
    return g;
}

static inline void assert_u32(const fr_gguf *g, const char *key, uint32_t want) {
    uint32_t value = 0;
    assert_int_equal(fr_gguf_get_u32(g, key, &value, NULL), FR_OK);
    assert_int_equal(value, want);
}

static inline void assert_tensor(const fr_gguf *g, const char *name, fr_type type, int64_t ne0,
                                 int64_t ne1) {
    const fr_gguf_tensor *t = fr_gguf_tensor_find(g, name);
    assert_non_null(t);
    assert_true(t->type == type && t->n_dims == 2 && t->ne[0] == ne0 && t->ne[1] == ne1);
}

// Reads the pack into parameters of another value; they come back to within `off`.
static inline void assert_comes_back(job *j, const fr_gguf *g, float off) {
    fr_params *p = &j->learner->params;
    fr_error err;
    float *wrote = malloc(p->n_floats * sizeof *wrote);
    memcpy(wrote, p->w, p->n_floats * sizeof *wrote);
    memset(p->w, 0, p->n_floats * sizeof *wrote);
    if (fr_pack_read(j->learner, g, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < p->n_floats; i++)
        assert_near(p->w[i], wrote[i], off);
    free(wrote);
}

#endif
