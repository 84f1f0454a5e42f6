// What a pack is predicted to bring, on costs and accuracies worked by hand.
#include "draft/pack/speed.h"
#include "support/pack_forms.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { TRIES = 1000 };

// A first row takes 1, every other one `row`; nothing for the context.
static fr_cost line(double row) {
    return (fr_cost){.n = 2, .rows = {1, 101}, .trunk = {1, 1 + 100 * row}};
}

static fr_pack pack_of(const fr_pack_form *form, int depth, const double right[][2]) {
    fr_pack p = {.form = form, .d = 32, .n_draft = 100, .depth = depth, .bytes = 6800};
    static _Alignas(16) char settings[4096]; // all 0: of every form
    assert_true(form->bytes <= sizeof settings);
    p.settings = settings;
    for (int k = 0; k < depth; k++) {
        p.accuracy.tried[k] = TRIES;
        for (int r = 0; r < 2; r++)
            p.accuracy.right[k][r] = (uint64_t)(right[k][r] * TRIES + 0.5);
    }
    return p;
}

static void expect_speed(const fr_pack *p, const fr_cost *cost, uint64_t weights, double want) {
    const double got = fr_pack_speed(p, cost, 10, weights);
    if (!(fabs(got - want) <= 1e-9)) fail_msg("expected %.9f, found %.9f", want, got);
}

// Free rows, free drafting: all nodes ride. Depth 1: .5 + .25; depth 2 under both: .75 * (.4 + .2).
static void what_costs_nothing_rides_whole(void **state) {
    (void)state;
    const fr_cost cost = line(0);
    const fr_pack p = pack_of(&fr_medusa_form, 2, (const double[][2]){{0.5, 0.25}, {0.4, 0.2}});
    expect_speed(&p, &cost, UINT64_MAX, 1 + 0.75 + 0.75 * 0.6);
}

// Rows of 0.3: worth (1 + .5) / 1.3 with one; with the second guess (1.75) / 1.6 is less, with the
// second depth (1.7) / 1.6 too.
static void rows_that_do_not_pay_stay_out(void **state) {
    (void)state;
    const fr_cost cost = line(0.3);
    const fr_pack p = pack_of(&fr_medusa_form, 2, (const double[][2]){{0.5, 0.25}, {0.4, 0.2}});
    expect_speed(&p, &cost, UINT64_MAX, 1.5 / 1.3);
}

// Weights so that reading the pack once takes 0.2 of a pass and the head 0.1: medusa and its kin
// read what they read once; eagle all of it at every depth; hidden-state the head once.
static void drafting_takes_what_it_reads(void **state) {
    (void)state;
    const fr_cost cost = line(0);
    const uint64_t weights = 5 * 6800; // the head's: 3200 * 34 / 32
    const double right[][2] = {{0.5, 0}, {0.5, 0}, {0.5, 0}};
    const double tokens[] = {1.5, 1.75, 1.875};
    const fr_pack medusa = pack_of(&fr_medusa_form, 3, right);
    expect_speed(&medusa, &cost, weights, tokens[2] / 1.3);
    fr_pack own = medusa, hydra = medusa;
    own.settings = &(fr_medusa_pack){.variant = FR_MEDUSA_OWN_HEADS};
    hydra.settings = &(fr_medusa_pack){.variant = FR_MEDUSA_HYDRA};
    expect_speed(&own, &cost, weights, tokens[2] / 1.2);
    expect_speed(&hydra, &cost, weights, tokens[1] / 1.4); // as 1.875 / 1.5; 1.5 / 1.3 is less
    const fr_pack eagle = pack_of(&fr_eagle_form, 3, right);
    expect_speed(&eagle, &cost, weights, tokens[0] / 1.3); // 1.75 / 1.6 and 1.875 / 1.9 are less
    const fr_pack hidden = pack_of(&fr_hidden_state_form, 3, right);
    expect_speed(&hidden, &cost, weights, tokens[1] / 1.5); // 1.5 / 1.3 and 1.875 / 1.7 are less
    fr_pack chimera = pack_of(&fr_chimera_form, 3, right);  // its block, again at every depth: 0.1
    fr_chimera_pack s = {.block = {.n_head = 1, .n_kv = 1, .head_dim = 25}};
    chimera.settings = &s;
    expect_speed(&chimera, &cost, weights, tokens[1] / 1.5); // 1.5 / 1.3 and 1.875 / 1.7 are less
    s.own_heads = true;
    expect_speed(&chimera, &cost, weights, tokens[1] / 1.3); // 1.5 / 1.2 and 1.875 / 1.4 are less
}

static void a_pack_that_is_never_right_is_plain_decoding(void **state) {
    (void)state;
    const fr_cost cost = line(0.1);
    const fr_pack p = pack_of(&fr_eagle_form, 1, (const double[][2]){{0, 0}});
    expect_speed(&p, &cost, 1 << 20, 1);
    const fr_pack costly = pack_of(&fr_eagle_form, 1, (const double[][2]){{0.5, 0}});
    expect_speed(&costly, &cost, 1000, 1); // a pack of more bytes than its target
    expect_speed(&p, NULL, 1 << 20, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_costs_nothing_rides_whole),
        cmocka_unit_test(rows_that_do_not_pay_stay_out),
        cmocka_unit_test(drafting_takes_what_it_reads),
        cmocka_unit_test(a_pack_that_is_never_right_is_plain_decoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
