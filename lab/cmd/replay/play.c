// play.c — speakers take conversations from the list, begin their turns and share the steps of a
// group; a speaker whose turn is over reports it and continues with the next turn or conversation.
#include "lab/cmd/replay/play.h"
#include "base/alloc.h"
#include "cmd/lib/generate.h"
#include "cmd/lib/talk.h"
#include "decode/group.h"
#include "engine/session.h"
#include "gguf/hash.h"
#include "lab/cmd/replay/copied.h"
#include "lab/cmd/replay/known_answer.h"
#include <string.h>

typedef struct speaker {
    fr_session *session; // NULL: it has no conversation
    fr_talk talk;
    fr_ids ids;
    int conversation, turn;
    uint64_t prompt; // hash of ids
    fr_known_answer known;
    int head; // tokens of the answer that repeat the prompt
    lab_copied copied;
} speaker;

typedef struct play {
    lab_replay *r;
    const char *spec;
    fr_cmd_text text;
    fr_group *group; // NULL: each alone
    bool known;
    fr_known_reader reader; // of texts that are known
    speaker *speaker;       // [width]
    int width;
    int n_ctx; // of the longest conversation
    lab_turn_fn *ended;
    void *user;
} play;

static bool go_on(void *user, const fr_piece *piece) {
    play *p = user;
    (void)piece;
    fr_progress_show(&p->r->bar, p->spec, (uint64_t)p->r->played, (uint64_t)p->r->to_play);
    return !fr_cmd_interrupted();
}

// ---------------------------------------------------------------- one speaker

static int context_of(const lab_replay *r, const fr_prompt *p) {
    const int most = fr_engine_describe(r->engine)->n_ctx_train;
    int64_t need = 64 + (int64_t)p->system_bytes;
    for (int i = 0; i < p->n_turns; i++) // a byte is a token at most, and a template adds some
        need += (int64_t)p->turn_bytes[i] + r->args->n_predict + 256;
    if (r->args->ctx) need = r->args->ctx;
    return need < most ? (int)need : most;
}

// Told of every pass. Those that begin in the head give what stands before the first that does not.
static void watch_pass(void *user, const fr_tree *proposed, int n_ids) {
    speaker *s = user;
    const int answered = n_ids - (int)s->ids.n;
    (void)proposed;
    if (answered < s->head)
        s->copied.passes++;
    else if (s->copied.passes && !s->copied.tokens)
        s->copied.tokens = answered;
}

static fr_status open_session(const play *p, speaker *s, fr_error *err) {
    const lab_replay *r = p->r;
    const bool plain = !strcmp(p->spec, "none");
    const fr_session_options options = {
        .size = sizeof options,
        .n_ctx = context_of(r, r->item[s->conversation].prompt),
        .kv_type = fr_cmd_kv_type(r->args),
        .drafter = p->spec,
        .tree = plain ? NULL : r->args->tree,
        .no_adapt = true,
        .draft_opts = r->args->draft_opts.n && !plain ? r->args->draft_opts.item : NULL,
        .group = p->group};
    const fr_status st = fr_session_open(&s->session, r->engine, &options, err);
    if (st || !p->known) return st;
    fr_session_hook(s->session, fr_known_answer_hook(&s->known));
    fr_session_watch(s->session, watch_pass, s);
    return FR_OK;
}

// The answer that is known must be one to this very prompt.
static fr_status take_answer(const play *p, speaker *s, fr_error *err) {
    const lab_conversation *c = &p->r->item[s->conversation];
    const lab_turn *t = &c->turn[s->turn];
    s->known.ids = t->ids;
    s->known.n = t->n;
    if (t->prompt == s->prompt) return FR_OK;
    return fr_fail(err, FR_EDATA,
                   "prompt %.40s: the answer in --answers is to another text of turn %d; was the "
                   "chat template another one?",
                   c->prompt->id, s->turn + 1);
}

// Has the target read prompt and answer, unless another drafter had it do so. Texts beyond the
// original context of a model with LongRoPE have their keys made anew on the way: they are not
// served (known_answer.h).
static fr_status read_text(play *p, speaker *s, fr_error *err) {
    lab_conversation *c = &p->r->item[s->conversation];
    const fr_model *m = &p->r->engine->model;
    const fr_needs *needs = &s->session->decoder.drafter->needs;
    const size_t n = s->ids.n + (size_t)s->known.n;
    const int n_ctx = context_of(p->r, c->prompt);
    fr_kv_type type;
    fr_status st = fr_kv_type_of(&type, fr_cmd_kv_type(p->r->args), err);
    s->known.text = NULL;
    if (n > (size_t)n_ctx)
        return fr_fail(err, FR_ECONTEXT,
                       "prompt %.40s: turn %d has %zu tokens with its answer, which do not fit the "
                       "context of %d",
                       c->prompt->id, s->turn + 1, n, n_ctx);
    if (st || c->wrong || fr_model_stretches(m, (int)n - 1)) return st;
    if (!c->text.ids && (st = fr_known_text_open(&c->text, m, n_ctx, type, err))) return st;
    int32_t *ids = fr_alloc_array(n, sizeof *ids);
    if (!ids) return fr_fail(err, FR_ENOMEM, "replay: no memory for %zu tokens", n);
    memcpy(ids, s->ids.data, s->ids.n * sizeof *ids);
    memcpy(ids + s->ids.n, s->known.ids, (size_t)s->known.n * sizeof *ids);
    st = fr_known_text_read(&c->text, &p->reader, needs->taps, needs->n_taps, ids, (int)n,
                            (int)s->ids.n, &p->r->sampling, err);
    fr_free(ids);
    if (!st) s->known.text = &c->text;
    return st;
}

static fr_status begin_turn(play *p, speaker *s, fr_error *err) {
    const fr_prompt *prompt = p->r->item[s->conversation].prompt;
    fr_hash h;
    fr_status st = FR_OK;
    if (!s->turn && prompt->system)
        st = fr_talk_add(&s->talk, "system", prompt->system, prompt->system_bytes, err);
    if (!st)
        st =
            fr_talk_add(&s->talk, "user", prompt->turns[s->turn], prompt->turn_bytes[s->turn], err);
    fr_error why = {0};
    if (!st && (st = fr_talk_encode(&s->talk, &p->text, true, &s->ids, &why)))
        fr_fail(err, st, "prompt %.40s: %s", prompt->id, why.text);
    if (st) return st;
    fr_hash_open(&h, 0);
    fr_hash_add(&h, s->ids.data, s->ids.n * sizeof *s->ids.data);
    s->prompt = fr_hash_value(&h);
    if (p->known && ((st = take_answer(p, s, err)) || (st = read_text(p, s, err)))) return st;
    s->copied = (lab_copied){0};
    s->head = p->known ? lab_copied_head(s->ids.data, (int)s->ids.n, s->known.ids, s->known.n) : 0;
    const fr_request request = {.size = sizeof request,
                                .prompt = s->ids.data,
                                .n_prompt = (int)s->ids.n,
                                .n_predict = p->r->args->n_predict,
                                .sampling = &p->r->sampling,
                                .stream = go_on,
                                .user = p};
    return fr_session_begin(s->session, &request, err);
}

static fr_status begin_conversation(play *p, speaker *s, int conversation, fr_error *err) {
    s->conversation = conversation;
    s->turn = 0;
    fr_talk_drop(&s->talk, 0);
    const fr_status st = open_session(p, s, err);
    return st ? st : begin_turn(p, s, err);
}

// After an answer that is another one than the known one comes another conversation.
static bool has_next(const play *p, const speaker *s, const fr_result *result) {
    if (s->turn + 1 >= p->r->item[s->conversation].prompt->n_turns) return false;
    return !p->known ||
           (result->n_tokens == s->known.n &&
            !memcmp(result->tokens, s->known.ids, sizeof *s->known.ids * (size_t)s->known.n));
}

// Ends the turn, and begins the next one or leaves the conversation.
static fr_status end_turn(play *p, speaker *s, fr_error *err) {
    const fr_result *result = fr_session_result(s->session);
    fr_status st = fr_session_end(s->session, err);
    if (!st && fr_cmd_interrupted()) st = fr_fail(err, FR_EINTR, "interrupted");
    if (s->copied.passes && !s->copied.tokens) s->copied.tokens = result->n_tokens; // all of it
    const lab_played played = {s->conversation, s->turn, s->prompt, result, s->copied};
    if (!st) st = p->ended(p->user, &played, err);
    if (st) return st;
    if (has_next(p, s, result)) {
        s->turn++;
        st = fr_talk_add(&s->talk, "assistant", result->text, result->text_bytes, err);
        return st ? st : begin_turn(p, s, err);
    }
    fr_session_close(s->session);
    s->session = NULL;
    p->r->played += p->group != NULL; // else it was one to check
    return FR_OK;
}

// The reason why a conversation could not be played, with its name.
static fr_status name_it(const play *p, const speaker *s, fr_status st, fr_error *err) {
    const fr_error why = err ? *err : (fr_error){0};
    if (!st || st == FR_EINTR) return st;
    const lab_conversation *c = &p->r->item[s->conversation];
    return fr_fail(err, st, "%s, %s, prompt %.40s: %s", p->spec, p->r->set[c->set].name,
                   c->prompt->id, why.text);
}

// ---------------------------------------------------------------- many

static fr_status play_all(play *p, const int *todo, int n, fr_error *err) {
    fr_status st = FR_OK;
    int next = 0, busy = 1;
    while (!st && busy) {
        busy = 0;
        for (int i = 0; i < p->width && !st; i++) {
            speaker *s = &p->speaker[i];
            if (s->session && !fr_session_runs(s->session))
                st = name_it(p, s, end_turn(p, s, err), err);
            if (!st && !s->session && next < n)
                st = name_it(p, s, begin_conversation(p, s, todo[next++], err), err);
            busy += s->session != NULL;
        }
        if (!st && busy) {
            if (p->group)
                fr_group_step(p->group);
            else
                fr_session_step(p->speaker->session);
        }
    }
    return st;
}

static fr_status open_group(play *p, fr_error *err) {
    // Prompts are read as fast as possible, because no user waits for the other texts.
    const fr_group_options options = {
        .size = sizeof options, .n_ctx = p->n_ctx, .prompt_share = 1000};
    return fr_group_open(&p->group, p->r->engine, &options, err);
}

static void close_play(play *p) {
    fr_error unsaid;
    for (int i = 0; i < p->width && p->speaker; i++) {
        speaker *s = &p->speaker[i];
        if (s->session && fr_session_runs(s->session)) fr_session_end(s->session, &unsaid);
        fr_session_close(s->session);
        fr_talk_free(&s->talk);
        fr_ids_free(&s->ids);
    }
    fr_group_close(p->group);
    fr_known_reader_close(&p->reader);
    fr_free(p->speaker);
    fr_cmd_text_close(&p->text);
}

static fr_status run(play *p, const int *todo, int n, bool shared, fr_error *err) {
    lab_replay *r = p->r;
    fr_status st = FR_OK;
    for (int i = 0; i < n; i++) {
        const int n_ctx = context_of(r, r->item[todo[i]].prompt);
        if (n_ctx > p->n_ctx) p->n_ctx = n_ctx;
    }
    fr_cmd_text_lend(&p->text, r->engine);
    if (!(p->speaker = fr_alloc_array((size_t)p->width, sizeof *p->speaker)))
        st = fr_fail(err, FR_ENOMEM, "replay: no memory for %d texts", p->width);
    if (!st) st = fr_cmd_text_template(&p->text, r->args, err);
    // Costs of passes are those that `bench` has: some trees are planned by them.
    if (!st && strcmp(p->spec, "none")) st = fr_cmd_profile(r->engine, r->args, 0, err);
    if (!st && shared) st = open_group(p, err);
    if (!st && p->known) st = fr_known_reader_open(&p->reader, &r->engine->model, p->n_ctx, err);
    if (!st) st = play_all(p, todo, n, err);
    close_play(p);
    return st;
}

fr_status lab_play_shared(lab_replay *r, const char *spec, const int *todo, int n, bool known,
                          lab_turn_fn *ended, void *user, fr_error *err) {
    const int width = r->args->width < n ? r->args->width : n;
    if (!n) return FR_OK;
    return run(
        &(play){.r = r, .spec = spec, .known = known, .width = width, .ended = ended, .user = user},
        todo, n, true, err);
}

fr_status lab_play_alone(lab_replay *r, const char *spec, int conversation, lab_turn_fn *ended,
                         void *user, fr_error *err) {
    return run(&(play){.r = r, .spec = spec, .width = 1, .ended = ended, .user = user},
               &conversation, 1, false, err);
}
