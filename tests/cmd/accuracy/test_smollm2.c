// accuracy on SmolLM2: a copy of the model as its own draft is never wrong; a head is no better at
// the next place than at this one; both readings of a distance are one where nothing stands between.
#include "cmd/program.h"
#include "support/quick.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static said s;
static char model[1024], prompts[64], line[4096];

static int set_up(void **state) {
    (void)state;
    const char *folder = getenv("FR_MODELS");
    snprintf(model, sizeof model, "%s/smollm2-135m.gguf",
             folder ? folder : FR_SOURCE_DIR "/models");
    strcpy(prompts, "asked-XXXXXX");
    const int fd = mkstemp(prompts);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) return -1;
    fputs("{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"Write a function in "
          "Python that adds two numbers.\"}]}\n",
          f);
    if (!fr_test_is_quick())
        fputs("{\"id\":\"b\",\"messages\":[{\"role\":\"user\",\"content\":\"Name three primary "
              "colors.\"}]}\n",
              f);
    return fclose(f);
}

static int tear_down(void **state) {
    (void)state;
    return remove(prompts);
}

static json_t *ask(const char *drafter, const char *more) {
    if (access(model, R_OK)) skip();
    snprintf(line, sizeof line, "accuracy -m %s --prompts %s --drafter %s -n 24 --json --quiet %s",
             model, prompts, drafter, more);
    if (run_line(&s, line)) fail_msg("%s: %s", line, s.err);
    json_t *root = json_loads(s.out, 0, NULL);
    assert_non_null(root);
    return root;
}

// Top-k at a distance (1..) of what was asked; NaN where no place has it.
static double top(const json_t *asked, int distance, int k) {
    const json_t *row = json_array_get(json_object_get(asked, "distance"), (size_t)(distance - 1));
    const json_t *share = json_array_get(json_object_get(row, "k"), (size_t)(k - 1));
    return share ? json_number_value(share) : (double)NAN;
}

static void a_copy_of_the_model_is_always_right(void **state) {
    (void)state;
    static const char *const given[] = {"--given guesses", "--given answer",
                                        "--draft-opt tree=sequoia", "--draft-opt tree=beam"};
    const size_t n = fr_test_is_quick() ? 1 : sizeof given / sizeof *given;
    char drafter[1100];
    snprintf(drafter, sizeof drafter, "draft-model:%s", model);
    for (size_t i = 0; i < n; i++) {
        json_t *root = ask(drafter, given[i]);
        assert_string_equal(json_string_value(json_object_get(root, "ranks_of")), "distributions");
        assert_true(json_integer_value(json_object_get(root, "places")) > 20);
        for (int k = 1; k <= 4; k++)
            assert_true(top(root, k, 1) == 1);
        json_decref(root);
    }
}

static void distributions_are_ranked_to_the_tenth(void **state) {
    (void)state;
    char drafters[1024];
    snprintf(drafters, sizeof drafters,
             "medusa:%s/packs/smollm2-135m-medusa.gguf,hidden-transfer:%s/packs/"
             "smollm2-135m-hidden-transfer.gguf,eagle:%s/packs/smollm2-135m-eagle.gguf",
             FR_SOURCE_DIR, FR_SOURCE_DIR, FR_SOURCE_DIR);
    json_t *own = ask(drafters, ""), *true_path = ask(drafters, "--given answer");
    for (size_t i = 0; i < 3; i++) {
        const json_t *a = json_array_get(json_object_get(own, "drafters"), i);
        const json_t *b = json_array_get(json_object_get(true_path, "drafters"), i);
        assert_string_equal(json_string_value(json_object_get(a, "ranks_of")), "distributions");
        const json_t *first = json_array_get(json_object_get(a, "distance"), 0);
        assert_int_equal(json_integer_value(json_object_get(first, "guessed")),
                         json_integer_value(json_object_get(first, "places")));
        assert_true(top(a, 1, 10) > top(a, 1, 1) && top(a, 1, 1) > 0.1);
        assert_true(top(a, 3, 10) <= top(a, 1, 10));
        for (int k = 1; k <= 3; k++) { // at the first distance nothing stands between
            if (i == 2 && k > 1) continue;
            assert_true(top(a, k, 1) == top(b, k, 1) && top(a, k, 10) == top(b, k, 10));
        }
    }
    json_decref(own);
    json_decref(true_path);
}

static void what_copies_is_ranked_by_its_candidates(void **state) {
    (void)state;
    json_t *root = ask("prompt-lookup", "");
    assert_string_equal(json_string_value(json_object_get(root, "ranks_of")), "candidates");
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_the_model_is_always_right),
        cmocka_unit_test(distributions_are_ranked_to_the_tenth),
        cmocka_unit_test(what_copies_is_ranked_by_its_candidates),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
