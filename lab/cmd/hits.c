// hits.c — `hits`: how often a drafter's guesses of each of its kinds are right, as its first
// expectations are set by (tree/hits.h).
//
// The text runs freely: a place counts where decoding with this drafter proposes. Of each proposal
// the children of nodes on the true path count, evaluated or not.
#include "tree/hits.h"
#include "cmd/accuracy/ask.h"
#include "draft/registry.h"
#include "engine/engine.h"
#include "lab/cmd/lab.h"
#include "json/value.h"
#include <string.h>

typedef struct job {
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_prompts prompts;
    fr_answers answers;
    fr_known known;
    fr_hits hits;     // counts alone: nothing expected, nothing forgotten; of guesses with
                      // probabilities these count as tries
    int at, n_prompt; // the answer in flight; tokens before it, 0: not seen yet
} job;

static void watch(void *user, const fr_tree *t, int n_ids) {
    job *j = user;
    if (!j->n_prompt) j->n_prompt = n_ids; // the first root is the prompt's last token
    const fr_ids *answer = &j->known.answer[j->at];
    const size_t from = (size_t)(n_ids - j->n_prompt);
    if (from < answer->n)
        fr_hits_learn(&j->hits, t, 0, answer->data + from, (int)(answer->n - from));
}

static void opened(void *user, fr_session *s) {
    fr_session_watch(s, watch, user);
}

static void answered(void *user, const fr_ids *prompt, const fr_result *r) {
    job *j = user;
    (void)prompt, (void)r;
    j->at++;
    j->n_prompt = 0;
}

static fr_status measure(job *j, fr_error *err) {
    const fr_cmd_args *args = j->args;
    fr_status st = fr_drafter_check(args->drafter, err);
    if (!st && strchr(args->drafter, '+'))
        st = fr_fail(err, FR_EARG, "--drafter: expected one of one part, found %s", args->drafter);
    if (!st) st = fr_prompts_read(&j->prompts, args->prompts, args->limit, err);
    if (!st) st = fr_cmd_engine_open(&j->engine, args, err);
    if (!st) st = fr_answers_open(&j->answers, args, j->engine, &j->prompts, err);
    if (st) return st;
    j->answers.total = (uint64_t)(2 * j->prompts.n);
    st = fr_known_open(&j->known, &j->answers, err);
    return st ? st : fr_answers_run(&j->answers, args->drafter, opened, answered, j, err);
}

static json_t *hits_json(const job *j) {
    json_t *kinds = json_array();
    for (int k = 0; kinds && k < FR_HIT_KINDS; k++) {
        const fr_mean *m = &j->hits.kind[k];
        if (m->weight > 0)
            json_array_append_new(kinds, json_pack("{s:i, s:f, s:o}", "kind", k, "tried",
                                                   (double)m->weight, "rate",
                                                   fr_cmd_real((double)fr_mean_value(m))));
    }
    return json_pack("{s:o, s:o}", "drafter", fr_json_string(j->args->drafter), "kinds", kinds);
}

static void hits_print(const job *j) {
    printf("%s: how often guesses of each kind were right behind a right path\n", j->args->drafter);
    printf("kind     tried    right\n");
    for (int k = 0; k < FR_HIT_KINDS; k++) {
        const fr_mean *m = &j->hits.kind[k];
        if (m->weight > 0)
            printf("%4d  %8.0f  %6.1f%%\n", k, (double)m->weight, 100 * (double)fr_mean_value(m));
    }
}

static void close_job(job *j) {
    fr_known_close(&j->known);
    fr_answers_close(&j->answers);
    fr_engine_close(j->engine);
    fr_prompts_free(&j->prompts);
}

static int run_hits(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    int code = fr_cmd_check("hits", args);
    if (!code && !args->prompts) code = fr_cmd_usage("hits", "--prompts: a FILE is needed");
    if (code) return code;
    fr_error err = {0};
    job j = {.args = args, .hits.corrects = true};
    if (measure(&j, &err))
        code = fr_cmd_fail(&err);
    else if (args->json)
        code = fr_cmd_print_json(hits_json(&j));
    else
        hits_print(&j);
    close_job(&j);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"drafter",       0,   FR_OPT_SPEC,   AT(drafter),   "SPEC", "prompt-lookup", NULL, "the drafter whose guesses are counted", 0, 0, NULL},
    {"prompts",       0,   FR_OPT_FILE,   AT(prompts),   "FILE", NULL, NULL, "file of JSON lines {\"id\",\"messages\":[...]}, of which the first turn is answered", 0, 0, NULL},
    {"n-predict",     'n', FR_OPT_INT,    AT(n_predict), "N", "128", NULL, "maximum number of tokens to generate for each prompt", 1, 1 << 20, NULL},
    {"limit",         0,   FR_OPT_INT,    AT(limit),     "K", "0", NULL, "use only the first K prompts; 0: all", 0, 1 << 30, NULL},
    {"draft-opt",     0,   FR_OPT_LIST,   AT(draft_opts), "KEY=VALUE", NULL, NULL, "setting of the drafter; may be repeated", 0, 0, NULL},
    {"no-adapt",      0,   FR_OPT_FLAG,   AT(no_adapt),  NULL, NULL, NULL, "draft in every step, whatever it costs", 0, 0, NULL},
    FR_CMD_TEMPLATE,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Measurement", options};

const fr_cmd lab_cmd_hits = {
    {.name = "hits",
     .summary = "measure how often a drafter's guesses of each kind are right",
     .about = "Generates greedily with the drafter and compares its proposals with the answer. For "
              "every kind of guess (by its number in the drafter's own order) it reports how often "
              "a guess was right whose path was right. For trained drafters a try counts as the "
              "guess's own probability, so the rate says how far these probabilities can be "
              "trusted. Other drafters start from such rates. Prompts on which drafters are "
              "measured later should not be among the prompts of this command.",
     .example = "forerun-lab hits -m models/smollm2-135m.gguf --drafter prompt-lookup --prompts "
                "train.jsonl",
     .groups = {&group, &fr_cmd_model_options, &fr_cmd_output_options}},
    run_hits};
