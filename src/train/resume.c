// resume.c — a training to its checkpoint, with the best parameters kept first, and back.
#include "train/resume.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "train/checkpoint.h"
#include "train/identity.h"
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- to a checkpoint
static int n_blocks(const fr_train *t) {
    return t->mean ? 5 : 4;
}

static fr_checkpoint checkpoint_of(const fr_train *t) {
    const fr_params *p = &t->learner->params;
    return (fr_checkpoint){.identity = t->config.identity,
                           .identity_bytes = strlen(t->config.identity),
                           .state = &t->state,
                           .state_bytes = sizeof t->state,
                           .curve = t->curve,
                           .curve_bytes = t->n_points * sizeof *t->curve,
                           .n_floats = p->n_floats,
                           .n_blocks = n_blocks(t),
                           .block = {p->w, p->m, p->v, t->best, t->mean}};
}

size_t fr_train_checkpoint_bytes(const fr_train *t) {
    const fr_checkpoint c = checkpoint_of(t);
    return fr_checkpoint_bytes(&c);
}

static fr_status keep_best(fr_train *t, fr_error *err) {
    if (t->comm->rank || !t->config.keep || !t->state.judgements) return FR_OK;
    if (t->kept_step == t->state.best_step + 1) return FR_OK;
    float *const w = t->learner->params.w;
    t->learner->params.w = t->best;
    const fr_status st = t->config.keep(t->config.user, t, err);
    t->learner->params.w = w;
    if (!st) t->kept_step = t->state.best_step + 1;
    return st;
}

fr_status fr_train_save(fr_train *t, fr_error *err) {
    if (t->comm->rank) return FR_OK;
    const fr_checkpoint c = checkpoint_of(t);
    fr_error unsaid;
    const fr_status st = keep_best(t, err);
    const fr_status saved = fr_checkpoint_write(&c, t->config.checkpoint, st ? &unsaid : err);
    t->saved = fr_seconds();
    return st ? st : saved;
}

// ---------------------------------------------------------------- from a checkpoint
bool fr_train_wants_fit(const fr_train *t) {
    return t->learner->fit_rows && !t->state.step && !t->state.fitted;
}

// What a file says is checked against what will be done with it.
static fr_status check_state(const fr_train *t, const fr_train_state *s, fr_error *err) {
    const bool fine = s->part < (uint64_t)t->n_parts && s->at <= (uint64_t)t->part[s->part].n &&
                      s->seconds >= 0 && s->judgements >= 0 && s->since_best >= 0 &&
                      isfinite(s->seconds) && s->prepared >= 0 && isfinite(s->prepared) &&
                      isfinite(s->next_seconds) && !isnan(s->best_loss) &&
                      (t->mean || !s->averaged);
    if (fine) return FR_OK;
    return fr_fail(err, FR_EDATA, "%s: damaged: no training stands there", t->config.checkpoint);
}

static fr_status check_sizes(const fr_train *t, const fr_checkpoint *c, fr_error *err) {
    const size_t floats = t->learner->params.n_floats;
    if (c->state_bytes != sizeof t->state || c->curve_bytes % sizeof *t->curve)
        return fr_fail(err, FR_EDATA,
                       "%s: of another version: expected a state of %zu bytes, found %zu",
                       t->config.checkpoint, sizeof t->state, c->state_bytes);
    if (c->n_floats != floats || c->n_blocks != n_blocks(t))
        return fr_fail(
            err, FR_EDATA,
            "%s: of another training: expected %zu numbers in %d blocks, found %zu in %d",
            t->config.checkpoint, floats, n_blocks(t), c->n_floats, c->n_blocks);
    return FR_OK;
}

// A training of another length than the one that was planned: where it is still before the part
// whose steps are averaged there is no mean, and a training that ended early continues.
static void plan_anew(fr_train *t, const fr_checkpoint *c) {
    fr_train_state *s = &t->state;
    char length[64];
    fr_identity_value(t->config.identity, strlen(t->config.identity), "length", length,
                      sizeof length);
    fr_identity_value(c->identity, c->identity_bytes, "length", t->was_length,
                      sizeof t->was_length);
    if (strcmp(t->was_length, length) != 0) s->since_best = 0; // or older ones, which say none
    if (t->mean && fr_train_done(t) <= 1 - t->config.average) s->averaged = 0;
    s->stopped = t->config.patience && s->since_best >= t->config.patience;
}

static fr_status take_checkpoint(fr_train *t, const fr_checkpoint *c, fr_error *err) {
    fr_params *p = &t->learner->params;
    fr_train_state s;
    fr_status st = fr_identity_compare(t->config.identity, c->identity, c->identity_bytes,
                                       t->config.checkpoint, err);
    if (!st) st = check_sizes(t, c, err);
    if (st) return st;
    memcpy(&s, c->state, sizeof s);
    if ((st = check_state(t, &s, err))) return st;
    const size_t points = c->curve_bytes / sizeof *t->curve;
    if (points && !fr_list_reserve((void **)&t->curve, &t->curve_room, 0, points, sizeof *t->curve))
        return fr_fail(err, FR_ENOMEM, "train: no memory for the loss curve");
    t->state = s;
    plan_anew(t, c);
    t->n_points = points;
    if (points) memcpy(t->curve, c->curve, c->curve_bytes);
    // An interrupted fit may have left half of its values there; it begins with those of opening.
    if (fr_train_wants_fit(t)) return FR_OK;
    float *const to[] = {p->w, p->m, p->v, t->best, t->mean};
    for (int i = 0; i < n_blocks(t); i++)
        memcpy(to[i], c->block[i], p->n_floats * sizeof(float));
    return FR_OK;
}

static fr_status read_checkpoint(fr_train *t, fr_error *err) {
    fr_checkpoint c;
    fr_map map = {0};
    fr_status st = fr_checkpoint_read(&c, &map, t->config.checkpoint, err);
    if (st) return st;
    st = take_checkpoint(t, &c, err);
    fr_map_close(&map);
    return st;
}

// Process 0 reads; the others get what it has.
fr_status fr_train_resume(fr_train *t, fr_error *err) {
    int32_t st = t->comm->rank ? FR_OK : (int32_t)read_checkpoint(t, err);
    fr_comm_share(t->comm, &st, sizeof st);
    if (st) {
        if (t->comm->rank) fr_fail(err, (fr_status)st, "train: process 0 cannot resume");
        return (fr_status)st;
    }
    fr_params *p = &t->learner->params;
    fr_comm_share(t->comm, &t->state, sizeof t->state);
    float *const blocks[] = {p->w, p->m, p->v, t->best, t->mean};
    for (int i = 0; i < n_blocks(t); i++)
        fr_comm_share(t->comm, blocks[i], p->n_floats * sizeof(float));
    t->before = t->state.seconds;
    fr_batches_seek(fr_train_batches(t), t->state.epoch, (int)t->state.at);
    return FR_OK;
}
