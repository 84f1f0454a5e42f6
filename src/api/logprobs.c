#include "api/logprobs.h"
#include "base/alloc.h"
#include <math.h>
#include <string.h>

// A probability that rounds to 0 has no finite logarithm, and JSON has no infinity.
static json_t *real(float x) {
    return json_real(isfinite(x) ? (double)x : -9999.0);
}

static json_t *text_of(const fr_api_scored *s, int32_t id) {
    size_t n;
    const char *bytes = fr_token_bytes(s->tokenizer, id, &n);
    return fr_json_text(bytes ? bytes : "", n);
}

static json_t *bytes_of(const fr_api_scored *s, int32_t id) {
    size_t n;
    const char *bytes = fr_token_bytes(s->tokenizer, id, &n);
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++)
        if (json_array_append_new(list, json_integer((uint8_t)bytes[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *entry(const fr_api_scored *s, int32_t id, float logprob, bool with_id) {
    json_t *o = json_pack("{s:o, s:o, s:o}", "token", text_of(s, id), s->drawn ? "prob" : "logprob",
                          s->drawn ? json_real((double)expf(logprob)) : real(logprob), "bytes",
                          bytes_of(s, id));
    if (with_id && o && json_object_set_new(o, "id", json_integer(id))) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static int n_listed(const fr_api_scored *s, int i) {
    return s->score[i].n_top < s->n_top ? s->score[i].n_top : s->n_top;
}

static json_t *whole_entry(const fr_api_scored *s, int i, bool with_id) {
    json_t *top = json_array(), *o = entry(s, s->token[i], s->score[i].logprob, with_id);
    for (int k = 0; k < n_listed(s, i); k++) {
        const fr_logprob *likely = &s->score[i].top[k];
        if (json_array_append_new(top, entry(s, likely->token, likely->logprob, with_id)))
            goto fail;
    }
    if (!top || !o || json_object_set(o, s->drawn ? "top_probs" : "top_logprobs", top)) goto fail;
    json_decref(top);
    return o;
fail:
    json_decref(top);
    json_decref(o);
    return NULL;
}

static json_t *entries(const fr_api_scored *s, bool with_id) {
    json_t *list = json_array();
    for (int i = 0; list && i < s->n; i++)
        if (json_array_append_new(list, whole_entry(s, i, with_id))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

json_t *fr_api_chat_logprobs(const fr_api_scored *s) {
    return json_pack("{s:o, s:n}", "content", entries(s, false), "refusal");
}

json_t *fr_api_llama_logprobs(const fr_api_scored *s) {
    return entries(s, true);
}

// The likeliest tokens by their texts; of two with one text the likelier.
static json_t *map_of(const fr_api_scored *s, int i) {
    json_t *map = json_object();
    for (int k = -1; map && k < n_listed(s, i); k++) {
        const int32_t id = k < 0 ? s->token[i] : s->score[i].top[k].token;
        const float logprob = k < 0 ? s->score[i].logprob : s->score[i].top[k].logprob;
        json_t *text = text_of(s, id);
        const char *key = json_string_value(text);
        if (key && !json_object_get(map, key)) json_object_set_new(map, key, real(logprob));
        json_decref(text);
    }
    return map;
}

int fr_api_text_characters(const char *text, size_t bytes) {
    int count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += ((uint8_t)text[i] & 0xc0) != 0x80;
    return count;
}

// Characters that a token begins.
static int characters_of(const fr_tokenizer *t, int32_t id) {
    size_t n;
    const char *bytes = fr_token_shown(t, id, &n);
    return fr_api_text_characters(bytes, n);
}

// ... and of a token of a prompt, whose text is at text[*at]; *at is moved past it. Text that
// tokenizing adds is not there: a token at the beginning, and the space before the first word.
static int echoed_characters(const fr_api_scored *s, int32_t id, size_t *at) {
    size_t n;
    const char *bytes = fr_token_bytes(s->tokenizer, id, &n), *text = s->echoed->data;
    const size_t left = s->echoed->n - *at, from = *at;
    if (!bytes || !n || !left) return 0;
    if (n <= left && !memcmp(bytes, text + from, n))
        *at += n;
    else if (*bytes == ' ' && n - 1 <= left && !memcmp(bytes + 1, text + from, n - 1))
        *at += n - 1;
    return fr_api_text_characters(text + from, *at - from);
}

int fr_api_characters(const fr_tokenizer *t, const int32_t *token, int n) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += characters_of(t, token[i]);
    return count;
}

json_t *fr_api_text_logprobs(const fr_api_scored *s) {
    json_t *tokens = json_array(), *own = json_array(), *top = json_array(), *at = json_array();
    int offset = s->offset, bad = 0;
    size_t echoed = 0;
    for (int i = 0; i < s->n; i++) {
        const bool none = s->unscored && !i;
        bad |= json_array_append_new(tokens, text_of(s, s->token[i]));
        bad |= json_array_append_new(own, none ? json_null() : real(s->score[i].logprob));
        bad |= json_array_append_new(top, none ? json_null() : map_of(s, i));
        bad |= json_array_append_new(at, json_integer(offset));
        offset += i < s->n_echoed ? echoed_characters(s, s->token[i], &echoed)
                                  : characters_of(s->tokenizer, s->token[i]);
    }
    json_t *all = json_pack("{s:o, s:o, s:o, s:o}", "tokens", tokens, "token_logprobs", own,
                            "top_logprobs", top, "text_offset", at);
    if (!bad) return all;
    json_decref(all);
    return NULL;
}

static fr_api_scored joined(const fr_api_scored *prompt, const fr_api_scored *answer, int32_t *ids,
                            fr_logprobs *scores) {
    const size_t n = (size_t)prompt->n, m = (size_t)answer->n;
    fr_api_scored all = *prompt;
    memcpy(ids, prompt->token, sizeof *ids * n);
    memcpy(scores, prompt->score, sizeof *scores * n);
    if (m) memcpy(ids + n, answer->token, sizeof *ids * m);
    if (m) memcpy(scores + n, answer->score, sizeof *scores * m);
    all.token = ids;
    all.score = scores;
    all.n += answer->n;
    all.n_echoed = prompt->n;
    all.unscored = true;
    return all;
}

json_t *fr_api_echoed_logprobs(const fr_api_scored *prompt, const fr_api_scored *answer) {
    const size_t n = (size_t)(prompt->n + answer->n);
    int32_t *ids = fr_alloc_array(n, sizeof *ids);
    fr_logprobs *scores = fr_alloc_array(n, sizeof *scores);
    json_t *list = NULL;
    if (ids && scores) {
        const fr_api_scored all = joined(prompt, answer, ids, scores);
        list = fr_api_text_logprobs(&all);
    }
    fr_free(ids);
    fr_free(scores);
    return list;
}
