// test_ppd_ablation.c — what PPD compares its prompt tokens with: slopes against finite differences,
// learning by heart, the pack's name.
#include "draft/pack/pack.h"
#include "support/near.h"
#include "train/attached/attached_job.h"
#include "train/math/optim.h"

static const char *const variants[][4] = {{"ensemble=2", "mask=decoder", "weights=1"},
                                          {"ensemble=2", "mask=encoder", "exits=2"},
                                          {"mask=alone"},
                                          {"prefix=1", "head=1", "distil=0"}};
enum { VARIANTS = sizeof variants / sizeof *variants };

// Every base is taken where `points` are more than there are: learning and judging see the same.
static void slopes_are_those_of_the_loss(void **state) {
    (void)state;
    for (int v = 0; v < VARIANTS; v++) {
        job *j = open_job("ppd-ablation", variants[v]);
        begin_anywhere(j);
        const double loss = learned(j, 1).loss;
        assert_near(loss, judged(j).loss, 1e-4 * loss);
        for (int i = 0; i < j->learner->params.n; i++)
            check_slopes(j, i);
        close_job(j);
    }
}

// A text of three tokens in turn: what comes is a function of the distance and the last token.
static void one_text_can_be_learned(void **state) {
    (void)state;
    static const double rates[VARIANTS] = {0.05, 0.1, 0.05, 0.05};
    for (int v = 0; v < VARIANTS; v++) {
        job *j = open_job("ppd-ablation", variants[v]);
        fr_params *p = &j->learner->params;
        j->batch.n = 1;
        for (int i = 0; i <= j->sample[0].s.n; i++) {
            j->sample[0].ids[i] = 20 + i % 3;
            if (i < j->sample[0].s.n) j->sample[0].flags[i] &= FR_ROW_ANSWER;
        }
        const fr_tally first = judged(j);
        for (uint64_t step = 1; step <= 60; step++) {
            const fr_tally t = learned(j, step);
            fr_adamw_step(p, rates[v], fr_grad_scale(fr_grad_norm(p), t.weight, 1), step);
        }
        const fr_tally last = judged(j);
        if (!(last.loss < 0.5 * first.loss))
            fail_msg("%s: loss %g, then %g", j->learner->name, first.loss, last.loss);
        close_job(j);
    }
}

// Learning, the bases are the last rows of every text; judging, they lie everywhere.
static void at_the_end_the_last_rows_are_bases(void **state) {
    (void)state;
    job *j = open_job("ppd-ablation", (const char *const[]){"end=1", "points=3", NULL});
    const fr_attached_learner *a = (const fr_attached_learner *)(const void *)j->learner;
    learned(j, 1);
    assert_true(a->n_bases > 0);
    for (int b = 0; b < a->n_bases; b++)
        assert_true(a->row[b] >= j->batch.sample[a->sample[b]].n - 3);
    judged(j);
    int before = 0;
    for (int b = 0; b < a->n_bases; b++)
        before += a->row[b] < j->batch.sample[a->sample[b]].n - 3;
    assert_true(before > 0);
    close_job(j);
}

// What no drafter computes has a name that none takes; all of it comes back.
static void comparisons_are_packs_of_another_name(void **state) {
    (void)state;
    char path[64];
    fr_gguf_str name;
    fr_error err;
    fr_pack pack;
    job *j =
        open_job("ppd-ablation", (const char *const[]){"prefix=1", "head=1", "weights=1", NULL});
    begin_anywhere(j);
    fr_gguf *g = write_and_open(j, FR_TYPE_Q8_0, path);
    assert_int_equal(fr_gguf_get_str(g, "general.architecture", &name, NULL), FR_OK);
    assert_true(fr_gguf_str_is(name, "forerun-ppd-ablation"));
    assert_comes_back(j, g, 0);
    assert_int_not_equal(fr_pack_open(&pack, path, &err), FR_OK);
    assert_non_null(strstr(err.text, "ppd-ablation"));
    fr_gguf_close(g);
    remove(path);
    close_job(j);
}

static void wrong_settings_are_named(void **state) {
    (void)state;
    static const char *const wrong[] = {"mask=other", "exits=5", "prefix=2", "layers=1/2/3"};
    job *j = open_job("ppd-ablation", NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fr_learner *l;
        fr_error err;
        const char *const options[] = {wrong[i], NULL};
        assert_int_equal(open_learner(j, "ppd-ablation", options, &l, &err), FR_EARG);
        assert_null(l);
        assert_non_null(strstr(err.text, "mask=ensemble, decoder, encoder or alone"));
    }
    close_job(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_those_of_the_loss),
        cmocka_unit_test(one_text_can_be_learned),
        cmocka_unit_test(at_the_end_the_last_rows_are_bases),
        cmocka_unit_test(comparisons_are_packs_of_another_name),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
