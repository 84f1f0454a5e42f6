// run.c — the order of work: all drafters on one answer, taking turns, then the next.
#include "base/alloc.h"
#include "cmd/bench/bench.h"
#include "cmd/lib/generate.h"
#include "cmd/lib/talk.h"
#include "decode/draw/sampler.h"
#include "gguf/hash.h"
#include <stdlib.h>
#include <string.h>

typedef struct running {
    fr_bench *bench;
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_cmd_text text;
    fr_talk talk;
    fr_ids ids;
    const fr_result **results; // [n_runs] of the current turn, valid until their sessions continue
    int *order;                // [n_runs] in which they come
    bool *going;               // [n_runs] begun and not at their end
    fr_progress bar;
    uint64_t done, total; // tokens: an answer that is over counts for as many as it might have had
} running;

// ---------------------------------------------------------------- one answer

static bool go_on(void *user, const fr_piece *piece) {
    running *r = user;
    (void)piece;
    uint64_t done = r->done;
    for (int i = 0; i < r->bench->n_runs; i++)
        if (r->going[i]) done += (uint64_t)r->results[i]->n_tokens;
    fr_progress_show(&r->bar, "bench", done, r->total);
    return !fr_cmd_interrupted();
}

static fr_request request_of(running *r, int n_predict) {
    return (fr_request){.size = sizeof(fr_request),
                        .prompt = r->ids.data,
                        .n_prompt = (int)r->ids.n,
                        .n_predict = n_predict,
                        .sampling = &r->bench->sampling,
                        .stream = go_on,
                        .user = r};
}

static fr_status interrupted(fr_error *err) {
    return fr_cmd_interrupted() ? fr_fail(err, FR_EINTR, "interrupted") : FR_OK;
}

// The first token that is not plain decoding's; -1 where neither a token nor a byte differs.
static int compare(const fr_result *own, const fr_result *plain) {
    const int token = fr_first_difference(own->tokens, (size_t)own->n_tokens, plain->tokens,
                                          (size_t)plain->n_tokens);
    const bool same_text =
        own->text_bytes == plain->text_bytes && !memcmp(own->text, plain->text, own->text_bytes);
    return token < 0 && !same_text ? own->n_tokens : token;
}

static double rate_of(const fr_result *result) {
    return fr_cmd_rate(result->stats->completion_tokens, result->stats->seconds_decode);
}

typedef struct place { // which answer, and in which round
    int set, prompt, turn, answer, round;
} place;

static fr_status count(running *r, int index, place at, fr_error *err) {
    const fr_result *own = r->results[index], *plain = r->results[0];
    fr_bench_run *run = &r->bench->runs[index];
    const fr_prompt_set *set = &r->bench->sets[at.set];
    const char *id = set->prompts.item[at.prompt].id;
    fr_bench_counts *t = &run->by_set[at.set];
    const double speed = rate_of(own), plain_speed = rate_of(plain);
    const fr_pair pair = {.answer = at.answer,
                          .speedup = speed > 0 && plain_speed > 0 ? speed / plain_speed : 1,
                          .prompt = set->first_answer + at.prompt};
    const int token = compare(own, plain);
    run->lossless = own->stats->lossless;
    run->exact_law = own->stats->exact_law;
    if (token >= 0) {
        t->broken |= run->lossless;
        if (!t->difference.file) t->difference = (fr_difference){set->path, id, at.turn, token};
    }
    const bool changed = *run->used && strcmp(run->used, own->stats->used);
    snprintf(run->used, sizeof run->used, "%s", changed ? "several" : own->stats->used);
    return fr_bench_counts_add(t, own->stats, own->text_bytes, pair, id, err);
}

// A shuffle of its own for every turn and round, the same in every run.
static void draw_order(running *r, place at) {
    const fr_prompt *p = &r->bench->sets[at.set].prompts.item[at.prompt];
    fr_hash h;
    fr_hash_open(&h, (uint64_t)at.round);
    fr_hash_add(&h, p->turns[at.turn], p->turn_bytes[at.turn]);
    for (int i = 0; i < r->bench->n_runs; i++)
        r->order[i] = i;
    fr_shuffle(r->order, r->bench->n_runs, fr_hash_value(&h));
}

// The run with the fewest tokens of those not at their end, of several the first in the order; -1:
// all are at their end.
static int furthest_behind(const running *r) {
    int found = -1;
    for (int k = 0; k < r->bench->n_runs; k++) {
        const int i = r->order[k];
        if (r->going[i] && (found < 0 || r->results[i]->n_tokens < r->results[found]->n_tokens))
            found = i;
    }
    return found;
}

// Plain decoding reads the prompt, and the others take its context over. Drafters that need the
// hidden states of the prompt read it again.
static fr_status begin(running *r, int i, const fr_request *request, fr_error *err) {
    fr_session *s = r->bench->runs[i].session;
    fr_status st = i ? fr_session_adopt(s, r->bench->runs[0].session, err) : FR_OK;
    r->results[i] = fr_session_result(s);
    if (!st) st = fr_session_begin(s, request, err);
    r->going[i] = !st;
    return st;
}

static fr_status end(running *r, int i, fr_error *err) {
    r->going[i] = false;
    r->done += (uint64_t)r->args->n_predict;
    return fr_session_end(r->bench->runs[i].session, err);
}

// All drafters and `none` on one turn. They take turns by passes, so that all of them are at every
// place of the answer at about the same time: whatever else the machine does, for a second or for
// minutes, slows all of them alike. The order is drawn, so that no place is favoured.
static fr_status run_turn(running *r, place at, fr_error *err) {
    const int n = r->bench->n_runs;
    const fr_request request = request_of(r, r->args->n_predict);
    fr_error unsaid;
    fr_status st = FR_OK;
    draw_order(r, at);
    st = begin(r, 0, &request, err);
    for (int k = 0; k < n && !st; k++)
        if (r->order[k]) st = begin(r, r->order[k], &request, err);
    for (int i; !st && (i = furthest_behind(r)) >= 0;) {
        if (fr_session_step(r->bench->runs[i].session)) continue;
        st = end(r, i, err);
        if (!st) st = interrupted(err);
    }
    for (int i = 0; i < n; i++) // those that an error left at work
        if (r->going[i]) end(r, i, &unsaid);
    for (int i = 0; i < n && !st; i++)
        st = count(r, i, at, err);
    return st;
}

// ---------------------------------------------------------------- one conversation

static void close_sessions(running *r) {
    for (int i = 0; i < r->bench->n_runs; i++) {
        fr_session_close(r->bench->runs[i].session);
        r->bench->runs[i].session = NULL;
    }
}

// Sessions are new for every conversation, so that no prompt is helped by the one before it.
static fr_status open_sessions(running *r, const fr_prompt *p, fr_error *err) {
    int64_t need = 64;
    for (int i = 0; i < p->n_turns; i++) // a byte is a token at most, and a template adds some
        need += (int64_t)p->turn_bytes[i] + r->args->n_predict + 256;
    need += (int64_t)p->system_bytes;
    // All runs, plain decoding too, are judged by the same costs of passes. They are looked up
    // again, as sessions of the last conversation may have found the old ones wrong.
    if (r->bench->n_runs > 1) {
        const fr_status st = fr_cmd_profile(r->engine, r->args, 0, err);
        if (st) return st;
    }
    for (int i = 0; i < r->bench->n_runs; i++) {
        fr_bench_run *run = &r->bench->runs[i];
        fr_cmd_args args = *r->args;
        char nodes[16];
        snprintf(nodes, sizeof nodes, "%d", run->tree);
        if (run->tree) args.tree = nodes;
        const fr_status st =
            fr_cmd_session_open(&run->session, r->engine, &args, run->spec, need, 0, err);
        if (st) return st;
    }
    return FR_OK;
}

// `warm`: one short generation, which is not counted.
static fr_status run_conversation(running *r, place at, bool warm, fr_error *err) {
    const fr_prompt *p = &r->bench->sets[at.set].prompts.item[at.prompt];
    fr_talk_drop(&r->talk, 0);
    fr_status st = open_sessions(r, p, err);
    if (!st && p->system) st = fr_talk_add(&r->talk, "system", p->system, p->system_bytes, err);
    for (at.turn = 0; at.turn < p->n_turns && !st; at.turn++, at.answer++) {
        st = fr_talk_add(&r->talk, "user", p->turns[at.turn], p->turn_bytes[at.turn], err);
        if (!st) st = fr_talk_encode(&r->talk, &r->text, true, &r->ids, err);
        if (st) break;
        if (warm) {
            const fr_request request = request_of(r, 8);
            st = fr_session_generate(r->bench->runs[0].session, &request, NULL, err);
            if (!st) st = interrupted(err);
            break;
        }
        st = run_turn(r, at, err);
        if (!st)
            st = fr_talk_add(&r->talk, "assistant", r->results[0]->text, r->results[0]->text_bytes,
                             err);
    }
    close_sessions(r);
    return st;
}

// ---------------------------------------------------------------- all of them

static fr_status run_set(running *r, int set, int round, fr_error *err) {
    const fr_prompt_set *s = &r->bench->sets[set];
    place at = {.set = set, .answer = s->first_answer, .round = round};
    for (; at.prompt < s->prompts.n; at.prompt++) {
        const fr_prompt *p = &s->prompts.item[at.prompt];
        fr_error why = {0};
        const fr_status st = run_conversation(r, at, false, &why);
        if (st == FR_EINTR || st == FR_EARG) {
            *err = why;
            return st;
        }
        if (st)
            return fr_fail(err, st, "%s, prompt %d (%.40s): %s", s->path, at.prompt + 1, p->id,
                           why.text);
        at.answer += p->n_turns;
    }
    return FR_OK;
}

static uint64_t count_answers(const fr_bench *b) {
    uint64_t turns = 0;
    for (int set = 0; set < b->n_sets; set++)
        for (int i = 0; i < b->sets[set].prompts.n; i++)
            turns += (uint64_t)b->sets[set].prompts.item[i].n_turns;
    return turns * (uint64_t)b->n_runs * (uint64_t)b->args->repeat;
}

static fr_status run_all(running *r, fr_error *err) {
    const fr_cpu_use before = fr_cpu_use_now();
    fr_status st = run_conversation(r, (place){0}, true, err);
    fr_progress_open(&r->bar, r->args->quiet ? NULL : stderr, "answers", r->args->n_predict);
    for (int round = 0; round < r->args->repeat; round++)
        for (int set = 0; set < r->bench->n_sets && !st; set++)
            st = run_set(r, set, round, err);
    fr_progress_clear(&r->bar);
    r->bench->others = fr_cpu_use_others(before, fr_cpu_use_now());
    return st;
}

fr_status fr_bench_run_all(fr_bench *b, fr_engine *engine, fr_error *err) {
    running r = {.bench = b, .args = b->args, .engine = engine};
    r.total = count_answers(b) * (uint64_t)b->args->n_predict;
    r.results = calloc((size_t)b->n_runs, sizeof *r.results);
    r.order = fr_alloc_array((size_t)b->n_runs, sizeof *r.order);
    r.going = fr_alloc_array((size_t)b->n_runs, sizeof *r.going);
    fr_status st =
        r.results && r.order && r.going ? FR_OK : fr_fail(err, FR_ENOMEM, "bench: no memory");
    fr_cmd_text_lend(&r.text, engine);
    if (!st) st = fr_cmd_text_template(&r.text, b->args, err);
    if (!st) st = run_all(&r, err);
    fr_cmd_text_close(&r.text);
    fr_talk_free(&r.talk);
    fr_ids_free(&r.ids);
    fr_free(r.order);
    fr_free(r.going);
    free(r.results);
    return st;
}
