// Watched drafters: the tokens are plain decoding's; every place is told of, one path each; what is
// told is what an unwatched drafter guesses from, or what it would say once the path is text.
#include "draft/drafting.h"
#include "support/tiny_pack.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 160, PROMPT = 23, TOKENS = 40, DISTANCES = 4, RANKS = 10 };

typedef struct told {
    int n;
    fr_chance likely[RANKS];
} told;

typedef struct seen {
    const int32_t *answer; // the path to follow; NULL: the drafter's own best guesses
    int step, last;        // distance told of last in this step
    told at[TOKENS][DISTANCES + 1];
    int32_t root_child[TOKENS][FR_TREE_MAX];   // of proposals: what follows the root,
    int32_t second_child[TOKENS][FR_TREE_MAX]; // ... and the first of these; -1 ends them
} seen;

static int32_t next(void *user, int distance, const fr_chance *likely, int n) {
    seen *s = user;
    assert_int_equal(distance, s->last + 1);
    assert_true(n >= 1 && n <= RANKS);
    s->last = distance;
    for (int i = 1; i < n; i++)
        assert_true(likely[i].p <= likely[i - 1].p && likely[i].id != likely[0].id);
    if (distance <= DISTANCES) {
        told *t = &s->at[s->step][distance];
        t->n = n;
        memcpy(t->likely, likely, sizeof *likely * (size_t)n);
    }
    if (!s->answer) return likely[0].id;
    const int at = s->step + distance - 1;
    return at < TOKENS ? s->answer[at] : -1;
}

static void children_of(const fr_tree *t, int node, int32_t *to) {
    int n = 0;
    for (int i = 1; i < t->n; i++)
        if (t->node[i].parent == node) to[n++] = t->node[i].id;
    to[n] = -1;
}

static void look(void *user, const fr_tree *t, int n_ids) {
    seen *s = user;
    assert_int_equal(n_ids, PROMPT + s->step);
    children_of(t, 0, s->root_child[s->step]);
    const int first = t->n > 1 ? fr_tree_child(t, 0, s->root_child[s->step][0]) : -1;
    s->second_child[s->step][0] = -1;
    if (first > 0) children_of(t, first, s->second_child[s->step]);
    s->step++;
    s->last = 0;
}

static output go_through(const pair *p, const char *spec, const int32_t *prompt, bool watched,
                         const int32_t *answer, seen *s) {
    static const fr_sampling greedy = {.temperature = 0};
    fr_decoder d;
    fr_drafter *drafter = open_drafter(p, spec, true, NULL);
    memset(s, 0, sizeof *s);
    s->answer = answer;
    open_decoder(&d, p, drafter, false);
    d.watch = look;
    d.watch_user = s;
    d.size.nodes = 1;
    assert_true(drafter->has_dists);
    if (watched) drafter->watch = (fr_dist_watch){next, s};
    const output o = decode(&d, prompt, PROMPT, &greedy, TOKENS);
    assert_int_equal(s->step, TOKENS);
    assert_int_equal(d.stats.passes, TOKENS);
    fr_decoder_close(&d);
    fr_drafter_close(drafter);
    return o;
}

static const fr_tiny_pack PACKS[] = {
    {.form = &fr_medusa_form, .n_draft = 200},
    {.form = &fr_medusa_form, .variant = FR_MEDUSA_HYDRA, .depth = 4},
    {.form = &fr_medusa_form, .variant = FR_MEDUSA_EXIT, .tap = 1},
    {.form = &fr_eagle_form, .n_draft = 200},
    {.form = &fr_ppd_form, .n_draft = 200, .ensemble = 2},
    {.form = &fr_hidden_transfer_form, .n_draft = 200},
    {.form = &fr_chimera_form, .n_draft = 200, .ngram = 3},
    {.form = &fr_hidden_state_form, .n_draft = 200, .rank = 8, .gate = true},
    {.form = &fr_early_exit_form, .n_draft = 200},
    {.form = &fr_layer_skip_form, .n_draft = 200},
};
enum { N_PACKS = sizeof PACKS / sizeof *PACKS };

static void open_pack(pair *p, const fr_tiny_pack *pack, char spec[80]) {
    const fr_tiny_options target = {.arch = "qwen2", .type = FR_TYPE_Q8_0, .n_layer = 2};
    open_target(p, &target, 1, CTX);
    strcpy(p->path, "pack-XXXXXX");
    fr_tiny_pack_write(p->path, pack, &p->target.model);
    snprintf(spec, 80, "%s:%s", pack->form->name, p->path);
}

static void close_pack(pair *p) {
    unlink(p->path);
    close_target(p);
}

static output plain_answer(const pair *p, const int32_t *prompt) {
    static const fr_sampling greedy = {.temperature = 0};
    return decode_once(p, NULL, FR_RULE_EXACT, false, prompt, PROMPT, &greedy, TOKENS, NULL);
}

// Children stand in the order of their ranks; a beam may have left some out. How many were found.
static int all_told(const int32_t *child, const told *t) {
    int n = 0;
    for (int at = 0; child[n] >= 0; n++, at++) {
        while (at < t->n && t->likely[at].id != child[n])
            at++;
        if (at == t->n) fail_msg("a guess of %d was not told of", child[n]);
    }
    return n;
}

static void what_is_told_is_what_is_guessed_from(void **state) {
    (void)state;
    static seen told_of, proposed;
    int32_t prompt[PROMPT];
    char spec[80];
    fr_test_ids(prompt, PROMPT, 256, 41);
    for (size_t k = 0; k < N_PACKS; k++) {
        pair p;
        int compared = 0, behind = 0;
        open_pack(&p, &PACKS[k], spec);
        const output plain = plain_answer(&p, prompt);
        const output watched = go_through(&p, spec, prompt, true, NULL, &told_of);
        const output free = go_through(&p, spec, prompt, false, NULL, &proposed);
        expect_same(&plain, &watched);
        expect_same(&plain, &free);
        for (int i = 1; i + DISTANCES < TOKENS; i++) {
            assert_true(told_of.at[i][1].n == RANKS && told_of.at[i][2].n == RANKS);
            if (proposed.root_child[i][0] < 0) continue;
            assert_int_equal(proposed.root_child[i][0], told_of.at[i][1].likely[0].id);
            compared += all_told(proposed.root_child[i], &told_of.at[i][1]);
            behind += all_told(proposed.second_child[i], &told_of.at[i][2]);
        }
        if (compared < TOKENS / 2 || !behind) fail_msg("%s: %d, %d", spec, compared, behind);
        close_pack(&p);
    }
}

// Where one distribution serves a distance, whatever stands before, the path makes no difference.
static void heads_say_the_same_on_any_path(void **state) {
    (void)state;
    static seen own, given;
    static const int packs[] = {0, 2, 4, 5};
    int32_t prompt[PROMPT];
    char spec[80];
    fr_test_ids(prompt, PROMPT, 256, 42);
    for (size_t k = 0; k < sizeof packs / sizeof *packs; k++) {
        pair p;
        open_pack(&p, &PACKS[packs[k]], spec);
        const output plain = plain_answer(&p, prompt);
        go_through(&p, spec, prompt, true, NULL, &own);
        go_through(&p, spec, prompt, true, plain.token, &given);
        for (int i = 1; i + DISTANCES < TOKENS; i++)
            for (int distance = 1; distance <= 3; distance++)
                assert_memory_equal(&own.at[i][distance], &given.at[i][distance], sizeof(told));
        close_pack(&p);
    }
}

// A pass over fewer layers of the same weights, and a second model, say of guesses that turn out to
// be the text what they say of the text: the same bits.
static void expect_later_places(const seen *s) {
    for (int i = 1; i + DISTANCES < TOKENS; i++)
        for (int distance = 2; distance <= DISTANCES; distance++)
            assert_memory_equal(&s->at[i][distance], &s->at[i + distance - 1][1], sizeof(told));
}

static void given_the_answer_a_distance_is_a_later_place(void **state) {
    (void)state;
    static seen given;
    static const fr_tiny_options draft = {
        .arch = "qwen2", .type = FR_TYPE_Q8_0, .n_layer = 1, .seed = 77};
    int32_t prompt[PROMPT];
    char spec[80];
    pair p;
    fr_error err;
    fr_test_ids(prompt, PROMPT, 256, 43);
    open_pack(&p, &PACKS[8], spec); // early exit
    output plain = plain_answer(&p, prompt);
    go_through(&p, spec, prompt, true, plain.token, &given);
    expect_later_places(&given);
    close_pack(&p);

    open_target(&p, &(fr_tiny_options){.arch = "llama", .n_layer = 2}, 1, CTX);
    strcpy(p.path, "draft-XXXXXX");
    close(mkstemp(p.path));
    if (fr_tiny_write(&draft, p.path, &err)) fail_msg("%s", err.text);
    snprintf(spec, sizeof spec, "draft-model:%s", p.path);
    plain = plain_answer(&p, prompt);
    go_through(&p, spec, prompt, true, plain.token, &given);
    expect_later_places(&given);
    close_pack(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_what_is_guessed_from),
        cmocka_unit_test(heads_say_the_same_on_any_path),
        cmocka_unit_test(given_the_answer_a_distance_is_a_later_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
