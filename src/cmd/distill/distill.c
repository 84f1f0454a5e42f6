// distill.c — opens jobs, output, shards and members, then runs the text batch. Its callbacks give
// a free member the next conversation and write answers and states of those that are done.
#include "cmd/distill/distill.h"
#include "base/clock.h"
#include "base/room.h"
#include "base/save.h"
#include "cmd/distill/jobs.h"
#include "cmd/lib/talk.h"
#include "cmd/output/answers_file.h"
#include "train/data/sources.h"
#include "json/value.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What a power cut may cost: the answers of 3 seconds, as a pass may take a second or two and 5
// seconds are promised, and the states of 60 seconds, which can be computed again.
enum { ANSWERS_SECONDS = 3, SHARDS_SECONDS = 60 };

typedef struct member_talk { // a member's conversation so far
    const fr_distill_job *job;
    fr_talk talk;
    int turn;
    fr_ids ids;
    uint8_t *answer; // of ids, where answers are given
    size_t answer_cap;
} member_talk;

typedef struct distill {
    const fr_distill_plan *plan;
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_cmd_text text;
    fr_distill_jobs jobs;
    member_talk *members;
    fr_shards *present; // captured before
    fr_shard_writer *writer;
    FILE *out;
    uint64_t written_before; // tokens of the answers that the output holds, where --tokens asks
    bool unsynced;           // there are answers that may not be on the disk
    double started, synced, answers_synced;
    fr_progress bar;
    fr_text_batch *engine_members;
    fr_text_batch_size size;
    fr_distill_stats *stats;
    fr_status status; // of a callback
    fr_error *err;
} distill;

// ---------------------------------------------------------------- one conversation

static fr_status fail(distill *d, fr_status st) {
    if (st && !d->status) d->status = st;
    return st;
}

static fr_sampling sampling_of(const distill *d, const fr_distill_job *j) {
    const double u = fr_uniform(d->plan->seed, j->key);
    fr_sampling s = {.seed = j->key};
    if (u < d->plan->sampled) {
        s.temperature = (float)d->plan->temp;
        s.top_k = 40;
        s.top_p = 0.95f;
    }
    return s;
}

static fr_status open_turn(distill *d, member_talk *t, fr_batch_text *text) {
    const fr_prompt *p = fr_distill_prompt(&d->jobs, t->job);
    fr_status st = fr_talk_add(&t->talk, "user", p->turns[t->turn], p->turn_bytes[t->turn], d->err);
    if (!st) st = fr_talk_encode(&t->talk, &d->text, true, &t->ids, d->err);
    *text = (fr_batch_text){.key = t->job->key,
                            .ids = t->ids.data,
                            .n = (int)t->ids.n,
                            .n_predict = d->plan->n_predict,
                            .sampling = sampling_of(d, t->job)};
    return st;
}

static fr_status start_own(distill *d, member_talk *t, fr_batch_text *text) {
    const fr_prompt *p = fr_distill_prompt(&d->jobs, t->job);
    fr_status st = FR_OK;
    t->turn = 0;
    if (p->system) st = fr_talk_add(&t->talk, "system", p->system, p->system_bytes, d->err);
    return st ? st : open_turn(d, t, text);
}

static fr_status mark_answer(distill *d, member_talk *t, size_t from) {
    if (t->ids.n > t->answer_cap) {
        uint8_t *more = realloc(t->answer, 2 * t->ids.n);
        if (!more) return fr_fail(d->err, FR_ENOMEM, "distill: no memory for %zu tokens", t->ids.n);
        memset(more + t->answer_cap, 0, 2 * t->ids.n - t->answer_cap);
        t->answer = more;
        t->answer_cap = 2 * t->ids.n;
    }
    for (size_t i = from; i < t->ids.n; i++) {
        t->answer[i] = 1;
        if (fr_token_is_end(d->text.tokenizer, t->ids.data[i])) break;
    }
    return FR_OK;
}

static fr_status add_message(distill *d, member_talk *t, const char *role, const json_t *content) {
    return fr_talk_add(&t->talk, role, json_string_value(content), json_string_length(content),
                       d->err);
}

// An answer is what follows the ids of the conversation before it with the assistant's turn opened.
// A template that opens it with more than stands before an answer hides as many of its first ids.
static fr_status add_given(distill *d, member_talk *t, const json_t *content) {
    fr_status st = fr_talk_encode(&t->talk, &d->text, true, &t->ids, d->err);
    const size_t opened = t->ids.n;
    if (!st) st = add_message(d, t, "assistant", content);
    if (!st) st = fr_talk_encode(&t->talk, &d->text, false, &t->ids, d->err);
    return st ? st : mark_answer(d, t, opened);
}

// The ids of the conversation with its answers, and which of them are answers.
static fr_status start_given(distill *d, member_talk *t, fr_batch_text *text) {
    const json_t *messages = json_object_get(fr_distill_line(&d->jobs, t->job), "messages");
    fr_status st = FR_OK;
    int turns = 0;
    if (t->answer_cap) memset(t->answer, 0, t->answer_cap);
    for (size_t i = 0; i < json_array_size(messages) && !st; i++) {
        const json_t *m = json_array_get(messages, i), *content = json_object_get(m, "content");
        const char *role = json_string_value(json_object_get(m, "role"));
        if (!strcmp(role, "user")) {
            if (turns++ == d->plan->turns) break;
            st = add_message(d, t, "user", content);
        } else if (strcmp(role, "assistant")) {
            st = add_message(d, t, "system", content);
        } else if (turns) {
            st = add_given(d, t, content);
        }
    }
    *text = (fr_batch_text){
        .key = t->job->key, .ids = t->ids.data, .n = (int)t->ids.n, .answer = t->answer};
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
static bool is_refused(distill *d, const member_talk *t, fr_status st) {
    char place[300];
    if (st != FR_EDATA) return false;
    if (!d->stats->refused++) {
        fr_distill_place(&d->jobs, t->job, place, sizeof place);
        snprintf(d->stats->refusal, sizeof d->stats->refusal, "%s: %s", place, d->err->text);
    }
    return true;
}

static bool next_text(void *user, int member, fr_batch_text *text) {
    distill *d = user;
    member_talk *t = &d->members[member];
    while (!d->status && d->jobs.next < d->jobs.n && !enough(d)) {
        t->job = &d->jobs.job[d->jobs.next++];
        fr_talk_drop(&t->talk, 0);
        t->ids.n = 0;
        const fr_status st = t->job->given ? start_given(d, t, text) : start_own(d, t, text);
        if (is_refused(d, t, st)) continue;
        if (fail(d, st)) return false;
        if (text->n > 1 && text->n + text->n_predict <= d->size.n_ctx) return true;
        *(text->n ? &d->stats->too_long : &d->stats->unanswered) += 1;
    }
    return false;
}

// ---------------------------------------------------------------- what is kept of it

static fr_status write_line(distill *d, const member_talk *t) {
    const json_t *line = fr_distill_line(&d->jobs, t->job);
    json_t *messages = json_array(), *task = json_object_get(line, "task");
    bool whole = messages != NULL;
    for (int i = 0; i < t->talk.n && whole; i++) {
        const fr_message *m = &t->talk.messages[i];
        whole = !json_array_append_new(
            messages, json_pack("{s:s%, s:o}", "role", m->role.data, m->role.bytes, "content",
                                fr_json_text(m->content.data, m->content.bytes)));
    }
    json_t *id = json_object_get(line, "id");
    json_t *out = json_pack("{s:o, s:O?, s:o}", "id", id ? json_incref(id) : json_string(""),
                            "task", task, "messages", messages);
    char *text = whole ? fr_json_compact(out) : NULL;
    json_decref(out);
    if (!text) return fr_fail(d->err, FR_ENOMEM, "%s: no memory for a line", d->plan->output);
    const bool bad = fprintf(d->out, "%s\n", text) < 0 || fflush(d->out);
    d->unsynced = true;
    free(text);
    return bad ? fr_fail(d->err, FR_EIO, "%s: %s", d->plan->output, strerror(errno)) : FR_OK;
}

static fr_status sync_answers(distill *d) {
    d->answers_synced = fr_seconds();
    if (!d->unsynced) return FR_OK;
    d->unsynced = false;
    return fsync(fileno(d->out))
               ? fr_fail(d->err, FR_EIO, "%s: %s", d->plan->output, strerror(errno))
               : FR_OK;
}

// Answers first: what is written and not captured can be read again.
static fr_status sync_all(distill *d) {
    const fr_status st = sync_answers(d);
    d->synced = fr_seconds();
    return st || !d->writer ? st : fr_shard_writer_flush(d->writer, d->err);
}

// What is done is kept, whatever ended the work but a write that failed.
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

// The answer as `run` prints it.
static fr_status add_answer(distill *d, member_talk *t, const fr_sample *s, int n_prompt) {
    fr_buffer text = {0};
    fr_status st = fr_tokenizer_answer(d->text.tokenizer, s->ids + n_prompt,
                                       (size_t)(s->n + 1 - n_prompt), &text, d->err);
    if (!st) st = fr_talk_add(&t->talk, "assistant", text.data ? text.data : "", text.n, d->err);
    fr_buffer_free(&text);
    return st;
}

// The user's next turn, where there is one that the template takes, and room for it.
static bool go_on(distill *d, member_talk *t, const fr_sample *s, fr_batch_text *more) {
    const fr_prompt *p = fr_distill_prompt(&d->jobs, t->job);
    if (!fr_token_is_end(d->text.tokenizer, s->ids[s->n])) return false; // cut off
    if (++t->turn >= p->n_turns || t->turn >= d->plan->turns || enough(d)) return false;
    const int n = t->talk.n;
    const fr_status st = open_turn(d, t, more);
    if (st != FR_EDATA && fail(d, st)) return false;
    if (!st && more->n + more->n_predict <= d->size.n_ctx) return true;
    fr_talk_drop(&t->talk, n);
    return false;
}

static bool done(void *user, int member, const fr_sample *s, int n_prompt, fr_batch_text *more) {
    distill *d = user;
    member_talk *t = &d->members[member];
    if (d->status) return false;
    if (!t->job->given) {
        if (fail(d, add_answer(d, t, s, n_prompt))) return false;
        if (go_on(d, t, s, more)) return true;
        if (d->out && fail(d, write_line(d, t))) return false;
    }
    d->stats->texts++;
    // A power cut may have taken the answer and left its states.
    const bool captured = d->present && fr_shards_has(d->present, t->job->key);
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

// An error where nothing came of any text.
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

// A run that was killed may have left half a line, which is dropped. A file that holds no answers
// at all is emptied, as --force was given.
static fr_status open_output(distill *d, fr_error *err) {
    const char *path = d->plan->output;
    fr_answers_file there;
    fr_error why = {0};
    fr_status st = path ? fr_save_check(path, err) : FR_OK;
    if (st || !path) return st;
    st = fr_answers_file_look(&there, path, &why);
    if (st && (st != FR_EDATA || there.lines || !d->args->force))
        return fr_fail(err, st, "%s", why.text);
    if (!there.lines) there.end = 0;
    if (!(d->out = fopen(path, "ab")) || ftruncate(fileno(d->out), (off_t)there.end) ||
        (there.unended && there.end && fputc('\n', d->out) == EOF))
        return fr_fail(err, FR_EIO, "%s: %s", path, strerror(errno));
    return FR_OK;
}

static fr_shard_format format_of(const distill *d) {
    const fr_config *c = &d->engine->model.config;
    fr_shard_format f = {.d = c->d, .n_vocab = c->n_vocab, .n_taps = d->plan->n_taps, .top = 1};
    fr_gguf_fingerprint(d->engine->gguf, f.target);
    memcpy(f.taps, d->plan->taps, sizeof f.taps);
    if (d->plan->capture) f.top = c->n_vocab < FR_SHARD_TOP ? c->n_vocab : FR_SHARD_TOP;
    return f;
}

static void tell_plan(const distill *d, const fr_shard_format *f) {
    const fr_distill_plan *p = d->plan;
    if (d->args->quiet) return;
    char doubles[48] = "";
    if (d->jobs.doubles)
        snprintf(doubles, sizeof doubles, ", %d stand there twice", d->jobs.doubles);
    const double memory = (double)fr_text_batch_bytes(&d->engine->model, f, &d->size) +
                          (p->capture ? 128e6 : 0); // and a shard that is being collected
    fprintf(
        stderr,
        "%d conversations (%d there already%s), %d at a time: %.1f GB of memory besides the model",
        d->jobs.n, d->stats->known, doubles, p->width, memory / 1e9);
    if (p->capture)
        fprintf(stderr, "; %.2f MB of disk for 1000 tokens",
                (double)fr_shard_bytes(f, 1000, 700) / 1e6);
    fputc('\n', stderr);
}

typedef struct expected {   // tokens that will be captured
    uint64_t rows, answers; // answers: those of answers, among them
} expected;

// An answer is half as long as it may be, and a question half as long as its answer.
static expected expect_own(const distill *d) {
    const fr_distill_plan *p = d->plan;
    const uint64_t answers = (uint64_t)d->jobs.n * (uint64_t)(p->n_predict * p->turns) / 2;
    return (expected){answers + answers / 2, answers};
}

// A token of the text that stands there has about four bytes.
static expected expect_given(const distill *d) {
    expected e = {0};
    for (int i = 0; i < d->jobs.n; i++) {
        const json_t *messages =
            json_object_get(fr_distill_line(&d->jobs, &d->jobs.job[i]), "messages");
        int turns = 0;
        for (size_t k = 0; k < json_array_size(messages); k++) {
            const json_t *m = json_array_get(messages, k);
            const uint64_t n = json_string_length(json_object_get(m, "content")) / 4 + 1;
            const char *role = json_string_value(json_object_get(m, "role"));
            turns += role && !strcmp(role, "user");
            if (turns > d->plan->turns) break;
            e.rows += n;
            if (role && !strcmp(role, "assistant")) e.answers += n;
        }
    }
    return e;
}

// About what will be captured, as far as --tokens wants it.
static fr_status check_room(const distill *d, const fr_shard_format *f, fr_error *err) {
    const fr_distill_plan *p = d->plan;
    const uint64_t before = answered_before(d), limit = p->tokens > before ? p->tokens - before : 0;
    expected e = p->answers == FR_ANSWERS_OWN ? expect_own(d) : expect_given(d);
    if (p->tokens && limit < e.answers) {
        e.rows = (uint64_t)((double)e.rows * (double)limit / (double)e.answers);
        e.answers = limit;
    }
    const uint64_t bytes = fr_shard_bytes(f, e.rows, e.answers);
    const uint64_t file = bytes < FR_SHARD_BYTES ? bytes : FR_SHARD_BYTES;
    return fr_room_check(p->capture, bytes + p->besides, file, err);
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
    if (!st) st = open_output(d, err);
    if (!st && p->capture) st = fr_shard_writer_open(&d->writer, p->capture, &f, err);
    if (!st && p->capture)
        st = fr_shards_open(&d->present, p->capture, f.target, fr_cmd_progress, NULL, err);
    if (!st && p->capture)
        st = fr_sources_add(p->capture, p->answers == FR_ANSWERS_OWN ? "own" : "given", p->files,
                            err);
    if (!st) st = fr_distill_jobs_list(&d->jobs, p, d->present, err);
    if (!st && p->tokens && !p->capture)
        st = fr_distill_jobs_written(&d->jobs, d->text.tokenizer, &d->written_before, err);
    if (st) return st;
    d->stats->known = d->jobs.known;
    if (!(d->members = calloc((size_t)p->width, sizeof *d->members)))
        return fr_fail(err, FR_ENOMEM, "distill: no memory");
    tell_plan(d, &f);
    if (p->besides && (st = check_room(d, &f, err))) return st;
    return fr_text_batch_open(&d->engine_members, &d->engine->model, d->engine->tokenizer, &f,
                              &d->size, err);
}

static void close_all(distill *d) {
    for (int i = 0; i < d->plan->width && d->members; i++) {
        fr_talk_free(&d->members[i].talk);
        fr_ids_free(&d->members[i].ids);
        free(d->members[i].answer);
    }
    free(d->members);
    fr_cmd_text_close(&d->text);
    fr_text_batch_close(d->engine_members);
    fr_distill_jobs_close(&d->jobs);
    fr_shards_close(d->present);
    fr_shard_writer_close(d->writer);
    if (d->out) fclose(d->out);
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
        fprintf(stderr, "%d conversations are left out, as the chat template refuses them; %s\n",
                stats->refused, stats->refusal);
    close_all(d);
    free(d);
    return st;
}
