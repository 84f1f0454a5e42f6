// A drafter is its folder (own/) and one row of a table: one that needs no training, and one that is
// trained, written as a pack, found and drafted with.
#include "draft/drafting.h"
#include "draft/pack/find.h"
#include "draft/pack/speed.h"
#include "draft/registry.h"
#include "support/tiny_model.h"
#include "train/learner/pack_write.h"
#include "train/learner/tally.h"
#include "train/made_job.h"
#include "train/method/learners.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

extern const fr_drafter_method fr_echo_method, fr_unigram_method;
extern const fr_learner_method fr_learn_unigram;
extern const fr_pack_form fr_unigram_form;

// The rows.
const fr_drafter_method *const fr_drafter_more_methods[] = {&fr_echo_method, &fr_unigram_method,
                                                            NULL};
const fr_learner_method *const fr_learner_more_methods[] = {&fr_learn_unigram, NULL};

enum { CTX = 160, PROMPT = 20, TOKENS = 40, STEPS = 60 };
static const fr_sampling GREEDY = {.temperature = 0};

static void a_row_makes_a_drafter(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    fr_stats stats;
    fr_error err;
    open_target(&p, &(fr_tiny_options){.n_layer = 2}, 1, CTX);
    fr_test_ids(prompt, PROMPT, 256, 3);
    const output plain =
        decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &GREEDY, TOKENS, NULL);
    fr_drafter *d = open_drafter(&p, "echo", true, (const char *[]){"depth=3", NULL});
    const output got =
        decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT, &GREEDY, TOKENS, &stats);
    expect_same(&got, &plain);
    assert_true(stats.rows > 3 * stats.passes);
    fr_drafter_close(d);
    fr_drafter *none;
    assert_int_equal(try_drafter(&none, &p, "echo", true, (const char *[]){"depth=9", NULL}, &err),
                     FR_EARG);
    assert_non_null(strstr(err.text, "depth"));
    d = open_drafter(&p, "echo+prompt-lookup", true, NULL); // joined with others
    fr_drafter_close(d);
    close_target(&p);
}

// Learns by plain gradient descent, and writes the pack.
static void train(job *j, const char *path) {
    const fr_learner_method *method;
    fr_learner *l;
    fr_error err;
    if (fr_learner_find(&method, "unigram", &err)) fail_msg("%s", err.text);
    const fr_learner_config config = {.target = &j->target.model,
                                      .vocab = &j->vocab,
                                      .format = &j->form,
                                      .gemm = j->gemm,
                                      .depth = 2,
                                      .max_rows = 200};
    if (method->open(&l, &config, &err)) fail_msg("%s", err.text);
    double first = 0, last = 0;
    for (int i = 0; i < STEPS; i++) {
        fr_tally t = {0};
        memset(l->params.grad, 0, sizeof(float) * l->params.n_floats);
        l->ops->learn(l, &j->batch, 0, &t);
        for (size_t k = 0; k < l->params.n_floats; k++)
            l->params.w[k] -= (float)(4 / t.weight) * l->params.grad[k];
        last = fr_tally_loss(&t);
        if (!i) first = last;
    }
    assert_true(last < 0.95 * first);
    fr_tally judged = {0};
    char print[FR_GGUF_FINGERPRINT];
    l->ops->judge(l, &j->batch, &judged);
    fr_gguf_fingerprint(j->target.gguf, print);
    const fr_pack_facts facts = {.target_name = "tiny",
                                 .target = print,
                                 .answers = "given",
                                 .command = "none",
                                 .judged = &judged};
    if (fr_pack_write(path, l, &facts, FR_TYPE_Q8_0, &err)) fail_msg("%s", err.text);
    l->ops->close(l);
}

static void a_row_makes_a_trained_drafter(void **state) {
    (void)state;
    char dir[] = "own-XXXXXX", path[FR_PACK_PATH], found[FR_PACK_PATH];
    fr_error err;
    fr_pack pack;
    job *j = new_job(3, &(fr_shard_format){.top = 6});
    for (int i = 0; i < 3; i++)
        add_sample(j, 20 + 7 * i, 4);
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/forerun", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/forerun/packs", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/forerun/packs/unigram.gguf", dir);
    train(j, path);

    // Found by its form, read, forecast and described.
    setenv("XDG_DATA_HOME", dir, 1);
    if (fr_pack_find(found, &fr_unigram_form, j->target.gguf, &err)) fail_msg("%s", err.text);
    assert_string_equal(found, path);
    if (fr_pack_open_for(&pack, path, &fr_unigram_form, &j->target.model, &err))
        fail_msg("%s", err.text);
    assert_true(fr_pack_speed(&pack, NULL, 2, 1 << 20) >= 1);
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    assert_non_null(to);
    pack.form->words(&pack, to);
    fclose(to);
    assert_non_null(strstr(text, "one distribution of"));
    free(text);
    fr_pack_close(&pack);

    // It drafts what the target decodes.
    pair p = {.target = j->target, .n_ctx = CTX};
    int32_t prompt[PROMPT];
    fr_stats stats;
    fr_test_ids(prompt, PROMPT, 200, 5);
    const output plain =
        decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &GREEDY, TOKENS, NULL);
    fr_drafter *d = open_drafter(&p, "unigram", true, NULL);
    const output got =
        decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT, &GREEDY, TOKENS, &stats);
    expect_same(&got, &plain);
    assert_true(stats.rows > stats.passes);
    fr_drafter_close(d);
    unlink(path);
    snprintf(path, sizeof path, "%s/forerun/packs", dir);
    rmdir(path);
    snprintf(path, sizeof path, "%s/forerun", dir);
    rmdir(path);
    rmdir(dir);
    close_job(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_makes_a_drafter),
                                       cmocka_unit_test(a_row_makes_a_trained_drafter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
