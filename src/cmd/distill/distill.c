// distill.c — opens jobs, output, shards and members, then runs the text batch. Its callbacks
// give a free member the next conversation and keep answers and states of those that are done.
#include "cmd/distill/distill.h"
#include "base/clock.h"
#include "cmd/distill/conversation.h"
#include "cmd/distill/expect.h"
#include "cmd/distill/output.h"
#include "train/data/sources.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// What a power cut may cost: the answers of 3 seconds, as a pass may take a second or two and 5
// seconds are promised, and the states of 60 seconds, which can be computed again.
enum { ANSWERS_SECONDS = 3, SHARDS_SECONDS = 60 };

typedef struct distill {
    const fr_distill_plan *plan;
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_cmd_text text;
    fr_distill_jobs jobs;
    fr_conversations common;  // lent to each member
    fr_conversation *members; // what each is at
    fr_shards *present;       // captured before
    fr_shard_writer *writer;
    fr_distill_output out;
    uint64_t written_before; // tokens of the answers that the output holds, where --tokens asks
    double started, synced, answers_synced;
    fr_progress bar;
    fr_text_batch *engine_members;
    fr_text_batch_size size;
    fr_distill_stats *stats;
    fr_status status; // of a callback
    fr_error *err;
} distill;

// ---------------------------------------------------------------- the next text

static fr_status fail(distill *d, fr_status st) {
    if (st && !d->status) d->status = st;
    return st;
}

// Tokens of answers that an earlier run captured, or wrote where none are captured.
static uint64_t answered_before(const distill *d) {
    return d->present ? fr_shards_answers(d->present) : d->written_before;
}

// 0 to 1 and beyond: how near the limit of tokens or of seconds is; 0: no such limit.
static double share_of_limit(const distill *d) {
    const fr_distill_plan *p = d->plan;
    const fr_text_batch_stats now = fr_text_batch_report(d->engine_members);
    double share = 0;
    if (p->tokens)
        share =
            (double)(answered_before(d) + (uint64_t)(now.written + now.given)) / (double)p->tokens;
    if (p->seconds > 0) share = fmax(share, (fr_seconds() - d->started) / p->seconds);
    return share;
}

static bool enough(const distill *d) {
    return share_of_limit(d) >= 1;
}

static int ended(const distill *d) {
    const fr_distill_stats *s = d->stats;
    return s->texts + s->too_long + s->unanswered + s->refused;
}

// About how many texts there will be when a limit ends the work, those that were begun among them;
// all, if no limit does.
static uint64_t texts_in_all(const distill *d) {
    const double begun = (double)d->jobs.next, all = (double)d->jobs.n;
    const double share = share_of_limit(d), most = share > 0 ? ended(d) / share : all;
    return (uint64_t)(share >= 1 ? begun : fmin(fmax(most, begun), all));
}

// Whether a conversation is left out as the template refuses it; the first one is named.
static bool is_refused(distill *d, const fr_distill_job *job, fr_status st) {
    char place[300];
    if (st != FR_EDATA) return false;
    if (!d->stats->refused++) {
        fr_distill_place(&d->jobs, job, place, sizeof place);
        snprintf(d->stats->refusal, sizeof d->stats->refusal, "%s: %s", place, d->err->text);
    }
    return true;
}

static bool next_text(void *user, int member, fr_batch_text *text) {
    distill *d = user;
    while (!d->status && d->jobs.next < d->jobs.n && !enough(d)) {
        const fr_distill_job *job = &d->jobs.job[d->jobs.next++];
        const fr_status st =
            fr_conversation_start(&d->members[member], &d->common, job, text, d->err);
        if (is_refused(d, job, st)) continue;
        if (fail(d, st)) return false;
        if (text->n > 1 && text->n + text->n_predict <= d->size.n_ctx) return true;
        *(text->n ? &d->stats->too_long : &d->stats->unanswered) += 1;
    }
    return false;
}

// ---------------------------------------------------------------- storing results

static fr_status sync_answers(distill *d) {
    d->answers_synced = fr_seconds();
    return fr_distill_output_sync(&d->out, d->err);
}

// Answers first: an answer that is written but not captured can be read again.
static fr_status sync_all(distill *d) {
    const fr_status st = sync_answers(d);
    d->synced = fr_seconds();
    return st || !d->writer ? st : fr_shard_writer_flush(d->writer, d->err);
}

// Finished work is kept, unless a write failed.
static fr_status keep(distill *d, fr_status st) {
    if (!st) return sync_all(d);
    if (st == FR_EIO) return st;
    const fr_error was = *d->err;
    const fr_status end = sync_all(d);
    if (end && st == FR_EINTR) return end;
    *d->err = was;
    return st;
}

static void sync_when_due(distill *d) {
    const double now = fr_seconds();
    if (now - d->synced > SHARDS_SECONDS)
        fail(d, sync_all(d));
    else if (now - d->answers_synced > ANSWERS_SECONDS)
        fail(d, sync_answers(d));
}

// The user's next turn, where there is one and more is wanted.
static bool go_on(distill *d, fr_conversation *c, fr_batch_text *more) {
    bool any = false;
    if (enough(d)) return false;
    fail(d, fr_conversation_next(c, &d->common, d->size.n_ctx, more, &any, d->err));
    return any;
}

// An answer was written: whether the conversation continues. One that ends is written to the
// output.
static bool answered(distill *d, fr_conversation *c, const fr_sample *s, int n_prompt,
                     fr_batch_text *more) {
    const bool cut = !fr_token_is_end(d->text.tokenizer, s->ids[s->n]);
    if (fail(d, fr_conversation_answered(c, &d->common, s, n_prompt, d->err))) return false;
    if (!cut && go_on(d, c, more)) return true;
    if (!d->status)
        fail(d, fr_distill_output_write(&d->out, fr_distill_line(&d->jobs, c->job), &c->talk, cut,
                                        d->err));
    return false;
}

static bool done(void *user, int member, const fr_sample *s, int n_prompt, fr_batch_text *more) {
    distill *d = user;
    fr_conversation *c = &d->members[member];
    if (d->status) return false;
    if (!c->job->given && answered(d, c, s, n_prompt, more)) return true;
    if (d->status) return false;
    d->stats->texts++;
    // A power cut may have taken the answer and left its states.
    const bool captured = d->present && fr_shards_has(d->present, c->job->key);
    if (d->writer && !captured) fail(d, fr_shard_writer_add(d->writer, s, d->err));
    return false;
}

static bool keep_going(void *user) {
    distill *d = user;
    const fr_text_batch_stats now = fr_text_batch_report(d->engine_members);
    char what[64];
    if (d->plan->answers == FR_ANSWERS_OWN)
        snprintf(what, sizeof what, "answers, %.0f tokens/s",
                 fr_cmd_rate((double)now.written, now.seconds));
    else
        snprintf(what, sizeof what, "texts, %.0f tokens/s",
                 fr_cmd_rate((double)now.rows, now.seconds));
    fr_progress_show(&d->bar, what, (uint64_t)ended(d), texts_in_all(d));
    if (!d->status) sync_when_due(d);
    return !d->status && !fr_cmd_interrupted();
}

// ---------------------------------------------------------------- all of it

// An error if no text gave a result.
static fr_status check_result(const distill *d) {
    const fr_distill_stats *s = d->stats;
    const char *to = d->plan->output ? d->plan->output : d->plan->capture;
    if (s->texts || s->known || !ended(d)) return FR_OK;
    if (s->refused == ended(d))
        return fr_fail(d->err, FR_EDATA, "%s: no text was written: %s", to, s->refusal);
    if (!s->too_long)
        return fr_fail(d->err, FR_EDATA,
                       "%s: no text was written: none of %d conversations has an answer", to,
                       s->unanswered);
    return fr_fail(d->err, FR_EDATA,
                   "%s: no text was written: %s%d texts would be longer than the %d tokens of "
                   "--ctx-size",
                   to, s->unanswered ? "" : "all ", s->too_long, s->most);
}

static fr_shard_format format_of(const distill *d) {
    const fr_config *c = &d->engine->model.config;
    fr_shard_format f = {.d = c->d, .n_vocab = c->n_vocab, .n_taps = d->plan->n_taps, .top = 1};
    fr_gguf_fingerprint(d->engine->gguf, f.target);
    memcpy(f.taps, d->plan->taps, sizeof f.taps);
    if (d->plan->capture) f.top = c->n_vocab < FR_SHARD_TOP ? c->n_vocab : FR_SHARD_TOP;
    return f;
}

static const char *kind_of(const fr_distill_plan *p) {
    return p->answers == FR_ANSWERS_OWN ? "own" : "given";
}

static void tell_plan(const distill *d, const fr_shard_format *f) {
    const fr_distill_plan *p = d->plan;
    if (d->args->quiet) return;
    char doubles[48] = "", ids[64] = "";
    if (d->jobs.doubles)
        snprintf(doubles, sizeof doubles, ", %d stand there twice", d->jobs.doubles);
    if (d->jobs.same_ids)
        snprintf(ids, sizeof ids, ", %d by their text, as others have the same id",
                 d->jobs.same_ids);
    const double memory = (double)fr_text_batch_bytes(&d->engine->model, f, &d->size) +
                          (p->capture ? 128e6 : 0); // and a shard that is being collected
    fprintf(stderr,
            "%d conversations (%d there already%s%s), %d at a time: %.1f GB of memory besides the "
            "model",
            d->jobs.n, d->stats->known, doubles, ids, p->width, memory / 1e9);
    if (p->capture)
        fprintf(stderr, "; %.2f MB of disk for 1000 tokens",
                (double)fr_shard_bytes(f, 1000, 700) / 1e6);
    fputc('\n', stderr);
}

static fr_status open_all(distill *d, fr_error *err) {
    const fr_distill_plan *p = d->plan;
    const fr_shard_format f = format_of(d);
    const int most = d->engine->model.config.n_ctx_train;
    d->size = (fr_text_batch_size){.n_members = p->width,
                                   .n_ctx = p->most < most ? p->most : most,
                                   .kv_type = fr_cmd_kv_kind(d->args)};
    d->stats->most = d->size.n_ctx;
    if (d->size.n_ctx <= p->n_predict)
        return fr_fail(err, FR_EARG,
                       "n-predict: expected less than the %d tokens of a whole text, found %d",
                       d->size.n_ctx, p->n_predict);
    fr_cmd_text_lend(&d->text, d->engine);
    fr_status st = fr_cmd_text_template(&d->text, d->args, err);
    if (!st) st = fr_distill_jobs_read(&d->jobs, p, err);
    if (!st) st = fr_distill_output_open(&d->out, p->output, f.target, d->args->force, err);
    if (!st && p->capture) st = fr_shard_writer_open(&d->writer, p->capture, &f, err);
    if (!st && p->capture)
        st = fr_shards_open(&d->present, p->capture, f.target, fr_cmd_progress, NULL, err);
    if (!st) st = fr_distill_jobs_list(&d->jobs, p, f.target, d->present, err);
    if (!st && p->tokens && !p->capture)
        st = fr_distill_jobs_written(&d->jobs, d->text.tokenizer, &d->written_before, err);
    if (st) return st;
    d->stats->known = d->jobs.known;
    d->stats->doubles = d->jobs.doubles;
    d->common = (fr_conversations){p, &d->jobs, &d->text};
    if (!(d->members = calloc((size_t)p->width, sizeof *d->members)))
        return fr_fail(err, FR_ENOMEM, "distill: no memory");
    tell_plan(d, &f);
    if (p->besides && (st = fr_distill_check_room(p, &d->jobs, answered_before(d), &f, err)))
        return st;
    if (p->capture) st = fr_sources_add(p->capture, kind_of(p), p->files, err);
    if (st) return st;
    return fr_text_batch_open(&d->engine_members, &d->engine->model, d->engine->tokenizer, &f,
                              &d->size, err);
}

static void close_all(distill *d) {
    for (int i = 0; i < d->plan->width && d->members; i++)
        fr_conversation_free(&d->members[i]);
    free(d->members);
    fr_cmd_text_close(&d->text);
    fr_text_batch_close(d->engine_members);
    fr_distill_jobs_close(&d->jobs);
    fr_shards_close(d->present);
    fr_shard_writer_close(d->writer);
    fr_distill_output_close(&d->out);
}

fr_status fr_distill_run(fr_engine *engine, const fr_cmd_args *args, const fr_distill_plan *plan,
                         fr_distill_stats *stats, fr_error *err) {
    distill *d = calloc(1, sizeof *d);
    if (!d) return fr_fail(err, FR_ENOMEM, "distill: no memory");
    *d = (distill){.plan = plan, .args = args, .engine = engine, .stats = stats, .err = err};
    *stats = (fr_distill_stats){0};
    fr_status st = open_all(d, err);
    if (!st) {
        const fr_text_batch_user user = {d, next_text, done, keep_going};
        fr_error why = {0};
        fr_progress_open(&d->bar, args->quiet ? NULL : stderr, "answers", 1);
        d->started = d->synced = d->answers_synced = fr_seconds();
        st = fr_text_batch_run(d->engine_members, &user, &why);
        fr_progress_clear(&d->bar);
        if (d->status)
            st = d->status; // its sentence stands in *err
        else if (st)
            *err = why;
        st = keep(d, st);
        stats->members = fr_text_batch_report(d->engine_members);
        stats->dropped = (int)d->jobs.next - ended(d);
        if (!st) {
            stats->pass_seconds = fr_text_batch_pass_seconds(d->engine_members, plan->width);
            stats->seconds_one = fr_text_batch_pass_seconds(d->engine_members, 1);
            st = check_result(d);
        }
    }
    if (stats->refused && !args->quiet)
        fr_cmd_print(stderr,
                     "%d conversations are left out, as the chat template refuses them; %s\n",
                     stats->refused, stats->refusal);
    close_all(d);
    free(d);
    return st;
}
