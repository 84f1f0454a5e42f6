// answers.c — plain decoding's answers: the file's, then those that are missing. The first line
// says what they are answers of, each other one is a conversation.
#include "base/alloc.h"
#include "base/clock.h"
#include "cmd/lib/text.h"
#include "lab/cmd/replay/lines.h"
#include "lab/cmd/replay/play.h"
#include <stdlib.h>
#include <string.h>

typedef struct answering {
    lab_replay *r;
    lab_lines lines;
    json_t *head;
    bool has_head; // in the file
} answering;

// ---------------------------------------------------------------- the file

// All that the answer to a prompt depends on. Greedy answers depend on no other setting.
json_t *lab_replay_settings(const lab_replay *r) {
    char print[FR_GGUF_FINGERPRINT];
    const fr_cmd_args *a = r->args;
    const bool drawn = a->temp > 0;
    fr_gguf_fingerprint(r->engine->gguf, print);
    return json_pack("{s:s, s:s, s:i, s:f, s:i, s:f, s:f, s:I}", "model", print, "kv_type",
                     fr_cmd_kv_type(a), "n_predict", a->n_predict, "temp", a->temp, "top_k",
                     drawn ? a->top_k : 0, "top_p", drawn ? a->top_p : 0, "min_p",
                     drawn ? a->min_p : 0, "seed", drawn ? (json_int_t)a->seed : (json_int_t)0);
}

static uint64_t hash_read(const json_t *value) {
    const char *text = json_string_value(value);
    return text ? strtoull(text, NULL, 16) : 0;
}

static json_t *hash_json(uint64_t hash) {
    return json_sprintf("%016llx", (unsigned long long)hash);
}

static bool ids_are_of(const fr_ids *ids, const fr_model *m) {
    for (size_t i = 0; i < ids->n; i++)
        if (ids->data[i] < 0 || ids->data[i] >= m->config.n_vocab) return false;
    return true;
}

static fr_status take_turn(lab_turn *t, const lab_replay *r, const json_t *line, fr_error *err) {
    fr_ids ids = {0};
    fr_status st = fr_cmd_ids_from_json(&ids, json_object_get(line, "tokens"), err);
    if (!st && (!ids.n || ids.n > (size_t)r->args->n_predict))
        st = fr_fail(err, FR_EDATA, "expected a turn of 1 to %d tokens, found %zu",
                     r->args->n_predict, ids.n);
    if (!st && !ids_are_of(&ids, &r->engine->model))
        st = fr_fail(err, FR_EDATA, "expected tokens of the model's vocabulary, 0 to %d",
                     r->engine->model.config.n_vocab - 1);
    if (st) {
        fr_ids_free(&ids);
        return st;
    }
    *t = (lab_turn){hash_read(json_object_get(line, "prompt")), ids.data, (int)ids.n};
    return FR_OK;
}

static void forget_turns(lab_conversation *c) {
    for (int i = 0; i < c->prompt->n_turns; i++) {
        fr_free(c->turn[i].ids);
        c->turn[i] = (lab_turn){0};
    }
    c->answered = false;
}

static fr_status take_conversation(lab_conversation *c, const lab_replay *r, const json_t *turns,
                                   fr_error *err) {
    fr_status st = FR_OK;
    if ((int)json_array_size(turns) != c->prompt->n_turns)
        return fr_fail(err, FR_EDATA, "expected %d turns, found %zu", c->prompt->n_turns,
                       json_array_size(turns));
    forget_turns(c);
    for (int i = 0; i < c->prompt->n_turns && !st; i++)
        st = take_turn(&c->turn[i], r, json_array_get(turns, (size_t)i), err);
    c->answered = !st;
    if (st) forget_turns(c);
    return st;
}

static fr_status take_line(void *user, int number, const json_t *line, fr_error *err) {
    answering *a = user;
    const char *key = json_string_value(json_object_get(line, "key"));
    if (number == 1) {
        a->has_head = true;
        if (json_equal(line, a->head)) return FR_OK;
        char *there = json_dumps(line, JSON_COMPACT), *here = json_dumps(a->head, JSON_COMPACT);
        fr_fail(err, FR_EDATA, "expected answers of %s, found %.200s", here ? here : "?",
                there ? there : "?");
        free(there);
        free(here);
        return FR_EDATA;
    }
    if (!key) return fr_fail(err, FR_EDATA, "expected {\"key\",\"id\",\"turns\"}");
    for (int i = 0; i < a->r->n; i++)
        if (!strcmp(a->r->item[i].key, key))
            return take_conversation(&a->r->item[i], a->r, json_object_get(line, "turns"), err);
    return FR_OK; // of a prompt that is not asked for now
}

static json_t *line_of(const lab_conversation *c) {
    json_t *turns = json_array();
    for (int i = 0; i < c->prompt->n_turns; i++)
        json_array_append_new(
            turns, json_pack("{s:o, s:o}", "prompt", hash_json(c->turn[i].prompt), "tokens",
                             fr_cmd_json_ids(c->turn[i].ids, (size_t)c->turn[i].n)));
    return json_pack("{s:s, s:o, s:o}", "key", c->key, "id", fr_json_string(c->prompt->id), "turns",
                     turns);
}

// ---------------------------------------------------------------- what is missing

static fr_status take_result(void *user, const lab_played *played, fr_error *err) {
    answering *a = user;
    lab_conversation *c = &a->r->item[played->conversation];
    lab_turn *t = &c->turn[played->turn];
    const fr_result *result = played->result;
    const size_t n = (size_t)result->n_tokens;
    *t = (lab_turn){played->prompt, fr_alloc_array(n, sizeof *t->ids), (int)n};
    if (!t->ids) return fr_fail(err, FR_ENOMEM, "replay: no memory for %zu tokens", n);
    memcpy(t->ids, result->tokens, n * sizeof *t->ids);
    c->answered = played->turn + 1 == c->prompt->n_turns;
    return c->answered ? lab_lines_add(&a->lines, line_of(c), err) : FR_OK;
}

static fr_status answer_rest(answering *a, fr_error *err) {
    const double start = fr_seconds();
    int n = 0, *todo = fr_alloc_array((size_t)a->r->n, sizeof *todo);
    if (!todo) return fr_fail(err, FR_ENOMEM, "replay: no memory for %d prompts", a->r->n);
    for (int i = 0; i < a->r->n; i++)
        if (!a->r->item[i].answered) todo[n++] = i;
    lab_replay_begin(a->r, n);
    const fr_status st = lab_play_shared(a->r, "none", todo, n, false, take_result, a, err);
    fr_progress_clear(&a->r->bar);
    fr_free(todo);
    a->r->seconds.answers = fr_seconds() - start;
    return st;
}

fr_status lab_replay_answer(lab_replay *r, fr_error *err) {
    answering a = {.r = r, .head = json_pack("{s:o}", "answers_of", lab_replay_settings(r))};
    if (!a.head) return fr_fail(err, FR_ENOMEM, "replay: no memory");
    fr_status st = lab_lines_open(&a.lines, r->args->answers, take_line, &a, err);
    if (!st && !a.has_head) st = lab_lines_add(&a.lines, json_incref(a.head), err);
    if (!st) st = answer_rest(&a, err);
    lab_lines_close(&a.lines);
    json_decref(a.head);
    return st;
}
