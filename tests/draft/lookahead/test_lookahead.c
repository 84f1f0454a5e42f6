// test_lookahead.c — lookahead decoding: the tokens of plain decoding under every distribution, and
// every step's candidates those of the method written down anew over whole texts.
#include "draft/drafting.h"
#include "draft/lookahead/window.h"
#include <stdio.h>
#include <stdlib.h>

enum { CTX = 128, PROMPT = 21, PREDICT = 60 };

static const fr_sampling SAMPLINGS[] = {
    {.temperature = 0},
    {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 3},
    {.temperature = 1.2f, .seed = 4, .repeat_penalty = 1.1f},
};

static const char *const SETTINGS[][5] = {
    {NULL},                                      // as it comes
    {"ngram=5", "window=7", "guesses=7", NULL},  // the paper's
    {"prompt=0", "window=4", NULL},              // what the window makes alone
    {"window=0", NULL},                          // the text's n-grams alone
    {"ngram=2", "window=5", "guesses=2", NULL},  // bigrams
    {"ngram=8", "window=1", "guesses=64", NULL}, // a single column
};
enum { N_SETTINGS = sizeof SETTINGS / sizeof *SETTINGS };

static void a_prompt(int32_t *ids, const pair *p, unsigned seed) {
    fr_test_ids(ids, PROMPT, p->target.model.config.n_vocab, seed);
    for (int i = 0; i < 6; i++) // some of it repeats itself
        ids[PROMPT - 6 + i] = ids[2 + i];
}

static void any_setting_gives_the_tokens_of_plain_decoding(void **state) {
    (void)state;
    const char *const specs[] = {"lookahead", "lookahead+prompt-lookup"};
    const char *const arch[] = {"llama", "gemma3"};
    int deep = 0;
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
                for (int spec = 0; spec < 2; spec++)
                    for (int adapt = 0; adapt < 2; adapt++) {
                        fr_stats stats;
                        fr_drafter *d = open_drafter(&p, specs[spec], !adapt, SETTINGS[s]);
                        const output got = decode_once(&p, d, FR_RULE_EXACT, adapt, prompt, PROMPT,
                                                       &SAMPLINGS[dist], PREDICT, &stats);
                        expect_same(&plain, &got);
                        deep += stats.accepted[1] > 0;
                        fr_drafter_close(d);
                    }
        }
        close_target(&p);
    }
    assert_true(deep > 0);
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
                fr_drafter *d = open_drafter(&p, "lookahead", true, SETTINGS[s]);
                const output got = decode_once(&p, d, rule, false, prompt, PROMPT, &SAMPLINGS[dist],
                                               PREDICT, NULL);
                if (dist == 0) expect_same(&plain, &got); // greedy, all rules are the same
                fr_drafter_close(d);
            }
    close_target(&p);
}

// ---------------------------------------------------------------- the method, written down anew

enum { KEYS = 2048, MOST = 7, N_MAX = 5, W_MAX = 7 };

typedef struct book { // a dictionary of lists, the newest last
    int n;
    int32_t tail[MOST][N_MAX];
} book;

typedef struct method {
    const pair *p;
    fr_forward *forward;
    fr_kv kv;
    int n, width, guesses, levels, columns;
    int32_t cell[N_MAX][W_MAX + N_MAX];
    book *pool;
} method;

// The likeliest token behind a text, by a pass over all of it.
static int32_t next_of(method *m, const int32_t *text, int n) {
    const fr_model *model = &m->p->target.model;
    fr_row rows[FR_MAX_ROWS];
    for (int i = 0; i < n; i++)
        rows[i] = fr_row_token(text[i], i - 1, i == n - 1 ? FR_WANT_LOGITS : 0);
    const fr_pass pass = {.rows = rows, .n_rows = n, .kv = (fr_kv *[]){&m->kv}, .n_seq = 1};
    fr_forward_run(m->forward, &pass);
    fr_kv_drop_scratch(&m->kv);
    return model->kern->argmax(fr_forward_logits(m->forward, n - 1), model->config.n_vocab);
}

static void remember(method *m, const int32_t *gram) {
    book *b = &m->pool[gram[0]];
    const size_t bytes = sizeof *gram * (size_t)(m->n - 1);
    int at = 0;
    while (at < b->n && memcmp(b->tail[at], gram + 1, bytes))
        at++;
    if (at == b->n && b->n == m->guesses) at = 0;
    if (at < b->n) { // it, or the oldest, goes from where it is
        b->n--;
        memmove(b->tail[at], b->tail[at + 1], sizeof *b->tail * (size_t)(b->n - at));
    }
    memcpy(b->tail[b->n++], gram + 1, bytes);
}

// Every token of the window by itself: what stands before it in the text, in level 0, and in its
// column.
static void look_ahead(method *m, const int32_t *text, int n) {
    int32_t said[W_MAX + N_MAX];
    for (int i = 0; i < m->columns; i++) {
        int32_t seen[CTX + 2 * N_MAX + W_MAX];
        int k = n;
        memcpy(seen, text, sizeof *text * (size_t)n);
        for (int c = 1; c <= i; c++)
            seen[k++] = m->cell[0][c];
        for (int l = 1; l < m->levels; l++)
            seen[k++] = m->cell[l][i];
        said[i] = next_of(m, seen, k);
    }
    if (m->levels < m->n - 1) {
        m->columns--;
        for (int l = 0; l < m->levels; l++)
            memmove(m->cell[l], m->cell[l] + 1, sizeof *said * (size_t)m->columns);
        memcpy(m->cell[m->levels++], said + 1, sizeof *said * (size_t)m->columns);
        return;
    }
    for (int i = 0; i < m->columns; i++) {
        int32_t gram[N_MAX];
        for (int l = 0; l < m->levels; l++)
            gram[l] = l == 0 && i == 0 ? text[n - 1] : m->cell[l][i];
        gram[m->levels] = said[i];
        remember(m, gram);
    }
    for (int l = 0; l + 1 < m->levels; l++)
        memcpy(m->cell[l], m->cell[l + 1], sizeof m->cell[l]);
    memcpy(m->cell[m->levels - 1], said, sizeof *said * (size_t)m->columns);
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

// Every n-gram of the root's is a path of the tree, as far as the answer still goes, and every node
// is of one.
static void expect_candidates(const method *m, const fr_tree *t) {
    const book *b = &m->pool[t->node[0].id];
    bool told[FR_TREE_MAX] = {true};
    for (int i = 0; i < b->n; i++)
        for (int k = 0, node = 0; k < m->n - 1 && k < t->max_depth; k++) {
            assert_true((node = fr_tree_child(t, node, b->tail[i][k])) > 0);
            told[node] = true;
        }
    for (int i = 0; i < t->n; i++)
        assert_true(told[i]);
}

static void every_steps_candidates_are_the_methods(void **state) {
    (void)state;
    static const struct {
        int n, width, guesses, of_text;
    } settings[] = {{4, 3, 3, 1}, {5, 7, 7, 0}, {2, 4, 2, 0}, {3, 1, 1, 1}, {3, 5, 3, 0}};
    pair p;
    int32_t text[CTX];
    int many = 0;
    open_target(&p, &(fr_tiny_options){.arch = "llama", .n_layer = 2}, 1, CTX);
    assert_true(p.target.model.config.n_vocab <= KEYS);
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        char option[4][16];
        method m = {.p = &p,
                    .n = settings[s].n,
                    .width = settings[s].width,
                    .guesses = settings[s].guesses,
                    .pool = calloc(KEYS, sizeof(book))};
        const fr_forward_limits limits = {.n_ctx = CTX};
        fr_error err;
        assert_int_equal(fr_forward_open(&m.forward, &p.target.model, &limits, &err), FR_OK);
        assert_int_equal(fr_kv_open(&m.kv, &p.target.model.config, CTX, FR_KV_F16, &err), FR_OK);
        snprintf(option[0], 16, "ngram=%d", m.n);
        snprintf(option[1], 16, "window=%d", m.width);
        snprintf(option[2], 16, "guesses=%d", m.guesses);
        snprintf(option[3], 16, "prompt=%d", settings[s].of_text);
        fr_drafter *d =
            open_drafter(&p, "lookahead", true,
                         (const char *[]){option[0], option[1], option[2], option[3], NULL});
        static steps seen;
        fr_decoder decoder;
        seen.n = 0;
        a_prompt(text, &p, 40 + (unsigned)s);
        open_decoder(&decoder, &p, d, false);
        decoder.watch = watch;
        decoder.watch_user = &seen;
        const output o = decode(&decoder, text, PROMPT, &SAMPLINGS[0], PREDICT);
        fr_decoder_close(&decoder);
        memcpy(text + PROMPT, o.token, sizeof *text * PREDICT);

        fr_window w = {.n = m.n, .width = m.width};
        fr_window_begin(&w, text, PROMPT); // which tokens it begins with is its own affair
        m.levels = 1;
        m.columns = m.width + m.n - 2;
        memcpy(m.cell[0], w.cell[0], sizeof *text * (size_t)m.columns);
        int indexed = m.n - 1;
        for (int step = 0; step < seen.n; step++) {
            const int n = seen.n_ids[step];
            if (step) look_ahead(&m, text, seen.n_ids[step - 1]);
            for (; indexed < n && settings[s].of_text; indexed++)
                remember(&m, text + indexed - m.n + 1);
            if (seen.tree[step].max_depth > 0) expect_candidates(&m, &seen.tree[step]);
            many += seen.tree[step].n > m.n;
        }
        fr_drafter_close(d);
        fr_kv_close(&m.kv);
        fr_forward_close(m.forward);
        free(m.pool);
    }
    assert_true(many > 20);
    close_target(&p);
}

// A text that goes round: an n-gram that matches whole brings the token behind it too.
static void a_whole_match_brings_the_next_token_too(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    open_target(&p, &(fr_tiny_options){.arch = "llama", .n_layer = 2}, 1, CTX);
    a_prompt(prompt, &p, 5);
    fr_stats stats;
    fr_drafter *d = open_drafter(&p, "lookahead", true, (const char *[]){"window=0", NULL});
    // A strong penalty turned round: what was said is said again.
    const fr_sampling again = {.temperature = 0, .repeat_penalty = 0.2f};
    const output plain =
        decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &again, PREDICT, NULL);
    const output got =
        decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT, &again, PREDICT, &stats);
    expect_same(&plain, &got);
    assert_true(stats.accepted[2] > 0); // all three tokens of a tail, so four of a pass
    int64_t tokens = stats.passes;
    for (int k = 0; k < FR_MAX_DEPTH; k++)
        tokens += stats.accepted[k];
    assert_int_equal(tokens, PREDICT);
    fr_drafter_close(d);
    close_target(&p);
}

static void options_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const char *const bad[][3] = {
        {"ngram=1", NULL},
        {"ngram=9", NULL},
        {"window=64", NULL},
        {"guesses=65", NULL},
        {"prompt=2", NULL},
        {"colour=red", NULL},
        {"guesses=0", NULL},
        {"window=0", "prompt=0", NULL},
        {"window=60", "ngram=8", NULL},
        {"window=", NULL},
    };
    pair p;
    open_target(&p, &(fr_tiny_options){.arch = "llama", .n_layer = 1}, 1, CTX);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fr_drafter *d;
        fr_error err;
        assert_int_equal(try_drafter(&d, &p, "lookahead", false, bad[i], &err), FR_EARG);
        assert_null(d);
        assert_non_null(strstr(err.text, "draft option"));
    }
    close_target(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_setting_gives_the_tokens_of_plain_decoding),
        cmocka_unit_test(the_other_rules_decode_too),
        cmocka_unit_test(every_steps_candidates_are_the_methods),
        cmocka_unit_test(a_whole_match_brings_the_next_token_too),
        cmocka_unit_test(options_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
