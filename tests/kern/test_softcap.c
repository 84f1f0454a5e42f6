// Capped values and capped attention scores of every instruction set beside doubles.
#include "kern/half.h"
#include "kern/kern.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Two query rows over a committed context and two scratch slots: row 0 sees the first of these,
// row 1 both, and its window leaves out the context's first slots.
enum { DIM = 64, CONTEXT = 37, SCRATCH = 2, SLOTS = CONTEXT + SCRATCH, ROWS = 2, WINDOW = 5 };
typedef struct world {
    const fr_kern *kern;
    float key[SLOTS][DIM], value[SLOTS][DIM], query[ROWS][DIM];
    float out[ROWS][DIM];
} world;

static uint64_t random_state;

static float uniform(float low, float high) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (float)(random_state >> 40) * 0x1p-24f;
}

// All numbers are such that every kind of K and V holds them exactly, and the query as int8 too:
// whole numbers up to 127, which each group of 32 reaches.
static void make_world(world *w, const fr_kern *kern) {
    random_state = 20261129;
    w->kern = kern;
    for (int d = 0; d < DIM; d++) {
        for (int s = 0; s < SLOTS; s++) {
            w->key[s][d] = 0x1p-7f * (d % 32 ? roundf(uniform(-126, 126)) : 127);
            w->value[s][d] = 0x1p-7f * (d % 32 ? roundf(uniform(-126, 126)) : 127);
        }
        for (int r = 0; r < ROWS; r++)
            w->query[r][d] = d % 32 ? roundf(uniform(-126, 126)) : 127;
    }
}

static bool sees(int row, int slot) {
    return slot < CONTEXT ? slot >= (row ? WINDOW : 0) : slot - CONTEXT <= row;
}

static void attend(world *w, fr_kv_form k_form, fr_kv_form v_form, float scale, float cap) {
    const size_t blocks = (SLOTS + FR_KV_BLOCK - 1) / FR_KV_BLOCK;
    uint8_t *k = aligned_alloc(64, blocks * fr_kv_block_bytes(FR_FORM_F16, DIM));
    uint8_t *v = aligned_alloc(64, blocks * fr_kv_block_bytes(FR_FORM_F16, DIM));
    float *work = malloc(fr_attend_work_floats(SLOTS, DIM) * sizeof *work);
    assert_true(k && v && work);
    memset(k, 0, blocks * fr_kv_block_bytes(FR_FORM_F16, DIM));
    memset(v, 0, blocks * fr_kv_block_bytes(FR_FORM_F16, DIM));
    for (int s = 0; s < SLOTS; s++) {
        w->kern->store_k[k_form](k, s, DIM, w->key[s]);
        w->kern->store_v[v_form](v, s, DIM, w->value[s]);
    }
    const fr_view view[ROWS] = {{.first = 0, .scratch = {1}}, {.first = WINDOW, .scratch = {3}}};
    w->kern->attend(&(fr_attend){.n_q = ROWS,
                                 .head_dim = DIM,
                                 .q = (const float *[]){w->query[0], w->query[1]},
                                 .o = (float *[]){w->out[0], w->out[1]},
                                 .view = (const fr_view *[]){&view[0], &view[1]},
                                 .k = k,
                                 .v = v,
                                 .k_form = k_form,
                                 .v_form = v_form,
                                 .committed = CONTEXT,
                                 .scratch = SCRATCH,
                                 .pos = (const int32_t[]){CONTEXT, CONTEXT + 1},
                                 .scale = scale,
                                 .work = work,
                                 .cap = cap});
    free(k), free(v), free(work);
}

static double score(const world *w, int row, int slot, double scale, double cap) {
    double s = 0;
    for (int d = 0; d < DIM; d++)
        s += (double)w->query[row][d] * (double)w->key[slot][d];
    s *= scale;
    return cap ? cap * tanh(s / cap) : s;
}

// The largest difference to the formula in doubles.
static double error_of(const world *w, double scale, double cap) {
    double worst = 0;
    for (int r = 0; r < ROWS; r++) {
        double weight[SLOTS], most = -INFINITY, sum = 0;
        for (int s = 0; s < SLOTS; s++)
            if (sees(r, s)) most = fmax(most, weight[s] = score(w, r, s, scale, cap));
        for (int s = 0; s < SLOTS; s++)
            sum += weight[s] = sees(r, s) ? exp(weight[s] - most) : 0;
        for (int d = 0; d < DIM; d++) {
            double o = 0;
            for (int s = 0; s < SLOTS; s++)
                o += weight[s] / sum * (double)w->value[s][d];
            const double error = fabs((double)w->out[r][d] - o);
            if (!(error <= worst)) worst = error;
        }
    }
    return worst;
}

typedef void form_test(world *w, fr_kv_form k_form, fr_kv_form v_form);
static void in_every_set_and_form(form_test *test) {
    world w;
    for (int isa = 0; isa < FR_ISA_COUNT; isa++)
        for (int form = 0; form < FR_KV_FORMS * FR_KV_FORMS; form++) {
            if (!fr_kern_of((fr_isa)isa)) continue;
            make_world(&w, fr_kern_of((fr_isa)isa));
            test(&w, (fr_kv_form)(form / FR_KV_FORMS), (fr_kv_form)(form % FR_KV_FORMS));
        }
}

static void expect_near(world *w, fr_kv_form k_form, fr_kv_form v_form, float scale, float cap) {
    attend(w, k_form, v_form, scale, cap);
    const double error = error_of(w, (double)scale, (double)cap);
    if (!(error < 1e-5))
        fail_msg("%s forms %d %d scale %g cap %g: off by %g", w->kern->name, k_form, v_form,
                 (double)scale, (double)cap, error);
}

static void near_doubles(world *w, fr_kv_form k_form, fr_kv_form v_form) {
    const float caps[] = {0, 50, 20, 3, 0.5f, 1e10f};
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        expect_near(w, k_form, v_form, 0x1p-7f, caps[i]);
        expect_near(w, k_form, v_form, 0x1p-5f, caps[i]);
    }
}
static void capped_attention_is_near_doubles(void **state) {
    (void)state;
    in_every_set_and_form(near_doubles);
}

// Before the maximum: scores beyond what exp takes are brought inside, and the best keeps its lead.
static void huge_scores(world *w, fr_kv_form k_form, fr_kv_form v_form) {
    const float big = 0x1p20f;
    attend(w, k_form, v_form, big, 2);
    for (int r = 0; r < ROWS; r++) { // each score is 2 or -2 now
        double sum = 0, o = 0;
        for (int s = 0; s < SLOTS; s++) {
            const double weight = sees(r, s) ? exp(score(w, r, s, 1, 0) > 0 ? 2 : -2) : 0;
            sum += weight, o += weight * (double)w->value[s][1];
        }
        assert_true(fabs((double)w->out[r][1] - o / sum) < 1e-6);
    }
}
static void scores_of_any_size_end_at_the_cap(void **state) {
    (void)state;
    in_every_set_and_form(huge_scores);
}

static void tiny_cap(world *w, fr_kv_form k_form, fr_kv_form v_form) {
    attend(w, k_form, v_form, 1, 1e-30f);
    for (int r = 0; r < ROWS; r++)
        for (int d = 0; d < DIM; d++) {
            double sum = 0;
            int n = 0;
            for (int s = 0; s < SLOTS; s++)
                if (sees(r, s)) sum += (double)w->value[s][d], n++;
            assert_true(fabs((double)w->out[r][d] - sum / n) < 1e-6);
        }
}
static void a_tiny_cap_gives_the_mean_of_what_is_visible(void **state) {
    (void)state;
    in_every_set_and_form(tiny_cap);
}

// As the pass stores what is not finite: a NaN in K, zeros in V. The slot that row 1 alone sees.
static void broken_key(world *w, fr_kv_form k_form, fr_kv_form v_form) {
    float whole[DIM];
    attend(w, k_form, v_form, 0x1p-7f, 30);
    memcpy(whole, w->out[0], sizeof whole);
    w->key[CONTEXT + 1][3] = NAN;
    memset(w->value[CONTEXT + 1], 0, sizeof w->value[CONTEXT + 1]);
    attend(w, k_form, v_form, 0x1p-7f, 30);
    assert_memory_equal(w->out[0], whole, sizeof whole);
    for (int d = 0; d < DIM; d++)
        assert_true(isnan(w->out[1][d]));
}
static void a_broken_key_stays_broken_where_it_is_seen(void **state) {
    (void)state;
    in_every_set_and_form(broken_key);
}

static void softcap_of_rows_is_near_doubles(void **state) {
    (void)state;
    float x[150], y[150];
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        const fr_kern *kern = fr_kern_of((fr_isa)isa);
        random_state = 20261129;
        for (int n = 0; kern && n <= 149; n++) {
            const float cap = n % 2 ? 30 : 0.7f;
            for (int i = 0; i < 150; i++)
                x[i] = y[i] = cap * uniform(-3, 3);
            kern->softcap(y, n, cap);
            for (int i = 0; i < n; i++) {
                const double exact = (double)cap * tanh((double)x[i] / (double)cap);
                assert_true(fabs((double)y[i] - exact) <= 3e-7 * fabs(exact));
            }
            assert_memory_equal(y + n, x + n, (size_t)(150 - n) * sizeof *x);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softcap_of_rows_is_near_doubles),
        cmocka_unit_test(capped_attention_is_near_doubles),
        cmocka_unit_test(scores_of_any_size_end_at_the_cap),
        cmocka_unit_test(a_tiny_cap_gives_the_mean_of_what_is_visible),
        cmocka_unit_test(a_broken_key_stays_broken_where_it_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
