// test_replay_model.c — forerun-lab replay on SmolLM2 with the packs that ship: every pass is that
// of a real run, and of `bench`.
#include "cmd/program.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char PROMPTS[] =
    "{\"id\":\"code\",\"messages\":[{\"role\":\"user\",\"content\":\"Write a Python function that "
    "adds two numbers, then one that multiplies two numbers.\"}]}\n"
    "{\"id\":\"talk\",\"messages\":[{\"role\":\"user\",\"content\":\"Name three rivers.\"},"
    "{\"role\":\"user\",\"content\":\"Now name them again, the other way round.\"}]}\n"
    "{\"id\":\"copy\",\"messages\":[{\"role\":\"user\",\"content\":\"Repeat: the quick brown fox "
    "jumps over the lazy dog, and the lazy dog sleeps.\"}]}\n"
    "{\"id\":\"sky\",\"messages\":[{\"role\":\"user\",\"content\":\"Why is the sky blue?\"}]}\n";
enum { CONVERSATIONS = 4, TOKENS = 12 };
static const char DRAFTERS[] = "eagle,medusa,ppd,hidden-transfer,chimera,hidden-state,lookahead,"
                               "early-exit,layer-skip,prompt-lookup,eagle+prompt-lookup,jacobi";

static said s;
static char model[1024], prompts[64], line[2048];

static void find_model(void) {
    const char *models = getenv("FR_MODELS");
    snprintf(model, sizeof model, "%s/smollm2-135m.gguf",
             models ? models : FR_SOURCE_DIR "/models");
    if (access(model, R_OK)) {
        print_message("skipped: %s is not there\n", model);
        skip();
    }
}

static int set_up(void **state) {
    (void)state;
    setenv("XDG_DATA_HOME", FR_SHIPPED_DATA, 1); // packs are looked for there
    strcpy(prompts, "/tmp/replay-model-XXXXXX");
    const int fd = mkstemp(prompts);
    const ssize_t n = (ssize_t)strlen(PROMPTS);
    return fd < 0 || write(fd, PROMPTS, (size_t)n) != n || close(fd) ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    return unlink(prompts);
}

static json_t *answer_of(const char *command, const char *drafters, const char *options) {
    snprintf(line, sizeof line,
             "%s -m %s --prompts %s --drafters %s -n %d --tree 16 --json --quiet %s", command,
             model, prompts, drafters, TOKENS, options);
    if (run_line(&s, line)) fail_msg("%s: exit %d, %s", line, s.code, s.err);
    json_t *all = json_loads(s.out, 0, NULL);
    assert_non_null(all);
    return all;
}

static const json_t *whole(const json_t *drafter) { // over all sets
    const json_t *sets = json_object_get(drafter, "sets");
    return json_array_get(sets, json_array_size(sets) - 1);
}

static double value(const json_t *of, const char *name) {
    assert_true(json_is_number(json_object_get(of, name)));
    return json_number_value(json_object_get(of, name));
}

static void every_pass_is_that_of_a_real_run(void **state) {
    (void)state;
    static const char *const options[] = {"--check 1", "--check 1 --temp 0.7 --seed 3"};
    find_model();
    for (int i = 0; i < 2; i++) {
        json_t *all = answer_of("replay", DRAFTERS, options[i]);
        const json_t *drafters = json_object_get(all, "drafters");
        assert_true(value(all, "differences") == 0);
        assert_int_equal(json_array_size(drafters), 12);
        for (size_t d = 0; d < json_array_size(drafters); d++) {
            const json_t *sum = whole(json_array_get(drafters, d));
            assert_true(value(sum, "checked") == CONVERSATIONS);
            assert_true(value(sum, "tokens") > value(sum, "passes")); // it drafted
        }
        json_decref(all);
    }
}

static void tokens_a_pass_are_those_of_bench(void **state) {
    (void)state;
    find_model();
    json_t *replay = answer_of("replay", "ppd,lookahead", "--check 0"),
           *bench = answer_of("bench", "ppd,lookahead", "--no-adapt");
    for (size_t d = 0; d < 2; d++) {
        const json_t *own = whole(json_array_get(json_object_get(replay, "drafters"), d)),
                     *run = json_array_get(json_object_get(bench, "runs"), d + 1); // after none
        assert_true(value(own, "tokens_per_pass") == value(run, "tokens_per_pass"));
        assert_true(value(own, "rows_per_pass") == value(run, "rows_per_pass"));
        assert_true(value(own, "tokens_per_pass_low") == value(run, "tokens_per_pass_low"));
        assert_true(value(own, "tokens_per_pass_high") == value(run, "tokens_per_pass_high"));
    }
    json_decref(replay);
    json_decref(bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pass_is_that_of_a_real_run),
        cmocka_unit_test(tokens_a_pass_are_those_of_bench),
    };
    return cmocka_run_group_tests_name("lab/replay_model", tests, set_up, tear_down);
}
