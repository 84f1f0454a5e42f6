// Drafters with packs: whatever the pack says, the tokens are those of plain decoding; heads give
// what their formulas say; what is likeliest is proposed.
#include "draft/drafting.h"
#include "draft/kit/likeliest.h"
#include "draft/medusa/medusa_heads.h"
#include "draft/naive.h"
#include "draft/pack/find.h"
#include "kern/repack.h"
#include "support/quick.h"
#include "support/tiny_pack.h"
#include "support/weights.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 160, PROMPT = 71, SHORT = 20, TOKENS = 60 };

static const fr_sampling SAMPLINGS[] = {
    {.temperature = 0},
    {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 3},
    {.temperature = 1, .repeat_penalty = 1.2f, .repeat_last_n = 5, .seed = 5},
};
enum { N_SAMPLINGS = sizeof SAMPLINGS / sizeof *SAMPLINGS };

static void open_pair(pair *p, const fr_tiny_pack *pack, int threads) {
    const fr_tiny_options target = {.arch = "qwen2", .type = FR_TYPE_Q8_0, .n_layer = 2};
    open_target(p, &target, threads, CTX);
    strcpy(p->path, "pack-XXXXXX");
    fr_tiny_pack_write(p->path, pack, &p->target.model);
}

static void close_pair(pair *p) {
    unlink(p->path);
    close_target(p);
}

// Two requests: what the first one left behind must not matter to the second.
static output decode_twice(const pair *p, fr_drafter *drafter, bool adapt, fr_rule rule,
                           const int32_t *prompt, int n_prompt, const fr_sampling *dist,
                           fr_stats *stats) {
    fr_decoder d;
    open_decoder(&d, p, drafter, adapt);
    d.accept.rule = rule;
    decode(&d, prompt, n_prompt, dist, TOKENS);
    const output o = decode(&d, prompt, n_prompt, dist, TOKENS);
    if (stats) *stats = d.stats;
    fr_decoder_close(&d);
    return o;
}

static const fr_tiny_pack PACKS[] = {
    {.form = &fr_medusa_form, .n_draft = 200},
    {.form = &fr_medusa_form, .variant = FR_MEDUSA_OWN_HEADS, .type = FR_TYPE_Q8_0},
    {.form = &fr_medusa_form, .variant = FR_MEDUSA_HYDRA, .depth = 4},
    {.form = &fr_medusa_form, .variant = FR_MEDUSA_EXIT, .tap = 1},
    {.form = &fr_eagle_form, .n_draft = 200},
    {.form = &fr_eagle_form, .type = FR_TYPE_Q8_0, .depth = 5},
    {.form = &fr_ppd_form, .n_draft = 200},
    {.form = &fr_ppd_form, .ensemble = 2, .depth = 2},
    {.form = &fr_hidden_transfer_form, .n_draft = 200},
    {.form = &fr_hidden_transfer_form, .type = FR_TYPE_Q8_0, .depth = 2},
    {.form = &fr_chimera_form, .n_draft = 200, .ngram = 3},
    {.form = &fr_chimera_form, .encoder = FR_ENCODER_RESIDUAL, .type = FR_TYPE_Q8_0, .depth = 5},
    {.form = &fr_chimera_form, .encoder = FR_ENCODER_LAYERS, .variant = FR_MEDUSA_OWN_HEADS},
    {.form = &fr_chimera_form, .no_residual = true, .ngram = 5},
    {.form = &fr_eagle_form, .n_taps = 2, .taps = {0, 1}, .n_draft = 200},
    {.form = &fr_eagle_form, .n_taps = 2, .taps = {1, 2}, .type = FR_TYPE_Q8_0, .depth = 5},
    {.form = &fr_eagle_form, .n_taps = 1, .taps = {2}},
};
enum { N_PACKS = sizeof PACKS / sizeof *PACKS };

static bool rides(const fr_pack_form *form) {
    return form == &fr_ppd_form || form == &fr_hidden_transfer_form;
}

// Under FR_QUICK pack i is tried under one sampling after one prompt, the next one under the next
// after the other.
static int first_law(int i) {
    return fr_test_is_quick() ? i % N_SAMPLINGS : 0;
}

static int law_step(void) {
    return fr_test_is_quick() ? N_SAMPLINGS : 1;
}

static void any_pack_gives_the_tokens_of_plain_decoding(void **state) {
    (void)state;
    static const struct {
        const char *tail;
        bool no_adapt, adapt;
        const char *options[3];
    } HOW[] = {{"", true, false, {NULL}},
               {"", false, true, {NULL}},
               {"", false, false, {"depth=16", "width=16", NULL}},
               {"+prompt-lookup", false, true, {"depth=2", "min-score=0", NULL}}};
    for (int i = 0; i < N_PACKS; i++) {
        pair p;
        int32_t prompt[PROMPT];
        open_pair(&p, &PACKS[i], 1 + i % 2);
        fr_test_ids(prompt, PROMPT, 256, 31);
        for (int dist = first_law(i); dist < N_SAMPLINGS; dist += law_step())
            for (int n_prompt = 1; n_prompt <= PROMPT; n_prompt += PROMPT - 1) {
                if (fr_test_is_quick() && (n_prompt > 1) != (i / N_SAMPLINGS % 2)) continue;
                const output plain = decode_twice(&p, NULL, false, FR_RULE_EXACT, prompt, n_prompt,
                                                  &SAMPLINGS[dist], NULL);
                for (size_t h = 0; h < sizeof HOW / sizeof *HOW; h++) {
                    char spec[80];
                    fr_stats stats;
                    snprintf(spec, sizeof spec, "%s:%s%s", PACKS[i].form->name, p.path,
                             HOW[h].tail);
                    fr_drafter *d = open_drafter(&p, spec, HOW[h].no_adapt, HOW[h].options);
                    const output got = decode_twice(&p, d, HOW[h].adapt, FR_RULE_EXACT, prompt,
                                                    n_prompt, &SAMPLINGS[dist], &stats);
                    assert_memory_equal(got.token, plain.token, sizeof plain.token[0] * TOKENS);
                    // What rides in the pass itself has to pay for every row.
                    if (HOW[h].no_adapt || (!HOW[h].adapt && !rides(PACKS[i].form)))
                        assert_true(stats.rows > 3 * stats.passes);
                    fr_drafter_close(d);
                }
            }
        close_pair(&p);
    }
}

static void a_static_tree_gives_them_too_and_is_the_shape(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    char spec[40];
    fr_stats stats;
    open_pair(&p, &PACKS[4], 1);
    fr_test_ids(prompt, PROMPT, 256, 31);
    snprintf(spec, sizeof spec, "eagle:%s", p.path);
    fr_drafter *d = open_drafter(&p, spec, false, (const char *[]){"tree=static", "depth=3", NULL});
    const output plain =
        decode_twice(&p, NULL, false, FR_RULE_EXACT, prompt, PROMPT, &SAMPLINGS[0], NULL);
    const output got =
        decode_twice(&p, d, false, FR_RULE_EXACT, prompt, PROMPT, &SAMPLINGS[0], &stats);
    assert_memory_equal(got.token, plain.token, sizeof plain.token[0] * TOKENS);
    // Where the end is not near, every pass has the 26 rows of the shape.
    assert_true(stats.passes_by_rows[26] >= stats.passes - 6);
    fr_drafter_close(d);
    close_pair(&p);
}

// One distribution a level: the shape's 25 nodes, or what pays of the best guesses' distributions.
static void distributions_by_level_give_them_too(void **state) {
    (void)state;
    static const char *const trees[] = {"tree=static", "tree=chain"};
    pair p;
    int32_t prompt[PROMPT];
    char spec[40];
    const fr_tiny_pack pack = {.form = &fr_chimera_form, .n_draft = 200, .depth = 4};
    open_pair(&p, &pack, 1);
    fr_test_ids(prompt, PROMPT, 256, 31);
    snprintf(spec, sizeof spec, "chimera:%s", p.path);
    for (int dist = 0; dist < N_SAMPLINGS; dist++) {
        const output plain =
            decode_twice(&p, NULL, false, FR_RULE_EXACT, prompt, PROMPT, &SAMPLINGS[dist], NULL);
        for (int t = 0; t < 2; t++) {
            fr_stats stats;
            fr_drafter *d =
                open_drafter(&p, spec, false, (const char *[]){trees[t], "depth=4", NULL});
            const output got =
                decode_twice(&p, d, false, FR_RULE_EXACT, prompt, PROMPT, &SAMPLINGS[dist], &stats);
            assert_memory_equal(got.token, plain.token, sizeof plain.token[0] * TOKENS);
            // Where the end is not near, every pass has the 26 rows of the shape.
            if (t == 0) assert_true(stats.passes_by_rows[26] >= stats.passes - 6);
            if (t == 1) assert_true(stats.rows > 3 * stats.passes);
            fr_drafter_close(d);
        }
    }
    close_pair(&p);
}

// Weights may be no numbers, as a damaged file has them: then nothing is likely.
static void a_broken_pack_gives_them_too(void **state) {
    (void)state;
    static const fr_tiny_pack more[] = {{.form = &fr_hidden_state_form, .rank = 8, .gate = true},
                                        {.form = &fr_hidden_state_form, .pure = true},
                                        {.form = &fr_early_exit_form}};
    for (int i = 0; i < N_PACKS + 3; i++) {
        fr_tiny_pack pack = i < N_PACKS ? PACKS[i] : more[i - N_PACKS];
        pair p;
        int32_t prompt[PROMPT];
        char spec[40];
        pack.broken = true;
        open_pair(&p, &pack, 1);
        fr_test_ids(prompt, PROMPT, 256, 31);
        snprintf(spec, sizeof spec, "%s:%s", pack.form->name, p.path);
        for (int dist = first_law(i); dist < N_SAMPLINGS; dist += law_step()) {
            const output plain = decode_twice(&p, NULL, false, FR_RULE_EXACT, prompt, PROMPT,
                                              &SAMPLINGS[dist], NULL);
            for (int way = 0; way < 2; way++) {
                fr_drafter *d = open_drafter(&p, spec, way > 0, NULL);
                const output got = decode_twice(&p, d, !way, FR_RULE_EXACT, prompt, PROMPT,
                                                &SAMPLINGS[dist], NULL);
                assert_memory_equal(got.token, plain.token, sizeof plain.token[0] * TOKENS);
                fr_drafter_close(d);
            }
        }
        close_pair(&p);
    }
}

static void under_other_rules_every_pack_drafts_as_well(void **state) {
    (void)state;
    for (int i = 0; i < N_PACKS; i++) {
        pair p;
        int32_t prompt[PROMPT];
        char spec[40];
        open_pair(&p, &PACKS[i], 1);
        fr_test_ids(prompt, PROMPT, 256, 31);
        snprintf(spec, sizeof spec, "%s:%s", PACKS[i].form->name, p.path);
        fr_drafter *d = open_drafter(&p, spec, true, NULL);
        for (int typical = 0; typical < 2; typical++) {
            fr_stats stats;
            decode_twice(&p, d, false, typical ? FR_RULE_TYPICAL : FR_RULE_REJECTION, prompt,
                         PROMPT, &SAMPLINGS[1], &stats);
            assert_true(stats.rows > stats.passes);
        }
        fr_drafter_close(d);
        close_pair(&p);
    }
}

// ---------------------------------------------------------------- heads

typedef struct heads {
    pair p;
    fr_pack_weights *weights;
    fr_pack pack; // of the weights
    fr_medusa_heads heads;
    float f[64];
} heads;

static void open_heads(heads *h, const fr_tiny_pack *o) {
    fr_error err;
    open_pair(&h->p, o, 2);
    h->weights = weights_of(h->p.path, &h->p.target.model);
    h->pack = h->weights->pack;
    if (fr_medusa_heads_open(&h->heads, h->weights, &err)) fail_msg("%s", err.text);
    srand(71);
    for (int i = 0; i < h->pack.d; i++)
        h->f[i] = 2 * (float)rand() / (float)RAND_MAX - 1;
    fr_medusa_heads_state(&h->heads, h->f);
}

static void close_heads(heads *h) {
    fr_medusa_heads_close(&h->heads);
    fr_pack_weights_give_back(h->weights);
    close_pair(&h->p);
}

// Head k's logits after a path of k tokens, which only Hydra reads.
static void naive_logits(const heads *h, int k, const int32_t *path, double *logits) {
    const fr_pack *p = &h->pack;
    const int d = p->d;
    double in[17 * 64], f[64], y[64], c[64], gain[64];
    char name[40];
    for (int i = 0; i < d; i++) {
        f[i] = (double)h->f[i];
        gain[i] = (double)h->p.target.model.output_norm.w[i];
    }
    if (fr_medusa_pack_of(p)->variant == FR_MEDUSA_EXIT)
        naive_norm(f, gain, f, d); // the same to 1e-6 of eps
    naive_norm(f, NULL, in, d);
    for (int j = 1; j <= k && fr_medusa_pack_of(p)->variant == FR_MEDUSA_HYDRA; j++) {
        naive_embed(&h->p.target.model, path[j - 1], in + j * d);
        naive_norm(in + j * d, NULL, in + j * d, d);
    }
    snprintf(name, sizeof name, "medusa.%d.weight", k);
    naive_map(p, name, in, y);
    snprintf(name, sizeof name, "medusa.%d.bias", k);
    naive_vector(p, name, c);
    for (int i = 0; i < d; i++)
        y[i] = f[i] + naive_silu(y[i] + c[i]);
    snprintf(name, sizeof name, "medusa.%d.head", k);
    if (fr_medusa_pack_of(p)->variant == FR_MEDUSA_OWN_HEADS) {
        naive_map(p, name, y, logits);
        return;
    }
    for (int v = 0; v < p->n_draft; v++) {
        float row[64];
        fr_unpack_row(&h->p.target.model.head, p->ids[v], row);
        logits[v] = 0;
        for (int i = 0; i < d; i++)
            logits[v] += (double)row[i] * y[i];
    }
}

static void heads_say_what_their_formulas_say(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        heads h;
        double want[200];
        open_heads(&h, &PACKS[i]);
        const int32_t path[2][FR_PACK_HEADS] = {{7, 200, 3, 9}, {7, 11, 150, 31}};
        const bool hydra = fr_medusa_pack_of(&h.pack)->variant == FR_MEDUSA_HYDRA;
        if (!hydra) fr_medusa_heads_run(&h.heads);
        for (int k = 1; k <= h.pack.depth; k++) {
            if (hydra) fr_medusa_heads_run_paths(&h.heads, k, path, 2);
            for (int j = 0; j < (hydra ? 2 : 1); j++) {
                naive_logits(&h, k, path[j], want);
                const float *got = fr_medusa_heads_logits(&h.heads, hydra ? j : k - 1);
                assert_true(naive_distance(got, want, h.pack.n_draft) < 0.03); // 8-bit head
            }
        }
        close_heads(&h);
    }
}

// ---------------------------------------------------------------- proposals

typedef struct seen {
    int n;
    int32_t first[CTX]; // best guess after the root by place in the text; -1: none
} seen;

static void look(void *user, const fr_tree *t, int n_ids) {
    seen *s = user;
    float best = -1;
    s->n++;
    s->first[n_ids] = -1;
    for (int c = t->node[0].first_child; c >= 0; c = t->node[c].next)
        if (t->node[c].rank == 0) s->first[n_ids] = t->node[c].id;
    for (int i = 1; i < t->n; i++) { // scores are honest: a child's is not above its parent's
        const fr_node *node = &t->node[i];
        assert_true(node->score > 0 && node->score <= t->node[node->parent].score);
        best = node->score > best ? node->score : best;
    }
}

// The guess proposed after a root is the likeliest token of head 1 on the state before it.
static void the_first_guess_is_the_likeliest_of_the_first_head(void **state) {
    (void)state;
    heads h;
    int32_t prompt[PROMPT];
    char spec[40];
    fr_error err;
    fr_decoder d;
    output o = {.n = 0};
    static seen s;
    open_heads(&h, &PACKS[0]);
    fr_test_ids(prompt, PROMPT, 256, 33);
    snprintf(spec, sizeof spec, "medusa:%s", h.p.path);
    fr_drafter *drafter = open_drafter(&h.p, spec, true, NULL);
    assert_int_equal(fr_decoder_open(&d, &h.p.target.model, CTX, FR_KV_F16, &drafter->needs, &err),
                     FR_OK);
    d.drafter = drafter;
    d.watch = look;
    d.watch_user = &s;
    fr_decoder_prompt(&d, prompt, PROMPT, &SAMPLINGS[0]);
    while (o.n < TOKENS) {
        const int32_t expected = o.n ? s.first[0] : -1;
        fr_decoder_step(&d, TOKENS - o.n, emit, &o);
        const int root = d.n_ids - d.verdict.n_path; // tokens up to and with the last root
        if (expected >= 0 && d.n_ids < CTX) assert_int_equal(s.first[root], expected);
        fr_likely best;
        fr_medusa_heads_state(
            &h.heads, fr_forward_final(d.group->forward, d.verdict.path[d.verdict.n_path - 1]));
        fr_medusa_heads_run(&h.heads);
        assert_int_equal(
            fr_likeliest(fr_medusa_heads_logits(&h.heads, 0), h.pack.n_draft, 1, &best), 1);
        s.first[0] = o.n < TOKENS - 1 ? h.pack.ids[best.index] : -1;
    }
    assert_true(s.n > 2);
    fr_decoder_close(&d);
    fr_drafter_close(drafter);
    close_heads(&h);
}

static void watched(fr_decoder *d, const pair *p, fr_drafter *drafter, seen *s) {
    fr_error err;
    if (fr_decoder_open(d, &p->target.model, CTX, FR_KV_F16, &drafter->needs, &err))
        fail_msg("%s", err.text);
    d->drafter = drafter;
    d->watch = look;
    d->watch_user = s;
}

static int answer(fr_decoder *d, const int32_t *prompt, int n) {
    output o = {.n = 0};
    fr_decoder_prompt(d, prompt, n, &SAMPLINGS[0]);
    while (o.n < TOKENS && fr_decoder_step(d, TOKENS - o.n, emit, &o)) {
    }
    return d->stats.prompt_reused;
}

// After another text that begins alike the block has read just what it would have read of a new
// one, and most of what is alike is not evaluated again.
static void a_prompt_that_goes_on_is_not_read_again(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    char spec[80];
    open_pair(&p, &PACKS[5], 1);
    fr_test_ids(prompt, PROMPT, 256, 37);
    for (int joined = 0; joined < 2; joined++) {
        snprintf(spec, sizeof spec, "eagle:%s%s", p.path, joined ? "+prompt-lookup" : "");
        fr_drafter *used = open_drafter(&p, spec, true, NULL);
        for (int same = 1; same <= 60; same += 59) {
            static seen first, second, fresh;
            fr_decoder d;
            int compared = 0;
            memset(&second, 0, sizeof second);
            memset(&fresh, 0, sizeof fresh);
            watched(&d, &p, used, &first);
            answer(&d, prompt, PROMPT);
            prompt[same] = (prompt[same] + 1) % 256;
            d.watch_user = &second;
            assert_int_equal(answer(&d, prompt, PROMPT), same > 1 ? same - 1 : 0);
            fr_decoder_close(&d);
            fr_drafter *drafter = open_drafter(&p, spec, true, NULL);
            watched(&d, &p, drafter, &fresh);
            answer(&d, prompt, PROMPT);
            for (int at = 0; at < CTX && !joined; at++) // which rows are attached may differ
                if (second.first[at] && fresh.first[at]) {
                    assert_int_equal(second.first[at], fresh.first[at]);
                    compared++;
                }
            assert_true(joined || compared > TOKENS / 4);
            fr_decoder_close(&d);
            fr_drafter_close(drafter);
        }
        fr_drafter_close(used);
    }
    close_pair(&p);
}

// A text that another drafter of the same pack has read is taken over: nothing of it is evaluated,
// and the first guesses are those of a drafter that read it all.
static void a_text_taken_over_is_not_read_again(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof PACKS / sizeof *PACKS; k++) {
        const fr_pack_form *form = PACKS[k].form;
        if (form != &fr_eagle_form && form != &fr_hidden_state_form && form != &fr_chimera_form)
            continue;
        pair p;
        int32_t text[CTX];
        char spec[80];
        fr_decoder d[3];
        fr_drafter *drafter[3];
        static seen s[3];
        memset(s, 0, sizeof s);
        open_pair(&p, &PACKS[k], 1);
        snprintf(spec, sizeof spec, "%s:%s", form->name, p.path);
        for (int i = 0; i < 3; i++) {
            drafter[i] = open_drafter(&p, spec, true, NULL);
            watched(&d[i], &p, drafter[i], &s[i]);
        }
        fr_test_ids(text, SHORT, 256, 38);
        answer(&d[0], text, SHORT);
        fr_decoder_adopt(&d[1], &d[0]);
        const int n = d[0].n_ids;
        memcpy(text, d[0].ids, sizeof *text * (size_t)n);
        fr_test_ids(text + n, 3, 256, 39);
        assert_int_equal(answer(&d[1], text, n + 3), n - 1);
        answer(&d[2], text, n + 3);
        int compared = 0;
        for (int at = n; at < CTX; at++)
            if (s[1].first[at] && s[2].first[at]) {
                assert_int_equal(s[1].first[at], s[2].first[at]);
                compared++;
            }
        assert_true(compared > TOKENS / 4);
        for (int i = 0; i < 3; i++) {
            fr_decoder_close(&d[i]);
            fr_drafter_close(drafter[i]);
        }
        close_pair(&p);
    }
}

static void strange_options_and_files_are_refused(void **state) {
    (void)state;
    static const struct {
        int pack;
        const char *option;
    } bad[] = {{0, "depth=0"},   {0, "depth=17"},   {0, "width=17"}, {0, "width="},
               {0, "shape=any"}, {4, "tree=round"}, {4, "depth=x"},  {4, "size=3"},
               {6, "tree=oak"},  {6, "rows=10"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pair p;
        char spec[40];
        fr_drafter *d;
        fr_error err = {0};
        open_pair(&p, &PACKS[bad[i].pack], 1);
        snprintf(spec, sizeof spec, "%s:%s", PACKS[bad[i].pack].form->name, p.path);
        const char *const options[] = {bad[i].option, NULL};
        assert_int_equal(try_drafter(&d, &p, spec, false, options, &err), FR_EARG);
        assert_true(err.text[0] != 0);
        snprintf(spec, sizeof spec, "%s:%s",
                 PACKS[bad[i].pack].form == &fr_medusa_form ? "eagle" : "medusa", p.path);
        assert_int_equal(try_drafter(&d, &p, spec, false, NULL, &err), FR_EUNSUP);
        assert_int_equal(try_drafter(&d, &p, "medusa:no-such-file", false, NULL, &err), FR_EIO);
        close_pair(&p);
    }
}

// ---------------------------------------------------------------- the search

static void a_pack_is_found_by_method_and_target(void **state) {
    (void)state;
    pair p;
    fr_error err = {0};
    fr_drafter *d;
    char home[] = "home-XXXXXX", dir[64], path[FR_PACK_PATH];
    open_pair(&p, &PACKS[0], 1);
    assert_non_null(mkdtemp(home));
    setenv("XDG_DATA_HOME", home, 1);
    assert_int_equal(try_drafter(&d, &p, "eagle", false, NULL, &err), FR_EIO);
    char print[FR_GGUF_FINGERPRINT];
    fr_gguf_fingerprint(p.target.gguf, print);
    assert_non_null(strstr(err.text, print));

    static const char other[] = "0123456789abcdef0123456789abcdef";
    const fr_tiny_pack packs[] = {{.form = &fr_medusa_form},
                                  {.form = &fr_eagle_form, .print = other},
                                  {.form = &fr_eagle_form, .depth = 2},
                                  {.form = &fr_eagle_form, .depth = 4}};
    char file[4][80];
    snprintf(dir, sizeof dir, "%s/forerun", home);
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(dir, sizeof dir, "%s/forerun/packs", home);
    assert_int_equal(mkdir(dir, 0700), 0);
    for (int i = 0; i < 4; i++) {
        char made[96];
        snprintf(made, sizeof made, "%s/XXXXXX", dir);
        fr_tiny_pack_write(made, &packs[i], &p.target.model);
        snprintf(file[i], sizeof file[i], "%s/%d.gguf", dir, i);
        assert_int_equal(rename(made, file[i]), 0);
    }
    assert_int_equal(fr_pack_find(path, &fr_eagle_form, p.target.gguf, &err), FR_OK);
    assert_string_equal(path, file[3]); // the deeper one promises more
    fr_drafter_close(open_drafter(&p, "eagle+prompt-lookup", false, NULL));
    fr_drafter_close(open_drafter(&p, "medusa", false, NULL));
    assert_int_equal(fr_drafter_check("medusa:", &err), FR_EARG);

    for (int i = 0; i < 4; i++)
        unlink(file[i]);
    rmdir(dir);
    snprintf(dir, sizeof dir, "%s/forerun", home);
    rmdir(dir);
    rmdir(home);
    close_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_pack_gives_the_tokens_of_plain_decoding),
        cmocka_unit_test(a_static_tree_gives_them_too_and_is_the_shape),
        cmocka_unit_test(distributions_by_level_give_them_too),
        cmocka_unit_test(a_broken_pack_gives_them_too),
        cmocka_unit_test(under_other_rules_every_pack_drafts_as_well),
        cmocka_unit_test(heads_say_what_their_formulas_say),
        cmocka_unit_test(the_first_guess_is_the_likeliest_of_the_first_head),
        cmocka_unit_test(a_prompt_that_goes_on_is_not_read_again),
        cmocka_unit_test(a_text_taken_over_is_not_read_again),
        cmocka_unit_test(strange_options_and_files_are_refused),
        cmocka_unit_test(a_pack_is_found_by_method_and_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
