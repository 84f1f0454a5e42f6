// The block that goes on from hidden states: what its formulas say, whether pairs come one by one
// or all at once, along every path of guesses.
#include "draft/kit/draft_block.h"
#include "draft/naive.h"
#include "kern/repack.h"
#include "support/damage.h"
#include "support/draft_at_once.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"
#include "support/weights.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 200, MOST = 140, D_MOST = 64, FF_MOST = 96, TAPS_MOST = 2 };

typedef struct opened {
    fr_opened target;
    fr_pack_weights *weights;
    fr_pack pack; // of the weights
    fr_draft_block chain;
    char path[16];
} opened;

static void open_all(opened *o, const fr_tiny_pack *pack, int threads) {
    const fr_kern *kern;
    fr_error err;
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&o->target, &(fr_tiny_options){.n_layer = 1}, kern, threads);
    strcpy(o->path, "pack-XXXXXX");
    fr_tiny_pack_write(o->path, pack, &o->target.model);
    o->weights = weights_of(o->path, &o->target.model);
    o->pack = o->weights->pack;
    if (fr_draft_block_open(&o->chain, o->weights, CTX, 0, NULL, &err)) fail_msg("%s", err.text);
}

static void close_all(opened *o) {
    fr_draft_block_close(&o->chain);
    fr_pack_weights_give_back(o->weights);
    unlink(o->path);
    fr_opened_close(&o->target);
}

static void random_states(float *state, int n, int d, unsigned seed) {
    srand(seed);
    for (int i = 0; i < n * d; i++)
        state[i] = 2 * (float)rand() / (float)RAND_MAX - 1;
}

// ---------------------------------------------------------------- the formulas

typedef struct naive_block { // keys and values of the rows so far
    double k[MOST][D_MOST], v[MOST][D_MOST];
} naive_block;

static void naive_rope(double *head, int head_dim, int pos, double base) {
    for (int i = 0; i < head_dim / 2; i++) {
        const double angle = pos * pow(base, -2.0 * i / head_dim);
        const double a = head[i], b = head[i + head_dim / 2];
        head[i] = a * cos(angle) - b * sin(angle);
        head[i + head_dim / 2] = a * sin(angle) + b * cos(angle);
    }
}

// The state of a row of the text; what is given is that already where the pack has no taps.
static void naive_state(const opened *o, const float *given, double *state) {
    const fr_pack *p = &o->pack;
    double z[TAPS_MOST * D_MOST], gain[TAPS_MOST * D_MOST];
    for (int i = 0; i < o->chain.in; i++)
        z[i] = (double)given[i];
    if (!fr_draft_block_pack_of(p)->n_taps) {
        memcpy(state, z, sizeof *z * (size_t)p->d);
        return;
    }
    naive_vector(p, "fc_taps.norm", gain);
    for (int t = 0; t < fr_draft_block_pack_of(p)->n_taps; t++)
        naive_norm(z + t * p->d, gain + t * p->d, z + t * p->d, p->d);
    naive_map(p, "fc_taps.weight", z, state);
}

// One row at place `at`, which sees the rows sees[0..n), itself the last of them, and lies at
// position pos. Gives G.
static void naive_row(const opened *o, naive_block *b, const double *state, int32_t token, int at,
                      const int *sees, int n, int pos, double *G) {
    const fr_pack *p = &o->pack;
    const int d = p->d, hd = fr_draft_block_pack_of(p)->block.head_dim;
    double x[D_MOST], t[D_MOST], a[D_MOST], q[D_MOST], out[D_MOST] = {0};
    naive_norm_by(p, "fc_state.norm", state, t);
    naive_map(p, "fc_state.weight", t, x);
    if (!fr_draft_block_pack_of(p)->pure) {
        if (token == FR_DRAFT_BLOCK_NULL)
            naive_vector(p, "null", t);
        else
            naive_embed(&o->target.model, token, t);
        naive_norm_by(p, "fc_token.norm", t, t);
        naive_map(p, "fc_token.weight", t, a);
        for (int i = 0; i < d; i++)
            x[i] += a[i];
    }
    naive_vector(p, "fc.bias", a);
    for (int i = 0; i < d; i++)
        x[i] += a[i];

    naive_norm_by(p, "blk.0.attn_norm.weight", x, a);
    naive_map(p, "blk.0.attn_q.weight", a, q);
    naive_map(p, "blk.0.attn_k.weight", a, b->k[at]);
    naive_map(p, "blk.0.attn_v.weight", a, b->v[at]);
    for (int h = 0; h < fr_draft_block_pack_of(p)->block.n_head; h++)
        naive_rope(q + h * hd, hd, pos, (double)fr_draft_block_pack_of(p)->block.rope_base);
    for (int h = 0; h < fr_draft_block_pack_of(p)->block.n_kv; h++)
        naive_rope(b->k[at] + h * hd, hd, pos, (double)fr_draft_block_pack_of(p)->block.rope_base);
    for (int h = 0; h < fr_draft_block_pack_of(p)->block.n_head; h++) {
        const int kv =
            h / (fr_draft_block_pack_of(p)->block.n_head / fr_draft_block_pack_of(p)->block.n_kv) *
            hd;
        double w[MOST], sum = 0;
        for (int j = 0; j < n; j++) {
            w[j] = 0;
            for (int i = 0; i < hd; i++)
                w[j] += q[h * hd + i] * b->k[sees[j]][kv + i];
            sum += w[j] = exp(w[j] / sqrt(hd));
        }
        for (int j = 0; j < n; j++)
            for (int i = 0; i < hd; i++)
                out[h * hd + i] += w[j] / sum * b->v[sees[j]][kv + i];
    }
    naive_map(p, "blk.0.attn_output.weight", out, a);
    for (int i = 0; i < d; i++)
        x[i] += a[i];

    double gate[FF_MOST], up[FF_MOST];
    naive_norm_by(p, "blk.0.ffn_norm.weight", x, a);
    naive_map(p, "blk.0.ffn_gate.weight", a, gate);
    naive_map(p, "blk.0.ffn_up.weight", a, up);
    for (int i = 0; i < fr_draft_block_pack_of(p)->block.d_ff; i++)
        gate[i] = naive_silu(gate[i]) * up[i];
    naive_map(p, "blk.0.ffn_down.weight", gate, a);
    for (int i = 0; i < d; i++)
        x[i] += a[i];
    naive_norm_by(p, "output_norm.weight", x, G);
}

// The head's rows as they were taken over, on the state that came out: the 8-bit codes of both are
// tested elsewhere.
static void expect_logits(const opened *o, const float *logits, const double *G) {
    double want[64];
    float row[D_MOST];
    assert_true(o->pack.n_draft <= 64);
    for (int v = 0; v < o->pack.n_draft; v++) {
        float exact[D_MOST];
        fr_unpack_row(&o->chain.block.head.vocabulary, v, row);
        fr_unpack_row(&o->target.model.head, o->pack.ids[v], exact);
        want[v] = 0;
        for (int i = 0; i < o->pack.d; i++) {
            assert_true(fabsf(row[i] - exact[i]) < 0.02f);
            want[v] += (double)row[i] * G[i];
        }
    }
    assert_true(naive_distance(logits, want, o->pack.n_draft) < 0.02);
}

static const fr_tiny_pack PACKS[] = {
    {.form = &fr_eagle_form},
    {.form = &fr_hidden_state_form, .seed = 5, .rank = 8},
    {.form = &fr_hidden_state_form, .seed = 6, .pure = true},
    {.form = &fr_eagle_form, .n_taps = 2, .taps = {0, 1}},
};
enum { N_PACKS = sizeof PACKS / sizeof *PACKS };

static void rows_of_a_text_are_what_the_formulas_say(void **state) {
    (void)state;
    enum { N = 70 };
    for (int i = 0; i < N_PACKS; i++) {
        opened o;
        naive_block *b = calloc(1, sizeof *b);
        assert_non_null(b);
        open_all(&o, &PACKS[i], 2);
        const int d = o.pack.d;
        const int in = o.chain.in;
        float s[N * TAPS_MOST * D_MOST];
        int32_t ids[N];
        int sees[MOST];
        assert_int_equal(in, PACKS[i].n_taps ? PACKS[i].n_taps * d : d);
        random_states(s, N, in, 41);
        fr_test_ids(ids, N, o.pack.n_vocab, 42);
        for (int r = 0; r < N; r++) {
            double from[D_MOST], G[D_MOST];
            naive_state(&o, s + r * in, from);
            sees[r] = r;
            naive_row(&o, b, from, ids[r], r, sees, r + 1, r, G);
            fr_draft_block_add(&o.chain, s + (size_t)r * (size_t)in, ids[r]);
            if (r % 7 && r < 60) continue; // one to ten at a time
            assert_true(fr_draft_block_read(&o.chain, FR_WANT_FINAL | FR_WANT_LOGITS));
            assert_int_equal(fr_draft_block_pairs(&o.chain), r + 1);
            assert_true(naive_distance(fr_draft_block_state(&o.chain, 0), G, d) < 2e-3);
            expect_logits(&o, fr_draft_block_logits(&o.chain, 0), G);
        }
        assert_false(fr_draft_block_read(&o.chain, FR_WANT_FINAL));
        close_all(&o);
        free(b);
    }
}

// Two paths of guesses behind a text, in passes of both paths' rows: each sees the text and its
// own.
static void guesses_see_the_text_and_their_own_path(void **state) {
    (void)state;
    enum { N = 20, DEPTH = 3 };
    for (int i = 0; i < N_PACKS; i++) {
        opened o;
        naive_block *b = calloc(1, sizeof *b);
        assert_non_null(b);
        open_all(&o, &PACKS[i], 1);
        const int d = o.pack.d;
        const bool silent = o.pack.form == &fr_hidden_state_form;
        const int in = o.chain.in;
        float s[N * TAPS_MOST * D_MOST], G_of[2][D_MOST];
        double G[D_MOST], path_G[2][D_MOST];
        int32_t ids[N];
        int sees[2][MOST], slot[2] = {-1, -1};
        random_states(s, N, in, 43);
        fr_test_ids(ids, N, o.pack.n_vocab, 44);
        for (int r = 0; r < N; r++) {
            double from[D_MOST];
            naive_state(&o, s + r * in, from);
            sees[0][r] = sees[1][r] = r;
            naive_row(&o, b, from, ids[r], r, sees[0], r + 1, r, G);
            fr_draft_block_add(&o.chain, s + (size_t)r * (size_t)in, ids[r]);
        }
        fr_draft_block_read(&o.chain, FR_WANT_FINAL);
        for (int p = 0; p < 2; p++) {
            memcpy(path_G[p], G, sizeof G);
            memcpy(G_of[p], fr_draft_block_state(&o.chain, 0), sizeof(float) * (size_t)d);
        }
        for (int k = 0; k < DEPTH; k++) {
            fr_draft_block_guess guess[2];
            for (int p = 0; p < 2; p++) {
                const int32_t token = silent && p ? FR_DRAFT_BLOCK_NULL : 3 + 5 * k + p;
                const int at = N + 2 * k + p;
                guess[p] = (fr_draft_block_guess){G_of[p], token, slot[p]};
                sees[p][N + k] = at;
                naive_row(&o, b, path_G[p], token, at, sees[p], N + k + 1, N + k, path_G[p]);
            }
            guess_at_once(&o.chain, guess, 2, FR_WANT_FINAL | FR_WANT_LOGITS, slot);
            for (int p = 0; p < 2; p++) {
                memcpy(G_of[p], fr_draft_block_state(&o.chain, p), sizeof(float) * (size_t)d);
                assert_true(naive_distance(G_of[p], path_G[p], d) < 4e-3); // of states so far off
                expect_logits(&o, fr_draft_block_logits(&o.chain, p), path_G[p]);
            }
        }
        float both[2 * D_MOST], logits[2 * 64];
        memcpy(both, G_of[0], sizeof(float) * (size_t)d);
        memcpy(both + d, G_of[1], sizeof(float) * (size_t)d);
        assert_true(fr_draft_batch_put_states(o.chain.block.batch, both, 2, logits));
        o.chain.block.batch->head_pass.run(&o.chain.block.batch->head_pass);
        for (int p = 0; p < 2; p++)
            assert_memory_equal(logits + p * o.pack.n_draft, fr_draft_block_logits(&o.chain, p),
                                sizeof(float) * (size_t)o.pack.n_draft);
        close_all(&o);
        free(b);
    }
}

// Dropped guesses and an earlier text leave nothing behind; how pairs are cut into passes makes no
// difference.
static void a_text_gives_the_same_bits_however_it_came(void **state) {
    (void)state;
    enum { N = 130 };
    opened o;
    open_all(&o, &(fr_tiny_pack){.form = &fr_eagle_form, .type = FR_TYPE_Q8_0}, 2);
    const int d = o.pack.d;
    float *s = malloc(sizeof *s * N * (size_t)d), once[D_MOST];
    assert_non_null(s);
    int32_t ids[N];
    random_states(s, N, d, 45);
    fr_test_ids(ids, N, o.pack.n_vocab, 46);
    for (int r = 0; r < N; r++) // read by itself whenever 64 wait
        fr_draft_block_add(&o.chain, s + (size_t)r * d, ids[r]);
    assert_int_equal(fr_draft_block_pairs(&o.chain), N);
    fr_draft_block_read(&o.chain, FR_WANT_FINAL);
    memcpy(once, fr_draft_block_state(&o.chain, 0), sizeof *once * (size_t)d);

    fr_draft_block_keep(&o.chain, 0);
    assert_int_equal(fr_draft_block_pairs(&o.chain), 0);
    for (int r = 0; r < N; r++) {
        int slot;
        fr_draft_block_add(&o.chain, s + (size_t)r * d, ids[r]);
        if (r % 3 && r != N - 1) continue;
        fr_draft_block_read(&o.chain, FR_WANT_FINAL);
        if (r == N - 1) break;
        const fr_draft_block_guess guess = {s, 7, -1};
        guess_at_once(&o.chain, &guess, 1, FR_WANT_FINAL, &slot);
        fr_draft_block_drop(&o.chain);
    }
    assert_memory_equal(once, fr_draft_block_state(&o.chain, 0), sizeof *once * (size_t)d);
    free(s);
    close_all(&o);
}

static void the_check_of_a_block_finds_damage(void **state) {
    (void)state;
    opened o;
    float given[D_MOST];
    open_all(&o, &(fr_tiny_pack){.form = &fr_eagle_form}, 1);
    fr_draft_block *c = &o.chain;
    random_states(given, 1, c->in, 1);
    fr_draft_block_add(c, given, 1);
    fr_draft_block_read(c, 0);
    fr_draft_block_add(c, given, 2);
    assert_noticed(c->n_waiting, -1, fr_draft_block_is_sound(c));
    assert_noticed(c->n_waiting, FR_DRAFT_BLOCK_ROWS + 1, fr_draft_block_is_sound(c));
    assert_noticed(c->waiting_token[0], FR_DRAFT_BLOCK_NULL, fr_draft_block_is_sound(c));
    assert_noticed(c->waiting_token[0], o.target.model.config.n_vocab, fr_draft_block_is_sound(c));
    assert_noticed(c->block.kv.n_committed, -1, fr_draft_block_is_sound(c));
    close_all(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_text_are_what_the_formulas_say),
        cmocka_unit_test(guesses_see_the_text_and_their_own_path),
        cmocka_unit_test(a_text_gives_the_same_bits_however_it_came),
        cmocka_unit_test(the_check_of_a_block_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
