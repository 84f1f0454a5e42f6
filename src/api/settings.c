// settings.c — fields that are more than one value of a type: each in a function of its own.
#include "api/fields.h"
#include "api/value.h"
#include "base/alloc.h"
#include "text/stop.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The number of an integer's digits. False: 64 bits do not hold it.
static bool read_digits(const char *digits, size_t n, uint64_t *out) {
    char text[24] = "";
    if (n >= sizeof text) return false;
    memcpy(text, digits, n);
    errno = 0;
    *out = *text == '-' ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
    return !errno;
}

// A whole number from -2^63 to 2^64 - 2; negative ones are counted from 2^64 downwards. In
// llama.cpp -1 means no seed, so 2^64 - 1, which would equal it, is no valid seed.
static fr_status read_seed(fr_api_request *r, fr_error *err) {
    const json_t *value = fr_api_member(r->root, "seed");
    size_t n;
    double x;
    if (!value) return FR_OK;
    const char *digits = fr_json_digits(value, &n);
    bool good = true, none = false;
    if (digits) {
        good = read_digits(digits, n, &r->sampling.seed) && r->sampling.seed != UINT64_MAX;
    } else if (json_is_integer(value)) {
        r->sampling.seed = (uint64_t)json_integer_value(value);
        none = json_integer_value(value) == -1;
    } else if ((good = fr_api_number(value, true, &x) && fabs(x) < 9.2e18)) {
        r->sampling.seed = (uint64_t)(int64_t)x;
        none = x == -1;
    }
    if (!good) return fr_api_wrong(err, value, "a whole number from -2^63 to 2^64 - 2", "seed");
    r->seed_given = !none;
    return FR_OK;
}

// A string, or a list of them; an empty one stops nothing.
static fr_status read_stop(fr_api_request *r, fr_error *err) {
    const json_t *value = fr_api_member(r->root, "stop");
    if (!value) return FR_OK;
    const size_t n = json_is_array(value) ? json_array_size(value) : 1;
    size_t bytes = 0;
    int used = 0;
    if (n > FR_API_STOPS)
        return fr_fail(err, FR_EARG, "stop: expected at most %d strings, found %zu", FR_API_STOPS,
                       n);
    r->stop = fr_alloc_array(n + 1, sizeof *r->stop);
    if (!r->stop) return fr_fail(err, FR_ENOMEM, "stop: no memory for %zu strings", n);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        const char *text = fr_api_text(item);
        if (!text && item == value)
            return fr_api_wrong(err, value, "a string or a list of strings", "stop");
        if (!text) return fr_api_wrong(err, item, "a string", "stop[%zu]", i);
        if ((bytes += strlen(text)) > FR_STOP_BYTES)
            return fr_fail(err, FR_EARG, "stop: expected at most 1 MiB together, found more");
        if (*text) r->stop[used++] = text;
    }
    return FR_OK;
}

static fr_status read_chat_logprobs(fr_api_request *r, fr_error *err) {
    const json_t *value = fr_api_member(r->root, "logprobs");
    if (value && !json_is_boolean(value))
        return fr_api_wrong(err, value, "true or false", "logprobs");
    if (r->n_probs && !value) { // llama.cpp's name for it
        r->logprobs = true;
        r->top_logprobs = r->n_probs;
        return FR_OK;
    }
    r->logprobs = json_is_true(value);
    if (r->top_logprobs && !r->logprobs)
        return fr_fail(err, FR_EARG, "top_logprobs: expected \"logprobs\": true beside it");
    return FR_OK;
}

static fr_status read_logprobs(fr_api_request *r, fr_error *err) {
    const json_t *value = fr_api_member(r->root, "logprobs");
    double x;
    if (r->kind == FR_API_CHAT) return read_chat_logprobs(r, err);
    if (!value) return FR_OK;
    if (!fr_api_number(value, true, &x) || !(x >= 0 && x <= FR_TOP_LOGPROBS))
        return fr_api_wrong(err, value, "a whole number from 0 to 20", "logprobs");
    r->logprobs = true;
    r->top_logprobs = (int)x;
    return FR_OK;
}

static fr_status read_stream_options(fr_api_request *r, fr_error *err) {
    const json_t *value = fr_api_member(r->root, "stream_options");
    const json_t *usage = fr_api_member(value, "include_usage");
    if (value && !json_is_object(value))
        return fr_api_wrong(err, value, "an object", "stream_options");
    if (usage && !json_is_boolean(usage))
        return fr_api_wrong(err, usage, "true or false", "stream_options.include_usage");
    r->include_usage = json_is_true(usage);
    return FR_OK;
}

static fr_status read_reasoning(fr_api_request *r, fr_error *err) {
    const json_t *value = fr_api_member(r->root, "reasoning_format");
    r->keeps_thinking = fr_api_is(value, "none");
    if (!value || r->keeps_thinking || fr_api_is(value, "auto") || fr_api_is(value, "deepseek"))
        return FR_OK;
    return fr_api_wrong(err, value, "auto, none or deepseek", "reasoning_format");
}

// By vLLM's name the penalty covers the whole text. Its number is a plain field.
static void read_penalty(fr_api_request *r) {
    if (fr_api_member(r->root, "repetition_penalty") && !fr_api_member(r->root, "repeat_penalty") &&
        !fr_api_member(r->root, "repeat_last_n"))
        r->sampling.repeat_last_n = -1;
}

// {"type": "content", "content": a string or a list of text parts}
static fr_status check_prediction(const fr_api_request *r, fr_error *err) {
    const json_t *value = fr_api_member(r->root, "prediction");
    if (!value) return FR_OK;
    const json_t *content = fr_api_member(value, "content");
    const char *type = fr_api_text(fr_api_member(value, "type"));
    if (!type || strcmp(type, "content"))
        return fr_api_wrong(err, value, "an object of \"type\": \"content\"", "prediction");
    if (!fr_json_is_text(content) && !json_is_array(content))
        return fr_api_wrong(err, content, "a string or a list of text parts", "prediction.content");
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        const char *kind = fr_api_text(fr_api_member(part, "type"));
        if (!kind || strcmp(kind, "text") || !fr_json_is_text(fr_api_member(part, "text")))
            return fr_api_wrong(err, part, "{\"type\": \"text\", \"text\": ...}",
                                "prediction.content[%zu]", i);
    }
    return FR_OK;
}

static fr_status check_response_fields(const fr_api_request *r, fr_error *err) {
    const json_t *value = fr_api_member(r->root, "response_fields");
    if (value && !json_is_array(value))
        return fr_api_wrong(err, value, "a list of strings", "response_fields");
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!fr_json_is_text(json_array_get(value, i)))
            return fr_api_wrong(err, json_array_get(value, i), "a string", "response_fields[%zu]",
                                i);
    return FR_OK;
}

fr_status fr_api_read_settings(fr_api_request *r, fr_error *err) {
    fr_status st = read_seed(r, err);
    if (!st) st = read_stop(r, err);
    if (!st) st = read_logprobs(r, err);
    if (!st) st = read_stream_options(r, err);
    if (!st) st = read_reasoning(r, err);
    if (!st) st = fr_api_read_tools(r, err);
    if (!st) read_penalty(r);
    if (!st) st = fr_api_read_samplers(r, err);
    if (!st) st = check_response_fields(r, err);
    return st ? st : check_prediction(r, err);
}
