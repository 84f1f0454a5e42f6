// test_planned.c — ppd and hidden-transfer with trees that are settled before a text is seen: the
// tokens are those of plain decoding, the rows those of the plan.
#include "draft/drafting.h"
#include "support/tiny_pack.h"
#include <stdio.h>
#include <unistd.h>

enum { CTX = 160, PROMPT = 71, TOKENS = 60 };

static void open_pair(pair *p, const fr_tiny_pack *pack) {
    const fr_tiny_options target = {.arch = "qwen2", .type = FR_TYPE_Q8_0, .n_layer = 2};
    open_target(p, &target, 1, CTX);
    strcpy(p->path, "pack-XXXXXX");
    fr_tiny_pack_write(p->path, pack, &p->target.model);
}

static void close_pair(pair *p) {
    unlink(p->path);
    close_target(p);
}

// Two requests: what the first one left behind must not matter to the second.
static output decode_twice(const pair *p, fr_drafter *drafter, const int32_t *prompt,
                           fr_stats *stats) {
    const fr_sampling greedy = {.temperature = 0};
    fr_decoder d;
    open_decoder(&d, p, drafter, false);
    decode(&d, prompt, PROMPT, &greedy, TOKENS);
    const output o = decode(&d, prompt, PROMPT, &greedy, TOKENS);
    if (stats) *stats = d.stats;
    fr_decoder_close(&d);
    return o;
}

static const fr_tiny_pack PACKS[] = {
    {.form = &fr_ppd_form, .n_draft = 200},
    {.form = &fr_ppd_form, .ensemble = 2, .depth = 2},
    {.form = &fr_hidden_transfer_form, .n_draft = 200},
    {.form = &fr_hidden_transfer_form, .type = FR_TYPE_Q8_0, .depth = 2},
};
enum { N_PACKS = sizeof PACKS / sizeof *PACKS };

static void planned_trees_give_them_too_and_their_rows(void **state) {
    (void)state;
    static const char *const trees[] = {"tree=dynamic", "tree=static", "tree=random"};
    for (int i = 0; i < N_PACKS; i++) {
        pair p;
        int32_t prompt[PROMPT];
        char spec[40];
        fr_stats stats;
        open_pair(&p, &PACKS[i]);
        fr_test_ids(prompt, PROMPT, 256, 31);
        snprintf(spec, sizeof spec, "%s-planned:%s", PACKS[i].form->name, p.path);
        const output plain = decode_twice(&p, NULL, prompt, NULL);
        for (int t = 0; t < 3; t++) {
            fr_drafter *d =
                open_drafter(&p, spec, true, (const char *[]){trees[t], "rows=40", NULL});
            const output got = decode_twice(&p, d, prompt, &stats);
            assert_memory_equal(got.token, plain.token, sizeof plain.token[0] * TOKENS);
            assert_true(stats.rows > 10 * stats.passes && stats.rows <= 40 * stats.passes);
            fr_drafter_close(d);
        }
        close_pair(&p);
    }
}

// Plans that fill a pass leave room for the rows of those they are joined to.
static void planned_trees_share_a_pass(void **state) {
    (void)state;
    static const struct {
        const char *with, *options[5];
    } of[] = {{"lookahead+", {"tree=static", "rows=128", "window=43", "guesses=64", NULL}},
              {"lookahead+", {"tree=dynamic", "rows=128", "window=43", "guesses=64", NULL}},
              {"early-exit:", {"tree=static", "rows=128", "depth=16", "width=16", NULL}}};
    const fr_tiny_pack exits = {.form = &fr_early_exit_form, .n_draft = 200};
    for (int i = 0; i < N_PACKS; i++) {
        pair p;
        int32_t prompt[PROMPT];
        fr_stats stats;
        char spec[100], exit[32] = "pack-XXXXXX";
        open_pair(&p, &PACKS[i]);
        fr_tiny_pack_write(exit, &exits, &p.target.model);
        fr_test_ids(prompt, PROMPT, 4, 31); // repeats itself: there are many n-grams
        const output plain = decode_twice(&p, NULL, prompt, NULL);
        for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
            const bool exiting = !strcmp(of[k].with, "early-exit:");
            if (exiting && PACKS[i].form == &fr_hidden_transfer_form) continue; // of other layers
            snprintf(spec, sizeof spec, "%s%s%s%s-planned:%s", of[k].with, exiting ? exit : "",
                     exiting ? "+" : "", PACKS[i].form->name, p.path);
            fr_drafter *d = open_drafter(&p, spec, true, of[k].options);
            const output got = decode_twice(&p, d, prompt, &stats);
            assert_true(stats.rows <= stats.passes * FR_MAX_ROWS);
            assert_memory_equal(got.token, plain.token, sizeof plain.token[0] * TOKENS);
            fr_drafter_close(d);
        }
        unlink(exit);
        close_pair(&p);
    }
}

static void strange_options_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *option, *says;
        bool adapt;
    } bad[] = {{"tree=oak", "dynamic, static or random", false},
               {"tree=scored", "dynamic, static or random", false},
               {"rows=x", "2 to 128", false},
               {"rows=1", "2 to 128", false},
               {"shape=any", "draft option", false},
               {"rows=40", "--no-adapt", true}};
    pair p;
    open_pair(&p, &PACKS[0]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char spec[60];
        fr_drafter *d;
        fr_error err = {0};
        const char *const options[] = {bad[i].option, NULL};
        snprintf(spec, sizeof spec, "ppd-planned:%s", p.path);
        assert_int_equal(try_drafter(&d, &p, spec, !bad[i].adapt, options, &err), FR_EARG);
        assert_non_null(strstr(err.text, bad[i].says));
        assert_null(d);
    }
    close_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planned_trees_give_them_too_and_their_rows),
        cmocka_unit_test(planned_trees_share_a_pass),
        cmocka_unit_test(strange_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
