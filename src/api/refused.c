// refused.c — fields that would change the text and are not supported. A request that uses one
// gets an error. Values that switch a field off are accepted, because many clients send every
// field.
#include "api/fields.h"
#include "api/value.h"
#include <string.h>

// llama.cpp's other samplers, by the value that turns each off.
static const struct {
    const char *name;
    double off_from, off_to;
} SAMPLERS[] = {
    {"mirostat", 0, 0},
    {"dry_multiplier", 0, 0},
    {"xtc_probability", 0, 0},
    {"typical_p", 1, 1e9},
    {"top_n_sigma", -1e9, 0},
    {"dynatemp_range", 0, 0},
    {"adaptive_target", -1e9, -1e-9},
    {"min_keep", -1e9, 1},
};

// vLLM's and SGLang's fields that are not supported and would change the text. A number `off`
// changes nothing; of the other fields an empty value, or false, changes nothing.
static const struct {
    const char *name;
    bool number;
    double off;
    const char *why;
} OTHERS[] = {
    {"min_tokens", true, 0, "an answer ends where the model ends it"},
    {"min_new_tokens", true, 0, "an answer ends where the model ends it"},
    {"length_penalty", true, 1, "there is no search by beams"},
    {"use_beam_search", false, 0, "there is no search by beams"},
    {"bad_words", false, 0, "words are not forbidden here"},
    {"allowed_token_ids", false, 0, "tokens are not chosen by a list here"},
    {"include_stop_str_in_output", false, 0, "a text ends in front of its stop string"},
    {"logits_processors", false, 0, "there are none here"},
    {"truncate_prompt_tokens", true, -1, "prompts are not cut here"},
    {"chat_template", false, 0, "the template is the server's"},
};

static bool is_empty(const json_t *value) {
    const bool none = json_is_string(value) && !json_string_length(value);
    return !value || none || json_is_false(value) ||
           (json_is_array(value) && !json_array_size(value));
}

// Empty, or an object of empty members.
static bool says_nothing(const json_t *value) {
    const char *name;
    json_t *member, *object = (json_t *)(uintptr_t)value;
    if (!json_is_object(value)) return is_empty(value);
    json_object_foreach(object, name, member) {
        if (!json_is_null(member) && !is_empty(member)) return false;
    }
    return true;
}

static fr_status refuse_vllms(const fr_api_request *r, fr_error *err) {
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
        const json_t *value = fr_api_member(r->root, OTHERS[i].name);
        double x;
        if (!value) continue;
        if (OTHERS[i].number && !fr_api_number(value, false, &x))
            return fr_api_wrong(err, value, "a number", "%s", OTHERS[i].name);
        if (OTHERS[i].number ? x != OTHERS[i].off : !is_empty(value))
            return fr_fail(err, FR_EARG, "%s: %s: leave it out", OTHERS[i].name, OTHERS[i].why);
    }
    if (json_is_false(fr_api_member(r->root, "skip_special_tokens")))
        return fr_fail(err, FR_EARG,
                       "skip_special_tokens: control tokens are not shown: leave it out");
    if (r->kind == FR_API_CHAT && json_is_true(fr_api_member(r->root, "echo")))
        return fr_fail(err, FR_EARG, "echo: a conversation is not repeated: leave it out");
    return FR_OK;
}

static fr_status refuse_samplers(const json_t *root, fr_error *err) {
    for (size_t i = 0; i < sizeof SAMPLERS / sizeof *SAMPLERS; i++) {
        const json_t *value = fr_api_member(root, SAMPLERS[i].name);
        double x;
        if (!value) continue;
        if (!fr_api_number(value, false, &x))
            return fr_api_wrong(err, value, "a number", "%s", SAMPLERS[i].name);
        if (x < SAMPLERS[i].off_from || x > SAMPLERS[i].off_to)
            return fr_fail(err, FR_EARG, "%s: this sampler is not there: leave it out",
                           SAMPLERS[i].name);
    }
    return FR_OK;
}

static fr_status refuse_format(const json_t *root, fr_error *err) {
    const json_t *format = fr_api_member(root, "response_format");
    if (!format) return FR_OK;
    const json_t *type = fr_api_member(format, "type");
    if (!json_is_object(format)) return fr_api_wrong(err, format, "an object", "response_format");
    const char *text = fr_api_text(type);
    if (!text) return fr_api_wrong(err, type, "a string", "response_format.type");
    if (!strcmp(text, "text")) return FR_OK;
    if (strcmp(text, "json_object") && strcmp(text, "json_schema"))
        return fr_api_wrong(err, type, "text", "response_format.type");
    return fr_fail(err, FR_EARG,
                   "response_format.type: answers cannot be constrained here: expected text");
}

static fr_status refuse_completion(const fr_api_request *r, fr_error *err) {
    const json_t *best = fr_api_member(r->root, "best_of");
    double x;
    if (r->kind != FR_API_COMPLETION) return FR_OK;
    if (best && !fr_api_number(best, true, &x))
        return fr_api_wrong(err, best, "a whole number", "best_of");
    if (best && x != r->n)
        return fr_fail(err, FR_EARG, "best_of: answers are not compared here: expected %d, as n",
                       r->n);
    if (!is_empty(fr_api_member(r->root, "suffix")))
        return fr_fail(err, FR_EARG, "suffix: a text is not filled in here: leave it out");
    return FR_OK;
}

// Fields of llama.cpp, of Anthropic (output_format, output_config.format), of vLLM and of SGLang.
static fr_status refuse_constraints(const json_t *root, fr_error *err) {
    const json_t *outputs = fr_api_member(root, "structured_outputs");
    const struct {
        const char *name;
        const json_t *value;
    } constraints[] = {
        {"grammar", fr_api_member(root, "grammar")},
        {"json_schema", fr_api_member(root, "json_schema")},
        {"output_format", fr_api_member(root, "output_format")},
        {"output_config.format", fr_api_member(fr_api_member(root, "output_config"), "format")},
        {"structured_outputs", says_nothing(outputs) ? NULL : outputs},
        {"guided_json", fr_api_member(root, "guided_json")},
        {"guided_regex", fr_api_member(root, "guided_regex")},
        {"guided_choice", fr_api_member(root, "guided_choice")},
        {"guided_grammar", fr_api_member(root, "guided_grammar")},
        {"structural_tag", fr_api_member(root, "structural_tag")},
        {"regex", fr_api_member(root, "regex")},
        {"ebnf", fr_api_member(root, "ebnf")},
    };
    for (size_t i = 0; i < sizeof constraints / sizeof *constraints; i++)
        if (!is_empty(constraints[i].value))
            return fr_fail(err, FR_EARG, "%s: answers cannot be constrained here: leave it out",
                           constraints[i].name);
    return FR_OK;
}

// Requests for other output than text, or for tools of other kinds.
static fr_status refuse_others(const json_t *root, fr_error *err) {
    const json_t *kinds = fr_api_member(root, "modalities");
    const json_t *forced = fr_api_member(root, "function_call");
    if (forced && !fr_api_is(forced, "auto") && !fr_api_is(forced, "none"))
        return fr_fail(err, FR_EARG,
                       "function_call: a call cannot be forced here: expected tools, and a "
                       "tool_choice of auto or none");
    if (!is_empty(fr_api_member(root, "functions")))
        return fr_fail(err, FR_EARG, "functions: expected tools, which have taken their place");
    if (!is_empty(fr_api_member(root, "mcp_servers")))
        return fr_fail(err, FR_EARG, "mcp_servers: none is asked from here: leave it out");
    if (kinds && !json_is_array(kinds)) return fr_api_wrong(err, kinds, "a list", "modalities");
    for (size_t i = 0; i < json_array_size(kinds); i++)
        if (!fr_api_is(json_array_get(kinds, i), "text"))
            return fr_api_wrong(err, json_array_get(kinds, i), "text", "modalities[%zu]", i);
    return FR_OK;
}

fr_status fr_api_refuse(const fr_api_request *r, fr_error *err) {
    fr_status st = refuse_constraints(r->root, err);
    if (st) return st;
    if (!is_empty(fr_api_member(r->root, "lora")))
        return fr_fail(err, FR_EARG, "lora: there are no adapters here: leave it out");
    if (r->post_sampling && r->echo && r->logprobs)
        return fr_fail(
            err, FR_EARG,
            "post_sampling_probs: expected no \"echo\" beside it: a prompt is not drawn");
    st = refuse_samplers(r->root, err);
    if (!st) st = refuse_vllms(r, err);
    if (!st) st = refuse_others(r->root, err);
    if (!st) st = refuse_format(r->root, err);
    return st ? st : refuse_completion(r, err);
}
