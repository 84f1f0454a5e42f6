// report.c — a training in words and JSON.
#include "cmd/train/train.h"
#include "train/identity.h"
#include "train/learner/pack_write.h"
#include "train/learner/tally.h"
#include "json/value.h"
#include <string.h>

// Memory that is the program's own; the data are mapped from their files, and so is the target
// where no passes run.
static size_t memory_of(const fr_training *t) {
    const size_t library = 96 << 20; // the program and the buffers of products
    const fr_learner *l = t->learner;
    return 4 * l->params.n_floats * sizeof(float) + fr_train_bytes(l, t->args->average) +
           l->ops->workspace(l) + (size_t)t->vocab.n * (size_t)t->target.config.d * sizeof(float) +
           t->target.arena.size + library;
}

// A training may be made longer or shorter, but never without a word.
static void tell_resumed(const fr_training *t) {
    const char *was = t->train.was_length;
    char length[64];
    fr_identity_value(t->identity, strlen(t->identity), "length", length, sizeof length);
    fprintf(stderr, "continues after step %llu, %.0f s", (unsigned long long)t->train.state.step,
            t->train.state.seconds);
    if (*was && strcmp(was, length) != 0) fprintf(stderr, "; the planned length was %s", was);
    fputc('\n', stderr);
}

void fr_training_announce(const fr_training *t) {
    const fr_dataset *d = &t->data;
    const double mb = 1e-6;
    fprintf(stderr,
            "%s: %.2f M parameters, draft vocabulary of %d tokens (%.1f %% of the tokens of "
            "held-out answers), depth %d, %s products\n",
            t->method->name, 1e-6 * (double)t->learner->params.n_floats, t->vocab.n,
            100 * t->vocab.coverage, t->learner->depth, fr_gemm_name(t->gemm));
    if (t->args->init)
        fr_cmd_print(stderr, "starts with the draft vocabulary%s of %s\n",
                     t->begun ? " and the parameters" : " alone", t->args->init);
    if (t->args->init && t->vocab_asked && t->args->vocab != t->vocab.n)
        fprintf(stderr, "--vocab %d has no effect with --init\n", t->args->vocab);
    fprintf(stderr, "data: %d texts of %.3f M tokens, %.3f M of answers; %d texts held out\n",
            d->n_train, 1e-6 * (double)d->rows, 1e-6 * (double)d->answers, d->n_held);
    // While one is replaced, the old file and the new one are there.
    fprintf(stderr, "takes at most %.0f MB of memory besides the mapped data, %.0f MB of disk\n",
            mb * (double)memory_of(t),
            mb * 2 *
                (double)(fr_train_checkpoint_bytes(&t->train) +
                         fr_pack_bytes(t->learner, fr_training_pack_type(t))));
    if (t->resumed) tell_resumed(t);
}

// "61 45 33 22"
static const char *percents(char *text, size_t room, const double *share, int n) {
    size_t at = 0;
    text[0] = 0;
    for (int k = 0; k < n && at < room; k++)
        at += (size_t)snprintf(text + at, room - at, "%s%.0f", k ? " " : "", 100 * share[k]);
    return text;
}

static void tell_point(const fr_training *t, const fr_train_point *p) {
    char right[64], loss[32] = "";
    if (p->loss == p->loss) snprintf(loss, sizeof loss, "loss %.3f, ", p->loss);
    fprintf(
        stderr,
        "step %llu, %.2f M tokens, %.0f s: %sheld out %.3f, right %s %%, %.2f tokens per pass\n",
        (unsigned long long)p->step, 1e-6 * (double)p->rows, p->seconds, loss, p->held_loss,
        percents(right, sizeof right, p->accuracy, t->learner->depth), p->tokens_per_pass);
}

void fr_training_tell(fr_training *t) {
    const fr_train *train = &t->train;
    const fr_tally *recent = &train->state.recent;
    if (!t->bar.out) return;
    fr_progress_clear(&t->phase);
    t->phase_told = NULL;
    if (t->points_told < train->n_points) fr_progress_clear(&t->bar);
    while (t->points_told < train->n_points)
        tell_point(t, &train->curve[t->points_told++]);
    if (!(recent->tried[0] > 0)) {
        fr_progress_show(&t->bar, "learning", train->state.step, t->args->steps);
        return;
    }
    double share[FR_DEPTHS];
    char right[64], what[160];
    for (int k = 0; k < t->learner->depth; k++)
        share[k] = recent->tried[k] > 0 ? recent->right[k][0] / recent->tried[k] : 0;
    snprintf(what, sizeof what, "loss %.3f, right %s %%, %.2f tokens a pass", fr_tally_loss(recent),
             percents(right, sizeof right, share, t->learner->depth),
             fr_tally_tokens_per_pass(recent, t->learner->depth));
    const double done = fr_train_done(train), steps = (double)train->state.step;
    fr_progress_show(&t->bar, what, train->state.step, done > 0 ? (uint64_t)(steps / done) : 0);
}

void fr_training_open_phase(fr_training *t, const char *unit) {
    const bool shown = !t->args->quiet && !t->comm.rank;
    fr_progress_clear(&t->phase);
    fr_progress_open(&t->phase, shown ? stderr : NULL, unit, 1);
}

void fr_training_tell_phase(fr_training *t) {
    const fr_train_phase *p = &t->train.phase;
    fr_progress_clear(&t->bar);
    if (t->phase_told != p->what) fr_training_open_phase(t, p->unit);
    t->phase_told = p->what;
    fr_progress_show(&t->phase, p->what, p->done, p->total);
}

static json_t *reals(const double *x, int n) {
    json_t *list = json_array();
    for (int i = 0; list && i < n; i++)
        json_array_append_new(list, fr_cmd_real(x[i]));
    return list;
}

static json_t *curve_json(const fr_training *t) {
    json_t *list = json_array();
    for (size_t i = 0; list && i < t->train.n_points; i++) {
        const fr_train_point *p = &t->train.curve[i];
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:f, s:f, s:o, s:o, s:f, s:o, s:o}", "step",
                            (json_int_t)p->step, "tokens", (json_int_t)p->rows, "seconds",
                            p->seconds, "lr", p->rate, "loss", fr_cmd_real(p->loss),
                            "held_out_loss", fr_cmd_real(p->held_loss), "tokens_per_pass",
                            p->tokens_per_pass, "accuracy", reals(p->accuracy, t->learner->depth),
                            "accuracy_error", reals(p->error, t->learner->depth)));
    }
    return list;
}

static json_t *accuracy_json(const fr_training *t) {
    json_t *list = json_array();
    for (int k = 0; list && k < t->learner->depth; k++) {
        float by_rank[FR_RANKS];
        double row[FR_RANKS];
        fr_tally_accuracy(&t->train.state.best, k, by_rank);
        for (int r = 0; r < FR_RANKS; r++)
            row[r] = (double)by_rank[r];
        json_array_append_new(list, reals(row, FR_RANKS));
    }
    return list;
}

json_t *fr_training_json(const fr_training *t) {
    const fr_train_state *s = &t->train.state;
    json_t *best = json_pack("{s:I, s:I, s:f, s:o, s:f, s:o}", "step", (json_int_t)s->best_step,
                             "tokens", (json_int_t)s->best_rows, "seconds", s->best_seconds, "loss",
                             fr_cmd_real(s->best_loss), "tokens_per_pass",
                             fr_tally_tokens_per_pass(&s->best, t->learner->depth),
                             "accuracy_depth_rank", accuracy_json(t));
    json_t *data = json_pack("{s:i, s:I, s:I, s:i, s:I}", "texts", t->data.n_train, "tokens",
                             (json_int_t)t->data.rows, "answer_tokens", (json_int_t)t->data.answers,
                             "held_out_texts", t->data.n_held, "held_out_tokens",
                             (json_int_t)t->data.held_rows);
    return json_pack("{s:s, s:s, s:o, s:o, s:i, s:I, s:i, s:f, s:o, s:I, s:I, s:f, s:b, s:i, s:s, "
                     "s:o, s:o, s:I}",
                     "drafter", t->method->name, "target", t->fingerprint, "pack",
                     fr_json_string(t->args->output), "checkpoint", fr_json_string(t->checkpoint),
                     "depth", t->learner->depth, "parameters",
                     (json_int_t)t->learner->params.n_floats, "draft_vocab", t->vocab.n, "coverage",
                     t->vocab.coverage, "data", data, "steps", (json_int_t)s->step, "tokens",
                     (json_int_t)s->rows, "seconds", s->seconds, "stopped_early", (int)s->stopped,
                     "processes", t->comm.n, "products", fr_gemm_name(t->gemm), "best", best,
                     "curve", curve_json(t), "peak_rss_bytes", (json_int_t)fr_cmd_peak_bytes());
}

void fr_training_print(const fr_training *t) {
    const fr_train_state *s = &t->train.state;
    double right[FR_DEPTHS];
    char text[64];
    for (int k = 0; k < t->learner->depth; k++)
        right[k] = s->best.tried[k] > 0 ? s->best.right[k][0] / s->best.tried[k] : 0;
    fr_cmd_print(stderr,
                 "%s: held out loss %.3f, right %s %%, %.2f tokens a pass, of step %llu of %llu%s "
                 "(%.2f M tokens, %.0f s)\n",
                 t->args->output, s->best_loss,
                 percents(text, sizeof text, right, t->learner->depth),
                 fr_tally_tokens_per_pass(&s->best, t->learner->depth),
                 (unsigned long long)s->best_step, (unsigned long long)s->step,
                 s->stopped ? ", ended early" : "", 1e-6 * (double)s->rows, s->seconds);
    fr_cmd_print(stderr, "%s: remove it, or go on with --resume%s\n", t->checkpoint,
                 s->stopped ? " and a longer --time, more --steps or another --patience" : "");
}
