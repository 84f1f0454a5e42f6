// test_jacobi_drafter.c — Jacobi decoding: the tokens of plain decoding under every distribution, and
// every chain is what the pass before said of the chain before.
#include "draft/drafting.h"
#include <stdio.h>

enum { CTX = 128, PROMPT = 21, PREDICT = 60 };

static const fr_sampling SAMPLINGS[] = {
    {.temperature = 0},
    {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 3},
    {.temperature = 1.2f, .seed = 4, .repeat_penalty = 1.1f},
};

static const char *const SETTINGS[][2] = {
    {NULL}, {"window=8", NULL}, {"window=63", NULL}}; // the last: more than fits in most trees
enum { N_SETTINGS = sizeof SETTINGS / sizeof *SETTINGS };

static void a_prompt(int32_t *ids, const pair *p, unsigned seed) {
    fr_test_ids(ids, PROMPT, p->target.model.config.n_vocab, seed);
    for (int i = 0; i < 6; i++) // some of it repeats itself
        ids[PROMPT - 6 + i] = ids[2 + i];
}

static void any_setting_gives_the_tokens_of_plain_decoding(void **state) {
    (void)state;
    const char *const specs[] = {"jacobi", "jacobi+prompt-lookup", "lookahead+jacobi"};
    const char *const arch[] = {"llama", "gemma3"};
    for (int a = 0; a < 2; a++) {
        pair p;
        int32_t prompt[PROMPT];
        open_target(&p,
                    &(fr_tiny_options){
                        .arch = arch[a], .type = FR_TYPE_Q4_1, .n_layer = 2, .window = a ? 20 : 0},
                    1 + a, CTX);
        a_prompt(prompt, &p, 5);
        for (size_t dist = 0; dist < sizeof SAMPLINGS / sizeof *SAMPLINGS; dist++) {
            const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                             &SAMPLINGS[dist], PREDICT, NULL);
            for (int s = 0; s < N_SETTINGS; s++)
                for (int spec = 0; spec < 3; spec++)
                    for (int adapt = 0; adapt < 2; adapt++) {
                        if (spec == 2 && s == 2) continue; // too wide a window for lookahead
                        fr_drafter *d = open_drafter(&p, specs[spec], !adapt, SETTINGS[s]);
                        const output got = decode_once(&p, d, FR_RULE_EXACT, adapt, prompt, PROMPT,
                                                       &SAMPLINGS[dist], PREDICT, NULL);
                        expect_same(&plain, &got);
                        fr_drafter_close(d);
                    }
        }
        close_target(&p);
    }
}

// The other rules keep their promises; here only that they run, end and say whole answers.
static void the_other_rules_decode_too(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    open_target(&p, &(fr_tiny_options){.arch = "qwen2", .n_layer = 2}, 1, CTX);
    a_prompt(prompt, &p, 8);
    const output plain =
        decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[0], PREDICT, NULL);
    for (int s = 0; s < N_SETTINGS; s++)
        for (fr_rule rule = FR_RULE_REJECTION; rule <= FR_RULE_TYPICAL; rule++)
            for (size_t dist = 0; dist < sizeof SAMPLINGS / sizeof *SAMPLINGS; dist++) {
                fr_drafter *d = open_drafter(&p, "jacobi", true, SETTINGS[s]);
                const output got = decode_once(&p, d, rule, false, prompt, PROMPT, &SAMPLINGS[dist],
                                               PREDICT, NULL);
                if (dist == 0) expect_same(&plain, &got); // greedy, all rules are the same
                fr_drafter_close(d);
            }
    close_target(&p);
}

// ---------------------------------------------------------------- the iteration, written anew

typedef struct reader {
    const pair *p;
    fr_forward *forward;
    fr_kv kv;
} reader;

// The likeliest token behind a text, by a pass over all of it.
static int32_t next_of(reader *m, const int32_t *text, int n) {
    const fr_model *model = &m->p->target.model;
    fr_row rows[FR_MAX_ROWS];
    for (int i = 0; i < n; i++)
        rows[i] = fr_row_token(text[i], i - 1, i == n - 1 ? FR_WANT_LOGITS : 0);
    const fr_pass pass = {.rows = rows, .n_rows = n, .kv = (fr_kv *[]){&m->kv}, .n_seq = 1};
    fr_forward_run(m->forward, &pass);
    fr_kv_drop_scratch(&m->kv);
    return model->kern->argmax(fr_forward_logits(m->forward, n - 1), model->config.n_vocab);
}

typedef struct steps {
    int n;
    fr_tree tree[PREDICT];
    int n_ids[PREDICT];
} steps;

static void watch(void *user, const fr_tree *proposed, int n_ids) {
    steps *s = user;
    s->tree[s->n] = *proposed;
    s->n_ids[s->n++] = n_ids;
}

// Greedy: the guesses of a step are what the pass before said of the guesses before.
static void every_chain_is_what_was_said_of_the_one_before(void **state) {
    (void)state;
    enum { WIDTH = 6 };
    pair p;
    int32_t text[CTX];
    int kept = 0;
    open_target(&p, &(fr_tiny_options){.arch = "llama", .n_layer = 2}, 1, CTX);
    reader m = {.p = &p};
    const fr_forward_limits limits = {.n_ctx = CTX};
    fr_error err;
    assert_int_equal(fr_forward_open(&m.forward, &p.target.model, &limits, &err), FR_OK);
    assert_int_equal(fr_kv_open(&m.kv, &p.target.model.config, CTX, FR_KV_F16, &err), FR_OK);
    fr_drafter *d = open_drafter(&p, "jacobi", true, (const char *[]){"window=6", NULL});
    static steps seen;
    fr_decoder decoder;
    seen.n = 0;
    a_prompt(text, &p, 3);
    open_decoder(&decoder, &p, d, false);
    decoder.watch = watch;
    decoder.watch_user = &seen;
    const output o = decode(&decoder, text, PROMPT, &SAMPLINGS[0], PREDICT);
    memcpy(text + PROMPT, o.token, sizeof *text * PREDICT);
    for (int step = 1; step < seen.n && seen.tree[step].max_depth >= WIDTH; step++) {
        const fr_tree *before = &seen.tree[step - 1], *now = &seen.tree[step];
        const int n = seen.n_ids[step - 1], taken = seen.n_ids[step] - n;
        assert_int_equal(before->n, WIDTH + 1);
        assert_int_equal(now->n, WIDTH + 1);
        int32_t guessed[CTX];
        memcpy(guessed, text, sizeof *text * (size_t)n);
        for (int k = 1; k <= WIDTH; k++)
            guessed[n + k - 1] = before->node[k].id;
        for (int k = 1; k + taken - 1 <= WIDTH; k++, kept++)
            assert_int_equal(now->node[k].id, next_of(&m, guessed, n + k + taken - 1));
    }
    assert_true(kept > 4 * WIDTH);
    fr_decoder_close(&decoder);
    fr_drafter_close(d);
    fr_kv_close(&m.kv);
    fr_forward_close(m.forward);
    close_target(&p);
}

static void options_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"window=0", "window=64", "guesses=3", "window="};
    pair p;
    open_target(&p, &(fr_tiny_options){.arch = "llama", .n_layer = 1}, 1, CTX);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fr_drafter *d;
        fr_error err;
        const char *const options[] = {bad[i], NULL};
        assert_int_equal(try_drafter(&d, &p, "jacobi", false, options, &err), FR_EARG);
        assert_null(d);
        assert_non_null(strstr(err.text, "draft option"));
    }
    close_target(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_setting_gives_the_tokens_of_plain_decoding),
        cmocka_unit_test(the_other_rules_decode_too),
        cmocka_unit_test(every_chain_is_what_was_said_of_the_one_before),
        cmocka_unit_test(options_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
