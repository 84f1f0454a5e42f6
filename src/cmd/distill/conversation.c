// conversation.c — the template over what was said so far, for each text that the batch is given.
#include "cmd/distill/conversation.h"
#include "json/value.h"
#include <stdlib.h>
#include <string.h>

static fr_sampling sampling_of(const fr_distill_plan *p, const fr_distill_job *j) {
    const double u = fr_uniform(p->seed, j->key);
    fr_sampling s = {.seed = j->key};
    if (u < p->sampled) {
        s.temperature = (float)p->temp;
        s.top_k = 40;
        s.top_p = 0.95f;
    }
    return s;
}

static fr_status open_turn(fr_conversation *c, const fr_conversations *all, fr_batch_text *text,
                           fr_error *err) {
    const fr_prompt *p = fr_distill_prompt(all->jobs, c->job);
    fr_status st = fr_talk_add(&c->talk, "user", p->turns[c->turn], p->turn_bytes[c->turn], err);
    if (!st) st = fr_talk_encode(&c->talk, all->text, true, &c->ids, err);
    *text = (fr_batch_text){.key = c->job->key,
                            .ids = c->ids.data,
                            .n = (int)c->ids.n,
                            .n_predict = all->plan->n_predict,
                            .sampling = sampling_of(all->plan, c->job)};
    return st;
}

static fr_status start_own(fr_conversation *c, const fr_conversations *all, fr_batch_text *text,
                           fr_error *err) {
    const fr_prompt *p = fr_distill_prompt(all->jobs, c->job);
    fr_status st = FR_OK;
    c->turn = 0;
    if (p->system) st = fr_talk_add(&c->talk, "system", p->system, p->system_bytes, err);
    return st ? st : open_turn(c, all, text, err);
}

// ---------------------------------------------------------------- answers that are given

static fr_status mark_answer(fr_conversation *c, const fr_tokenizer *tokenizer, size_t from,
                             fr_error *err) {
    if (c->ids.n > c->answer_cap) {
        uint8_t *more = realloc(c->answer, 2 * c->ids.n);
        if (!more) return fr_fail(err, FR_ENOMEM, "distill: no memory for %zu tokens", c->ids.n);
        memset(more + c->answer_cap, 0, 2 * c->ids.n - c->answer_cap);
        c->answer = more;
        c->answer_cap = 2 * c->ids.n;
    }
    for (size_t i = from; i < c->ids.n; i++) {
        c->answer[i] = 1;
        if (fr_token_is_end(tokenizer, c->ids.data[i])) break;
    }
    return FR_OK;
}

static fr_status add_message(fr_conversation *c, const char *role, const json_t *content,
                             fr_error *err) {
    return fr_talk_add(&c->talk, role, json_string_value(content), json_string_length(content),
                       err);
}

// An answer is what follows the ids of the conversation before it with the assistant's turn opened.
// A template that opens it with more than stands before an answer hides as many of its first ids.
static fr_status add_given(fr_conversation *c, const fr_cmd_text *text, const json_t *content,
                           fr_error *err) {
    fr_status st = fr_talk_encode(&c->talk, text, true, &c->ids, err);
    const size_t opened = c->ids.n;
    if (!st) st = add_message(c, "assistant", content, err);
    if (!st) st = fr_talk_encode(&c->talk, text, false, &c->ids, err);
    return st ? st : mark_answer(c, text->tokenizer, opened, err);
}

// The ids of the conversation with its answers, and which of them are answers.
static fr_status start_given(fr_conversation *c, const fr_conversations *all, fr_batch_text *text,
                             fr_error *err) {
    const json_t *messages = json_object_get(fr_distill_line(all->jobs, c->job), "messages");
    fr_status st = FR_OK;
    int turns = 0;
    if (c->answer_cap) memset(c->answer, 0, c->answer_cap);
    for (size_t i = 0; i < json_array_size(messages) && !st; i++) {
        const json_t *m = json_array_get(messages, i), *content = json_object_get(m, "content");
        const char *role = json_string_value(json_object_get(m, "role"));
        if (!strcmp(role, "user")) {
            if (turns++ == all->plan->turns) break;
            st = add_message(c, "user", content, err);
        } else if (strcmp(role, "assistant")) {
            st = add_message(c, "system", content, err);
        } else if (turns) {
            st = add_given(c, all->text, content, err);
        }
    }
    *text = (fr_batch_text){
        .key = c->job->key, .ids = c->ids.data, .n = (int)c->ids.n, .answer = c->answer};
    return st;
}

// ---------------------------------------------------------------- turn by turn

fr_status fr_conversation_start(fr_conversation *c, const fr_conversations *all,
                                const fr_distill_job *job, fr_batch_text *text, fr_error *err) {
    c->job = job;
    c->ids.n = 0;
    fr_talk_drop(&c->talk, 0);
    return job->given ? start_given(c, all, text, err) : start_own(c, all, text, err);
}

fr_status fr_conversation_answered(fr_conversation *c, const fr_conversations *all,
                                   const fr_sample *s, int n_prompt, fr_error *err) {
    fr_buffer text = {0};
    fr_status st = fr_tokenizer_answer(all->text->tokenizer, s->ids + n_prompt,
                                       (size_t)(s->n + 1 - n_prompt), &text, err);
    if (!st) st = fr_talk_add(&c->talk, "assistant", text.data ? text.data : "", text.n, err);
    fr_buffer_free(&text);
    return st;
}

fr_status fr_conversation_next(fr_conversation *c, const fr_conversations *all, int n_ctx,
                               fr_batch_text *text, bool *any, fr_error *err) {
    const fr_prompt *p = fr_distill_prompt(all->jobs, c->job);
    const int n = c->talk.n;
    *any = false;
    if (++c->turn >= p->n_turns || c->turn >= all->plan->turns) return FR_OK;
    const fr_status st = open_turn(c, all, text, err);
    if (st && st != FR_EDATA) return st;
    *any = !st && text->n + text->n_predict <= n_ctx;
    if (!*any) fr_talk_drop(&c->talk, n);
    return FR_OK;
}

void fr_conversation_free(fr_conversation *c) {
    fr_talk_free(&c->talk);
    fr_ids_free(&c->ids);
    free(c->answer);
}
