// scan_literals.c — calls as programs write them: NAME(KEY=VALUE, ...) and NAME{KEY:VALUE, ...}.
#include "api/scan_parts.h"
#include "api/take.h"
#include <string.h>

// Bytes of the name in front of the bracket; 0: it is none.
static size_t name_before(const fr_call_scan *s, const char *text) {
    const char *suffix = s->form->suffix ? s->form->suffix : "";
    const size_t n = s->at - 1 - s->from, more = strlen(suffix);
    if (n <= more || memcmp(text + s->at - 1 - more, suffix, more) != 0) return 0;
    return n - more;
}

// Whether a tool of that name is offered, or it is not known which ones are.
static bool is_offered(const fr_call_scan *s, const char *name, size_t n) {
    for (size_t i = 0; i < json_array_size(s->offered); i++) {
        const json_t *tool = json_object_get(json_array_get(s->offered, i), "function");
        const json_t *its = json_object_get(tool, "name");
        if (json_string_length(its) == n && !memcmp(json_string_value(its), name, n)) return true;
    }
    return !s->offered;
}

// In Gemma's calls of tools that are offered, strings may lack their quotes. All other text in such
// brackets explains the form, as in "call:NAME{KEY:VALUE}".
static unsigned style_of(const fr_call_scan *s, const char *name, size_t n) {
    if (s->kind == FR_BODY_PYTHON)
        return s->form->apostrophes ? FR_LITERAL_PYTHON | FR_LITERAL_APOSTROPHES
                                    : FR_LITERAL_PYTHON;
    return is_offered(s, name, n) ? FR_LITERAL_QUOTES | FR_LITERAL_BARE : FR_LITERAL_QUOTES;
}

static fr_call_verdict at_function(fr_call_scan *s, const char *text, char c) {
    const bool python = s->kind == FR_BODY_PYTHON;
    if (c != (python ? '(' : '{'))
        return fr_is_call_name(&c, 1) && s->at - s->from <= FR_MOST_NAME ? FR_CALL_MAYBE
                                                                         : FR_CALL_NOT;
    const size_t n = name_before(s, text);
    if (!n) return FR_CALL_NOT;
    s->literal = (fr_literal_walk){.style = style_of(s, text + s->from, n)};
    if (s->taker) {
        fr_take_name(s->taker, text + s->from, n);
        s->literal.out = &s->taker->json;
    }
    (void)fr_literal_step(&s->literal, c);
    return fr_scan_go(s, FR_AT_LITERAL);
}

static fr_call_verdict end_literal(fr_call_scan *s) {
    s->n_objects++;
    s->closed = !s->list;
    s->no_memory |= s->literal.no_memory;
    if (s->taker) fr_take_end(s->taker);
    return fr_scan_go(s, FR_AT_OPEN);
}

fr_call_verdict fr_scan_literal(fr_call_scan *s, const char *text, char c) {
    if (s->place == FR_AT_FUNCTION) return at_function(s, text, c);
    const fr_walked is = fr_literal_step(&s->literal, c);
    if (s->literal.ended) s->quoted = s->at;
    if (is == FR_WALKED_ALL) return end_literal(s);
    return is == FR_WALKED_WRONG ? FR_CALL_NOT : FR_CALL_MAYBE;
}
