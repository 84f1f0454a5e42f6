// Groups of sessions on a real model (SmolLM2, or FR_GROUP_MODEL) with the packs that it ships
// with: each gives the bytes that it gives alone.
#define _GNU_SOURCE
#include "engine/group_trial.h"
#include "support/quick.h"
#include <unistd.h>

static const char TEXT[] =
    "<|im_start|>user\nWrite a Python function that adds two numbers.<|im_end|>\n"
    "<|im_start|>assistant\nHere is a function that adds two numbers:\n```python\ndef add(a, b):\n"
    "    return a + b\n```\nIt takes two numbers and returns their sum.<|im_end|>\n"
    "<|im_start|>user\nNow one that multiplies two numbers.<|im_end|>\n<|im_start|>assistant\n"
    "Here is a function that multiplies two numbers:\n```python\ndef multiply(a, b):\n"
    "    return a * b\n```\nIt takes two numbers and returns their product.<|im_end|>\n"
    "<|im_start|>user\nThe sky is blue because air scatters blue light more than red light. Say it "
    "again in other words, then count from one to ten.<|im_end|>\n<|im_start|>assistant\nBlue "
    "light "
    "is scattered by air more than red light, so the sky looks blue. One, two, three, four, five, "
    "six, seven, eight, nine, ten.<|im_end|>\n<|im_start|>user\nList the months of the year and "
    "how many days each of them has.<|im_end|>\n<|im_start|>assistant\n";

static const char *const SPECS[] = {"none",
                                    "prompt-lookup",
                                    "eagle+prompt-lookup",
                                    "ppd",
                                    "hidden-transfer",
                                    "chimera",
                                    "layer-skip",
                                    "medusa",
                                    "hidden-state",
                                    "early-exit",
                                    "lookahead",
                                    "ppd+prompt-lookup",
                                    "chimera+prompt-lookup"};
static const char *const STOPS[] = {"return", ".", "seven"};

// FR_GROUP_TRIALS of them from FR_GROUP_SEED on; FR_GROUP_SPECS, separated by commas, in the place
// of the specs above.
static void members_give_the_bytes_that_they_give_alone(void **state) {
    (void)state;
    char path[1024];
    static char list[1024];
    const char *specs[32], *folder = getenv("FR_MODELS"), *given = getenv("FR_GROUP_SPECS");
    const char *model = getenv("FR_GROUP_MODEL");
    int n_specs = 0;
    snprintf(path, sizeof path, "%s/%s.gguf", folder ? folder : FR_SOURCE_DIR "/models",
             model ? model : "smollm2-135m");
    if (access(path, R_OK)) {
        print_message("skipped: %s is not there\n", path);
        skip();
    }
    setenv("XDG_DATA_HOME", FR_SHIPPED_DATA, 1); // packs are looked for there
    const bool quick = fr_test_is_quick();
    trial_counts c = {0};
    trial_world w = {.specs = SPECS,
                     .n_specs = sizeof SPECS / sizeof *SPECS,
                     .n_ctx = 512,
                     .most_prompt = quick ? 40 : 150,
                     .most_tokens = quick ? 10 : 40,
                     .stops = STOPS,
                     .n_stops = 3};
    if (given) {
        snprintf(list, sizeof list, "%s", given);
        for (char *at = strtok(list, ","); at && n_specs < 32; at = strtok(NULL, ","))
            specs[n_specs++] = at;
        w.specs = specs;
        w.n_specs = n_specs;
    }
    fr_ids ids = {0};
    fr_error err;
    if (fr_engine_open(&w.engine, path, NULL, &err) ||
        fr_text_encode(w.engine->text, TEXT, strlen(TEXT), FR_TEXT_BOS | FR_TEXT_CONTROL, NULL,
                       &ids, &err))
        fail_msg("%s", err.text);
    w.text = ids.data;
    w.n_text = (int)ids.n;
    const long trials = trial_number("FR_GROUP_TRIALS", quick ? 2 : 3),
               first = trial_number("FR_GROUP_SEED", 1);
    for (long t = 0; t < trials; t++) {
        w.kv_type = t % 3 == (quick ? 1 : 2) ? "q8_0" : NULL;
        trial_run(&w, (uint64_t)(first + t), &c);
    }
    print_message("%ld trials from %ld: %ld requests (%ld broken off, %ld taken over), %ld tokens "
                  "in %ld passes\n",
                  trials, first, c.requests, c.cancelled, c.adopted, c.tokens, c.passes);
    assert_true(c.requests > trials && c.drafted);
    fr_ids_free(&ids);
    fr_engine_close(w.engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_give_the_bytes_that_they_give_alone)};
    return cmocka_run_group_tests_name("lossless/group", tests, NULL, NULL);
}
