// conversation.c — renders the conversation so far with the template, for each text of the batch.
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

// Marks from the first one on without a gap.
static size_t run_of_marks(const uint8_t *marks, size_t n) {
    size_t i = 0;
    while (i < n && marks[i])
        i++;
    return i;
}

// Room for a mark on every id, those after the old ones 0.
static fr_status reserve_marks(fr_conversation *c, fr_error *err) {
    const size_t n = 2 * c->ids.n;
    if (c->ids.n <= c->marks_cap) return FR_OK;
    for (int i = 0; i < 2; i++) {
        uint8_t *more = realloc(c->marks[i], n);
        if (!more) return fr_fail(err, FR_ENOMEM, "distill: no memory for %zu tokens", c->ids.n);
        memset(more + c->marks_cap, 0, n - c->marks_cap);
        c->marks[i] = more;
    }
    c->marks_cap = n;
    return FR_OK;
}

// Where the n ids stand at or after `from`; ids->n: nowhere.
static size_t find_ids(const fr_ids *ids, size_t from, const int32_t *of, size_t n) {
    for (; from + n <= ids->n; from++)
        if (!memcmp(ids->data + from, of, n * sizeof *of)) return from;
    return ids->n;
}

// The most of an answer's n ids that stands at or after `from`, all, or its last ones after the id
// that is in front of it, as a template may leave thinking out: *to says where. Returns how many;
// 0: not two of them.
static size_t find_answer(const fr_ids *ids, size_t from, const int32_t *of, size_t n, size_t *to) {
    const int32_t before = of[-1];
    if ((*to = find_ids(ids, from, of, n)) < ids->n) return n;
    for (of++, n--; n >= 2; of++, n--)
        for (*to = from; (*to = find_ids(ids, *to, of, n)) < ids->n; (*to)++)
            if (*to && ids->data[*to - 1] == before) return n;
    return 0;
}

// Some templates write earlier answers in another way than the last one, so that ids move when a
// turn is added. Marks move with their answer; text that is gone loses them.
static void move_marks(fr_conversation *c) {
    const fr_ids *was = &c->was, *now = &c->ids;
    const uint8_t *old = c->marks[0];
    uint8_t *moved = c->marks[1];
    size_t same = 0, at = 0;
    while (same < was->n && same < now->n && was->data[same] == now->data[same])
        same++;
    if (!c->marks_cap) return;
    memset(moved, 0, c->marks_cap);
    memcpy(moved, old, same);
    at = same;
    for (size_t i = same, n; i < was->n; i += n ? n : 1) {
        size_t to;
        n = run_of_marks(old + i, was->n - i);
        const size_t found = n && i ? find_answer(now, at, was->data + i, n, &to) : 0;
        if (!found) continue;
        memset(moved + to, 1, found);
        at = to + found;
    }
    c->marks[0] = moved;
    c->marks[1] = (uint8_t *)old;
}

static void mark_answer(fr_conversation *c, const fr_tokenizer *tokenizer, size_t from, bool cut) {
    for (size_t i = from; i < c->ids.n; i++) {
        const bool end = fr_token_is_end(tokenizer, c->ids.data[i]);
        c->marks[0][i] = !(end && cut);
        if (end) break;
    }
}

static fr_status add_message(fr_conversation *c, const char *role, const json_t *content,
                             fr_error *err) {
    return fr_talk_add(&c->talk, role, json_string_value(content), json_string_length(content),
                       err);
}

// An answer is what follows the ids of the conversation before it with the assistant's turn opened.
// A template that opens it with more than stands before an answer hides as many of its first ids.
// cut: its end is the template's, the target wrote none.
static fr_status add_given(fr_conversation *c, const fr_cmd_text *text, const json_t *content,
                           bool cut, fr_error *err) {
    const fr_ids was = c->was;
    c->was = c->ids;
    c->ids = was;
    fr_status st = fr_talk_encode(&c->talk, text, true, &c->ids, err);
    const size_t opened = c->ids.n;
    if (!st) st = add_message(c, "assistant", content, err);
    if (!st) st = fr_talk_encode(&c->talk, text, false, &c->ids, err);
    if (!st) st = reserve_marks(c, err);
    if (st) return st;
    move_marks(c);
    mark_answer(c, text->tokenizer, opened, cut);
    return FR_OK;
}

// As elsewhere, a developer's message counts as the system's.
static const char *role_of(const json_t *message) {
    const char *role = json_string_value(json_object_get(message, "role"));
    return strcmp(role, "developer") ? role : "system";
}

// The ids of the conversation with its answers, and which of them are answers.
static fr_status start_given(fr_conversation *c, const fr_conversations *all, fr_batch_text *text,
                             fr_error *err) {
    const json_t *line = fr_distill_line(all->jobs, c->job);
    const json_t *messages = json_object_get(line, "messages");
    const bool cut = json_is_true(json_object_get(line, "cut"));
    const size_t n = json_array_size(messages);
    fr_status st = FR_OK;
    int turns = 0;
    c->was.n = 0;
    if (c->marks_cap) memset(c->marks[0], 0, c->marks_cap);
    for (size_t i = 0; i < n && !st; i++) {
        const json_t *m = json_array_get(messages, i), *content = json_object_get(m, "content");
        const char *role = role_of(m);
        if (!strcmp(role, "user") && turns++ == all->plan->turns) break;
        if (strcmp(role, "assistant"))
            st = add_message(c, role, content, err);
        else if (turns)
            st = add_given(c, all->text, content, cut && i + 1 == n, err);
    }
    *text = (fr_batch_text){
        .key = c->job->key, .ids = c->ids.data, .n = (int)c->ids.n, .answer = c->marks[0]};
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
    fr_ids_free(&c->was);
    for (int i = 0; i < 2; i++)
        free(c->marks[i]);
}
