// Soft cross entropy over a draft vocabulary against the same in double, written out.
#include "support/near.h"
#include "train/learner/loss.h"
#include "train/learner/tally.h"
#include "train/made_data.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { D = 12, E = 5, VOCAB = 64, N = 300, TOP = 4, DRAFT = 37 }; // N: more than a chunk of rows

typedef struct job {
    fr_draft_vocab vocab;
    int32_t ids[DRAFT], index[VOCAB];
    float head[DRAFT * D], second[DRAFT * E], x[N * D], z[N * E], dx[N * D], dz[N * E];
    float dhead[DRAFT * D];
    fr_loss_row rows[N];
    fr_loss_got got[N];
    made_sample sample[8];
    fr_gemm *gemm;
    fr_loss loss;
} job;

static float number(void) {
    return (float)(rand() % 2001 - 1000) / 1000;
}

static job *open_job(void) {
    job *j = calloc(1, sizeof *j);
    const fr_shard_format f = {.d = D, .n_vocab = VOCAB, .top = TOP};
    fr_error err;
    srand(5);
    j->vocab = (fr_draft_vocab){.n = DRAFT, .ids = j->ids, .index = j->index, .head = j->head};
    for (int i = 0; i < VOCAB; i++)
        j->index[i] = -1;
    for (int i = 0; i < DRAFT; i++)
        j->index[j->ids[i] = (i * 5 + 2) % VOCAB] = i;
    for (int i = 0; i < DRAFT * D; i++)
        j->head[i] = 2 * number();
    for (int i = 0; i < DRAFT * E; i++)
        j->second[i] = number();
    for (int i = 0; i < N * D; i++)
        j->x[i] = number();
    for (int i = 0; i < N * E; i++)
        j->z[i] = number();
    for (int i = 0; i < 8; i++)
        make_sample(&j->sample[i], &f, (uint64_t)i, 50, 10);
    for (int i = 0; i < N; i++) {
        j->rows[i] = (fr_loss_row){&j->sample[i % 8].s, 10 + i / 8, 0.25f + (float)(i % 3)};
        if (i % 11 == 0) j->rows[i].sample = NULL;
    }
    j->sample[3].flags[20] =
        FR_ROW_ANSWER; // no distribution: the token that came is all there is to learn
    assert_int_equal(fr_gemm_open(&j->gemm, 1, FR_GEMM_F32, &err), FR_OK);
    assert_int_equal(fr_loss_open(&j->loss, &j->vocab, j->gemm, TOP, &err), FR_OK);
    return j;
}

static void close_job(job *j) {
    fr_loss_close(&j->loss);
    fr_gemm_close(j->gemm);
    free(j);
}

// The distribution over draft tokens that row i is to have; false: none.
static bool dist_of(const job *j, int i, double p[DRAFT]) {
    const fr_loss_row *r = &j->rows[i];
    double sum = 0;
    for (int v = 0; v < DRAFT; v++)
        p[v] = 0;
    if (!r->sample) return false;
    if (!(r->sample->flags[r->row] & FR_ROW_DISTRIBUTION)) {
        const int v = j->index[r->sample->ids[r->row + 1]];
        if (v >= 0) p[v] = 1;
        return v >= 0;
    }
    const int at = (r->row - r->sample->dist_first) * TOP;
    if (j->index[r->sample->dist_id[at]] < 0) return false;
    for (int k = 0; k < TOP; k++) {
        const int v = j->index[r->sample->dist_id[at + k]];
        if (v < 0) continue;
        p[v] = exp((double)fr_f16_to_f32(r->sample->dist_lp[at + k]));
        sum += p[v];
    }
    for (int v = 0; v < DRAFT; v++)
        p[v] /= sum;
    return true;
}

static void logits_of(const job *j, int i, bool both, double z[DRAFT]) {
    for (int v = 0; v < DRAFT; v++) {
        z[v] = 0;
        for (int k = 0; k < D; k++)
            z[v] += (double)j->x[i * D + k] * (double)j->head[v * D + k];
        for (int k = 0; both && k < E; k++)
            z[v] += (double)j->z[i * E + k] * (double)j->second[v * E + k];
    }
}

static void check_row(const job *j, int i, bool both, double dhead[DRAFT * D]) {
    double p[DRAFT], z[DRAFT], sum = 0, nats = 0;
    const bool has = dist_of(j, i, p);
    logits_of(j, i, both, z);
    const int hard = j->rows[i].sample ? j->index[j->rows[i].sample->ids[j->rows[i].row + 1]] : -1;
    int rank = hard < 0 ? -1 : 0;
    for (int v = 0; v < DRAFT; v++) {
        sum += exp(z[v]);
        rank += hard >= 0 && z[v] > z[hard];
    }
    assert_int_equal(j->got[i].rank, rank);
    assert_int_equal(isnan(j->got[i].nats), !has);
    for (int v = 0; has && v < DRAFT; v++)
        nats -= p[v] * (z[v] - log(sum));
    if (has) assert_near(j->got[i].nats, nats, 2e-5);
    for (int k = 0; k < D; k++) {
        double slope = 0;
        for (int v = 0; has && v < DRAFT; v++) {
            const double dz = (double)j->rows[i].weight * (exp(z[v]) / sum - p[v]);
            slope += dz * (double)j->head[v * D + k];
            dhead[v * D + k] += dz * (double)j->x[i * D + k];
        }
        assert_near(j->dx[i * D + k], slope, 2e-5);
    }
}

static void losses_ranks_and_slopes_are_those_of_the_formula(void **state) {
    (void)state;
    job *j = open_job();
    static double dhead[DRAFT * D];
    const fr_loss_term terms[] = {
        {.x = j->x, .ldx = D, .k = D, .w = j->head, .dx = j->dx, .dw = j->dhead},
        {.x = j->z, .ldx = E, .k = E, .w = j->second, .dx = j->dz}};
    for (int n_terms = 1; n_terms <= 2; n_terms++) {
        memset(dhead, 0, sizeof dhead);
        memset(j->dhead, 0, sizeof j->dhead);
        fr_loss_run(&j->loss, terms, n_terms, j->rows, N, j->got);
        for (int i = 0; i < N; i++)
            check_row(j, i, n_terms == 2, dhead);
        for (int i = 0; i < DRAFT * D; i++)
            assert_near(j->dhead[i], dhead[i], 1e-3);
    }
    close_job(j);
}

static void judging_gives_the_same_without_slopes(void **state) {
    (void)state;
    job *j = open_job();
    fr_loss_got *learned = calloc(N, sizeof *learned);
    fr_loss_term term = {.x = j->x, .ldx = D, .k = D, .w = j->head, .dx = j->dx};
    fr_loss_run(&j->loss, &term, 1, j->rows, N, learned);
    term.dx = NULL;
    fr_loss_run(&j->loss, &term, 1, j->rows, N, j->got);
    assert_memory_equal(j->got, learned, N * sizeof *learned);
    free(learned);
    close_job(j);
}

static void equal_logits_rank_by_place(void **state) {
    (void)state;
    job *j = open_job();
    memset(j->x, 0, sizeof j->x);
    const fr_loss_term term = {.x = j->x, .ldx = D, .k = D, .w = j->head};
    fr_loss_run(&j->loss, &term, 1, j->rows, N, j->got);
    for (int i = 0; i < N; i++)
        if (j->rows[i].sample)
            assert_int_equal(j->got[i].rank, j->index[j->rows[i].sample->ids[j->rows[i].row + 1]]);
    close_job(j);
}

// Three rows: right right, right wrong, wrong right.
static void a_tally_follows_the_best_guesses(void **state) {
    (void)state;
    static const int ranks[3][2] = {{0, 0}, {0, 3}, {1, 0}};
    fr_tally t = {0};
    float by_rank[FR_RANKS];
    for (int i = 0; i < 3; i++) {
        bool alive = true;
        for (int k = 0; k < 2; k++)
            fr_tally_count(&t, k, k ? 0.5f : 1,
                           &(fr_loss_got){.nats = 1 + (float)k, .rank = ranks[i][k]}, &alive);
    }
    assert_near(fr_tally_loss(&t), (3 * 1 + 3 * 0.5 * 2) / 4.5, 1e-9);
    assert_near(t.followed[0] / t.reached[0], 2.0 / 3, 1e-9);
    assert_near(t.followed[1] / t.reached[1], 1.0 / 2, 1e-9);
    assert_near(fr_tally_tokens_per_pass(&t, 2), 1 + 2.0 / 3 + 1.0 / 3, 1e-9);
    // Of all rows depth 2 is right twice and rank 3 once; given the path before, once in two, and
    // what is missed is dealt as the third of all rows that missed.
    fr_tally_accuracy(&t, 1, by_rank);
    assert_near(by_rank[0], 0.5, 1e-6);
    assert_near(by_rank[3], 0.5, 1e-6);
    assert_near(by_rank[1], 0, 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_ranks_and_slopes_are_those_of_the_formula),
        cmocka_unit_test(judging_gives_the_same_without_slopes),
        cmocka_unit_test(equal_logits_rank_by_place),
        cmocka_unit_test(a_tally_follows_the_best_guesses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
