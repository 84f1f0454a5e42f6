// Drafting with the target's own layers: whatever is left out, the tokens are those of plain
// decoding; where what is left out adds nothing, the draft is always right.
#include "draft/drafting.h"
#include "draft/naive.h"
#include "draft/self/self_draft.h"
#include "draft/self/skip_set.h"
#include "kern/repack.h"
#include "support/tiny_pack.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { CTX = 160, PROMPT = 71, TOKENS = 40 };

static const fr_sampling SAMPLINGS[] = {
    {.temperature = 0},
    {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 3},
    {.temperature = 1, .repeat_penalty = 1.2f, .repeat_last_n = 5, .seed = 5},
};
enum { N_SAMPLINGS = sizeof SAMPLINGS / sizeof *SAMPLINGS };

static void open_pair(pair *p, const fr_tiny_options *target, const fr_tiny_pack *pack,
                      int threads) {
    open_target(p, target, threads, CTX);
    strcpy(p->path, "pack-XXXXXX");
    fr_tiny_pack_write(p->path, pack, &p->target.model);
    snprintf(p->spec, sizeof p->spec, "%s:%s", pack->form->name, p->path);
}

static void close_pair(pair *p) {
    unlink(p->path);
    close_target(p);
}

static const fr_tiny_options TARGET = {.arch = "llama", .type = FR_TYPE_Q8_0, .n_layer = 4};

static const fr_tiny_pack PACKS[] = {
    {.form = &fr_layer_skip_form, .n_draft = 200, .skip = 0x5a},
    {.form = &fr_layer_skip_form, .n_draft = 256, .skip = 0x10},
    {.form = &fr_layer_skip_form, .skip = 0xff},
    {.form = &fr_early_exit_form, .n_draft = 200},
    {.form = &fr_early_exit_form, .exit = 3, .type = FR_TYPE_Q8_0}};
enum { N_PACKS = sizeof PACKS / sizeof *PACKS };

static const struct {
    const char *tail;
    bool no_adapt, adapt;
    const char *options[4];
} HOW[] = {{"", true, false, {NULL}},
           {"", false, true, {NULL}},
           {"", false, false, {"threshold=0", NULL}},
           {"", false, false, {"depth=16", "width=16", NULL}},
           {"+prompt-lookup", true, false, {NULL}},
           {"+prompt-lookup", false, true, {"min-score=0", "threshold=0.2", NULL}},
           {"+prompt-lookup", false, true, {"depth=5", "width=3", "min-score=0", NULL}}};

static void any_of_them_gives_the_tokens_of_plain_decoding(void **state) {
    (void)state;
    for (int i = 0; i <= N_PACKS; i++) { // the last one: no pack
        pair p;
        int32_t prompt[PROMPT];
        open_pair(&p, &TARGET, &PACKS[i % N_PACKS], 1);
        if (i == N_PACKS) strcpy(p.spec, "layer-skip");
        fr_test_ids(prompt, PROMPT, 256, 31);
        for (int dist = 0; dist < N_SAMPLINGS; dist++) {
            const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                             &SAMPLINGS[dist], TOKENS, NULL);
            for (size_t h = 0; h < sizeof HOW / sizeof *HOW; h++) {
                char spec[120];
                fr_stats stats;
                snprintf(spec, sizeof spec, "%s%s", p.spec, HOW[h].tail);
                fr_drafter *d = open_drafter(&p, spec, HOW[h].no_adapt, HOW[h].options);
                const output got = decode_once(&p, d, FR_RULE_EXACT, HOW[h].adapt, prompt, PROMPT,
                                               &SAMPLINGS[dist], TOKENS, &stats);
                expect_same(&got, &plain);
                if (HOW[h].no_adapt)
                    assert_true(stats.rows >
                                3 * stats.passes); // the root and four guesses, but near the end
                fr_drafter_close(d);
            }
        }
        close_pair(&p);
    }
}

// What is skipped adds nothing to this target, so a draft is the target's likeliest token: every
// pass gives the four guesses and its own.
static void a_draft_without_what_adds_nothing_is_always_right(void **state) {
    (void)state;
    fr_tiny_options target = TARGET;
    target.identity = 0xa6;
    fr_tiny_pack pack = {.form = &fr_layer_skip_form, .skip = 0xa6};
    pair p;
    int32_t prompt[PROMPT];
    fr_stats stats;
    open_target(&p, &target, 1, CTX);
    pack.n_draft = p.target.model.config.n_vocab;
    close_target(&p);
    open_pair(&p, &target, &pack, 1);
    fr_test_ids(prompt, PROMPT, 256, 33);
    fr_drafter *d = open_drafter(&p, p.spec, true, (const char *[]){"depth=4", NULL});
    decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[0], TOKENS, &stats);
    for (int k = 0; k < 4; k++)
        assert_int_equal(stats.accepted[k], TOKENS / 5);
    assert_int_equal(stats.passes, TOKENS / 5);
    fr_drafter_close(d);
    close_pair(&p);
}

// ---------------------------------------------------------------- joined

typedef struct scratch {
    const fr_decoder *d;
    int most;
} scratch;

static void note_scratch(void *user, const fr_tree *proposed, int n_ids) {
    scratch *s = user;
    (void)proposed, (void)n_ids;
    if (s->d->kv.n_scratch > s->most) s->most = s->d->kv.n_scratch;
}

// Every part drafts as many rows as it may, and the largest tree comes on top: only the rows of one
// that go on in the target's pass stay in its scratch slots.
static void joined_parts_leave_room_for_the_largest_tree(void **state) {
    (void)state;
    static const char *const wide[] = {"depth=16", "width=16", NULL};
    static const char *const orders[] = {
        "layer-skip+layer-skip:%1$s+early-exit:%2$s", "early-exit:%2$s+layer-skip:%1$s+layer-skip",
        "early-exit:%2$s+early-exit:%3$s+layer-skip+layer-skip:%1$s"};
    static const fr_tiny_pack packs[] = {
        {.form = &fr_layer_skip_form, .n_draft = 200, .skip = 0x5a},
        {.form = &fr_early_exit_form, .n_draft = 200},
        {.form = &fr_early_exit_form, .n_draft = 200, .exit = 2}};
    pair p;
    int32_t prompt[PROMPT];
    char path[3][32];
    open_target(&p, &TARGET, 1, CTX);
    for (int i = 0; i < 3; i++) {
        strcpy(path[i], "pack-XXXXXX");
        fr_tiny_pack_write(path[i], &packs[i], &p.target.model);
    }
    fr_test_ids(prompt, PROMPT, 256, 35);
    const output plain =
        decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[0], TOKENS, NULL);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char spec[200];
        fr_decoder decoder;
        scratch s = {&decoder, 0};
        snprintf(spec, sizeof spec, orders[i], path[0], path[1], path[2]);
        fr_drafter *d = open_drafter(&p, spec, true, wide);
        open_decoder(&decoder, &p, d, false);
        decoder.size.nodes = FR_TREE_MAX;
        decoder.watch = note_scratch;
        decoder.watch_user = &s;
        const output got = decode(&decoder, prompt, PROMPT, &SAMPLINGS[0], TOKENS);
        expect_same(&got, &plain);
        assert_true(s.most > 0 && s.most <= FR_SELF_ROWS);
        assert_true(decoder.stats.rows > 100 * decoder.stats.passes / 2); // trees are large
        fr_decoder_close(&decoder);
        fr_drafter_close(d);
    }
    for (int i = 0; i < 3; i++)
        unlink(path[i]);
    close_target(&p);
}

// ---------------------------------------------------------------- early exit

static void look(void *user, const fr_tree *proposed, int n_ids) {
    int32_t *first = user;
    (void)n_ids;
    for (int i = 1; i < proposed->n; i++)
        if (proposed->node[i].parent == 0 && proposed->node[i].rank == 0)
            *first = proposed->node[i].id;
}

// How far a token's logit lies below the largest, by the exit's formula on the residual behind
// layer `exit`, in shares of that.
static double behind_best(const pair *p, const fr_pack *pack, const int32_t *ids, int n,
                          int32_t token) {
    const fr_model *m = &p->target.model;
    const int d = m->config.d;
    const fr_forward_limits limits = {.max_taps = 1, .n_ctx = CTX};
    fr_row rows[PROMPT];
    fr_kv kv;
    fr_forward *f;
    fr_error err;
    double h[64], x[64], u[64], gain[64], bias[64], best = -INFINITY, own = -INFINITY;
    assert_int_equal(fr_kv_open(&kv, &m->config, CTX, FR_KV_F16, &err), FR_OK);
    assert_int_equal(fr_forward_open(&f, m, &limits, &err), FR_OK);
    for (int i = 0; i < n; i++)
        rows[i] = fr_row_token(ids[i], i - 1, i == n - 1 ? FR_WANT_TAPS : 0);
    fr_forward_run(f, &(fr_pass){.rows = rows,
                                 .n_rows = n,
                                 .kv = (fr_kv *[]){&kv},
                                 .n_seq = 1,
                                 .taps = &fr_early_exit_pack_of(pack)->exit,
                                 .n_taps = 1});
    for (int i = 0; i < d; i++)
        h[i] = (double)fr_forward_tap(f, 0, n - 1)[i];
    naive_norm(h, NULL, x, d);
    naive_map(pack, "exit.weight", x, u);
    naive_vector(pack, "exit.norm", gain);
    naive_vector(pack, "exit.bias", bias);
    for (int i = 0; i < d; i++)
        x[i] = x[i] * gain[i] + naive_silu(u[i] + bias[i]);
    for (int v = 0; v < pack->n_draft; v++) {
        float row[64];
        double z = 0;
        fr_unpack_row(&m->head, pack->ids[v], row);
        for (int i = 0; i < d; i++)
            z += (double)row[i] * x[i];
        best = z > best ? z : best;
        own = pack->ids[v] == token ? z : own;
    }
    fr_forward_close(f);
    fr_kv_close(&kv);
    return (best - own) / fabs(best);
}

static void the_first_guess_is_what_the_exit_says(void **state) {
    (void)state;
    const fr_tiny_pack tiny = {.form = &fr_early_exit_form, .exit = 2, .n_draft = 150};
    pair p;
    fr_pack pack;
    fr_error err;
    open_pair(&p, &TARGET, &tiny, 1);
    assert_int_equal(fr_pack_open(&pack, p.path, &err), FR_OK);
    fr_drafter *drafter = open_drafter(&p, p.spec, true, NULL);
    for (unsigned seed = 1; seed <= 8; seed++) {
        int32_t prompt[PROMPT], first = -1;
        fr_decoder d;
        output o = {.n = 0};
        fr_test_ids(prompt, PROMPT, 256, seed);
        open_decoder(&d, &p, drafter, false);
        d.watch = look;
        d.watch_user = &first;
        fr_decoder_prompt(&d, prompt, 30, &SAMPLINGS[0]);
        fr_decoder_step(&d, 9, emit, &o);
        assert_true(first >= 0);
        assert_true(behind_best(&p, &pack, prompt, 30, first) < 0.05); // 8-bit head and rows
        fr_decoder_close(&d);
    }
    fr_drafter_close(drafter);
    fr_pack_close(&pack);
    close_pair(&p);
}

// What was drafted behind goes on in the target's pass.
static void what_was_drafted_behind_goes_on(void **state) {
    (void)state;
    const fr_tiny_pack tiny = {.form = &fr_early_exit_form, .exit = 2, .n_draft = 200};
    pair p;
    int32_t prompt[PROMPT];
    fr_decoder d;
    output o = {.n = 0};
    open_pair(&p, &TARGET, &tiny, 1);
    fr_test_ids(prompt, PROMPT, 256, 33);
    fr_drafter *drafter = open_drafter(&p, p.spec, true, NULL);
    assert_int_equal(drafter->needs.resumes, 2);
    open_decoder(&d, &p, drafter, false);
    fr_decoder_prompt(&d, prompt, PROMPT, &SAMPLINGS[0]);
    fr_decoder_step(&d, 20, emit, &o);
    // The root and five guesses were drafted behind; the sixth begins at the bottom.
    assert_int_equal(d.tree.n, 7);
    for (int i = 0; i < 6; i++)
        assert_true(d.rows[i].resume == i + 1 && d.rows[i].join == 2);
    assert_true(!d.rows[6].resume && d.rows[6].kind == FR_ROW_TOKEN);
    fr_decoder_close(&d);
    fr_drafter_close(drafter);
    close_pair(&p);
}

// Hidden transfer's maps read residuals that rows which go on higher up have not; and so do taps.
static void an_exit_is_not_joined_to_what_reads_below_it(void **state) {
    (void)state;
    const fr_tiny_pack low = {.form = &fr_medusa_form, .variant = FR_MEDUSA_EXIT, .tap = 1};
    const fr_tiny_pack maps = {.form = &fr_hidden_transfer_form}, own = {.form = &fr_ppd_form};
    const fr_tiny_pack *const others[] = {&low, &maps, &own};
    pair p;
    open_pair(&p, &TARGET, &(fr_tiny_pack){.form = &fr_early_exit_form, .exit = 2}, 1);
    for (int i = 0; i < 3; i++) {
        char path[] = "other-XXXXXX", spec[160];
        fr_drafter *d = NULL;
        fr_error err;
        fr_tiny_pack_write(path, others[i], &p.target.model);
        snprintf(spec, sizeof spec, "%s+%s:%s", p.spec, others[i]->form->name, path);
        assert_int_equal(try_drafter(&d, &p, spec, true, NULL, &err), i < 2 ? FR_EUNSUP : FR_OK);
        if (d) {
            int32_t prompt[PROMPT];
            fr_test_ids(prompt, PROMPT, 256, 35);
            const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                             &SAMPLINGS[1], TOKENS, NULL);
            const output got = decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT,
                                           &SAMPLINGS[1], TOKENS, NULL);
            expect_same(&got, &plain);
            fr_drafter_close(d);
        }
        unlink(path);
    }
    close_pair(&p);
}

static void strange_options_and_packs_of_others_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"threshold=1.1", "threshold=", "threshold=x", "tree=chain",
                                      "depth=0"};
    const fr_tiny_options other = {.arch = "llama", .type = FR_TYPE_Q8_0, .n_layer = 4, .seed = 8};
    pair p, q;
    fr_drafter *d;
    fr_error err;
    open_pair(&p, &TARGET, &PACKS[0], 1);
    open_pair(&q, &other, &PACKS[0], 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(try_drafter(&d, &p, p.spec, false, (const char *[]){bad[i], NULL}, &err),
                         FR_EARG);
        assert_int_equal(
            try_drafter(&d, &p, "layer-skip", false, (const char *[]){bad[i], NULL}, &err),
            FR_EARG);
    }
    assert_int_equal(try_drafter(&d, &p, q.spec, false, NULL, &err), FR_EUNSUP);
    assert_non_null(strstr(err.text, "trained for another model"));
    close_pair(&q);
    close_pair(&p);
}

static void the_rule_leaves_the_first_layers_and_the_last_whole(void **state) {
    (void)state;
    pair p;
    uint8_t skip[2 * 9];
    static const uint8_t want[2 * 9] = {[6] = 1, [10] = 1, [14] = 1};
    open_target(&p, &(fr_tiny_options){.n_layer = 9}, 1, CTX);
    fr_skip_default(&p.target.model, skip);
    assert_memory_equal(skip, want, sizeof want);
    // An attention of 64 values, 4 heads on 2, and a feed-forward of 128, in 4 bytes each.
    assert_int_equal(fr_sublayer_bytes(&p.target.model, 6), 4 * 64 * (64 + 32 + 32 + 64));
    assert_int_equal(fr_sublayer_bytes(&p.target.model, 7), 4 * 3 * 64 * 128);
    memset(skip, 1, sizeof skip);
    assert_true(fr_skip_trunk_share(&p.target.model, skip) == 0);
    close_target(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_of_them_gives_the_tokens_of_plain_decoding),
        cmocka_unit_test(a_draft_without_what_adds_nothing_is_always_right),
        cmocka_unit_test(joined_parts_leave_room_for_the_largest_tree),
        cmocka_unit_test(the_first_guess_is_what_the_exit_says),
        cmocka_unit_test(what_was_drafted_behind_goes_on),
        cmocka_unit_test(an_exit_is_not_joined_to_what_reads_below_it),
        cmocka_unit_test(strange_options_and_packs_of_others_are_refused),
        cmocka_unit_test(the_rule_leaves_the_first_layers_and_the_last_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
