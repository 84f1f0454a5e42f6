// A block that begins with the target's last layer has the neurons that add most on the text: those
// that a sum in doubles, row by row, finds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "draft/eagle/train/last_layer.h"
#include "draft/eagle/train/learn_eagle.h"
#include "kern/repack.h"
#include "support/open_model.h"
#include <math.h>
#include <string.h>

enum { D = 64, ALL = 320, KEPT = 96, ROWS = 40 };

typedef struct world {
    fr_opened target;
    fr_params params;
    fr_gemm *gemm;
    fr_unrolled chain;
} world;

static void open_world(world *w) {
    static const char *const words[] = {"init=last-layer", "ffn=96", NULL};
    fr_unrolled_options o;
    fr_error err;
    fr_opened_open(&w->target, &(fr_tiny_options){.n_layer = 2, .d_ff = ALL}, &fr_kern_scalar, 1);
    assert_int_equal(w->target.model.config.d, D);
    assert_int_equal(fr_unrolled_read_options(&o, FR_UNROLLED_EAGLE, 1, words, &err), FR_OK);
    const fr_unrolled_shape shape = fr_unrolled_shape_of(&o, &w->target.model.config, ROWS);
    assert_int_equal(shape.d_ff, KEPT);
    assert_true(shape.rope_base == w->target.model.config.rope_base);
    fr_unrolled_add_params(&w->chain, &w->params, &shape);
    assert_int_equal(fr_params_alloc(&w->params, &err), FR_OK);
    assert_int_equal(fr_gemm_open(&w->gemm, 1, FR_GEMM_F32, &err), FR_OK);
    assert_int_equal(fr_unrolled_open(&w->chain, w->gemm, &err), FR_OK);
    assert_int_equal(fr_unrolled_start(&w->chain, &o, &w->target.model, 3, &err), FR_OK);
    w->chain.rows = ROWS;
    for (int i = 0; i < ROWS * D; i++)
        w->chain.state[i] = (float)(4 * fr_uniform(9, (uint64_t)i) - 2);
    for (int i = 0; i < ROWS; i++)
        w->chain.position[i] = i;
}

static void close_world(world *w) {
    fr_unrolled_close(&w->chain);
    fr_params_free(&w->params);
    fr_gemm_close(w->gemm);
    fr_opened_close(&w->target);
}

static double product(const fr_matrix *m, int row, const double *x) {
    float w[D];
    double sum = 0;
    fr_matrix_row(m, row, w);
    for (int c = 0; c < D; c++)
        sum += (double)w[c] * x[c];
    return sum;
}

// How much each neuron adds; the first row of a text does not count.
static void add_up(const world *w, double *score) {
    const fr_model *m = &w->target.model;
    const fr_layer *last = &m->layers[1];
    for (int j = 0; j < ALL; j++)
        score[j] = 0;
    for (int row = 1; row < ROWS; row++) {
        double x[D], size = 0;
        for (int c = 0; c < D; c++) {
            x[c] = (double)w->chain.state[row * D + c] / (double)m->output_norm.w[c];
            size += x[c] * x[c] / D;
        }
        for (int c = 0; c < D; c++)
            x[c] *= (double)last->ffn_norm.w[c] / sqrt(size);
        for (int j = 0; j < ALL; j++) {
            const double g = product(&last->gate, j, x);
            score[j] += fabs(g / (1 + exp(-g)) * product(&last->up, j, x));
        }
    }
    for (int j = 0; j < ALL; j++) {
        double length = 0;
        for (int r = 0; r < D; r++) {
            float down[ALL];
            fr_matrix_row(&last->down, r, down);
            length += (double)down[j] * (double)down[j];
        }
        score[j] *= sqrt(length);
    }
}

static void the_neurons_that_add_most_are_taken(void **state) {
    world *w = fr_alloc_zero(sizeof *w);
    fr_last_layer l = {0};
    fr_error err;
    double score[ALL];
    (void)state;
    open_world(w);
    const fr_layer *last = &w->target.model.layers[1];
    assert_int_equal(fr_last_layer_see(&l, &w->chain, &w->target.model, &err), FR_OK);
    fr_last_layer_take(&l, &w->chain);
    add_up(w, score);
    const float *gate = fr_param_w(&w->params, w->chain.at.gate),
                *up = fr_param_w(&w->params, w->chain.at.up),
                *down = fr_param_w(&w->params, w->chain.at.down);
    int taken = 0;
    double least = INFINITY, left = 0;
    for (int j = 0; j < ALL; j++) {
        float from[D], column[ALL];
        fr_matrix_row(&last->gate, j, from);
        if (taken == KEPT || memcmp(from, gate + taken * D, sizeof from) != 0) {
            left = fmax(left, score[j]);
            continue;
        }
        least = fmin(least, score[j]);
        fr_matrix_row(&last->up, j, from);
        assert_memory_equal(from, up + taken * D, sizeof from);
        for (int r = 0; r < D; r++) {
            fr_matrix_row(&last->down, r, column);
            assert_true(down[r * KEPT + taken] == column[j]);
        }
        taken++;
    }
    assert_int_equal(taken, KEPT);
    if (!(least >= left * (1 - 1e-5))) fail_msg("%g is left, %g is taken", left, least);
    fr_last_layer_close(&l);
    close_world(w);
    fr_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_neurons_that_add_most_are_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
