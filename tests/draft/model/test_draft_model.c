// Two-model speculation: whatever the second model says, the tokens are those of plain decoding; a
// second model like the target is right nearly always; its KV is that of a fresh reading.
#include "decode/chi_square.h"
#include "draft/drafting.h"
#include "draft/model/draft_model.h"
#include "draft/model/second_model.h"
#include "draft/model/small_model.h"
#include "support/damage.h"
#include "support/tiny_pack.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 96, PROMPT = 21 };

static const fr_sampling SAMPLINGS[] = {
    {.temperature = 0},
    {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 3},
    {.temperature = 1.2f, .seed = 4},
    {.temperature = 0, .repeat_penalty = 1.3f},
    {.temperature = 1, .repeat_penalty = 1.2f, .repeat_last_n = 5, .seed = 5},
};
enum { N_SAMPLINGS = sizeof SAMPLINGS / sizeof *SAMPLINGS };

static void write_model(char path[32], const fr_tiny_options *o) {
    fr_error err;
    strcpy(path, "draft-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (fr_tiny_write(o, path, &err)) fail_msg("%s", err.text);
}

static void open_pair(pair *p, const fr_tiny_options *target, const fr_tiny_options *draft) {
    open_target(p, target, 1, CTX);
    write_model(p->path, draft);
    snprintf(p->spec, sizeof p->spec, "draft-model:%s", p->path);
}

static void close_pair(pair *p) {
    unlink(p->path);
    close_target(p);
}

// ---------------------------------------------------------------- bytes and acceptance

static const fr_tiny_options TARGET = {.arch = "llama", .type = FR_TYPE_Q8_0, .n_layer = 2};
static const fr_tiny_options OTHER = {
    .arch = "qwen2", .type = FR_TYPE_Q4_1, .n_layer = 1, .seed = 77};

static const fr_tiny_options OTHER2 = {
    .arch = "qwen2", .type = FR_TYPE_Q4_1, .n_layer = 2, .seed = 77};

// A pack for the small model, where the driver wants one.
static void write_driver_pack(const pair *p, const char *driver, char pack[32]) {
    static const fr_tiny_pack packs[] = {
        {.form = &fr_ppd_form}, {.form = &fr_hidden_transfer_form}, {.form = &fr_eagle_form}};
    for (size_t i = 0; i < sizeof packs / sizeof *packs; i++) {
        const char *name = packs[i].form->name;
        fr_small_model small;
        fr_error err;
        const fr_drafter_config config = {
            .model = &p->target.model, .tokenizer = p->tokenizer, .n_ctx = CTX};
        if (strncmp(driver, name, strlen(name)) != 0) continue;
        if (fr_small_model_open(&small, p->path, &config, &err)) fail_msg("%s", err.text);
        strcpy(pack, "driver-XXXXXX");
        fr_tiny_pack_write(pack, &packs[i], small.model);
        fr_small_model_close(&small);
    }
}

static void any_draft_model_gives_the_tokens_of_plain_decoding(void **state) {
    (void)state;
    static const struct {
        const char *tail;
        bool no_adapt, adapt;
        const char *options[3];
    } HOW[] = {{"", true, false, {NULL}},
               {"", false, true, {NULL}},
               {"", false, true, {"depth=6", NULL}},
               {"", false, true, {"tree=beam", NULL}},
               {"", false, false, {"tree=beam", NULL}},
               {"", false, true, {"tree=sequoia", NULL}},
               {"", true, false, {"tree=sequoia", "depth=3", NULL}},
               {"+prompt-lookup", false, true, {"tree=sequoia", "min-score=0", NULL}},
               {"+prompt-lookup", true, false, {NULL}},
               {"+prompt-lookup", false, true, {"depth=3", "min-score=0", NULL}},
               {"+prompt-lookup", false, true, {"tree=beam", "matches=8", NULL}}};
    for (int same = 0; same < 2; same++) {
        pair p;
        int32_t prompt[PROMPT];
        open_pair(&p, &TARGET, same ? &TARGET : &OTHER);
        fr_test_ids(prompt, PROMPT, 256, 31);
        for (int dist = 0; dist < N_SAMPLINGS; dist++) {
            const int n = 45;
            const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                             &SAMPLINGS[dist], n, NULL);
            for (size_t h = 0; h < sizeof HOW / sizeof *HOW; h++) {
                char spec[120];
                snprintf(spec, sizeof spec, "%s%s", p.spec, HOW[h].tail);
                fr_drafter *d = open_drafter(&p, spec, HOW[h].no_adapt, HOW[h].options);
                const output got = decode_once(&p, d, FR_RULE_EXACT, HOW[h].adapt, prompt, PROMPT,
                                               &SAMPLINGS[dist], n, NULL);
                expect_same(&got, &plain);
                fr_drafter_close(d);
            }
        }
        close_pair(&p);
    }
}

// The small model's own decoder is driven by prompt lookup, or by a pack for it.
static void a_driven_draft_model_gives_them_too(void **state) {
    (void)state;
    static const struct {
        const char *driver, *tail;
        bool no_adapt, adapt;
        const char *options[2];
    } HOW[] = {{"prompt-lookup", "", true, false, {NULL}},
               {"prompt-lookup", "+prompt-lookup", false, true, {NULL}},
               {"ppd:", "", true, false, {NULL}},
               {"ppd:", "", false, true, {"depth=6"}},
               {"hidden-transfer:", "+prompt-lookup", false, true, {"depth=3"}},
               {"eagle:", "", false, true, {NULL}}};
    for (int same = 0; same < 2; same++) {
        pair p;
        int32_t prompt[PROMPT];
        open_pair(&p, &TARGET, same ? &TARGET : &OTHER2);
        fr_test_ids(prompt, PROMPT, 256, 31);
        for (size_t h = 0; h < sizeof HOW / sizeof *HOW; h++) {
            char pack[32] = "", spec[160];
            write_driver_pack(&p, HOW[h].driver, pack);
            snprintf(spec, sizeof spec, "%s@%s%s%s", p.spec, HOW[h].driver, pack, HOW[h].tail);
            fr_drafter *d = open_drafter(&p, spec, HOW[h].no_adapt, HOW[h].options);
            for (int dist = 0; dist < N_SAMPLINGS; dist++) {
                fr_stats stats;
                const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                                 &SAMPLINGS[dist], 45, NULL);
                const output got = decode_once(&p, d, FR_RULE_EXACT, HOW[h].adapt, prompt, PROMPT,
                                               &SAMPLINGS[dist], 45, &stats);
                expect_same(&got, &plain);
                if (same && HOW[h].no_adapt && !SAMPLINGS[dist].repeat_penalty)
                    assert_true(stats.accepted[0] >= 8);
            }
            fr_drafter_close(d);
            if (*pack) unlink(pack);
        }
        close_pair(&p);
    }
}

// A second model that gives no numbers behind a token of the text drafts nothing from there on.
static void a_broken_draft_model_only_drafts_less(void **state) {
    (void)state;
    static const fr_tiny_options whole = {.n_layer = 2, .untied = true};
    static const char *const tails[] = {"", "@prompt-lookup"};
    static const char *const deep[] = {"depth=6", NULL};
    pair p;
    int32_t prompt[PROMPT];
    fr_error err;
    open_pair(&p, &whole, &whole);
    fr_test_ids(prompt, PROMPT, 256, 35);
    const output plain =
        decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[0], 40, NULL);
    const size_t at = (size_t)p.target.model.config.d * (size_t)plain.token[3] + 1;
    if (fr_tiny_write_broken(&whole, p.path, "token_embd.weight", at, NAN, &err))
        fail_msg("%s", err.text);
    for (size_t t = 0; t < sizeof tails / sizeof *tails; t++)
        for (int dist = 0; dist < N_SAMPLINGS; dist++)
            for (int adapt = 0; adapt < 2; adapt++) {
                char spec[120];
                snprintf(spec, sizeof spec, "%s%s", p.spec, tails[t]);
                fr_drafter *d = open_drafter(&p, spec, !adapt, deep);
                const output same = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                                &SAMPLINGS[dist], 40, NULL);
                const output got = decode_once(&p, d, FR_RULE_EXACT, adapt, prompt, PROMPT,
                                               &SAMPLINGS[dist], 40, NULL);
                expect_same(&got, &same);
                fr_drafter_close(d);
            }
    close_pair(&p);
}

// The same model draws the same tokens for the same random numbers: all is accepted at every
// temperature, and every pass of the target gives the four guesses and its own token.
static void a_draft_equal_to_the_target_is_always_right(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    open_pair(&p, &TARGET, &TARGET);
    fr_test_ids(prompt, PROMPT, 256, 33);
    for (int dist = 0; dist < N_SAMPLINGS; dist++) {
        fr_stats stats;
        fr_drafter *d = open_drafter(&p, p.spec, true, NULL);
        decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[dist], 60, &stats);
        assert_int_equal(stats.passes, 12);
        for (int k = 0; k < 4; k++)
            assert_int_equal(stats.accepted[k], 12);
        fr_drafter_close(d);
    }
    close_pair(&p);
}

static void second_guesses_ride_as_leaves(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    open_pair(&p, &TARGET, &TARGET);
    fr_test_ids(prompt, PROMPT, 256, 35);
    fr_drafter *d = open_drafter(&p, p.spec, false, (const char *[]){"depth=5", NULL});
    fr_stats stats;
    decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[0], 60, &stats);
    assert_int_equal(stats.passes, 10);
    assert_true(stats.rows > 60); // more than the chain alone
    fr_drafter_close(d);
    close_pair(&p);
}

// A model that has nothing to do with the target is soon left alone.
static void a_draft_that_is_wrong_falls_silent(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    open_pair(&p, &TARGET, &OTHER);
    fr_test_ids(prompt, PROMPT, 256, 37);
    fr_stats stats;
    fr_drafter *d = open_drafter(&p, p.spec, false, NULL);
    decode_once(&p, d, FR_RULE_EXACT, true, prompt, PROMPT, &SAMPLINGS[2], CTX - PROMPT, &stats);
    assert_true(stats.offered[0] < stats.passes / 2);
    fr_drafter_close(d);
    close_pair(&p);
}

// ---------------------------------------------------------------- rejection

enum { TOP = 4 };
typedef struct hand_dist {
    int32_t id[TOP];
    double p[TOP];
} hand_dist;

// Top-k and temperature of the target after n ids. A greedy step leaves the logits of its root.
static hand_dist dist_after(fr_decoder *d, const int32_t *ids, int n, const fr_sampling *g) {
    output o = {.n = 0};
    hand_dist dist;
    double total = 0;
    fr_decoder_prompt(d, ids, n, &SAMPLINGS[0]);
    fr_decoder_step(d, 1, emit, &o);
    float *z = fr_decoder_logits(d, 0);
    for (int k = 0; k < TOP; k++) {
        int best = 0;
        for (int i = 1; i < d->model->config.n_vocab; i++)
            if (z[i] > z[best]) best = i;
        dist.id[k] = best;
        total += dist.p[k] = exp(z[best] / g->temperature);
        z[best] = -INFINITY;
    }
    for (int k = 0; k < TOP; k++)
        dist.p[k] /= total;
    return dist;
}

static int place_in(const hand_dist *dist, int32_t id) {
    for (int k = 0; k < TOP; k++)
        if (dist->id[k] == id) return k;
    return -1;
}

// Two tokens over many seeds follow the target's distribution of two tokens, whatever the draft's
// distribution is.
static void under_rejection_the_law_is_the_targets(void **state) {
    (void)state;
    enum { TRIALS = 3000 };
    static const struct {
        const char *name, *tail;
        const char *options[4];
    } HOW[] = {{"chain", "", {"depth=2", NULL}},
               {"two draws a node", "", {"depth=2", "tree=beam", NULL}},
               {"Sequoia's tree", "", {"tree=sequoia", "depth=2", NULL}},
               {"beside looked-up ones", "+prompt-lookup", {"depth=2", "min-score=0", NULL}}};
    const fr_sampling dist_of = {.temperature = 2, .top_k = TOP};
    const fr_tiny_options target = {.type = FR_TYPE_Q8_0, .n_layer = 1};
    const fr_tiny_options coarser = {.type = FR_TYPE_Q4_0, .n_layer = 1}; // the same, blurred
    const fr_tiny_options *drafts[] = {&coarser, &target, &OTHER};
    static const char *const names[] = {"a coarser", "the same", "another"};
    for (int k = 0; k < 3; k++) {
        pair p;
        int32_t prompt[PROMPT + 1];
        fr_decoder plain;
        open_pair(&p, &target, drafts[k]);
        fr_test_ids(prompt, PROMPT, 256, 51);
        for (int i = 0; i < 3; i++) // something to look up
            prompt[PROMPT - 3 + i] = prompt[i];
        open_decoder(&plain, &p, NULL, false);
        const hand_dist first = dist_after(&plain, prompt, PROMPT, &dist_of);
        hand_dist second[TOP];
        double dist[TOP * TOP];
        for (int i = 0; i < TOP; i++) {
            prompt[PROMPT] = first.id[i];
            second[i] = dist_after(&plain, prompt, PROMPT + 1, &dist_of);
            for (int j = 0; j < TOP; j++)
                dist[i * TOP + j] = first.p[i] * second[i].p[j];
        }
        fr_decoder_close(&plain);
        for (size_t h = 0; h < sizeof HOW / sizeof *HOW; h++) {
            char spec[120];
            snprintf(spec, sizeof spec, "%s%s", p.spec, HOW[h].tail);
            fr_drafter *d = open_drafter(&p, spec, false, HOW[h].options);
            fr_decoder dec;
            long count[TOP * TOP] = {0}, drafted = 0;
            int df;
            open_decoder(&dec, &p, d, false);
            dec.accept.rule = FR_RULE_REJECTION;
            for (int trial = 0; trial < TRIALS; trial++) {
                output o = {.n = 0};
                fr_sampling g = dist_of;
                g.seed = (uint64_t)trial;
                fr_decoder_prompt(&dec, prompt, PROMPT, &g);
                while (o.n < 2)
                    fr_decoder_step(&dec, 3 - o.n, emit, &o);
                drafted += dec.stats.accepted[0];
                const int i = place_in(&first, o.token[0]);
                assert_true(i >= 0);
                const int j = place_in(&second[i], o.token[1]);
                assert_true(j >= 0);
                count[i * TOP + j]++;
            }
            const double chi = chi_square(count, dist, TOP * TOP, &df);
            print_message("%s, %s draft, seeds 0 to %d: chi-square %.2f, %d degrees of freedom; "
                          "%ld accepted at depth 1\n",
                          HOW[h].name, names[k], TRIALS - 1, chi, df, drafted);
            assert_true(chi < chi_square_limit(df));
            if (k == 0) assert_in_range(drafted, TRIALS / 4, TRIALS - 1); // some are rejected
            if (k == 1) assert_int_equal(drafted, TRIALS);
            fr_decoder_close(&dec);
            fr_drafter_close(d);
        }
        close_pair(&p);
    }
}

// ---------------------------------------------------------------- what it has read

// Keys and values of the first n slots, as attention would see them.
static void expect_same_kv(const fr_kv *a, const fr_kv *b, int n) {
    assert_true(a->n_committed >= n && b->n_committed >= n);
    const size_t hd = (size_t)a->head_dim, block = fr_kv_block_bytes(a->k_form, a->head_dim);
    for (int head = 0; head < a->n_layer * a->n_kv; head++)
        for (int s = 0; s < n; s++) {
            const size_t at = (size_t)(s / FR_KV_BLOCK) * block, lane = (size_t)s % FR_KV_BLOCK;
            const uint8_t *ka = a->k + (size_t)head * a->k_plane + at;
            const uint8_t *kb = b->k + (size_t)head * b->k_plane + at;
            const uint8_t *va = a->v + (size_t)head * a->v_plane + at;
            const uint8_t *vb = b->v + (size_t)head * b->v_plane + at;
            for (size_t i = 0; i < hd; i++) // K by value, V by slot (kern.h)
                assert_memory_equal(ka + 2 * (i * FR_KV_BLOCK + lane),
                                    kb + 2 * (i * FR_KV_BLOCK + lane), 2);
            assert_memory_equal(va + 2 * hd * lane, vb + 2 * hd * lane, 2 * hd);
        }
}

static void read_text(fr_second_model *s, const int32_t *ids, int n) {
    do {
        fr_second_model_put_text(s, ids, n);
        fr_draft_batch_run(s->batch);
    } while (!fr_second_model_took_text(s, ids, n));
}

static void expect_fresh_kv(const pair *p, const fr_drafter *d) {
    const fr_second_model *s = fr_draft_model_second(d);
    fr_second_model fresh;
    fr_error err;
    const fr_drafter_config config = {
        .model = &p->target.model, .tokenizer = p->tokenizer, .n_ctx = CTX};
    if (fr_second_model_open(&fresh, p->path, &config, &err)) fail_msg("%s", err.text);
    const int n = s->kv.n_committed;
    assert_int_equal(s->kv.n_scratch, 0);
    read_text(&fresh, s->ids, n);
    expect_same_kv(&s->kv, &fresh.kv, n);
    fr_second_model_close(&fresh);
}

static void its_kv_after_every_step_is_that_of_a_fresh_reading(void **state) {
    (void)state;
    static const char *const options[][3] = {
        {"depth=1", NULL}, {"depth=4", NULL}, {"tree=beam", NULL}, {"tree=sequoia", "depth=3"}};
    for (int same = 0; same < 2; same++)
        for (int o = 0; o < 4; o++) {
            pair p;
            fr_decoder dec;
            int32_t prompt[PROMPT];
            open_pair(&p, &TARGET, same ? &TARGET : &OTHER);
            fr_test_ids(prompt, PROMPT, 256, 39);
            fr_drafter *d = open_drafter(&p, p.spec, o >= 2, options[o]);
            open_decoder(&dec, &p, d, false);
            fr_decoder_prompt(&dec, prompt, PROMPT, &SAMPLINGS[1]);
            output out = {.n = 0};
            const fr_second_model *s = fr_draft_model_second(d);
            while (out.n < 24) {
                fr_decoder_step(&dec, CTX - dec.n_ids, emit, &out);
                // It never holds the new root, and lags behind by that and one more at most.
                assert_true(s->kv.n_committed < dec.n_ids);
                assert_true(s->kv.n_committed >= dec.n_ids - 2);
                assert_memory_equal(s->ids, dec.ids, sizeof *dec.ids * (size_t)s->kv.n_committed);
                expect_fresh_kv(&p, d);
            }
            fr_decoder_close(&dec);
            fr_drafter_close(d);
            close_pair(&p);
        }
}

static void a_kept_prefix_is_not_read_again_and_keeps_the_bits(void **state) {
    (void)state;
    enum { N = PROMPT + 8 };
    static const int same[] = {PROMPT, PROMPT + 6, N, 1, 0, 12}; // tokens that the texts share
    pair p;
    open_pair(&p, &TARGET, &TARGET);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        fr_decoder dec, fresh;
        int32_t prompt[N];
        fr_drafter *d = open_drafter(&p, p.spec, true, NULL);
        open_decoder(&dec, &p, d, false);
        fr_test_ids(prompt, PROMPT, 256, 41);
        decode(&dec, prompt, PROMPT, &SAMPLINGS[2], 20);
        memcpy(prompt, dec.ids, sizeof prompt);
        for (int k = same[i]; k < N; k++)
            prompt[k] = (prompt[k] + 1) % 256;
        fr_decoder_prompt(&dec, prompt, N, &SAMPLINGS[1]);
        const int kept = fr_draft_model_second(d)->kv.n_committed;
        assert_int_equal(kept, same[i] < N - 1 ? same[i] : N - 1);
        const output got = decode(&dec, prompt, N, &SAMPLINGS[1], 20);
        expect_fresh_kv(&p, d);
        open_decoder(&fresh, &p, NULL, false);
        const output plain = decode(&fresh, prompt, N, &SAMPLINGS[1], 20);
        expect_same(&got, &plain);
        assert_int_equal(dec.stats.passes, 4); // and it is still always right
        fr_decoder_close(&fresh);
        fr_decoder_close(&dec);
        fr_drafter_close(d);
    }
    close_pair(&p);
}

// Steps in which it drafts nothing leave it behind; it reads on when it drafts again.
static void it_catches_up_after_plain_steps(void **state) {
    (void)state;
    pair p;
    fr_decoder dec;
    int32_t prompt[PROMPT];
    open_pair(&p, &TARGET, &TARGET);
    fr_test_ids(prompt, PROMPT, 256, 43);
    const output plain =
        decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[1], 60, NULL);
    fr_drafter *d = open_drafter(&p, p.spec, true, NULL);
    open_decoder(&dec, &p, d, false);
    fr_decoder_prompt(&dec, prompt, PROMPT, &SAMPLINGS[1]);
    output out = {.n = 0};
    for (int step = 0; out.n < 60; step++) {
        const bool draft = step % 7 == 6; // a step of one token has no room for a guess
        const int before = out.n;
        fr_decoder_step(&dec, draft && 60 - out.n > 5 ? 60 - out.n : 1, emit, &out);
        if (draft && 60 - before > 5) {
            assert_int_equal(out.n - before, 5);
            expect_fresh_kv(&p, d);
        }
    }
    expect_same(&out, &plain);
    fr_decoder_close(&dec);
    fr_drafter_close(d);
    close_pair(&p);
}

// ---------------------------------------------------------------- vocabularies

static void padding_rows_do_not_matter(void **state) {
    (void)state;
    fr_tiny_options padded = TARGET, more = TARGET;
    padded.n_padding = 5;
    more.n_padding = 37;
    const fr_tiny_options *pairs[][2] = {{&padded, &TARGET}, {&TARGET, &padded}, {&padded, &more}};
    for (int i = 0; i < 3; i++) {
        pair p;
        int32_t prompt[PROMPT];
        open_pair(&p, pairs[i][0], pairs[i][1]);
        fr_test_ids(prompt, PROMPT, 256, 45);
        for (int dist = 0; dist < N_SAMPLINGS; dist++) {
            const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                             &SAMPLINGS[dist], 60, NULL);
            fr_drafter *d = open_drafter(&p, p.spec, true, NULL);
            const output got = decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT,
                                           &SAMPLINGS[dist], 60, NULL);
            expect_same(&got, &plain);
            fr_drafter_close(d);
        }
        close_pair(&p);
    }
}

// A token that only the target has: nothing is drafted as long as the text holds it.
static void a_token_unknown_to_the_draft_silences_it(void **state) {
    (void)state;
    fr_tiny_options padded = TARGET;
    padded.n_padding = 5;
    pair p;
    fr_decoder dec;
    int32_t prompt[PROMPT];
    open_pair(&p, &padded, &TARGET);
    fr_test_ids(prompt, PROMPT, 256, 47);
    fr_drafter *d = open_drafter(&p, p.spec, true, NULL);
    const int known = fr_draft_model_second(d)->small.n_common;
    assert_int_equal(known, fr_tokenizer_size(p.tokenizer));
    open_decoder(&dec, &p, d, false);
    prompt[9] = known;
    const output got = decode(&dec, prompt, PROMPT, &SAMPLINGS[1], 30);
    assert_int_equal(dec.stats.rows, 30);
    const output plain =
        decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[1], 30, NULL);
    expect_same(&got, &plain);
    prompt[9] = 9; // a text without it
    decode(&dec, prompt, PROMPT, &SAMPLINGS[0], 30);
    assert_true(dec.stats.rows > dec.stats.passes);
    fr_decoder_close(&dec);
    fr_drafter_close(d);
    close_pair(&p);
}

// ... nor does it go on behind one that another drafter guessed.
static void a_guess_unknown_to_the_draft_is_a_leaf(void **state) {
    (void)state;
    static const char *const trees[] = {"tree=chain", "tree=beam", "tree=sequoia"};
    const fr_tiny_pack heads = {.form = &fr_medusa_form, .n_draft = 250};
    fr_tiny_options padded = TARGET;
    padded.n_padding = 25;
    pair p;
    char pack[32] = "pack-XXXXXX", spec[120];
    int32_t prompt[PROMPT];
    open_pair(&p, &padded, &TARGET);
    fr_tiny_pack_write(pack, &heads, &p.target.model);
    fr_test_ids(prompt, PROMPT, 256, 49);
    snprintf(spec, sizeof spec, "medusa:%s+%s", pack, p.spec);
    for (int t = 0; t < 3; t++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            const fr_sampling dist = {.temperature = 1, .seed = seed};
            fr_drafter *d = open_drafter(&p, spec, true, (const char *[]){trees[t], NULL});
            const output got =
                decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT, &dist, 40, NULL);
            const output plain =
                decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &dist, 40, NULL);
            expect_same(&got, &plain);
            fr_drafter_close(d);
        }
    unlink(pack);
    close_pair(&p);
}

// A small model with fewer rows than tokens, driven by another one: what it has no row for is not
// drafted to it.
static void a_driven_model_is_drafted_what_it_knows(void **state) {
    (void)state;
    enum { MISSING = 30 };
    fr_tiny_options cut = TARGET;
    cut.n_padding = -MISSING;
    pair p;
    char driver[32], spec[120];
    int32_t prompt[PROMPT];
    open_pair(&p, &TARGET, &cut);
    write_model(driver, &OTHER);
    fr_test_ids(prompt, PROMPT, 200, 50);
    snprintf(spec, sizeof spec, "%s@draft-model:%s", p.spec, driver);
    fr_drafter *d = open_drafter(&p, spec, true, NULL);
    for (uint64_t seed = 0; seed < 8; seed++) {
        const fr_sampling dist = {.temperature = 1.5f, .seed = seed};
        const output got =
            decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT, &dist, 40, NULL);
        const output plain =
            decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &dist, 40, NULL);
        expect_same(&got, &plain);
    }
    fr_drafter_close(d);
    unlink(driver);
    close_pair(&p);
}

static void another_vocabulary_is_refused(void **state) {
    (void)state;
    fr_error err;
    fr_drafter *d;
    pair p;
    fr_tiny_options spm = TARGET;
    spm.spm = true;
    open_pair(&p, &TARGET, &spm);
    assert_int_equal(try_drafter(&d, &p, p.spec, false, NULL, &err), FR_EUNSUP);
    assert_null(d);
    // The first id: a byte there, <unk> here.
    assert_non_null(strstr(err.text, "token 0 is special '<unk>', the target's is '\\x00'"));
    close_pair(&p);
}

// ---------------------------------------------------------------- SPEC and files

static void a_spec_is_checked_before_anything_is_loaded(void **state) {
    (void)state;
    static const struct {
        const char *spec, *says;
    } wrong[] = {
        {"draft-model", "expected draft-model:FILE"},
        {"draft-model:", "expected draft-model:FILE"},
        {"prompt-lookup:x", "takes no FILE"},
        {"none:x", "takes no FILE"},
        {"", "drafter ''"},
        {"prompt-lookup+", "drafter ''"},
        {"+prompt-lookup", "drafter ''"},
        {"prompt-lookup+nope", "'nope'"},
        {"auto+eagle", "auto: chooses by itself and stands alone"},
        {"eagle+auto", "stands alone"},
        {"rest:x+auto", "stands alone"},
        {"auto:x", "stands alone"},
        {"draft-model:x@auto", "stands alone"},
        {"prompt-lookup+none", "stands alone"},
        {"none+prompt-lookup", "stands alone"},
        {"prompt-lookup+prompt-lookup", "given twice"},
        {"draft-model:a+draft-model:a", "given twice"},
        {"eagle:a+eagle:./a", "given twice"},
        {"draft-model:a@ppd:b+draft-model:.//a@ppd:./b", "given twice"},
        {"medusa:a@prompt-lookup", "no model of its own"},
        {"prompt-lookup@ppd", "no model of its own"},
        {"draft-model:a@none", "expected one drafter"},
        {"draft-model:a@ppd@eagle", "expected one drafter"},
        {"draft-model:a@draft-model", "expected draft-model:FILE"},
        {"draft-model:a@ppd+draft-model:a@ppd", "given twice"},
        {"draft-model:a+draft-model:b+draft-model:c+draft-model:d+prompt-lookup", "at most 4"}};
    static const char *const right[] = {"draft-model:x",
                                        "draft-model:a+b",
                                        "draft-model:me@home/x:y.gguf",
                                        "draft-model:a@nobody",
                                        "draft-model:a@ppd:b+prompt-lookup",
                                        "draft-model:a@ppd:b+draft-model:a@ppd:c",
                                        "draft-model:a+b+prompt-lookup",
                                        "prompt-lookup+draft-model:a+draft-model:b"};
    fr_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (fr_drafter_check(wrong[i].spec, &err) != FR_EARG) fail_msg("%s", wrong[i].spec);
        if (!strstr(err.text, wrong[i].says)) fail_msg("%s: %s", wrong[i].spec, err.text);
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (fr_drafter_check(right[i], &err)) fail_msg("%s: %s", right[i], err.text);
    char long_name[5000] = "draft-model:";
    memset(long_name + 12, 'x', sizeof long_name - 13);
    assert_int_equal(fr_drafter_check(long_name, &err), FR_EARG);
}

static void files_and_options_at_fault_are_named(void **state) {
    (void)state;
    fr_error err;
    fr_drafter *d;
    pair p;
    open_pair(&p, &TARGET, &TARGET);
    assert_int_equal(try_drafter(&d, &p, "draft-model:/nonexistent.gguf", false, NULL, &err),
                     FR_EIO);
    assert_non_null(strstr(err.text, "/nonexistent.gguf"));
    assert_int_equal(
        try_drafter(&d, &p, "prompt-lookup+draft-model:/nonexistent.gguf", false, NULL, &err),
        FR_EIO);
    assert_null(d);
    const char *bad[][2] = {{"depth=0", NULL},  {"depth=17", NULL},   {"depth=", NULL},
                            {"tree=oak", NULL}, {"colour=red", NULL}, {"matches=3", NULL}};
    for (int i = 0; i < 6; i++)
        assert_int_equal(try_drafter(&d, &p, p.spec, false, bad[i], &err), FR_EARG);
    char both[120];
    snprintf(both, sizeof both, "%s+prompt-lookup", p.spec);
    assert_int_equal(try_drafter(&d, &p, both, false, bad[4], &err), FR_EARG);
    assert_int_equal(try_drafter(&d, &p, both, false, (const char *[]){"matches=0", NULL}, &err),
                     FR_EARG);
    assert_int_equal(try_drafter(&d, &p, both, false, bad[5], &err), FR_OK);
    fr_drafter_close(d);
    FILE *f = fopen(p.path, "w");
    assert_non_null(f);
    fputs("no model", f);
    fclose(f);
    assert_int_not_equal(try_drafter(&d, &p, p.spec, false, NULL, &err), FR_OK);
    assert_null(d);
    close_pair(&p);
}

static void the_check_of_a_second_model_finds_damage(void **state) {
    (void)state;
    pair p;
    fr_second_model s;
    fr_error err;
    int32_t text[PROMPT];
    open_pair(&p, &TARGET, &OTHER);
    const fr_drafter_config config = {
        .model = &p.target.model, .tokenizer = p.tokenizer, .n_ctx = CTX};
    if (fr_second_model_open(&s, p.path, &config, &err)) fail_msg("%s", err.text);
    fr_test_ids(text, PROMPT, s.small.n_common, 5);
    read_text(&s, text, PROMPT);
    assert_noticed(s.ids[3], s.small.n_common, fr_second_model_is_sound(&s));
    assert_noticed(s.ids[PROMPT - 1], -1, fr_second_model_is_sound(&s));
    assert_noticed(s.kv.n_committed, -1, fr_second_model_is_sound(&s));
    assert_noticed(s.small.n_ctx, PROMPT - 1, fr_second_model_is_sound(&s));
    fr_second_model_close(&s);
    close_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_draft_model_gives_the_tokens_of_plain_decoding),
        cmocka_unit_test(a_driven_draft_model_gives_them_too),
        cmocka_unit_test(a_broken_draft_model_only_drafts_less),
        cmocka_unit_test(a_draft_equal_to_the_target_is_always_right),
        cmocka_unit_test(second_guesses_ride_as_leaves),
        cmocka_unit_test(a_draft_that_is_wrong_falls_silent),
        cmocka_unit_test(under_rejection_the_law_is_the_targets),
        cmocka_unit_test(its_kv_after_every_step_is_that_of_a_fresh_reading),
        cmocka_unit_test(a_kept_prefix_is_not_read_again_and_keeps_the_bits),
        cmocka_unit_test(it_catches_up_after_plain_steps),
        cmocka_unit_test(padding_rows_do_not_matter),
        cmocka_unit_test(a_token_unknown_to_the_draft_silences_it),
        cmocka_unit_test(a_guess_unknown_to_the_draft_is_a_leaf),
        cmocka_unit_test(a_driven_model_is_drafted_what_it_knows),
        cmocka_unit_test(another_vocabulary_is_refused),
        cmocka_unit_test(a_spec_is_checked_before_anything_is_loaded),
        cmocka_unit_test(files_and_options_at_fault_are_named),
        cmocka_unit_test(the_check_of_a_second_model_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
