// accuracy.c — `accuracy`: at which rank a drafter holds the true token, by distance.
#include "cmd/accuracy/accuracy.h"
#include "base/save.h"
#include "cmd/lib/text.h"
#include "draft/registry.h"
#include "engine/engine.h"
#include <stdlib.h>
#include <string.h>

typedef struct job {
    fr_cmd_args args; // guesses at every step, whether or not they pay
    fr_engine *engine;
    fr_prompts prompts;
    fr_answers answers;
    fr_known known;
    char *specs; // taken apart
    const char *spec[FR_ACCURACY_DRAFTERS];
    fr_asked asked[FR_ACCURACY_DRAFTERS];
    int n;
} job;

static fr_status list_drafters(job *j, fr_error *err) {
    char *rest;
    if (!(j->specs = strdup(j->args.drafter))) return fr_fail(err, FR_ENOMEM, "no memory");
    for (char *s = strtok_r(j->specs, ",", &rest); s; s = strtok_r(NULL, ",", &rest)) {
        const fr_status st = fr_drafter_check(s, err);
        if (st) return st;
        if (j->n == FR_ACCURACY_DRAFTERS)
            return fr_fail(err, FR_EARG, "--drafter: more than %d", FR_ACCURACY_DRAFTERS);
        j->spec[j->n++] = s;
    }
    return j->n ? FR_OK : fr_fail(err, FR_EARG, "--drafter: expected SPEC or SPEC,SPEC...");
}

static fr_status measure(job *j, fr_error *err) {
    fr_status st = list_drafters(j, err);
    if (!st && j->args.plot) st = fr_save_check(j->args.plot, err);
    if (!st) st = fr_prompts_read(&j->prompts, j->args.prompts, j->args.limit, err);
    if (!st) st = fr_cmd_engine_open(&j->engine, &j->args, err);
    if (!st) st = fr_answers_open(&j->answers, &j->args, j->engine, &j->prompts, err);
    if (st) return st;
    j->answers.total = (uint64_t)(j->prompts.n * (1 + j->n));
    st = fr_known_open(&j->known, &j->answers, err);
    for (int i = 0; i < j->n && !st; i++)
        st =
            fr_ask(&j->asked[i], j->spec[i], &j->answers, &j->known, (fr_given)j->args.choice, err);
    return st;
}

static void close_job(job *j) {
    for (int i = 0; i < j->n; i++)
        fr_asked_close(&j->asked[i]);
    fr_known_close(&j->known);
    fr_answers_close(&j->answers);
    fr_engine_close(j->engine);
    fr_prompts_free(&j->prompts);
    free(j->specs);
}

static int show(const job *j) {
    fr_error err = {0};
    if (j->args.json) return fr_cmd_print_json(fr_accuracy_json(j->asked, j->n));
    return fr_accuracy_print(j->asked, j->n, &err) ? fr_cmd_fail(&err) : 0;
}

static int run_accuracy(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    int code = fr_cmd_check("accuracy", args);
    if (!code && !args->prompts) code = fr_cmd_usage("accuracy", "--prompts: a FILE is needed");
    if (code) return code;
    fr_error err = {0};
    job j = {.args = *args};
    j.args.no_adapt = true;
    const fr_status st = measure(&j, &err);
    code = st ? fr_cmd_fail(&err) : show(&j);
    // Results are shown first, so that they are there even if the picture cannot be written.
    if (!st && args->plot &&
        fr_accuracy_plot(j.asked, j.n, j.engine->model.config.name, args->plot, &err))
        code = fr_cmd_fail(&err);
    close_job(&j);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"drafter",       0,   FR_OPT_SPEC,   AT(drafter),   "SPEC,SPEC...", "auto", NULL, "the drafters whose guesses are measured", 0, 0, NULL},
    {"prompts",       0,   FR_OPT_FILE,   AT(prompts),   "FILE", NULL, NULL, "file of JSON lines {\"id\",\"messages\":[...]}, of which the first turn is answered", 0, 0, NULL},
    {"n-predict",     'n', FR_OPT_INT,    AT(n_predict), "N", "64", NULL, "maximum number of tokens to generate for each prompt", 1, 1 << 20, NULL},
    {"limit",         0,   FR_OPT_INT,    AT(limit),     "K", "50", NULL, "use only the first K prompts; 0: all", 0, 1 << 30, NULL},
    {"given",         0,   FR_OPT_ENUM,   AT(choice),    NULL, "guesses", NULL, "tokens that a guess at distance 2 or more continues: the drafter's own best guesses, or those of the answer", 0, 0, "guesses|answer"},
    {"draft-opt",     0,   FR_OPT_LIST,   AT(draft_opts), "KEY=VALUE", NULL, NULL, "setting of the drafter; may be repeated", 0, 0, NULL},
    {"plot",          0,   FR_OPT_FILE,   AT(plot),      "FILE.svg", NULL, NULL, "draw the shares by distance to this file", 0, 0, NULL},
    FR_CMD_FORCE,
    FR_CMD_TEMPLATE,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Measurement", options};

const fr_cmd fr_cmd_accuracy = {
    {.name = "accuracy",
     .summary = "measure how often a drafter's guesses are right",
     .about = "Generates greedily and queries the drafter at every position of every answer. For "
              "each distance from the last accepted token it reports how often the true token is "
              "among the first 1 to 10 guesses of the drafter. A position without a guess counts "
              "as wrong. Intervals cover 95 % of bootstrap samples of the prompts.\n\nA drafter "
              "with distributions guesses its 10 likeliest tokens. Drafters that copy n-grams, and "
              "SPECs of several parts, have no distributions; their candidates are ranked by "
              "score. Drafters without a depth limit of their own draft 6 tokens ahead, draft "
              "models 4; --draft-opt depth=N changes it.",
     .example = "forerun accuracy -m models/smollm2-135m.gguf --drafter prompt-lookup --prompts "
                "prompts.jsonl --limit 8",
     .groups = {&group, &fr_cmd_model_options, &fr_cmd_output_options}},
    run_accuracy};
