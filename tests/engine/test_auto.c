// What `auto` stands for: tuned figures decide where there are any, else what a pack that lies
// ready is predicted to bring; and a session opens with it.
#include "base/alloc.h"
#include "engine/auto.h"
#include "support/tiny_model.h"
#include "support/tiny_pack.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct place { // a folder with a model, and packs beside it
    char dir[20], model[40], packs[40];
    fr_engine *engine;
} place;

static void open_place(place *p) {
    fr_error err;
    strcpy(p->dir, "auto-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    setenv("XDG_DATA_HOME", p->dir, 1);
    snprintf(p->model, sizeof p->model, "%s/tiny.gguf", p->dir);
    snprintf(p->packs, sizeof p->packs, "%s/packs", p->dir);
    assert_int_equal(mkdir(p->packs, 0700), 0);
    if (fr_tiny_write(&(fr_tiny_options){.n_layer = 4}, p->model, &err)) fail_msg("%s", err.text);
    if (fr_engine_open(&p->engine, p->model,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .threads = 1}, &err))
        fail_msg("%s", err.text);
}

static void close_place(place *p) {
    fr_engine_close(p->engine);
    remove(p->model);
    rmdir(p->packs);
    rmdir(p->dir);
}

static void put_pack(const place *p, const fr_tiny_pack *pack, char path[80]) {
    char made[80];
    snprintf(made, sizeof made, "%s/XXXXXX", p->packs);
    fr_tiny_pack_write(made, pack, &p->engine->model);
    snprintf(path, 80, "%s/%s.gguf", p->packs, pack->form->name);
    assert_int_equal(rename(made, path), 0);
}

static void expect_auto(const place *p, const char *spec) {
    const char *reason;
    assert_string_equal(fr_auto_spec(p->engine, &reason), spec);
    assert_true(*reason != 0);
}

static void tune(place *p, const char *spec, double speed) {
    fr_profile *profile = p->engine->profile;
    if (!profile) profile = p->engine->profile = fr_alloc_zero(sizeof *profile);
    assert_non_null(profile);
    fr_profile_drafter entry = {.tok_s = 10 * speed, .plain_tok_s = 10};
    snprintf(entry.spec, sizeof entry.spec, "%s", spec);
    fr_profile_put(profile, &entry);
}

// One small head, right half of the time: little to read, much to gain.
static const fr_tiny_pack GOOD = {.form = &fr_medusa_form, .depth = 1, .n_draft = 8};
// A block larger than the model.
static const fr_tiny_pack HEAVY = {.form = &fr_eagle_form, .d_ff = 4096};

static void a_pack_that_promises_speed_is_taken(void **state) {
    (void)state;
    place p;
    char good[80], heavy[80];
    open_place(&p);
    expect_auto(&p, "prompt-lookup");
    put_pack(&p, &HEAVY, heavy);
    expect_auto(&p, "prompt-lookup");
    put_pack(&p, &GOOD, good);
    expect_auto(&p, "prompt-lookup+medusa");

    fr_session *s;
    fr_error err;
    const fr_result *r;
    const fr_request q = {.size = sizeof q,
                          .prompt = (const int32_t[]){1, 2, 3, 4},
                          .n_prompt = 4,
                          .n_predict = 8,
                          .ignore_eos = true};
    if (fr_session_open(&s, p.engine,
                        &(fr_session_options){.size = sizeof(fr_session_options), .n_ctx = 64},
                        &err))
        fail_msg("%s", err.text);
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK);
    assert_string_equal(r->stats->used, "prompt-lookup+medusa");
    assert_non_null(strstr(r->stats->why, "pack"));
    fr_session_close(s);
    remove(good);
    remove(heavy);
    close_place(&p);
}

static void what_was_tuned_decides_over_what_is_predicted(void **state) {
    (void)state;
    place p;
    char good[80];
    open_place(&p);
    put_pack(&p, &GOOD, good);
    tune(&p, "prompt-lookup", 1.1);
    expect_auto(&p, "prompt-lookup+medusa"); // not tuned: predicted to be more
    tune(&p, "prompt-lookup+medusa", 1.05);
    expect_auto(&p, "prompt-lookup");
    tune(&p, "prompt-lookup+medusa", 1.2);
    expect_auto(&p, "prompt-lookup+medusa");
    tune(&p, "prompt-lookup+medusa", 0.9);
    tune(&p, "prompt-lookup", 0.9);
    expect_auto(&p, "none");
    remove(good);
    tune(&p, "prompt-lookup", 9);
    expect_auto(&p, "prompt-lookup");
    close_place(&p);
}

static void forget(place *p, const char *spec) {
    assert_true(fr_auto_forget(p->engine, spec));
    assert_false(fr_auto_forget(p->engine, "no such spec"));
}

// A datastore that is gone since takes with it what was tuned with it, and no more.
static void what_is_gone_makes_room_for_the_next(void **state) {
    (void)state;
    place p;
    char good[80];
    fr_session *s;
    fr_error err;
    open_place(&p);
    put_pack(&p, &GOOD, good);
    tune(&p, "prompt-lookup", 1.1);
    tune(&p, "prompt-lookup+medusa", 1.2);
    tune(&p, "rest:no-such-file.frd+prompt-lookup+medusa", 1.4);
    tune(&p, "prompt-lookup+draft-model:no-such-file.gguf", 1.3);
    tune(&p, "no-such-drafter", 1.5);
    expect_auto(&p, "no-such-drafter");
    for (int i = 0; i < 2; i++) { // and it is not tried again
        const fr_result *r;
        const fr_request q = {
            .size = sizeof q, .prompt = (const int32_t[]){1, 2}, .n_prompt = 2, .n_predict = 4};
        if (fr_session_open(&s, p.engine,
                            &(fr_session_options){.size = sizeof(fr_session_options), .n_ctx = 64},
                            &err))
            fail_msg("%s", err.text);
        assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK);
        assert_string_equal(r->stats->used, "prompt-lookup+medusa");
        const bool told = strstr(r->stats->why, "cannot be opened");
        assert_int_equal(told, i == 0);
        fr_session_close(s);
        expect_auto(&p, "prompt-lookup+medusa");
    }
    assert_int_equal(p.engine->profile->n_drafters, 5); // it may come back
    remove(good);
    for (int i = 0; i < 2; i++) // nothing of what was tuned is left
        forget(&p, i ? "prompt-lookup" : "prompt-lookup+medusa");
    expect_auto(&p, "prompt-lookup");
    close_place(&p);
}

// A pack whose header is fine, so that it looks fast, and that cannot be opened all the same.
static void a_pack_that_cannot_be_opened_makes_room_for_what_was_tuned(void **state) {
    (void)state;
    place p;
    char good[80];
    open_place(&p);
    put_pack(&p, &GOOD, good);
    tune(&p, "prompt-lookup+eagle", 1.05);
    tune(&p, "prompt-lookup", 1.02);
    expect_auto(&p, "prompt-lookup+medusa");
    forget(&p, "prompt-lookup+medusa");
    expect_auto(&p, "prompt-lookup+eagle");
    remove(good);
    close_place(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pack_that_cannot_be_opened_makes_room_for_what_was_tuned),
        cmocka_unit_test(a_pack_that_promises_speed_is_taken),
        cmocka_unit_test(what_is_gone_makes_room_for_the_next),
        cmocka_unit_test(what_was_tuned_decides_over_what_is_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
