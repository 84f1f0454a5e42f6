#include "train/train.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mean.h"
#include "gguf/hash.h"
#include "train/learner/spread.h"
#include "train/learner/tally.h"
#include "train/math/optim.h"
#include "train/math/schedule.h"
#include "train/resume.h"
#include <math.h>
#include <string.h>

enum { LEAST_APART = 10 };                // judgements; in steps
static const double judging_share = 0.05; // of the time, at most
static const double norm_most = 1;

// ---------------------------------------------------------------- where it stands
static double seconds_so_far(const fr_train *t) {
    return t->before + (fr_seconds() - t->started);
}

// A tenth of the time is for learning, however long the data took.
static double seconds_to_learn(const fr_train *t) {
    const double left = t->config.seconds - t->state.prepared, least = 0.1 * t->config.seconds;
    return left > least ? left : least;
}

double fr_train_done(const fr_train *t) {
    const double done = t->config.steps ? (double)t->state.step / (double)t->config.steps
                                        : t->state.seconds / seconds_to_learn(t);
    return done < 1 ? done : 1;
}

size_t fr_train_bytes(const fr_learner *l, double average) {
    return (average > 0 ? 2 : 1) * l->params.n_floats * sizeof(float) + sizeof(fr_batch);
}

// ---------------------------------------------------------------- interrupts
static bool ask(void *user) {
    fr_train *t = user;
    if (!t->interrupted && !t->comm->rank && t->config.watch)
        t->interrupted = !t->config.watch(t->config.user, t);
    return !t->interrupted;
}

// Process 0's answer for all processes, so that all leave at the same place.
static bool all_go_on(fr_train *t) {
    int32_t stops = !ask(t);
    fr_comm_share(t->comm, &stops, sizeof stops);
    t->interrupted = stops;
    return !stops;
}

static fr_status leave(fr_error *err) {
    return fr_fail(err, FR_EINTR, "interrupted");
}

// ---------------------------------------------------------------- judging
static void add_tallies(fr_tally *to, const fr_tally *from) {
    double *x = (double *)to;
    const double *y = (const double *)from;
    _Static_assert(sizeof *to % sizeof *x == 0, "a tally is doubles alone");
    for (size_t i = 0; i < sizeof *to / sizeof *x; i++)
        x[i] += y[i];
}

typedef struct judged { // doubles alone
    fr_tally tally;
    fr_spread spread;
} judged;

// False: interrupted.
static bool judge_held_out(fr_train *t, judged *out) {
    *out = (judged){0};
    t->phase = (fr_train_phase){"judging", "texts", 0, (uint64_t)t->held.n};
    fr_batches_seek(&t->held, 0, 0);
    for (int i = 0; t->held.at < t->held.n && ask(t); i++) {
        fr_batches_next(&t->held, t->batch);
        if (i % t->comm->n == t->comm->rank) {
            const fr_tally before = out->tally;
            t->learner->ops->judge(t->learner, t->batch, &out->tally);
            fr_spread_add(&out->spread, &before, &out->tally);
        }
        t->phase.done = (uint64_t)t->held.at;
    }
    const bool whole = all_go_on(t);
    t->phase = (fr_train_phase){0};
    if (whole) fr_comm_sum_doubles(t->comm, (double *)out, sizeof *out / sizeof(double));
    return whole;
}

static fr_status add_point(fr_train *t, const judged *of, fr_error *err) {
    const fr_tally *held = &of->tally;
    if (!fr_list_reserve((void **)&t->curve, &t->curve_room, t->n_points, 1, sizeof *t->curve))
        return fr_fail(err, FR_ENOMEM, "train: no memory for the loss curve");
    fr_train_state *s = &t->state;
    fr_train_point *p = &t->curve[t->n_points++];
    *p = (fr_train_point){
        .step = s->step,
        .rows = s->rows,
        .seconds = s->seconds,
        .rate = fr_schedule_rate(t->config.rate, t->config.rate_end, fr_train_done(t)),
        .loss = s->recent.weight > 0 ? fr_tally_loss(&s->recent) : NAN,
        .held_loss = fr_tally_loss(held),
        .tokens_per_pass = fr_tally_tokens_per_pass(held, t->learner->depth)};
    for (int k = 0; k < t->learner->depth; k++) {
        p->accuracy[k] = held->tried[k] > 0 ? held->right[k][0] / held->tried[k] : 0;
        p->error[k] = fr_spread_error(&of->spread, held, k);
    }
    s->recent = (fr_tally){0};
    return FR_OK;
}

static void plan_judgement(fr_train *t) {
    fr_train_state *s = &t->state;
    const int n = t->config.judgements;
    const uint64_t every = t->config.steps / (uint64_t)n;
    s->next_judgement = s->step + (every > LEAST_APART ? every : LEAST_APART);
    const double share = seconds_to_learn(t) / n, least = t->judging / judging_share;
    s->next_seconds = s->seconds + (share > least ? share : least);
}

static bool changes_still(const fr_train *t) {
    return fr_train_done(t) < t->learner->settled || t->state.part + 1 < (uint64_t)t->n_parts ||
           (t->mean && !t->state.averaged);
}

static fr_status judge_learner(fr_train *t, fr_error *err) {
    judged held;
    fr_error why = {0};
    fr_train_state *s = &t->state;
    const double start = fr_seconds();
    if (fr_params_check(&t->learner->params, &why))
        return fr_fail(err, why.code, "train: %s", why.text);
    if (!judge_held_out(t, &held)) return leave(err);
    t->judging = fr_seconds() - start;
    const fr_status st = add_point(t, &held, err);
    if (st) return st;
    const double loss = fr_tally_loss(&held.tally);
    s->since_best++;
    if (!s->judgements++ || loss < s->best_loss) {
        s->best_loss = loss;
        s->best_step = s->step;
        s->best_rows = s->rows;
        s->best_seconds = s->seconds;
        s->best = held.tally;
        s->since_best = 0;
        memcpy(t->best, t->learner->params.w, t->learner->params.n_floats * sizeof(float));
    }
    if (changes_still(t)) s->since_best = 0;
    s->stopped = t->config.patience && s->since_best >= t->config.patience;
    plan_judgement(t);
    return FR_OK;
}

// Judges, adds a point to the curve, keeps the parameters if they are the best so far: the mean
// where there is one. Those that are no numbers have no loss, which would be the least of all.
static fr_status judge(fr_train *t, fr_error *err) {
    float **const w = &t->learner->params.w, *const own = *w;
    if (t->state.averaged) *w = t->mean;
    const fr_status st = judge_learner(t, err);
    *w = own;
    return st;
}

// ---------------------------------------------------------------- a step
static uint64_t noise_of(const fr_train *t, uint64_t batch) {
    fr_hash h;
    fr_hash_open(&h, t->config.seed ^ 0x6e6f697365);
    fr_hash_add(&h, &t->state.step, sizeof t->state.step);
    fr_hash_add(&h, &batch, sizeof batch);
    return fr_hash_value(&h);
}

// The folder whose turn it is begins at its beginning.
static void choose_part(fr_train *t, double done) {
    double end = 0;
    uint64_t part = 0;
    for (int i = 0; i + 1 < t->n_parts && done > (end += t->config.share[i]); i++)
        part++;
    if (part == t->state.part) return;
    t->state.part = part;
    t->state.epoch = t->state.at = 0;
}

// All processes walk through all batches and learn every n-th of them. False: interrupted.
static bool learn_batches(fr_train *t, uint64_t *rows, fr_tally *tally) {
    const int n = t->config.accumulate * t->comm->n;
    for (int i = 0; i < n && ask(t); i++) {
        fr_batches_next(fr_train_batches(t), t->batch);
        *rows += (uint64_t)t->batch->rows;
        if (i % t->comm->n == t->comm->rank)
            t->learner->ops->learn(t->learner, t->batch, noise_of(t, (uint64_t)i), tally);
    }
    if (!all_go_on(t)) return false;
    fr_comm_sum_floats(t->comm, t->learner->params.grad, t->learner->params.n_floats);
    fr_comm_sum_doubles(t->comm, (double *)tally, sizeof *tally / sizeof(double));
    return true;
}

static void add_to_mean(fr_train *t) {
    const fr_params *p = &t->learner->params;
    const float share = 1 / (float)++t->state.averaged;
    for (size_t i = 0; i < p->n_floats; i++)
        fr_follow_f32(&t->mean[i], p->w[i], share);
}

static fr_status step(fr_train *t, double done, fr_error *err) {
    fr_tally tally = {0};
    fr_params *p = &t->learner->params;
    uint64_t rows = 0;
    t->learner->done = done;
    choose_part(t, done);
    if (!learn_batches(t, &rows, &tally)) return leave(err);
    const double norm = fr_grad_norm(p);
    if (!isfinite(norm) || !isfinite(tally.loss))
        return fr_fail(err, FR_EDATA,
                       "train: the loss is no number any more at step %llu; a lower --lr may help",
                       (unsigned long long)t->state.step + 1);
    t->state.step++;
    t->state.rows += rows;
    if (tally.weight > 0)
        fr_adamw_step(p, fr_schedule_rate(t->config.rate, t->config.rate_end, done),
                      fr_grad_scale(norm, tally.weight, norm_most), t->state.step);
    if (t->mean && done > 1 - t->config.average) add_to_mean(t);
    t->state.epoch = fr_train_batches(t)->epoch;
    t->state.at = (uint64_t)fr_train_batches(t)->at;
    add_tallies(&t->state.recent, &tally);
    return FR_OK;
}

// ---------------------------------------------------------------- the loop
typedef struct plan { // process 0's decisions for all processes
    double done, seconds;
    int32_t over, judges, interrupted, saves;
} plan;

static plan make_plan(fr_train *t) {
    const fr_train_state *s = &t->state;
    plan p = {.seconds = seconds_so_far(t)};
    // The step that is about to be made is the one that the rate is of.
    p.done = t->config.steps ? (double)(s->step + 1) / (double)t->config.steps
                             : p.seconds / seconds_to_learn(t);
    p.over = s->stopped || (t->config.steps ? s->step >= t->config.steps : p.done >= 1);
    p.judges = t->config.steps ? s->step >= s->next_judgement : p.seconds >= s->next_seconds;
    p.judges = p.judges || (p.over && s->recent.weight > 0);
    p.interrupted = !ask(t);
    p.saves = fr_seconds() - t->saved >= t->config.checkpoint_every;
    fr_comm_share(t->comm, &p, sizeof p);
    return p;
}

// Every process sees all of it, so that all begin with the same values; each text once at most.
static fr_status fit(fr_train *t, fr_error *err) {
    fr_learner *l = t->learner;
    fr_train_phase *phase = &t->phase;
    fr_batches *batches = fr_train_batches(t);
    const uint64_t all = t->data->rows < l->fit_rows ? t->data->rows : l->fit_rows;
    fr_status st = FR_OK;
    *phase = (fr_train_phase){"fitting first values", "tokens", 0, all};
    while (!st && phase->done < l->fit_rows && batches->at < batches->n && ask(t)) {
        fr_batches_next(batches, t->batch);
        st = l->ops->fit_add(l, t->batch, err);
        phase->done += (uint64_t)t->batch->rows;
    }
    if (!st && ask(t)) l->ops->fit_end(l);
    *phase = (fr_train_phase){0};
    if (st) return st;
    if (!all_go_on(t)) return leave(err);
    fr_batches_seek(batches, 0, 0);
    t->state.fitted = true;
    return FR_OK;
}

static fr_status run(fr_train *t, fr_error *err) {
    fr_status st = fr_train_wants_fit(t) ? fit(t, err) : FR_OK;
    while (!st) {
        const plan p = make_plan(t);
        t->state.seconds = p.seconds;
        if (p.interrupted) return leave(err);
        if (p.judges) {
            st = judge(t, err);
            if (st || !p.over) continue;
        }
        if (p.over) return fr_train_save(t, err);
        if (p.saves) st = fr_train_save(t, err);
        if (!st) st = step(t, p.done, err);
    }
    return st;
}

fr_status fr_train_run(fr_train *t, fr_error *err) {
    t->started = t->saved = fr_seconds();
    t->interrupted = false;
    t->watch = (fr_watch){ask, t};
    t->learner->watch = &t->watch;
    const fr_status st = run(t, err);
    t->learner->watch = NULL;
    if (st != FR_EINTR) return st;
    t->state.seconds = seconds_so_far(t);
    const fr_status saved = fr_train_save(t, err);
    return saved ? saved : leave(err);
}

// ---------------------------------------------------------------- opening
static fr_status open_parts(fr_train *t, fr_error *err) {
    const fr_dataset *d = t->data;
    const fr_train_config *c = &t->config;
    for (int i = 0; i < (c->n_shares ? c->n_shares : 1); i++) {
        fr_batches *part = &t->part[t->n_parts];
        const fr_status st =
            fr_batches_open(part, d, d->n_held, d->n_train, c->batch_rows, true, c->seed, err);
        if (st) return st;
        t->n_parts++;
        if (c->n_shares) fr_batches_of_folder(part, i);
        if (!part->n)
            return fr_fail(
                err, FR_EDATA,
                "train: folder %d of the data has no text to learn from that is not in another",
                i + 1);
    }
    return FR_OK;
}

fr_status fr_train_open(fr_train *t, const fr_train_config *config, fr_learner *learner,
                        const fr_dataset *data, const fr_comm *comm, fr_error *err) {
    *t = (fr_train){.config = *config, .learner = learner, .data = data, .comm = comm};
    t->state.prepared = config->prepared;
    fr_status st;
    t->batch = fr_alloc_zero(sizeof *t->batch);
    t->best = fr_alloc_array(learner->params.n_floats, sizeof(float));
    if (config->average > 0) t->mean = fr_alloc_zero(learner->params.n_floats * sizeof(float));
    if (!t->batch || !t->best || (config->average > 0 && !t->mean)) {
        st = fr_fail(err, FR_ENOMEM, "train: no memory for %zu parameters",
                     learner->params.n_floats);
        goto fail;
    }
    if ((st = open_parts(t, err))) goto fail;
    if ((st = fr_batches_open(&t->held, data, 0, data->n_held, config->batch_rows, false, 0, err)))
        goto fail;
    if (config->resume && (st = fr_train_resume(t, err))) goto fail;
    return FR_OK;
fail:
    fr_train_close(t);
    return st;
}

void fr_train_close(fr_train *t) {
    for (int i = 0; i < t->n_parts; i++)
        fr_batches_close(&t->part[i]);
    fr_batches_close(&t->held);
    fr_free(t->batch);
    fr_free(t->best);
    fr_free(t->mean);
    fr_free(t->curve);
    *t = (fr_train){0};
}
