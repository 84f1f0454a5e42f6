// A training that is interrupted anywhere, in a fit, a judgement or a step, and gone on with ends
// with the bits of one that is not; and where the disk is full the best parameters come first.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "support/open_model.h"
#include "support/quick.h"
#include "train/checkpoint.h"
#include "train/data/draft_vocab.h"
#include "train/made_data.h"
#include "train/method/learners.h"
#include "train/train.h"
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS = 12, VOCAB = 270, ROWS = 64 };

typedef struct world {
    fr_opened target;
    fr_tokenizer *tokenizer;
    fr_dataset data;
    fr_draft_vocab vocab;
    fr_gemm *gemm;
    fr_comm comm;
    char folder[64], more[80], checkpoint[96];
} world;

static world w;

static int drop(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s, (void)type, (void)f;
    return remove(path);
}

static int open_world(void **state) {
    (void)state;
    fr_error err;
    const fr_kern *kern;
    w = (world){.folder = "interrupts_XXXXXX", .comm = {.n = 1}};
    if (!mkdtemp(w.folder) || fr_kern_pick(&kern, "auto", &err)) return -1;
    snprintf(w.checkpoint, sizeof w.checkpoint, "%s/ckpt", w.folder);
    fr_opened_open(&w.target, &(fr_tiny_options){.n_layer = 3}, kern, 1);
    fr_shard_format f = {.d = 64, .n_vocab = w.target.model.config.n_vocab, .top = 4};
    fr_gguf_fingerprint(w.target.gguf, f.target);
    snprintf(w.more, sizeof w.more, "%s/more", w.folder);
    const char *const folders[] = {w.folder, w.more};
    return fr_tokenizer_open(&w.tokenizer, w.target.gguf, &err) ||
           make_shards(w.folder, &f, 1, 40, &err) || make_shards(w.more, &f, 101, 20, &err) ||
           fr_dataset_open(&w.data, folders, 2, f.target, &(fr_dataset_limits){.max_rows = ROWS},
                           NULL, NULL, &err) ||
           fr_draft_vocab_open(&w.vocab, &w.target.model, w.tokenizer, &w.data, VOCAB, NULL, NULL,
                               &err) ||
           fr_gemm_open(&w.gemm, 1, FR_GEMM_F32, &err);
}

static int close_world(void **state) {
    (void)state;
    fr_gemm_close(w.gemm);
    fr_draft_vocab_close(&w.vocab);
    fr_dataset_close(&w.data);
    fr_tokenizer_close(w.tokenizer);
    fr_opened_close(&w.target);
    return nftw(w.folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

// ---------------------------------------------------------------- a training
typedef struct caller {  // what the loop asks and tells
    int asked, patience; // how often; false from then on; 0: never
    int phases;          // interrupted in a fit or a judgement
    uint64_t kept;       // best_step at the last keep, plus 1
    bool broken;         // what it begins with are no numbers
    double average;      // of the loop's configuration
    bool parts;          // one folder after the other
    bool
        hopeless; // at a rate at which little is learned, and ended by one judgement without a gain
    double settled;  // of the learner
    double *sum;     // of the parameters after the steps that are averaged; or NULL
    uint64_t seen;   // steps
    uint64_t fitted; // tokens that first values were fitted to
} caller;

// After steps 10 to 12 of 12.
static const double LAST = 0.25;
static void look_at_step(caller *c, const fr_train *t) {
    const fr_params *p = &t->learner->params;
    if (t->state.step == c->seen) return;
    c->seen = t->state.step;
    assert_int_equal(t->state.part, c->parts && c->seen > STEPS / 2);
    for (size_t i = 0; c->sum && i < p->n_floats && c->seen >= 10; i++)
        c->sum[i] += (double)p->w[i];
}

static bool watch(void *user, const fr_train *t) {
    caller *c = user;
    look_at_step(c, t);
    if (t->phase.what && strstr(t->phase.what, "fitting")) c->fitted = t->phase.done;
    if (!c->patience || c->asked++ < c->patience) return true;
    c->phases += t->phase.what != NULL;
    return false;
}

static fr_status keep(void *user, const fr_train *t, fr_error *err) {
    (void)err;
    ((caller *)user)->kept = t->state.best_step + 1;
    return FR_OK;
}

// Runs from the beginning or from the checkpoint; `end` gets the state that stands there then.
static fr_status train(const char *method, caller *c, bool resume, fr_train_state *end,
                       fr_error *err) {
    const fr_learner_method *found;
    fr_learner *learner;
    fr_train t;
    if (fr_learner_find(&found, method, err)) fail_msg("%s", err->text);
    const char *const none[] = {NULL};
    const fr_learner_config lc = {.target = &w.target.model,
                                  .vocab = &w.vocab,
                                  .format = &w.data.format,
                                  .gemm = w.gemm,
                                  .depth = 2,
                                  .max_rows = ROWS,
                                  .seed = 3,
                                  .options = none};
    if (found->open(&learner, &lc, err)) fail_msg("%s: %s", method, err->text);
    const fr_train_config config = {.steps = STEPS,
                                    .judgements = 20,
                                    .rate = c->hopeless ? 30 : 0.01,
                                    .average = c->average,
                                    .n_shares = c->parts ? 2 : 0,
                                    .share = {0.5, 0.5},
                                    .batch_rows = ROWS,
                                    .accumulate = 2,
                                    .patience = c->hopeless ? 1 : 6,
                                    .seed = 3,
                                    .identity = method,
                                    .checkpoint = w.checkpoint,
                                    .checkpoint_every = 1e9,
                                    .resume = resume,
                                    .watch = watch,
                                    .keep = keep,
                                    .user = c};
    fr_status st = fr_train_open(&t, &config, learner, &w.data, &w.comm, err);
    if (st) {
        learner->ops->close(learner);
        return st;
    }
    if (c->broken) learner->params.w[0] = NAN;
    if (c->hopeless) learner->settled = c->settled;
    st = fr_train_run(&t, err);
    if (end) *end = t.state;
    fr_train_close(&t);
    learner->ops->close(learner);
    return st;
}

// ---------------------------------------------------------------- promises

// Each run comes a question further than the one before, under FR_QUICK two, and is interrupted there.
static void ends_with_the_same_bits(const char *method, double average, bool parts) {
    fr_checkpoint a, b;
    fr_map whole, pieces;
    fr_error err;
    char first[112];
    caller c = {.average = average, .parts = parts};
    unlink(w.checkpoint);
    if (train(method, &c, false, NULL, &err)) fail_msg("%s: %s", method, err.text);
    snprintf(first, sizeof first, "%s/whole", w.folder);
    assert_int_equal(rename(w.checkpoint, first), 0);
    const int further = fr_test_is_quick() ? 2 : 1;
    int interrupts = 0, phases = 0;
    fr_status st;
    do {
        c = (caller){.patience = 1 + interrupts++ * further, .average = average, .parts = parts};
        st = train(method, &c, interrupts > 1, NULL, &err);
        if (st && st != FR_EINTR) fail_msg("%s: %s", method, err.text);
        phases += c.phases;
    } while (st);
    print_message("%s: %d interrupts, %d of them not between steps\n", method, interrupts, phases);
    assert_true(interrupts > 3 && phases > 1);
    if (fr_checkpoint_read(&a, &whole, first, &err)) fail_msg("%s", err.text);
    if (fr_checkpoint_read(&b, &pieces, w.checkpoint, &err)) fail_msg("%s", err.text);
    assert_int_equal(a.n_floats, b.n_floats);
    assert_int_equal(a.n_blocks, average > 0 ? 5 : 4);
    for (int i = 0; i < a.n_blocks; i++)
        assert_memory_equal(a.block[i], b.block[i], a.n_floats * sizeof(float));
    const fr_train_state *x = a.state, *y = b.state;
    assert_int_equal(x->rows, y->rows);
    assert_int_equal(x->best_step, y->best_step);
    assert_memory_equal(&x->best_loss, &y->best_loss, sizeof x->best_loss);
    assert_int_equal(a.curve_bytes, b.curve_bytes);
    fr_map_close(&whole);
    fr_map_close(&pieces);
}

static void interrupts_change_no_bit(void **state) {
    static const char *const methods[] = {"medusa",  "eagle", "hidden-state",
                                          "chimera", "ppd",   "hidden-transfer"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        ends_with_the_same_bits(methods[i], 0, false);
    ends_with_the_same_bits("eagle", LAST, true);
}

// Block 4 of a checkpoint is the mean, block 3 the best, which the mean is if it was judged so.
static void the_mean_is_that_of_the_last_steps(void **state) {
    fr_checkpoint a;
    fr_map map;
    fr_error err;
    (void)state;
    caller c = {.average = LAST, .sum = fr_alloc_array(1 << 20, sizeof(double))};
    memset(c.sum, 0, sizeof(double) << 20);
    unlink(w.checkpoint);
    if (train("eagle", &c, false, NULL, &err)) fail_msg("%s", err.text);
    if (fr_checkpoint_read(&a, &map, w.checkpoint, &err)) fail_msg("%s", err.text);
    const fr_train_state *s = a.state;
    assert_true(a.n_floats < 1 << 20);
    assert_int_equal(s->averaged, 3);
    assert_int_equal(c.seen, STEPS);
    for (size_t i = 0; i < a.n_floats; i++)
        assert_true(fabs((double)a.block[4][i] - c.sum[i] / 3) < 1e-6 * (1 + fabs(c.sum[i])));
    if (s->best_step == STEPS)
        assert_memory_equal(a.block[3], a.block[4], a.n_floats * sizeof(float));
    fr_map_close(&map);
    fr_free(c.sum);
}

// Of a checkpoint that is whole: it would be gone on with from a mean that is not there.
static void a_state_that_cannot_be_is_refused(void **state) {
    static const struct {
        uint64_t averaged;
        double next_seconds, best_loss;
    } way[] = {{0, 1, 1}, {1, 1, 1}, {0, INFINITY, 1}, {0, 1, NAN}};
    fr_error err;
    (void)state;
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        fr_checkpoint whole;
        fr_map map;
        caller c = {0};
        unlink(w.checkpoint);
        if (train("medusa", &c, false, NULL, &err)) fail_msg("%s", err.text);
        if (fr_checkpoint_read(&whole, &map, w.checkpoint, &err)) fail_msg("%s", err.text);
        fr_train_state s = *(const fr_train_state *)whole.state;
        s.averaged = way[i].averaged;
        s.next_seconds = way[i].next_seconds;
        s.best_loss = way[i].best_loss;
        whole.state = &s;
        if (fr_checkpoint_write(&whole, w.checkpoint, &err)) fail_msg("%s", err.text);
        fr_map_close(&map);
        const fr_status st = train("medusa", &c, true, NULL, &err);
        assert_int_equal(st, i ? FR_EDATA : FR_OK);
        if (st) assert_non_null(strstr(err.text, "damaged"));
    }
}

// Judgements are of steps 0, 10 and 12; what ends at the second is not ended while something is to
// come: a mean of the last step, or other things that are learned. The second folder's turn begins
// before it.
static void nothing_ends_before_the_last_change(void **state) {
    static const struct {
        double average, settled;
        bool parts;
        uint64_t step;
    } way[] = {
        {0, 0, false, 10}, {0.05, 0, false, STEPS}, {0, 0.9, false, STEPS}, {0, 0.8, true, 10}};
    fr_train_state s;
    fr_error err;
    (void)state;
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        caller c = {.hopeless = true,
                    .average = way[i].average,
                    .settled = way[i].settled,
                    .parts = way[i].parts};
        unlink(w.checkpoint);
        if (train("eagle", &c, false, &s, &err)) fail_msg("%s", err.text);
        assert_int_equal(s.step, way[i].step);
        if (way[i].step < STEPS) assert_true(s.stopped && s.best_step == 0);
    }
}

// Fewer than the fit asks for: each counts once.
static void first_values_are_fitted_to_every_text_once(void **state) {
    fr_error err;
    (void)state;
    caller c = {0};
    unlink(w.checkpoint);
    if (train("eagle", &c, false, NULL, &err)) fail_msg("%s", err.text);
    assert_int_equal(c.fitted, w.data.rows);
}

// Before the first step, where trainings are longest without one.
static void an_interrupt_is_heard_before_the_first_step(void **state) {
    fr_train_state s;
    fr_error err;
    (void)state;
    caller c = {.patience = 1};
    unlink(w.checkpoint);
    assert_int_equal(train("eagle", &c, false, &s, &err), FR_EINTR);
    assert_int_equal(c.asked, 2); // and not once more
    assert_int_equal(s.step, 0);
    assert_int_equal(s.fitted, 0);
    assert_int_equal(c.kept, 0); // nothing is best yet
}

static void what_is_no_number_is_never_kept(void **state) {
    fr_error err;
    (void)state;
    caller c = {.broken = true};
    unlink(w.checkpoint);
    assert_int_equal(train("medusa", &c, false, NULL, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "medusa.1.weight: expected numbers"));
    assert_int_equal(c.kept, 0);
    assert_int_not_equal(access(w.checkpoint, F_OK), 0);
}

static void the_best_comes_before_the_checkpoint(void **state) {
    struct stat st;
    fr_error err;
    char part[128];
    (void)state;
    caller c = {0};
    unlink(w.checkpoint);
    // A folder in its place: no checkpoint can be written.
    assert_int_equal(mkdir(w.checkpoint, 0777), 0);
    assert_int_equal(train("medusa", &c, false, NULL, &err), FR_EIO);
    assert_true(c.kept > 0);
    assert_int_equal(stat(w.checkpoint, &st), 0);
    snprintf(part, sizeof part, "%s.%ld.part", w.checkpoint, (long)getpid());
    assert_int_not_equal(stat(part, &st), 0);
    rmdir(w.checkpoint);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupts_change_no_bit),
        cmocka_unit_test(the_mean_is_that_of_the_last_steps),
        cmocka_unit_test(a_state_that_cannot_be_is_refused),
        cmocka_unit_test(nothing_ends_before_the_last_change),
        cmocka_unit_test(first_values_are_fitted_to_every_text_once),
        cmocka_unit_test(an_interrupt_is_heard_before_the_first_step),
        cmocka_unit_test(what_is_no_number_is_never_kept),
        cmocka_unit_test(the_best_comes_before_the_checkpoint)};
    return cmocka_run_group_tests(tests, open_world, close_world);
}
