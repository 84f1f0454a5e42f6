// The token bias against its formula in double, for tokens of the draft vocabulary and others, again
// and again; with and without a gate.
#include "draft/hidden_state/token_bias.h"
#include "kern/dequant.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"
#include "support/weights.h"
#include "tree/dice.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { D = 64, RANK = 24, DRAFT = 90 };

typedef struct fixture {
    fr_opened target;
    fr_pack_weights *weights;
    fr_pack pack; // of the weights
    char path[32];
} fixture;

static void open_fixture(fixture *f, bool gate, fr_type type) {
    fr_error err;
    const fr_kern *kern;
    const fr_tiny_options tiny = {.arch = "llama", .n_layer = 1, .d = D};
    const fr_tiny_pack o = {.form = &fr_hidden_state_form,
                            .type = type,
                            .n_draft = DRAFT,
                            .rank = type == FR_TYPE_F32 ? RANK : 32,
                            .gate = gate};
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&f->target, &tiny, kern, 1);
    strcpy(f->path, "pack-XXXXXX");
    fr_tiny_pack_write(f->path, &o, &f->target.model);
    f->weights = weights_of(f->path, &f->target.model);
    f->pack = f->weights->pack;
}

static void close_fixture(fixture *f) {
    fr_pack_weights_give_back(f->weights);
    unlink(f->path);
    fr_opened_close(&f->target);
}

// Entry [row][column] of a matrix of the pack.
static double entry(const fr_pack *p, const char *name, int row, int column) {
    const fr_gguf_tensor *t = fr_pack_tensor(p, name);
    float line[D];
    const size_t bytes = (size_t)fr_qtype_row_bytes(t->type, (int64_t)t->ne[0]);
    assert_true(t->ne[0] <= D);
    fr_dequant_row(t->type, (const uint8_t *)t->data + (size_t)row * bytes, line,
                   (int64_t)t->ne[0]);
    return line[column];
}

static double naive(const fixture *f, float z, int v, int32_t u, const float *state) {
    const fr_pack *p = &f->pack;
    double token[64], squares = 0, sum = z;
    float e[D];
    fr_model_embed(&f->target.model, u, e);
    for (int i = 0; i < fr_hidden_state_pack_of(p)->rank; i++) {
        token[i] = 0;
        for (int k = 0; k < D; k++)
            token[i] += entry(p, "inject.token.weight", i, k) * e[k];
        squares += token[i] * token[i];
    }
    for (int i = 0; i < fr_hidden_state_pack_of(p)->rank; i++) {
        double g = 0;
        for (int k = 0; k < D && fr_hidden_state_pack_of(p)->gate; k++)
            g += entry(p, "inject.gate.weight", i, k) * state[k];
        sum += entry(p, "inject.out.weight", v, i) * token[i] /
               sqrt(squares / fr_hidden_state_pack_of(p)->rank + 1e-6) *
               (fr_hidden_state_pack_of(p)->gate ? 1 / (1 + exp(-g)) : 1);
    }
    return sum;
}

static void scores_are_those_of_the_formula(void **state) {
    (void)state;
    static const struct {
        bool gate;
        fr_type type;
    } how[] = {{false, FR_TYPE_F32}, {true, FR_TYPE_F32}, {true, FR_TYPE_Q8_0}};
    dice_begin(74);
    for (int h = 0; h < 3; h++) {
        fixture f;
        fr_error err;
        fr_token_bias j;
        open_fixture(&f, how[h].gate, how[h].type);
        if (fr_token_bias_open(&j, f.weights, &err)) fail_msg("%s", err.text);
        for (int round = 0; round < 60; round++) {
            float hidden[D], gate[64], score[FR_SHORTLIST_MOST];
            fr_shortlist list = {.n = 1 + dice_below(20)};
            for (int i = 0; i < D; i++)
                hidden[i] = (float)(4 * dice_unit() - 2);
            for (int i = 0; i < list.n; i++) {
                list.index[i] = dice_below(DRAFT);
                list.z[i] = (float)(20 * dice_unit() - 10);
            }
            const int32_t u = round % 3 ? f.pack.ids[dice_below(9)] // often one seen before
                                        : dice_below(f.target.model.config.n_vocab);
            fr_token_bias_gate(&j, hidden, gate);
            fr_token_bias_score(&j, &list, gate, u, score);
            for (int i = 0; i < list.n; i++) {
                const double x = naive(&f, list.z[i], list.index[i], u, hidden);
                if (!(fabs(score[i] - x) <= 1e-4)) // sums of 64 and fewer floats below 10
                    fail_msg("%g for %g", (double)score[i], x);
            }
        }
        fr_token_bias_close(&j);
        close_fixture(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
