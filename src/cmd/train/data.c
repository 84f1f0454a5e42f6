// data.c — conversations to shards, as the first part of a training.
#include "base/clock.h"
#include "base/pool.h"
#include "cmd/distill/distill.h"
#include "cmd/train/train.h"
#include <string.h>

// Of a training by time so much goes into answers: then each is learned from about twice.
static const double ANSWERS_SHARE = 0.4;
enum { ANSWERS_BY_STEPS = 300000 }; // tokens, without --time and --tokens

bool fr_training_next_data(const char **rest, char name[FR_TRAINING_PATH]) {
    const char *item = *rest;
    if (!item) return false;
    const size_t n = strcspn(item, ",");
    snprintf(name, FR_TRAINING_PATH, "%.*s", (int)n, item);
    *rest = item[n] ? item + n + 1 : NULL;
    return true;
}

static void own_plan(fr_distill_plan *plan, const fr_cmd_args *a, double seconds) {
    plan->n_predict = 256;
    plan->most = 640;
    plan->sampled = 0.2;
    plan->temp = 0.8;
    if (!a->enough && !(seconds > 0)) plan->tokens = ANSWERS_BY_STEPS;
}

// Existing answers are used if they are those that this command line would make.
static fr_status check_folder(const fr_cmd_args *args, const char *files, const char *folder,
                              fr_error *err) {
    fr_error why = {0};
    const fr_status st = fr_sources_check(folder, args->given ? "given" : "own", files, &why);
    if (st != FR_EDATA) return st ? fr_fail(err, st, "%s", why.text) : FR_OK;
    return fr_fail(err, st, "%s; remove that folder, or train on it with --data %s", why.text,
                   folder);
}

fr_status fr_training_answers(fr_training *t, const char *files, const char *folder,
                              fr_error *err) {
    const fr_cmd_args *args = t->args;
    const double start = fr_seconds();
    fr_engine *engine = NULL;
    fr_distill_stats stats;
    fr_distill_plan plan = {.files = files,
                            .answers = args->given ? FR_ANSWERS_GIVEN : FR_ANSWERS_OWN,
                            .width = 32,
                            .turns = 2,
                            .most = 1024,
                            .tokens = args->enough,
                            .seed = args->seed,
                            .capture = folder,
                            .besides = t->room};
    if (!args->enough && t->seconds > 0) plan.seconds = ANSWERS_SHARE * t->seconds;
    if (!args->given) own_plan(&plan, args, t->seconds);
    fr_status st = check_folder(args, files, folder, err);
    if (!st) st = fr_training_taps(t, plan.taps, &plan.n_taps, err);
    if (!st) st = fr_cmd_engine_open(&engine, args, err);
    if (!st) {
        fr_pool_adapt(engine->pool, false);
        st = fr_distill_run(engine, args, &plan, &stats, err);
    }
    fr_engine_close(engine);
    t->prepared = fr_seconds() - start;
    return st;
}
