// A chain whose input layer is fitted: where the next state is a linear map of the state before it,
// the chain gives the next state.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "draft/eagle/train/learn_eagle.h"
#include "support/open_model.h"
#include "train/math/layers.h"
#include <math.h>
#include <string.h>

enum { D = 64, CONTEXTS = 8, LENGTH = 60, ROWS = CONTEXTS * LENGTH };

typedef struct world {
    fr_opened target;
    fr_params params;
    fr_gemm *gemm;
    fr_unrolled chain;
} world;

static void open_world(world *w, fr_unrolled_kind kind, const char *const *words) {
    const fr_kern *kern;
    fr_unrolled_options o;
    fr_error err;
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&w->target, &(fr_tiny_options){.n_layer = 1, .type = FR_TYPE_Q8_0}, kern, 1);
    assert_int_equal(w->target.model.config.d, D);
    assert_int_equal(fr_unrolled_read_options(&o, kind, 1, words, &err), FR_OK);
    const fr_unrolled_shape shape = fr_unrolled_shape_of(&o, &w->target.model.config, ROWS);
    fr_unrolled_add_params(&w->chain, &w->params, &shape);
    assert_int_equal(fr_params_alloc(&w->params, &err), FR_OK);
    assert_int_equal(fr_gemm_open(&w->gemm, 1, FR_GEMM_F32, &err), FR_OK);
    assert_int_equal(fr_unrolled_open(&w->chain, w->gemm, &err), FR_OK);
    assert_int_equal(fr_unrolled_start(&w->chain, &o, &w->target.model, 3, &err), FR_OK);
}

static void close_world(world *w) {
    fr_unrolled_close(&w->chain);
    fr_params_free(&w->params);
    fr_gemm_close(w->gemm);
    fr_opened_close(&w->target);
}

static double number(uint64_t *at) {
    return 2 * fr_uniform(17, (*at)++) - 1;
}

// The next state's channel j over its gain is channel (5 j + 1) of the state's, signs changing.
static void fill(world *w) {
    fr_unrolled *c = &w->chain;
    const float *gain = fr_param_w(&w->params, c->at.out_norm);
    uint64_t at = 0;
    c->rows = ROWS;
    c->bases.n = 0;
    for (int row = 0; row < ROWS; row++) {
        const int place = row % LENGTH;
        float *s = c->state + row * D, now[D];
        c->position[row] = place;
        for (int j = 0; j < D; j++)
            c->embedding[row * D + j] = (float)number(&at);
        if (place < 2) { // the first state is like no other, and says nothing about the second
            for (int j = 0; j < D; j++)
                now[j] = (float)number(&at);
        } else {
            for (int j = 0; j < D; j++)
                now[j] = s[(5 * j + 1) % D - D] * (j % 3 ? 1.0f : -1.0f);
        }
        float size = 0;
        for (int j = 0; j < D; j++)
            size += now[j] * now[j] / D;
        for (int j = 0; j < D; j++)
            s[j] = now[j] / sqrtf(size);
    }
    for (int i = 0; i < ROWS * D; i++)
        c->state[i] *= gain[i % D];
    for (int i = 0; i < CONTEXTS; i++) {
        c->row0[i] = i * LENGTH;
        c->base0[i] = c->bases.n;
        for (int p = 1; p + 1 < LENGTH; p++)
            c->row[c->bases.n++] = i * LENGTH + p;
    }
    c->row0[CONTEXTS] = ROWS;
    c->base0[CONTEXTS] = c->bases.n;
    c->bases.contexts = CONTEXTS;
}

static void clear(world *w, int i) {
    memset(fr_param_w(&w->params, i), 0,
           (size_t)w->params.item[i].rows * (size_t)w->params.item[i].cols * sizeof(float));
}

// The mean square of what is off, over the mean square.
static double distance(const world *w) {
    const fr_unrolled *c = &w->chain;
    double off = 0, all = 0;
    for (int b = 0; b < c->bases.n; b++)
        for (int j = 0; j < D; j++) {
            const double want = (double)c->state[(c->row[b] + 1) * D + j];
            const double d = (double)c->step[1].g[b * D + j] - want;
            off += d * d;
            all += want * want;
        }
    return off / all;
}

static void check(fr_unrolled_kind kind, const char *const *words) {
    world *w = fr_alloc_zero(sizeof *w);
    fr_linear_fit fit = {0};
    fr_error err;
    open_world(w, kind, words);
    fill(w);
    const size_t held = fr_unrolled_fit_bytes(&w->chain.shape);
    assert_true(held > 0);
    assert_int_equal(fr_unrolled_fit_add(&fit, &w->chain, &err), FR_OK);
    fr_unrolled_fit_end(&fit, &w->chain, NULL);
    fr_unrolled_context(&w->chain);
    fr_unrolled_step_forward(&w->chain, 1);
    const double with = distance(w);
    clear(w, w->chain.at.o), clear(w, w->chain.at.down);
    fr_unrolled_context(&w->chain);
    fr_unrolled_step_forward(&w->chain, 1);
    // What the sub-layers add is small; without them what is left is the ridge's.
    if (!(with < 0.05 && distance(w) < 1e-4))
        fail_msg("distances %g and, without sub-layers, %g", with, distance(w));
    fr_linear_fit_close(&fit);
    close_world(w);
    fr_free(w);
}

static void a_fitted_eagle_gives_the_next_state(void **state) {
    (void)state;
    check(FR_UNROLLED_EAGLE, NULL);
}

static void so_does_a_chain_of_states_alone(void **state) {
    (void)state;
    check(FR_UNROLLED_HIDDEN_STATE, (const char *const[]){"pure=1", NULL});
}

// A tap that holds the state's channels in another order and of other sizes, and one of noise.
static void fill_taps(world *w) {
    fr_unrolled *c = &w->chain;
    uint64_t at = 90000;
    for (int row = 0; row < ROWS; row++) {
        float f[D], *t = c->taps + row * 2 * D;
        fr_norm_forward(f, c->state + row * D, NULL, 1, D);
        for (int j = 0; j < D; j++) {
            t[j] = f[(3 * j + 7) % D] * (j % 5 ? 0.2f : 3.0f);
            t[D + j] = (float)number(&at);
        }
    }
}

static void scale_taps(world *w) {
    const fr_unrolled *c = &w->chain;
    const float *gain = fr_param_w(&w->params, c->at.taps_norm);
    double size[2 * D] = {0};
    for (int i = 0; i < ROWS * 2 * D; i++)
        c->taps[i] *= gain[i % (2 * D)];
    for (int i = 0; i < ROWS * 2 * D; i++)
        size[i % (2 * D)] += (double)c->taps[i] * (double)c->taps[i] / ROWS;
    for (int j = 1; j < D; j++) // the channels of a tap are of one size now
        assert_true(fabs(size[j] - size[0]) < 0.2 * size[0]);
}

static void a_fitted_map_of_taps_gives_the_state(void **state) {
    world *w = fr_alloc_zero(sizeof *w);
    fr_linear_fit fit = {0}, taps = {0};
    fr_error err;
    (void)state;
    open_world(w, FR_UNROLLED_EAGLE, (const char *const[]){"taps=0,1", NULL});
    fill(w);
    fill_taps(w);
    assert_int_equal(fr_unrolled_fit_add(&fit, &w->chain, &err), FR_OK);
    assert_int_equal(fr_unrolled_taps_fit_add(&taps, &w->chain, &err), FR_OK);
    fr_unrolled_fit_end(&fit, &w->chain, NULL);
    fr_unrolled_taps_fit_end(&taps, &w->chain, NULL);
    scale_taps(w);
    clear(w, w->chain.at.o), clear(w, w->chain.at.down);
    fr_unrolled_context(&w->chain);
    fr_unrolled_step_forward(&w->chain, 1);
    if (!(distance(w) < 1e-3)) fail_msg("distance %g", distance(w));
    close_world(w);
    fr_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_fitted_eagle_gives_the_next_state),
                                       cmocka_unit_test(a_fitted_map_of_taps_gives_the_state),
                                       cmocka_unit_test(so_does_a_chain_of_states_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
