// fields.c — the table of plain fields: one value each, of a type and a range.
#include "api/fields.h"
#include "api/value.h"
#include "decode/draw/sampler.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef enum field_type { BOOL, INT, FLOAT, TEXT } field_type;
enum { CHAT = 1, COMPLETION = 2, BOTH = CHAT | COMPLETION };

typedef struct field {
    const char *name;
    field_type type;
    unsigned where;
    size_t offset; // into fr_api_request: bool, int, float, const char *
    double min, max;
} field;

// clang-format off
#define AT(member) offsetof(fr_api_request, member)
static const field FIELDS[] = {
    {"model",                 TEXT,  BOTH, AT(model),                      0, 0},
    {"user",                  TEXT,  BOTH, AT(user),                       0, 0},
    {"drafter",               TEXT,  BOTH, AT(drafter),                    0, 0},
    {"temperature",           FLOAT, BOTH, AT(sampling.temperature),       0, FR_TEMPERATURE_MAX},
    {"top_k",                 INT,   BOTH, AT(sampling.top_k),             -1, INT_MAX},
    {"top_p",                 FLOAT, BOTH, AT(sampling.top_p),             0, 1},
    {"min_p",                 FLOAT, BOTH, AT(sampling.min_p),             0, 1},
    // vLLM's name for the next one, which goes first.
    {"repetition_penalty",    FLOAT, BOTH, AT(sampling.repeat_penalty),    0.01, FR_REPEAT_PENALTY_MAX},
    {"repeat_penalty",        FLOAT, BOTH, AT(sampling.repeat_penalty),    0.01, FR_REPEAT_PENALTY_MAX},
    {"repeat_last_n",         INT,   BOTH, AT(sampling.repeat_last_n),     -1, INT_MAX},
    {"frequency_penalty",     FLOAT, BOTH, AT(sampling.frequency_penalty), -2, 2},
    {"presence_penalty",      FLOAT, BOTH, AT(sampling.presence_penalty),  -2, 2},
    // Of those that are there the last one counts.
    {"max_tokens",            INT,   BOTH, AT(n_predict),                  -1, INT_MAX},
    {"max_completion_tokens", INT,   BOTH, AT(n_predict),                  -1, INT_MAX},
    {"n_predict",             INT,   BOTH, AT(n_predict),                  -1, INT_MAX},
    {"n",                     INT,   BOTH, AT(n),                          1, FR_API_CHOICES},
    {"n_cmpl",                INT,   BOTH, AT(n),                          1, FR_API_CHOICES},
    {"n_indent",              INT,   BOTH, AT(indent),                     0, INT_MAX},
    {"t_max_predict_ms",      FLOAT, BOTH, AT(line_ms),                    -1e12, 1e12},
    {"ignore_eos",            BOOL,  BOTH, AT(ignore_eos),                 0, 0},
    {"stream",                BOOL,  BOTH, AT(stream),                     0, 0},
    {"echo",                  BOOL,  COMPLETION, AT(echo),                 0, 0},
    {"top_logprobs",          INT,   CHAT, AT(top_logprobs),               0, FR_TOP_LOGPROBS},
    {"n_probs",               INT,   BOTH, AT(n_probs),                    0, FR_TOP_LOGPROBS},
    {"post_sampling_probs",   BOOL,  BOTH, AT(post_sampling),              0, 0},
    {"cache_prompt",          BOOL,  BOTH, AT(cache_prompt),               0, 0},
    {"timings_per_token",     BOOL,  BOTH, AT(timings_per_token),          0, 0},
    {"return_tokens",         BOOL,  BOTH, AT(return_tokens),              0, 0},
    {"return_drafted",        BOOL,  CHAT, AT(return_drafted),             0, 0},
    {"parallel_tool_calls",   BOOL,  CHAT, AT(several_calls),              0, 0},
    {"return_progress",       BOOL,  BOTH, AT(return_progress),            0, 0},
    {"verbose",               BOOL,  BOTH, AT(verbose),                    0, 0},
    {"id_slot",               INT,   BOTH, AT(id_slot),                    -1, INT_MAX},
};
// clang-format on

static fr_status read_number(const field *f, const json_t *value, void *to, fr_error *err) {
    char expected[80];
    double x;
    const bool whole = f->type == INT;
    if (!fr_api_number(value, whole, &x) || !(x >= f->min && x <= f->max)) {
        snprintf(expected, sizeof expected, "a %snumber from %.10g to %.10g", whole ? "whole " : "",
                 f->min, f->max);
        return fr_api_wrong(err, value, expected, "%s", f->name);
    }
    if (whole)
        *(int *)to = (int)x;
    else
        *(float *)to = (float)x;
    return FR_OK;
}

static fr_status read_field(const field *f, const json_t *value, void *to, fr_error *err) {
    switch (f->type) {
    case BOOL:
        if (!json_is_boolean(value))
            return fr_api_wrong(err, value, "true or false", "%s", f->name);
        *(bool *)to = json_is_true(value);
        return FR_OK;
    case TEXT:
        if (!(*(const char **)to = fr_api_text(value)))
            return fr_api_wrong(err, value, "a string", "%s", f->name);
        return FR_OK;
    case INT:
    case FLOAT:
        break;
    }
    return read_number(f, value, to, err);
}

fr_status fr_api_read_fields(fr_api_request *r, fr_error *err) {
    const unsigned kind = r->kind == FR_API_CHAT ? CHAT : COMPLETION;
    fr_status st = FR_OK;
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS && !st; i++) {
        const field *f = &FIELDS[i];
        const json_t *value = f->where & kind ? fr_api_member(r->root, f->name) : NULL;
        if (value) st = read_field(f, value, (char *)r + f->offset, err);
    }
    return st;
}
