// train.c — `train`: as forerun's, and layer-skip besides. Of that nothing is learned: a search
// finds which sublayers of the target its drafts leave out.
#include "cmd/train/train.h"
#include "base/clock.h"
#include "draft/registry.h"
#include "draft/self/skip_set.h"
#include "draft/shared/config.h"
#include "lab/cmd/lab.h"
#include "lab/train/skip_bench.h"
#include "train/learner/setting.h"
#include "train/learner/tally.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    bool bayes;
    int places, sets;
} settings;

typedef struct search {
    fr_training training;
    settings set;
    fr_skip_bench bench, held;
    bool timed; // draft passes are timed; else their time follows from bytes
    double start;
    const char *phase;
    // What was found.
    uint8_t skip[FR_SKIP_MOST];
    int judgements;
    double seconds, share, speed; // share and speed: as measured, speed on what was held out
    fr_tally judged;              // ... its counts; tried[0] 0: nothing was found
} search;

static const fr_learner_method METHOD = {.name = "layer-skip", .passes = true, .batch_rows = 1024};

static fr_status read_settings(const fr_cmd_args *args, settings *s, fr_error *err) {
    *s = (settings){.places = 32, .sets = 150};
    for (const char *const *o = args->settings.item; *o; o++) {
        if (!strncmp(*o, "search=", 7)) s->bayes = !strcmp(*o, "search=bayes");
        if (strcmp(*o, "search=bayes") != 0 && strcmp(*o, "search=greedy") != 0 &&
            !fr_setting_int(*o, "places", 4, 256, &s->places) &&
            !fr_setting_int(*o, "sets", 10, 1000, &s->sets))
            return fr_fail(err, FR_EARG,
                           "--set %.64s: layer-skip knows search=greedy or bayes, places=4 to 256 "
                           "and sets=10 to 1000",
                           *o);
    }
    return FR_OK;
}

static fr_status check_alone(const fr_training *t, fr_error *err) {
    if (t->comm.n == 1) return FR_OK;
    return fr_fail(err, FR_EARG, "train layer-skip: expected one process, found %d", t->comm.n);
}

// ---------------------------------------------------------------- judging

static void judge(void *user, const uint8_t *skip, fr_skip_value *value) {
    search *s = user;
    fr_tally tally;
    if (!fr_skip_bench_judge(&s->bench, skip, &tally)) {
        *value = (fr_skip_value){.divergence = INFINITY};
        return;
    }
    const double share = s->timed ? fr_skip_bench_share(&s->bench, skip)
                                  : fr_skip_bench_bytes_share(&s->bench, skip);
    *value =
        (fr_skip_value){.divergence = fr_tally_loss(&tally), .speed = fr_skip_speed(&tally, share)};
}

// A search by time keeps its last part for judging what was found.
static bool watch(void *user, const fr_skip_search *found) {
    search *s = user;
    fr_training *t = &s->training;
    const uint64_t steps = t->args->steps;
    const double seconds = fr_seconds() - s->start;
    const double all = 0.95 * fr_skip_seconds(t->seconds, t->prepared);
    char what[96];
    uint64_t total = steps;
    if (!steps && seconds > 0)
        total = (uint64_t)((double)found->judgements * (seconds < all ? all / seconds : 1));
    snprintf(what, sizeof what, "%s, fastest %.2fx", s->phase, found->best_value.speed);
    fr_progress_show(&t->bar, what, (uint64_t)found->judgements, total);
    if (fr_cmd_interrupted()) return false;
    return steps ? (uint64_t)found->judgements < steps : seconds < all;
}

static fr_status find(search *s, fr_skip_search *found, fr_error *err) {
    fr_status st = FR_OK;
    if (s->set.bayes) {
        fr_skip_default(&s->training.target, found->best);
        s->timed = true;
        s->phase = "Bayesian optimisation";
        st = fr_skip_bayes(found, s->set.sets, s->training.args->seed, err);
    } else {
        s->phase = "leaving out one after the other";
        fr_skip_eliminate(found);
        s->timed = true;
        s->phase = "trying single ones by time";
        if (!found->ended && found->best_value.speed > 0) fr_skip_flip(found);
    }
    return st;
}

// ---------------------------------------------------------------- the result

static fr_status keep(search *s, const fr_skip_search *found, fr_error *err) {
    const fr_training *t = &s->training;
    fr_pack_facts facts = fr_training_facts(t);
    if (!(found->best_value.speed > 0))
        return fr_fail(err, FR_EDATA, "train layer-skip: no set was judged in this time");
    memcpy(s->skip, found->best, (size_t)found->n);
    s->judgements = found->judgements;
    // The pack goes to other machines, so it has the share of time that follows from bytes. After
    // an interrupt this share also stands in for a timed one, so that nobody waits for passes.
    const double share = fr_skip_bench_bytes_share(&s->held, s->skip);
    s->share = fr_cmd_interrupted() ? share : fr_skip_bench_share(&s->held, s->skip);
    fr_skip_bench_judge(&s->held, s->skip, &s->judged);
    s->speed = fr_skip_speed(&s->judged, s->share);
    s->seconds = t->prepared + (fr_seconds() - s->start);
    facts.rows = (uint64_t)s->bench.n * FR_DEPTHS;
    facts.steps = (uint64_t)found->judgements;
    facts.seconds = s->seconds;
    facts.loss = fr_tally_loss(&s->judged);
    facts.judged = &s->judged;
    return fr_skip_pack_write(t->args->output, &t->target, &t->vocab, s->skip, share, &facts, err);
}

static fr_status search_and_keep(search *s, fr_error *err) {
    fr_training *t = &s->training;
    uint64_t bytes[FR_SKIP_MOST];
    fr_skip_search found = {.n = 2 * t->target.config.n_layer,
                            .bytes = bytes,
                            .judge = judge,
                            .watch = watch,
                            .user = s};
    for (int i = 0; i < found.n; i++)
        bytes[i] = fr_sublayer_bytes(&t->target, i);
    fr_status st = find(s, &found, err);
    fr_progress_clear(&t->bar);
    if (st) return st;
    const bool interrupted = fr_cmd_interrupted(), has = found.best_value.speed > 0;
    if (has || !interrupted) st = keep(s, &found, err);
    return interrupted && !st ? fr_fail(err, FR_EINTR, "interrupted") : st;
}

static fr_status open_benches(search *s, fr_error *err) {
    fr_training *t = &s->training;
    const int n_held = t->data.n_held, places = s->set.places;
    fr_training_open_phase(t, "places");
    fr_status st = fr_skip_bench_open(&s->bench, &t->target, &t->vocab, &t->data, n_held,
                                      t->data.n_train, places, fr_cmd_progress, &t->phase, err);
    if (!st)
        st = fr_skip_bench_open(&s->held, &t->target, &t->vocab, &t->data, 0, n_held, places,
                                fr_cmd_progress, &t->phase, err);
    s->bench.watch = &fr_cmd_watch; // what is judged in the end belongs to the result
    fr_progress_clear(&t->phase);
    return st;
}

static fr_status run_search(search *s, const fr_cmd_args *args, fr_error *err) {
    fr_training *t = &s->training;
    fr_status st = read_settings(args, &s->set, err);
    if (!st) st = fr_training_begin(t, args, &METHOD, err);
    if (!st) st = check_alone(t, err);
    if (!st) st = fr_training_read(t, err);
    if (!st) st = fr_training_open_vocab(t, err);
    fr_progress_clear(&t->phase);
    if (st) return st;
    fr_training_name_command(t);
    s->start = fr_seconds();
    st = open_benches(s, err);
    fr_progress_open(&t->bar, args->quiet ? NULL : stderr, "sets", 1);
    if (!st) st = search_and_keep(s, err);
    fr_skip_bench_close(&s->held);
    fr_skip_bench_close(&s->bench);
    return st;
}

// ---------------------------------------------------------------- telling

static json_t *skip_json(const search *s) {
    json_t *list = json_array();
    for (int i = 0; list && i < 2 * s->training.target.config.n_layer; i++)
        if (s->skip[i]) json_array_append_new(list, json_integer(i));
    return list;
}

static json_t *followed_json(const fr_tally *judged) {
    json_t *list = json_array();
    for (int k = 0; list && k < FR_DEPTHS; k++)
        json_array_append_new(list, fr_cmd_real(judged->followed[k] / judged->reached[k]));
    return list;
}

static json_t *found_json(const search *s) {
    const fr_training *t = &s->training;
    return json_pack("{s:s, s:s, s:s, s:i, s:f, s:o, s:o, s:o, s:o, s:o, s:f, s:i, s:I}", "drafter",
                     t->method->name, "target", t->fingerprint, "pack", t->args->output,
                     "judgements", s->judgements, "seconds", s->seconds, "skip", skip_json(s),
                     "share", fr_cmd_real(s->share), "predicted_speedup", fr_cmd_real(s->speed),
                     "divergence", fr_cmd_real(fr_tally_loss(&s->judged)), "followed",
                     followed_json(&s->judged), "coverage", t->vocab.coverage, "draft_vocab",
                     t->vocab.n, "peak_rss_bytes", (json_int_t)fr_cmd_peak_bytes());
}

static void print_found(const search *s) {
    const fr_training *t = &s->training;
    int out[2] = {0};
    for (int i = 0; i < 2 * t->target.config.n_layer; i++)
        out[i % 2] += s->skip[i];
    fprintf(stderr,
            "%s: without %d attentions and %d feed-forwards of %d, after %d sets in %.0f s; held "
            "out: %.0f %% of the best guesses right, %.2f nats from the whole model; a draft token "
            "takes %.2f of a pass, so %.2fx plain decoding is expected\n",
            t->args->output, out[0], out[1], t->target.config.n_layer, s->judgements, s->seconds,
            100 * s->judged.followed[0] / s->judged.reached[0], fr_tally_loss(&s->judged), s->share,
            s->speed);
}

// ---------------------------------------------------------------- the command

static int tell(const search *s, const fr_cmd_args *args) {
    if (args->json) return fr_cmd_print_json(found_json(s));
    if (!args->quiet) print_found(s);
    return FR_EXIT_DONE;
}

// What a training has and a search has not.
static const char *const of_learning[] = {"lr",      "lr-end",          "depth",      "accumulate",
                                          "average", "shares",          "judgements", "patience",
                                          "type",    "checkpoint-every"};

static int check_options(const fr_cmd_args *args, const fr_parsed *parsed) {
    if (args->resume)
        return fr_cmd_usage("train", "--resume: a search is not gone on with; without this option "
                                     "it begins anew");
    for (size_t i = 0; i < sizeof of_learning / sizeof *of_learning; i++)
        if (fr_option_given(&lab_cmd_train.table, parsed, of_learning[i]))
            return fr_cmd_usage("train",
                                "--%s: layer-skip is searched for, and this is an option of "
                                "drafters that are learned",
                                of_learning[i]);
    return FR_EXIT_DONE;
}

static int train_layer_skip(const fr_cmd_args *args, const fr_parsed *parsed) {
    int code = fr_training_check_line(args);
    if (!code) code = check_options(args, parsed);
    if (code) return code;
    fr_error err = {0};
    search *s = calloc(1, sizeof *s);
    if (!s) {
        fr_fail(&err, FR_ENOMEM, "train: no memory");
        return fr_cmd_fail(&err);
    }
    const fr_status st = run_search(s, args, &err);
    if (!st || (st == FR_EINTR && s->judged.tried[0] > 0)) code = tell(s, args);
    if (st) code = fr_cmd_fail(&err);
    fr_comm_close(&s->training.comm, st == FR_EINTR ? 0 : code);
    fr_training_close(&s->training);
    free(s);
    return code;
}

static int run_train(const fr_cmd_args *args, const fr_parsed *parsed) {
    if (strcmp(parsed->args[0], METHOD.name) != 0) return fr_cmd_train.run(args, parsed);
    return train_layer_skip(args, parsed);
}

static bool word(int index, fr_word *word) {
    if (index) return fr_training_word(index - 1, word);
    *word = (fr_word){METHOD.name, fr_layer_skip_method.what, false};
    return true;
}

const fr_cmd lab_cmd_train = {
    {.name = "train",
     .summary = "train a drafter for a model, or search for one",
     .about =
         "Trains what 'forerun train' trains (see there), and the variants that docs/papers "
         "compares them with. For layer-skip nothing is learned: a search finds which sublayers of "
         "the target a draft may leave out. An unknown --set lists the settings of a drafter.",
     .args = "DRAFTER",
     .min_args = 1,
     .max_args = 1,
     .words = word,
     .example = "forerun-lab train layer-skip -m models/smollm2-135m.gguf --data prompts.jsonl -o "
                "skip.gguf --time 4m",
     .groups = {&fr_training_options, &fr_training_learning, &fr_training_model,
                &fr_cmd_output_options}},
    run_train};
