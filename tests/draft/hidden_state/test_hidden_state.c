// Drafts of hidden states: whatever the chain says and wherever it is taken from, the tokens are
// those of plain decoding; what it counts of itself is what it did.
#include "decode/counts.h"
#include "draft/drafting.h"
#include "draft/hidden_state/hidden_state.h"
#include "draft/kit/trained.h"
#include "support/draft_at_once.h"
#include "support/tiny_pack.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CTX = 160, PROMPT = 21 };

static const fr_sampling SAMPLINGS[] = {
    {.temperature = 0},
    {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 3},
    {.temperature = 1.2f, .seed = 4},
    {.temperature = 0, .repeat_penalty = 1.3f},
};
enum { N_SAMPLINGS = sizeof SAMPLINGS / sizeof *SAMPLINGS };

static const fr_tiny_options TARGET = {.arch = "llama", .type = FR_TYPE_Q8_0, .n_layer = 2};

static void open_pair(pair *p, const fr_tiny_pack *pack) {
    open_target(p, &TARGET, 1, CTX);
    strcpy(p->path, "pack-XXXXXX");
    fr_tiny_pack_write(p->path, pack, &p->target.model);
    snprintf(p->spec, sizeof p->spec, "hidden-state:%s", p->path);
}

static void close_pair(pair *p) {
    unlink(p->path);
    close_target(p);
}

static double count_of(const fr_drafter *d, const char *name) {
    fr_draft_counts all = {0};
    d->ops->report(d, &all);
    for (int i = 0; i < all.n; i++)
        if (!strcmp(all.count[i].name, name)) return fr_count_value(&all.count[i]);
    fail_msg("no count %s", name);
    return 0;
}

// ---------------------------------------------------------------- bytes

static const struct way {
    bool no_adapt, adapt;
    const char *tail, *options[5];
} WAYS[] = {
    {false, true, "", {NULL}},
    {true, false, "", {NULL}},
    {false, false, "", {"mode=fresh", "depth=5", NULL}},
    {true, false, "", {"mode=reuse", "depth=7", NULL}},
    {false, true, "", {"mode=reuse", NULL}},
    {true, false, "", {"mode=fused", "depth=6", "lambda=0.7", NULL}},
    {true, false, "", {"mode=auto", "depth=16", "width=16", "candidates=256", NULL}},
    {true, false, "", {"inject=0", "depth=1", "candidates=1", "width=1", NULL}},
    {true, false, "+prompt-lookup", {"mode=fused", "depth=6", "min-score=0", NULL}},
    {false, true, "+prompt-lookup", {"min-score=0", NULL}},
};
enum { N_WAYS = sizeof WAYS / sizeof *WAYS };

static const fr_tiny_pack PACKS[] = {
    {.form = &fr_hidden_state_form, .rank = 32, .gate = true, .n_draft = 256, .type = FR_TYPE_Q8_0},
    {.form = &fr_hidden_state_form, .rank = 8, .leave_out = "forerun.accuracy.depth_rank"},
    {.form = &fr_hidden_state_form, .pure = true, .n_draft = 200},
};

static fr_drafter *open_way(const pair *p, const struct way *w) {
    char spec[120];
    snprintf(spec, sizeof spec, "%s%s", p->spec, w->tail);
    return open_drafter(p, spec, w->no_adapt, w->options);
}

static void every_mode_gives_the_tokens_of_plain_decoding(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        pair p;
        int32_t prompt[PROMPT];
        open_pair(&p, &PACKS[k]);
        fr_test_ids(prompt, PROMPT, 256, 31);
        for (int dist = 0; dist < N_SAMPLINGS; dist++) {
            const int n = 45;
            const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                             &SAMPLINGS[dist], n, NULL);
            for (int w = 0; w < N_WAYS; w++) {
                fr_drafter *d = open_way(&p, &WAYS[w]);
                const output got = decode_once(&p, d, FR_RULE_EXACT, WAYS[w].adapt, prompt, PROMPT,
                                               &SAMPLINGS[dist], n, NULL);
                expect_same(&got, &plain);
                fr_drafter_close(d);
            }
        }
        close_pair(&p);
    }
}

// Greedy, the other rules leave no choice either; at a temperature they have to come to an end.
static void the_other_rules_hold_too(void **state) {
    (void)state;
    static const fr_rule rules[] = {FR_RULE_REJECTION, FR_RULE_TYPICAL};
    pair p;
    int32_t prompt[PROMPT];
    open_pair(&p, &PACKS[0]);
    fr_test_ids(prompt, PROMPT, 256, 32);
    for (int r = 0; r < 2; r++)
        for (int dist = 0; dist < 3; dist++)
            for (int w = 0; w < N_WAYS; w++) {
                fr_drafter *d = open_way(&p, &WAYS[w]);
                const output got = decode_once(&p, d, rules[r], WAYS[w].adapt, prompt, PROMPT,
                                               &SAMPLINGS[dist], 45, NULL);
                if (dist == 0 && rules[r] == FR_RULE_REJECTION) {
                    const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                                     &SAMPLINGS[dist], 45, NULL);
                    expect_same(&got, &plain);
                }
                fr_drafter_close(d);
            }
    close_pair(&p);
}

// A session: a prompt of one token, a continued chat, a text that is cut and goes on otherwise.
static void a_session_may_start_go_on_and_be_cut(void **state) {
    (void)state;
    pair p;
    open_pair(&p, &PACKS[0]);
    for (int w = 0; w < N_WAYS; w++)
        for (int dist = 0; dist < 3; dist++) {
            fr_decoder d, fresh;
            int32_t text[CTX];
            const struct {
                int kept, new_tokens;
            } turn[] = {{0, 1}, {21, 9}, {60, 5}, {33, 4}, {34, 2}, {3, 30}};
            fr_drafter *drafter = open_way(&p, &WAYS[w]);
            open_decoder(&d, &p, drafter, WAYS[w].adapt);
            for (size_t t = 0; t < sizeof turn / sizeof *turn; t++) {
                const int n = turn[t].kept + turn[t].new_tokens;
                memcpy(text, d.ids, sizeof *text * (size_t)turn[t].kept);
                fr_test_ids(text + turn[t].kept, turn[t].new_tokens, 256, (unsigned)(50 + t));
                const output got = decode(&d, text, n, &SAMPLINGS[dist], 30);
                open_decoder(&fresh, &p, NULL, false);
                const output plain = decode(&fresh, text, n, &SAMPLINGS[dist], 30);
                fr_decoder_close(&fresh);
                expect_same(&got, &plain);
            }
            fr_decoder_close(&d);
            fr_drafter_close(drafter);
        }
    close_pair(&p);
}

// The block has read every pair of the text with its true state: it says of what follows what a
// block says that is given the target's states of the whole text at once.
static void expect_fresh_reading(const pair *p, fr_drafter *d, const int32_t *ids, int n) {
    enum { CHUNK = FR_PREFILL_ROWS };
    const fr_forward_limits limits = {.n_ctx = CTX};
    fr_states *s = fr_hidden_state_states(d);
    fr_error err;
    fr_draft_block chain;
    fr_forward *forward;
    fr_kv kv;
    if (fr_draft_block_open(&chain, ((const fr_trained *)d)->weights, CTX, 0, NULL, &err) ||
        fr_forward_open(&forward, &p->target.model, &limits, &err) ||
        fr_kv_open(&kv, &p->target.model.config, CTX, FR_KV_F16, &err))
        fail_msg("%s", err.text);
    for (int at = 0; at < n - 1; at += CHUNK) {
        fr_row rows[CHUNK];
        int path[CHUNK];
        const int m = n - 1 - at < CHUNK ? n - 1 - at : CHUNK;
        for (int i = 0; i < m; i++) {
            rows[i] = fr_row_token(ids[at + i], i - 1, FR_WANT_FINAL);
            path[i] = i;
        }
        fr_forward_run(forward,
                       &(fr_pass){.rows = rows, .n_rows = m, .kv = (fr_kv *[]){&kv}, .n_seq = 1});
        fr_kv_commit(&kv, path, m);
        for (int i = 0; i < m; i++)
            fr_draft_block_add(&chain, fr_forward_final(forward, i), ids[at + i + 1]);
    }
    assert_int_equal(fr_draft_block_pairs(&s->chain), n - 1);
    fr_draft_block_read(&chain, FR_WANT_FINAL);
    draft_at_once(s, ids[n - 1], 1);
    assert_memory_equal(fr_chain_cache_newest(&s->kept)->states, fr_draft_block_state(&chain, 0),
                        sizeof(float) * (size_t)s->pack->d);
    fr_kv_close(&kv);
    fr_forward_close(forward);
    fr_draft_block_close(&chain);
}

// Turns of a chat, texts that are cut and go on otherwise: of what was there before only the last
// token's row is shown again.
static void what_is_kept_of_a_text_is_not_read_again(void **state) {
    (void)state;
    pair p;
    open_pair(&p, &PACKS[0]);
    for (int w = 0; w < 2; w++) {
        fr_decoder d;
        int32_t text[CTX] = {0};
        const struct {
            int kept, new_tokens;
        } turn[] = {{0, 30}, {59, 9}, {40, 1}, {41, 7}, {2, 60}, {1, 3}, {0, 2}};
        const struct way way = {
            true, false, w ? "+prompt-lookup" : "", {"mode=reuse", "depth=8", NULL}};
        fr_drafter *drafter = open_way(&p, &way);
        open_decoder(&d, &p, drafter, false);
        for (size_t t = 0; t < sizeof turn / sizeof *turn; t++) {
            const int n = turn[t].kept + turn[t].new_tokens;
            memcpy(text, d.ids, sizeof *text * (size_t)turn[t].kept);
            fr_test_ids(text + turn[t].kept, turn[t].new_tokens, 200, (unsigned)(70 + t));
            for (int i = turn[t].kept; i < n; i++)
                text[i] += text[i] == d.ids[i]; // another one than before
            decode(&d, text, n, &SAMPLINGS[0], 30);
            const int kept = turn[t].kept < n - 1 ? turn[t].kept : n - 1;
            assert_int_equal(d.stats.prompt_reused, kept > 0 ? kept - 1 : 0);
            expect_fresh_reading(&p, drafter->n_parts ? drafter->parts[1] : drafter, d.ids,
                                 d.n_ids);
        }
        fr_decoder_close(&d);
        fr_drafter_close(drafter);
    }
    close_pair(&p);
}

// ... and where that one drafts by the same pack, nothing: what its block has read is copied.
static void what_was_read_of_an_adopted_context_is_not_read_again(void **state) {
    (void)state;
    pair p;
    open_pair(&p, &PACKS[0]);
    for (int w = 0; w < 2; w++) {
        const struct way way = {
            true, false, w ? "+prompt-lookup" : "", {"mode=reuse", "depth=8", NULL}};
        fr_drafter *of[2] = {open_way(&p, &way), open_way(&p, &way)};
        fr_decoder d, other, fresh;
        int32_t text[CTX];
        open_decoder(&d, &p, of[0], false);
        open_decoder(&other, &p, of[1], false);
        fr_test_ids(text, 30, 200, 90);
        decode(&d, text, 30, &SAMPLINGS[0], 10);
        fr_test_ids(text, 40, 200, 92);
        decode(&other, text, 40, &SAMPLINGS[0], 20);
        fr_decoder_adopt(&d, &other);
        const int n = other.n_ids;
        memcpy(text, other.ids, sizeof *text * (size_t)n);
        fr_test_ids(text + n, 5, 200, 93);
        fr_decoder_close(&other);
        fr_drafter_close(of[1]);
        const output got = decode(&d, text, n + 5, &SAMPLINGS[0], 30);
        assert_int_equal(d.stats.prompt_reused, n - 1);
        expect_fresh_reading(&p, w ? of[0]->parts[1] : of[0], d.ids, d.n_ids);
        open_decoder(&fresh, &p, NULL, false);
        const output plain = decode(&fresh, text, n + 5, &SAMPLINGS[0], 30);
        fr_decoder_close(&fresh);
        expect_same(&got, &plain);
        fr_decoder_close(&d);
        fr_drafter_close(of[0]);
    }
    close_pair(&p);
}

// A context taken over from another decoder: the block reads what it has not read, and no more.
static void what_is_new_of_an_adopted_context_is_read(void **state) {
    (void)state;
    pair p;
    open_pair(&p, &PACKS[0]);
    for (int w = 0; w < 2; w++) {
        const struct way way = {
            true, false, w ? "+prompt-lookup" : "", {"mode=reuse", "depth=8", NULL}};
        static const int common[] = {45, 60, 7, 0};
        fr_drafter *drafter = open_way(&p, &way);
        fr_decoder d, other, fresh;
        int32_t text[CTX];
        open_decoder(&d, &p, drafter, false);
        fr_test_ids(text, 30, 200, 90);
        decode(&d, text, 30, &SAMPLINGS[0], 40);
        for (size_t t = 0; t < sizeof common / sizeof *common; t++) {
            const int n = common[t] + 20;
            memcpy(text, d.ids, sizeof *text * (size_t)common[t]);
            fr_test_ids(text + common[t], 20, 200, (unsigned)(91 + t));
            text[common[t]] += text[common[t]] == d.ids[common[t]];
            open_decoder(&other, &p, NULL, false);
            decode(&other, text, n, &SAMPLINGS[0], 10);
            fr_decoder_adopt(&d, &other);
            memcpy(text, other.ids, sizeof *text * (size_t)other.n_ids);
            const int whole = other.n_ids;
            fr_decoder_close(&other);
            const output got = decode(&d, text, whole, &SAMPLINGS[0], 30);
            assert_int_equal(d.stats.prompt_reused, common[t] > 0 ? common[t] - 1 : 0);
            expect_fresh_reading(&p, drafter->n_parts ? drafter->parts[1] : drafter, d.ids,
                                 d.n_ids);
            open_decoder(&fresh, &p, NULL, false);
            const output plain = decode(&fresh, text, whole, &SAMPLINGS[0], 30);
            fr_decoder_close(&fresh);
            expect_same(&got, &plain);
        }
        fr_decoder_close(&d);
        fr_drafter_close(drafter);
    }
    close_pair(&p);
}

static void the_block_has_read_the_text_and_no_guess(void **state) {
    (void)state;
    static const struct way ways[] = {
        {true, false, "", {"mode=fresh", NULL}},
        {true, false, "+prompt-lookup", {"mode=reuse", "depth=8", "min-score=0", NULL}}};
    pair p;
    open_pair(&p, &PACKS[0]);
    for (int w = 0; w < 2; w++)
        for (int n = 1; n < 80; n += 13) {
            fr_decoder d;
            output o = {.n = 0};
            int32_t prompt[CTX];
            fr_drafter *drafter = open_way(&p, &ways[w]);
            open_decoder(&d, &p, drafter, false);
            fr_test_ids(prompt, n, 256, (unsigned)(90 + n));
            fr_decoder_prompt(&d, prompt, n, &SAMPLINGS[0]);
            while (o.n < 60)
                fr_decoder_step(&d, 60 - o.n, emit, &o);
            expect_fresh_reading(&p, drafter->n_parts ? drafter->parts[1] : drafter, d.ids,
                                 d.n_ids);
            fr_decoder_close(&d);
            fr_drafter_close(drafter);
        }
    close_pair(&p);
}

// ---------------------------------------------------------------- what it does

// A chain of 7 that is never right, as that of a pack whose only token does not occur, has 6 states
// left after its own step and 5 after the next: the two reuses that are allowed. So a chain is
// drafted every third step, and 6 of its 7 states serve again.
static void a_wrong_chain_serves_three_steps(void **state) {
    (void)state;
    const fr_tiny_pack few = {.form = &fr_hidden_state_form, .n_draft = 1};
    const char *options[] = {"mode=reuse", "depth=7", NULL};
    pair p;
    int32_t prompt[PROMPT];
    open_pair(&p, &few);
    enum { N = 60, ONLY = 0 }; // the id of that pack
    for (unsigned seed = 33, there = 1; there; seed++) {
        fr_test_ids(prompt, PROMPT, 256, seed);
        const output plain =
            decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[3], N, NULL);
        there = 0;
        for (int i = 0; i < N; i++)
            there |= plain.token[i] == ONLY;
    }
    fr_drafter *d = open_drafter(&p, p.spec, true, options);
    fr_stats stats;
    decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT, &SAMPLINGS[3], N, &stats);
    assert_int_equal(stats.passes, N);                          // nothing was right
    assert_true(count_of(d, "steps_fresh") == (N - 1 + 2) / 3); // the last step drafts nothing
    assert_true(count_of(d, "steps_reuse") == N - 1 - (N - 1 + 2) / 3);
    assert_true(count_of(d, "states_per_chain") == 7);
    // The last chain had one reuse (59 = 3 * 19 + 2 steps), and that one was of 6 states too.
    assert_true(fabs(count_of(d, "states_reused") - 6. / 7) < 1e-9);
    assert_true(count_of(d, "tokens_per_step_reuse") == 1);
    fr_drafter_close(d);
    close_pair(&p);
}

// The same with steps that bring several tokens, as prompt lookup's candidates are accepted: what
// is reused, and when, against a simulation of single states.
static void accepted_tokens_use_up_a_chain(void **state) {
    (void)state;
    enum { LENGTH = 9, N = 120 };
    const char *options[] = {"mode=reuse", "depth=9", "min-score=0", NULL};
    pair p;
    int32_t prompt[PROMPT];
    char spec[120];
    open_pair(&p, &PACKS[0]);
    fr_test_ids(prompt, PROMPT, 256, 35);
    snprintf(spec, sizeof spec, "prompt-lookup+%s", p.spec);
    fr_drafter *d = open_drafter(&p, spec, true, options);
    fr_decoder dec;
    open_decoder(&dec, &p, d, false);
    fr_decoder_prompt(&dec, prompt, PROMPT, &SAMPLINGS[0]);
    output o = {.n = 0};
    int place = 0, anchor = -LENGTH, age = 0, fresh = 0, reuses = 0, reused = 0, several = 0;
    bool again[LENGTH] = {false}; // states of the chain that served again
    while (o.n < N) {
        const int before = o.n, first = place - anchor; // state that speaks of the place behind
        if (N - o.n > 1) {
            if (LENGTH - first >= 2 && age < 2) {
                reuses++;
                age++;
                for (int k = first; k < LENGTH; k++)
                    reused += !again[k];
                memset(again + first, 1, (size_t)(LENGTH - first));
            } else {
                fresh++;
                age = 0;
                anchor = place;
                memset(again, 0, sizeof again);
            }
        }
        fr_decoder_step(&dec, N - o.n, emit, &o);
        place += o.n - before;
        several += o.n - before > 1;
    }
    assert_true(several > 5); // else this tests little
    assert_true(count_of(d, "steps_fresh") == fresh && count_of(d, "steps_reuse") == reuses);
    assert_true(fabs(count_of(d, "states_reused") - reused / ((double)LENGTH * fresh)) < 1e-9);
    fr_decoder_close(&dec);
    fr_drafter_close(d);
    close_pair(&p);
}

static void counts_begin_anew_with_a_request(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    open_pair(&p, &PACKS[0]);
    fr_test_ids(prompt, PROMPT, 256, 34);
    fr_drafter *d = open_drafter(&p, p.spec, true, (const char *[]){"mode=fused", NULL});
    fr_decoder dec;
    open_decoder(&dec, &p, d, false);
    double steps[2];
    for (int i = 0; i < 2; i++) {
        decode(&dec, prompt, PROMPT, &SAMPLINGS[0], 40);
        steps[i] = count_of(d, "steps_fresh") + count_of(d, "steps_fused");
        assert_true(steps[i] <= (double)dec.stats.passes && steps[i] > 0);
        assert_true(count_of(d, "seconds_prompt") > 0 && count_of(d, "seconds_chain") > 0);
        assert_true(count_of(d, "seconds_head") > 0 && count_of(d, "seconds_tree") > 0);
    }
    assert_true(fabs(steps[1] - steps[0]) < 20);
    fr_decoder_close(&dec);
    fr_drafter_close(d);
    close_pair(&p);
}

// ---------------------------------------------------------------- files and options

static void options_at_fault_are_named(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"mode=never", NULL},     {"mode=", NULL},     {"depth=0", NULL},    {"depth=17", NULL},
        {"lambda=-1", NULL},      {"lambda=x", NULL},  {"lambda=nan", NULL}, {"candidates=0", NULL},
        {"candidates=257", NULL}, {"width=17", NULL},  {"width", NULL},      {"mode=union", NULL},
        {"inject=yes", NULL},     {"colour=red", NULL}};
    pair p;
    fr_error err;
    fr_drafter *d;
    open_pair(&p, &PACKS[0]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (try_drafter(&d, &p, p.spec, false, bad[i], &err) != FR_EARG) fail_msg("%s", bad[i][0]);
        assert_non_null(strstr(err.text, "draft option"));
        assert_null(d);
    }
    close_pair(&p);
}

static void packs_of_others_are_refused(void **state) {
    (void)state;
    pair p;
    fr_error err;
    fr_drafter *d;
    const fr_tiny_pack eagle = {.form = &fr_eagle_form},
                       other = {.form = &fr_hidden_state_form,
                                .print = "0123456789abcdef0123456789abcdef"};
    open_pair(&p, &eagle);
    assert_int_equal(try_drafter(&d, &p, p.spec, false, NULL, &err), FR_EUNSUP);
    assert_non_null(strstr(err.text, "hidden-state"));
    close_pair(&p);
    open_pair(&p, &other);
    assert_int_not_equal(try_drafter(&d, &p, p.spec, false, NULL, &err), FR_OK);
    assert_int_equal(try_drafter(&d, &p, "hidden-state:/nonexistent.gguf", false, NULL, &err),
                     FR_EIO);
    assert_null(d);
    close_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_gives_the_tokens_of_plain_decoding),
        cmocka_unit_test(the_other_rules_hold_too),
        cmocka_unit_test(a_session_may_start_go_on_and_be_cut),
        cmocka_unit_test(the_block_has_read_the_text_and_no_guess),
        cmocka_unit_test(what_is_kept_of_a_text_is_not_read_again),
        cmocka_unit_test(what_is_new_of_an_adopted_context_is_read),
        cmocka_unit_test(what_was_read_of_an_adopted_context_is_not_read_again),
        cmocka_unit_test(a_wrong_chain_serves_three_steps),
        cmocka_unit_test(accepted_tokens_use_up_a_chain),
        cmocka_unit_test(counts_begin_anew_with_a_request),
        cmocka_unit_test(options_at_fault_are_named),
        cmocka_unit_test(packs_of_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
