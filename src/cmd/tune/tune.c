// tune.c — `tune`: measures passes and drafters, keeps the profile that `auto` reads.
#include "cmd/tune/tune.h"
#include "cmd/lib/text.h"
#include "decode/counts.h"
#include "draft/registry.h"
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_prompts prompts;
    fr_answers answers;
    fr_buffer room; // of the candidates' names
    fr_strings specs;
    char asked[FR_PROFILE_SPEC]; // --drafter
    char store[FR_PROFILE_SPEC]; // a datastore beside the model; "": there is none
    fr_cost cost;                // as measured; sessions may change theirs
    fr_tuned tuned[FR_PROFILE_DRAFTERS];
    int n_tuned;
} job;

static void count(void *user, const fr_ids *prompt, const fr_result *r) {
    fr_tuned *t = user;
    const fr_stats *s = r->stats;
    (void)prompt;
    t->predicted += s->predicted;
    t->predicted_plain += s->predicted_plain;
    t->passes_took += fr_pass_seconds(s->seconds_by_rows);
    t->draft += s->seconds_draft;
    t->decode += s->seconds_decode;
    t->tokens += s->completion_tokens;
    t->passes += s->passes;
    t->rows += s->rows;
}

// held: as in fr_cost. Drafting was timed by the clock, so its time is scaled: it was slowed as
// much as the passes of the same minute.
static void conclude(fr_tuned *t, double held) {
    const double tokens = (double)t->tokens;
    const double draft = t->draft * fr_cmd_rate(t->predicted, t->passes_took);
    t->entry.tok_s = fr_cmd_rate(tokens, held * (t->predicted + draft));
    t->entry.plain_tok_s = fr_cmd_rate(tokens, held * t->predicted_plain);
    t->entry.tokens_per_pass = fr_cmd_rate(tokens, (double)t->passes);
}

// For candidates, whose files have no '+' in their names.
static bool drafts_by_model(const char *spec) {
    return strstr(spec, "+draft-model:");
}

// If a drafter that was not asked for by name does not fit the model, the command continues. A
// model beside it with another vocabulary is not even mentioned.
static fr_status tune_one(job *j, const char *spec, fr_error *err) {
    fr_tuned *t = &j->tuned[j->n_tuned++];
    fr_error why = {0};
    *t = (fr_tuned){0};
    snprintf(t->entry.spec, sizeof t->entry.spec, "%s", spec);
    const fr_status st = fr_answers_run(&j->answers, spec, NULL, count, t, &why);
    if (!st) {
        conclude(t, j->cost.held);
        t->entry.tuned_here = true;
        // A draft model has to read the prompt, which a short answer does not pay back: it is used
        // only if it was requested.
        if (j->args->drafter || !drafts_by_model(spec))
            fr_profile_put(j->engine->profile, &t->entry);
        return FR_OK;
    }
    if (st == FR_EINTR || st == FR_ENOMEM || j->args->drafter) {
        j->n_tuned--;
        *err = why;
        return st;
    }
    if (st == FR_EUNSUP && drafts_by_model(spec)) {
        j->n_tuned--;
        return FR_OK;
    }
    t->failed = true;
    snprintf(t->why, sizeof t->why, "%.250s", why.text);
    return FR_OK;
}

// Of those that were tuned now and that `auto` may use.
static const char *fastest(const job *j) {
    const char *spec = "prompt-lookup";
    double best = 0;
    for (int i = 0; i < j->n_tuned; i++) {
        const fr_tuned *t = &j->tuned[i];
        const double speedup = fr_profile_speedup(&t->entry);
        if (t->failed || drafts_by_model(t->entry.spec) || speedup <= best) continue;
        best = speedup;
        spec = t->entry.spec;
    }
    return spec;
}

// Retrieval takes next to no time, so it is tried with the fastest of the others.
static fr_status tune_with_store(job *j, fr_error *err) {
    char spec[FR_PROFILE_SPEC];
    const int n = snprintf(spec, sizeof spec, "rest:%s+%s", j->store, fastest(j));
    return n < (int)sizeof spec ? tune_one(j, spec, err) : FR_OK;
}

// The costs kept before may have been measured on a busier machine.
static fr_status measure_passes(job *j, fr_error *err) {
    enum { ROUNDS = 7 };
    fr_status st = fr_cmd_profile(j->engine, j->args, ROUNDS, err);
    j->cost = j->engine->profile ? j->engine->profile->cost : j->cost;
    return st;
}

static fr_status read_prompts(job *j, fr_error *err) {
    if (j->args->prompts)
        return fr_prompts_read(&j->prompts, j->args->prompts, j->args->limit, err);
    return fr_prompts_from(&j->prompts, fr_tune_prompts, j->args->limit, err);
}

static fr_status choose_specs(job *j, fr_error *err) {
    const fr_engine *e = j->engine;
    if (!j->args->drafter) {
        fr_tune_store(fr_gguf_path(e->gguf), e->tokenizer, j->store);
        return fr_tune_candidates(e->gguf, &j->room, &j->specs, err);
    }
    j->specs.item[j->specs.n++] = j->asked;
    return FR_OK;
}

static fr_status tune(job *j, fr_error *err) {
    fr_status st = j->args->drafter ? fr_tune_spec(j->asked, j->args->drafter, err) : FR_OK;
    if (!st) st = read_prompts(j, err);
    if (!st) st = fr_cmd_engine_open(&j->engine, j->args, err);
    if (!st) st = choose_specs(j, err);
    if (!st) st = measure_passes(j, err);
    if (!st) st = fr_answers_open(&j->answers, j->args, j->engine, &j->prompts, err);
    if (st) return st;
    const int with_store = *j->store != 0, most = FR_PROFILE_DRAFTERS - with_store;
    const int n = j->specs.n < most ? j->specs.n : most;
    j->answers.what = "tuning";
    j->answers.total = (uint64_t)(n + with_store) * (uint64_t)j->prompts.n;
    for (int i = 0; i < n && !st; i++) {
        st = tune_one(j, j->specs.item[i], err);
        j->answers.done = (uint64_t)(i + 1) * (uint64_t)j->prompts.n;
    }
    if (!st && with_store) st = tune_with_store(j, err);
    j->engine->profile->cost = j->cost;
    return st;
}

// Of what ended it after something was measured.
static int fail_late(const fr_error *why, bool kept) {
    fr_error late;
    if (why->code == FR_EINTR) return fr_cmd_fail(why);
    fr_fail(&late, why->code, "%.400s; what was measured before is %s", why->text,
            kept ? "shown and kept" : "shown");
    return fr_cmd_fail(&late);
}

// If the profile cannot be kept, the results are still shown and the command fails. What was
// measured before an interrupt or an error is kept and shown too.
static int finish(const job *j, fr_status tuned, const fr_error *why) {
    fr_error err = {0};
    if (tuned && !j->n_tuned) return fr_cmd_fail(why);
    const fr_status st = fr_engine_keep_profile(j->engine, &err);
    const fr_tune_result result = {.engine = j->engine,
                                   .tuned = j->tuned,
                                   .n_tuned = j->n_tuned,
                                   .interrupted = tuned != FR_OK,
                                   .kept = st ? "" : j->engine->profile_path};
    int code = FR_EXIT_DONE;
    if (j->args->json)
        code = fr_cmd_print_json(fr_tune_json(&result));
    else
        fr_tune_print(&result);
    fr_cmd_flush();
    if (st) code = fr_cmd_fail_as(FR_EXIT_FAILED, &err);
    return tuned ? fail_late(why, !st) : code;
}

static int run_tune(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    int code = fr_cmd_check("tune", args);
    if (code) return code;
    if (args->drafter && (!strcmp(args->drafter, "auto") || !strcmp(args->drafter, "none")))
        return fr_cmd_usage("tune", "--drafter %s: there is nothing to tune", args->drafter);
    fr_error err = {0};
    job *j = calloc(1, sizeof *j);
    if (!j) {
        fr_fail(&err, FR_ENOMEM, "tune: no memory");
        return fr_cmd_fail(&err);
    }
    j->args = args;
    const fr_status st = tune(j, &err);
    code = finish(j, st, &err);
    fr_answers_close(&j->answers);
    fr_engine_close(j->engine);
    fr_prompts_free(&j->prompts);
    fr_buffer_free(&j->room);
    free(j);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"drafter",       0,   FR_OPT_SPEC,   AT(drafter),   "SPEC", NULL, "prompt-lookup alone, with every pack found, and with every smaller model in the same folder as draft model; then the fastest with a datastore (.frd) in that folder", "the drafter to tune", 0, 0, NULL},
    {"prompts",       0,   FR_OPT_FILE,   AT(prompts),   "FILE", NULL, "twelve built-in prompts", "file of JSON lines {\"id\",\"messages\":[...]}, of which the first turn is answered", 0, 0, NULL},
    {"n-predict",     'n', FR_OPT_INT,    AT(n_predict), "N", "96", NULL, "maximum number of tokens to generate for each prompt", 1, 1 << 20, NULL},
    {"limit",         0,   FR_OPT_INT,    AT(limit),     "K", "16", NULL, "use only the first K prompts; 0: all", 0, 1 << 30, NULL},
    {"draft-opt",     0,   FR_OPT_LIST,   AT(draft_opts), "KEY=VALUE", NULL, NULL, "setting of the drafter; may be repeated", 0, 0, NULL},
    FR_CMD_TEMPLATE,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Tuning", options};

const fr_cmd fr_cmd_tune = {
    {.name = "tune",
     .summary = "measure this machine and a model's drafters, for 'auto'",
     .about = "Measures the cost of passes of 1 to 64 rows, with layers and output head separate, "
              "then runs every drafter on the prompts. The result is a profile for this model, "
              "processor, instruction set and number of threads, stored below "
              "$XDG_CACHE_HOME/forerun. From then on '--drafter auto' uses the drafter with the "
              "highest predicted speed, and its trees are sized by the measured costs. Draft "
              "models are tried, but 'auto' uses one only if it was tuned by name: it must read "
              "the prompt first, and a short answer may not gain back that time.\n\nThe predicted "
              "speed is computed from the cost of passes, the time of drafting and the acceptance "
              "in these runs. The measured speed is by the clock, over the same answers. Ctrl-C or "
              "a lack of memory ends the tuning; the results so far are printed and stored.",
     .example = "forerun tune -m models/smollm2-135m.gguf",
     .groups = {&group, &fr_cmd_model_options, &fr_cmd_output_options}},
    run_tune};
