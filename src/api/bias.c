// bias.c — logit_bias: OpenAI's object of ids, llama.cpp's list of pairs. A text in the place of
// an id means all its tokens; false in the place of a bias means never.
#include "api/fields.h"
#include "api/value.h"
#include "base/buffer.h"
#include "decode/draw/penalty.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
    fr_api_request *r;
    const fr_api_model *model;
    fr_error *err;
    char path[96]; // of the current entry
} reader;

static fr_status push(const reader *b, int32_t token, float bias) {
    fr_api_request *r = b->r;
    if (r->n_bias == (size_t)b->model->n_vocab)
        return fr_fail(b->err, FR_EARG,
                       "logit_bias: expected at most %d tokens, as the model has, found more",
                       b->model->n_vocab);
    if (!fr_list_reserve((void **)&r->bias, &r->cap_bias, r->n_bias, 1, sizeof *r->bias))
        return fr_fail(b->err, FR_ENOMEM, "logit_bias: no memory for %zu entries", r->n_bias + 1);
    r->bias[r->n_bias++] = (fr_logit_bias){token, bias};
    return FR_OK;
}

static fr_status read_value(const reader *b, const json_t *value, float *bias) {
    double x;
    if (json_is_false(value)) {
        *bias = -INFINITY;
        return FR_OK;
    }
    if (!fr_api_number(value, false, &x) || !(x >= -100 && x <= 100))
        return fr_api_wrong(b->err, value, "a number from -100 to 100, or false", "%s", b->path);
    *bias = (float)x;
    return FR_OK;
}

static fr_status push_text(const reader *b, const char *text, size_t bytes, float bias) {
    fr_ids ids = {0};
    fr_status st = fr_tokenizer_encode_watched(b->model->tokenizer, text, bytes, 0, b->model->watch,
                                               &ids, b->err);
    for (size_t i = 0; i < ids.n && !st; i++)
        st = push(b, ids.data[i], bias);
    fr_ids_free(&ids);
    return st;
}

// The key of an object: an id in digits, else a text.
static fr_status push_key(const reader *b, const char *key, float bias) {
    const size_t n = strlen(key), digits = strspn(key, "0123456789");
    double id = 0;
    if (!n || digits != n) return push_text(b, key, n, bias);
    for (size_t i = 0; i < n; i++)
        id = id * 10 + (key[i] - '0');
    if (id < b->model->n_vocab) return push(b, (int32_t)id, bias);
    return fr_fail(b->err, FR_EARG, "%s: expected a token id below %d", b->path, b->model->n_vocab);
}

static fr_status read_object(reader *b, const json_t *object) {
    json_t *o = (json_t *)object; // Jansson's iterators want it so; nothing is changed
    fr_status st = FR_OK;
    for (void *it = json_object_iter(o); it && !st; it = json_object_iter_next(o, it)) {
        const char *key = json_object_iter_key(it);
        float bias = 0;
        snprintf(b->path, sizeof b->path, "logit_bias.%.64s", key);
        st = read_value(b, json_object_iter_value(it), &bias);
        if (!st) st = push_key(b, key, bias);
    }
    return st;
}

static fr_status read_list(reader *b, const json_t *list) {
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(list) && !st; i++) {
        const json_t *pair = json_array_get(list, i), *what = json_array_get(pair, 0);
        float bias = 0;
        snprintf(b->path, sizeof b->path, "logit_bias[%zu]", i);
        if (json_array_size(pair) != 2)
            return fr_api_wrong(b->err, pair, "a pair of a token and its bias", "%s", b->path);
        snprintf(b->path, sizeof b->path, "logit_bias[%zu][1]", i);
        if ((st = read_value(b, json_array_get(pair, 1), &bias))) return st;
        if (fr_json_is_text(what)) {
            st = push_text(b, json_string_value(what), json_string_length(what), bias);
            continue;
        }
        int32_t id;
        snprintf(b->path, sizeof b->path, "logit_bias[%zu]", i);
        st = fr_api_token_id(what, b->model->n_vocab, b->path, 0, &id, b->err);
        if (!st) st = push(b, id, bias);
    }
    return st;
}

static fr_status read_biases(reader *b, const json_t *value) {
    if (!value) return FR_OK;
    if (json_is_object(value)) return read_object(b, value);
    if (json_is_array(value)) return read_list(b, value);
    return fr_api_wrong(b->err, value, "an object or a list of pairs", "logit_bias");
}

// The engine does this too, but here the error comes before queueing and before a stream begins.
static fr_status check_some_left(const reader *b) {
    const fr_sampling s = {.repeat_penalty = 1, .bias = b->r->bias, .n_bias = (int)b->r->n_bias};
    fr_error why;
    const fr_status st = fr_penalty_check(&s, b->model->n_vocab, &why);
    if (st != FR_EARG) return st ? fr_fail(b->err, st, "%s", why.text) : FR_OK;
    return fr_fail(b->err, FR_EARG, "logit_bias: expected a token that may come, found none of %d",
                   b->model->n_vocab);
}

fr_status fr_api_read_bias(fr_api_request *r, const fr_api_model *model, fr_error *err) {
    reader b = {.r = r, .model = model, .err = err};
    const fr_status st = read_biases(&b, fr_api_member(r->root, "logit_bias"));
    return st ? st : check_some_left(&b);
}
