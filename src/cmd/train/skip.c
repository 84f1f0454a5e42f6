// skip.c — `train layer-skip`: which sublayers of a target its drafts leave out, by search.
#include "base/clock.h"
#include "cmd/train/train.h"
#include "draft/self/skip_set.h"
#include "train/learner/setting.h"
#include "train/learner/tally.h"
#include "train/skip_bench.h"
#include <math.h>
#include <string.h>

typedef struct settings {
    bool bayes;
    int places, sets;
} settings;

typedef struct search {
    fr_training *t;
    fr_skip_bench bench, held;
    bool timed; // draft passes are timed; else their time follows from bytes
    double start;
    const char *phase;
} search;

static fr_status read_settings(const fr_training *t, settings *s, fr_error *err) {
    *s = (settings){.places = 32, .sets = 150};
    for (const char *const *o = t->args->settings.item; *o; o++) {
        s->bayes = s->bayes || !strcmp(*o, "search=bayes");
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

fr_status fr_training_check_search(const fr_training *t, fr_error *err) {
    settings unused;
    if (t->args->resume)
        return fr_fail(err, FR_EARG, "--resume: a search is not gone on with; it begins anew");
    if (t->comm.n > 1)
        return fr_fail(err, FR_EARG, "train layer-skip: expected one process, found %d", t->comm.n);
    return read_settings(t, &unused, err);
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
    const fr_training *t = s->t;
    const uint64_t steps = t->args->steps;
    const double seconds = fr_seconds() - s->start, all = 0.95 * (t->seconds - t->prepared);
    char what[96];
    uint64_t total = steps;
    if (!steps && seconds > 0)
        total = (uint64_t)((double)found->judgements * (seconds < all ? all / seconds : 1));
    snprintf(what, sizeof what, "%s, fastest %.2fx", s->phase, found->best_value.speed);
    fr_progress_show(&s->t->bar, what, (uint64_t)found->judgements, total);
    if (fr_cmd_interrupted()) return false;
    return steps ? (uint64_t)found->judgements < steps : seconds < all;
}

static fr_status find(search *s, const settings *set, fr_skip_search *found, fr_error *err) {
    fr_status st = FR_OK;
    if (set->bayes) {
        fr_skip_default(&s->t->target, found->best);
        s->timed = true;
        s->phase = "Bayesian optimisation";
        st = fr_skip_bayes(found, set->sets, s->t->args->seed, err);
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
    fr_training *t = s->t;
    fr_training_found *to = &t->found;
    fr_pack_facts facts = fr_training_facts(t);
    if (!(found->best_value.speed > 0))
        return fr_fail(err, FR_EDATA, "train layer-skip: no set was judged in this time");
    memcpy(to->skip, found->best, (size_t)found->n);
    to->judgements = found->judgements;
    // The pack goes to other machines, so it has the share of time that follows from bytes. After
    // an interrupt this share also stands in for a timed one, so that nobody waits for passes.
    const double share = fr_skip_bench_bytes_share(&s->held, to->skip);
    to->share = fr_cmd_interrupted() ? share : fr_skip_bench_share(&s->held, to->skip);
    fr_skip_bench_judge(&s->held, to->skip, &to->judged);
    to->speed = fr_skip_speed(&to->judged, to->share);
    to->seconds = t->prepared + (fr_seconds() - s->start);
    facts.rows = (uint64_t)s->bench.n * FR_DEPTHS;
    facts.steps = (uint64_t)found->judgements;
    facts.seconds = to->seconds;
    facts.loss = fr_tally_loss(&to->judged);
    facts.judged = &to->judged;
    return fr_skip_pack_write(t->args->output, &t->target, &t->vocab, to->skip, share, &facts, err);
}

static fr_status run(search *s, const settings *set, fr_error *err) {
    fr_training *t = s->t;
    uint64_t bytes[FR_SKIP_MOST];
    fr_skip_search found = {.n = 2 * t->target.config.n_layer,
                            .bytes = bytes,
                            .judge = judge,
                            .watch = watch,
                            .user = s};
    for (int i = 0; i < found.n; i++)
        bytes[i] = fr_sublayer_bytes(&t->target, i);
    fr_status st = find(s, set, &found, err);
    fr_progress_clear(&t->bar);
    if (st) return st;
    const bool interrupted = fr_cmd_interrupted();
    st = keep(s, &found, err);
    if (interrupted) return fr_fail(err, FR_EINTR, "interrupted");
    return st;
}

fr_status fr_training_search(fr_training *t, fr_error *err) {
    settings set;
    search s = {.t = t, .start = fr_seconds()};
    fr_status st = read_settings(t, &set, err);
    if (st) return st;
    fr_training_open_phase(t, "places");
    st = fr_skip_bench_open(&s.bench, &t->target, &t->vocab, &t->data, t->data.n_held,
                            t->data.n_train, set.places, fr_cmd_progress, &t->phase, err);
    if (!st)
        st = fr_skip_bench_open(&s.held, &t->target, &t->vocab, &t->data, 0, t->data.n_held,
                                set.places, fr_cmd_progress, &t->phase, err);
    s.bench.watch = &fr_cmd_watch; // what is judged in the end belongs to the result
    fr_progress_clear(&t->phase);
    fr_progress_open(&t->bar, t->args->quiet ? NULL : stderr, "sets", 1);
    if (!st) st = run(&s, &set, err);
    fr_skip_bench_close(&s.held);
    fr_skip_bench_close(&s.bench);
    return st;
}

// ---------------------------------------------------------------- telling

static json_t *skip_json(const fr_training *t) {
    json_t *list = json_array();
    for (int i = 0; list && i < 2 * t->target.config.n_layer; i++)
        if (t->found.skip[i]) json_array_append_new(list, json_integer(i));
    return list;
}

static json_t *followed_json(const fr_tally *judged) {
    json_t *list = json_array();
    for (int k = 0; list && k < FR_DEPTHS; k++)
        json_array_append_new(list, fr_cmd_real(judged->followed[k] / judged->reached[k]));
    return list;
}

json_t *fr_training_found_json(const fr_training *t) {
    const fr_training_found *f = &t->found;
    return json_pack("{s:s, s:s, s:s, s:i, s:f, s:o, s:o, s:o, s:o, s:o, s:f, s:i, s:I}", "drafter",
                     t->method->name, "target", t->fingerprint, "pack", t->args->output,
                     "judgements", f->judgements, "seconds", f->seconds, "skip", skip_json(t),
                     "share", fr_cmd_real(f->share), "predicted_speedup", fr_cmd_real(f->speed),
                     "divergence", fr_cmd_real(fr_tally_loss(&f->judged)), "followed",
                     followed_json(&f->judged), "coverage", t->vocab.coverage, "draft_vocab",
                     t->vocab.n, "peak_rss_bytes", (json_int_t)fr_cmd_peak_bytes());
}

void fr_training_print_found(const fr_training *t) {
    const fr_training_found *f = &t->found;
    int out[2] = {0};
    for (int i = 0; i < 2 * t->target.config.n_layer; i++)
        out[i % 2] += f->skip[i];
    fprintf(stderr,
            "%s: without %d attentions and %d feed-forwards of %d, after %d sets in %.0f s; held "
            "out: %.0f %% of the best guesses right, %.2f nats from the whole model; a draft token "
            "takes %.2f of a pass, so %.2fx plain decoding is expected\n",
            t->args->output, out[0], out[1], t->target.config.n_layer, f->judgements, f->seconds,
            100 * f->judged.followed[0] / f->judged.reached[0], fr_tally_loss(&f->judged), f->share,
            f->speed);
}
