// call_scan.c — a state machine: a state ("place") for each part of the forms of calls
// (answer.h).
//
// A text that turns out to be no call is read again from the next mark in it. No byte is read more
// than three times. A reading passes a mark only inside a string, "..." or '...'. A new reading,
// which begins at the mark, is inside neither. Each quote changes the state of all readings, so two
// of them are never inside the same kind of string.
#include "api/call_scan.h"
#include "api/answer_parts.h"
#include "api/marks.h"
#include <ctype.h>
#include <string.h>

enum { MOST_NAME = 256, MOST_WORD = 512 };

typedef enum place {
    OPEN, // between objects, or before the first
    OBJECT,
    DOUBLED, // before the second brace at its end
    MARK,    // in an end mark, or the next call's mark
    NAME,    // Mistral's or Python's
    NAMED,   // after Mistral's name or a mark: before the arguments, or another mark
    NAME_MARK,
    CALL_ID,
    NO_ARGUMENTS, // "null"
    ARGUMENTS,
    KEY, // Python's
    EQUALS,
    BEFORE_VALUE,
    WORD,
    QUOTED,
    ESCAPED,
    NESTED,
    AFTER_VALUE,
} place;

enum { OTHER, ITS_NAME, ITS_ARGUMENTS, ITS_PARAMETERS }; // members of a call's object

// What ends a call, or begins the next.
static const struct {
    const char *end[4], *begin;
} AFTER[] = {[FR_API_MARKED] = {{MARK_END_CALL}, MARK_CALL},
             [FR_API_ALONE] = {{NULL}, MARK_PYTHON},
             [FR_API_BARE] = {{NULL}, NULL},
             [FR_API_FENCED] = {{"```"}, NULL},
             [FR_API_MISTRAL] = {{NULL}, NULL},
             [FR_API_TAGGED] = {{NULL}, MARK_PYTHON},
             [FR_API_HARMONY] = {{MARK_END, "<|call|>", "<|return|>"}, MARK_START}};

void fr_call_scan_begin(fr_call_scan *s, fr_api_form form, const json_t *offered, size_t space,
                        size_t mark) {
    *s = (fr_call_scan){
        .form = form, .offered = offered, .space = space, .head = space + mark, .at = space + mark};
}

// ---------------------------------------------------------------- names

bool fr_is_call_name(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr("_-.:/", text[i])))
            return false;
    return n && n <= MOST_NAME;
}

bool fr_is_call_unsure(fr_api_form form) {
    return form == FR_API_ALONE || form == FR_API_BARE || form == FR_API_FENCED;
}

bool fr_is_call_offered(fr_api_form form, const json_t *offered, const char *name) {
    if (!offered || !fr_is_call_unsure(form)) return true;
    for (size_t i = 0; i < json_array_size(offered); i++) {
        const json_t *tool = json_object_get(json_array_get(offered, i), "function");
        const char *its = json_string_value(json_object_get(tool, "name"));
        if (its && !strcmp(its, name)) return true;
    }
    return false;
}

static bool is_tools_name(fr_call_scan *s, const char *json, size_t n) {
    json_t *name = fr_call_json(json, n, &s->no_memory);
    const bool good = json_string_length(name) > 0 &&
                      fr_is_call_offered(s->form, s->offered, json_string_value(name));
    json_decref(name);
    return good;
}

// ---------------------------------------------------------------- steps

static fr_call_verdict go(fr_call_scan *s, place next) {
    s->place = (uint8_t)next;
    return FR_CALL_MAYBE;
}

// The call's text ends `cut` bytes in front of here. The last `rest` bytes belong to what follows.
static fr_call_verdict whole(fr_call_scan *s, size_t cut, size_t rest) {
    s->end = s->at - cut;
    s->next = s->at - rest;
    return FR_CALL_WHOLE;
}

static void walk_from(fr_call_scan *s, char c) {
    s->from = s->at - 1;
    s->json = (fr_json_walk){0};
    (void)fr_json_walk_step(&s->json, c);
}

static fr_call_verdict begin_object(fr_call_scan *s, char c) {
    if (s->form == FR_API_HARMONY) s->closed = true;
    s->has_key = s->doubled = s->named = s->has_values = false;
    s->member = OTHER;
    walk_from(s, c);
    return go(s, s->form == FR_API_HARMONY ? ARGUMENTS : OBJECT);
}

// Whether the text may end here, so that a mark may follow.
static bool may_end(const fr_call_scan *s) {
    return (s->n_objects > 0 && (!s->list || s->closed)) || s->form == FR_API_HARMONY;
}

static fr_call_verdict at_mark(fr_call_scan *s, const char *text) {
    const char *from = text + s->from, *const *end = AFTER[s->form].end;
    const size_t n = s->at - s->from;
    bool may = false;
    for (int i = 0; i < 4 && end[i]; i++) {
        const fr_begins is = fr_begins_with(from, n, end[i]);
        if (is == FR_BEGINS) return whole(s, n, 0);
        may |= is == FR_BEGINS_MAYBE;
    }
    if (AFTER[s->form].begin) {
        const fr_begins is = fr_begins_with(from, n, AFTER[s->form].begin);
        if (is == FR_BEGINS) return whole(s, n, n);
        may |= is == FR_BEGINS_MAYBE;
    }
    return may ? go(s, MARK) : FR_CALL_NOT;
}

static fr_call_verdict begin_mark(fr_call_scan *s, const char *text) {
    s->from = s->at - 1;
    return at_mark(s, text);
}

static fr_call_verdict at_open(fr_call_scan *s, const char *text, char c) {
    const bool first = !s->n_objects && !s->list && !s->closed;
    if (fr_is_blank(c)) return FR_CALL_MAYBE;
    if (c == '{' && !s->closed) return begin_object(s, c);
    if (first && s->form == FR_API_HARMONY && c == 'n') {
        s->from = s->at - 1;
        s->closed = true;
        return go(s, NO_ARGUMENTS);
    }
    if (first && c == '[' && !(s->form == FR_API_ALONE || s->form == FR_API_HARMONY)) {
        s->list = true;
        return FR_CALL_MAYBE;
    }
    if (s->n_objects && !s->closed && (c == ',' || c == ';')) return FR_CALL_MAYBE;
    if (s->list && s->n_objects && !s->closed && c == ']') {
        s->closed = true;
        return s->form == FR_API_MISTRAL ? whole(s, 0, 0) : FR_CALL_MAYBE;
    }
    if (may_end(s)) return begin_mark(s, text);
    if (!first || (s->form != FR_API_MISTRAL && s->form != FR_API_TAGGED)) return FR_CALL_NOT;
    s->from = s->at - 1;
    return fr_is_call_name(&c, 1) ? go(s, NAME) : FR_CALL_NOT;
}

// ---------------------------------------------------------------- objects

// Whether an object without a mark may begin with this member.
static bool may_come_first(const fr_call_scan *s, const char *key, size_t n) {
    static const char *const members[] = {"name", "arguments", "type", "id", "parameters"};
    const size_t some = s->form == FR_API_ALONE ? 5 : 2;
    if (s->form != FR_API_ALONE && s->form != FR_API_BARE) return true;
    for (size_t i = 0; i < some; i++)
        if (n == strlen(members[i]) && !memcmp(key, members[i], n)) return true;
    return false;
}

static fr_call_verdict take_key(fr_call_scan *s, const char *text) {
    const char *key = text + s->from + s->json.from + 1;
    const size_t n = s->json.at - s->json.from - 2;
    if (!s->has_key && !may_come_first(s, key, n)) return FR_CALL_NOT;
    s->has_key = true;
    s->member = n == 4 && !memcmp(key, "name", n)          ? ITS_NAME
                : n == 9 && !memcmp(key, "arguments", n)   ? ITS_ARGUMENTS
                : n == 10 && !memcmp(key, "parameters", n) ? ITS_PARAMETERS
                                                           : OTHER;
    s->named &= s->member != ITS_NAME; // the last one counts
    s->has_values |= s->member == ITS_ARGUMENTS;
    return FR_CALL_MAYBE;
}

static fr_call_verdict end_object(fr_call_scan *s) {
    // Marked objects, and those of a template whose calls are JSON alone, may do without arguments.
    if (!s->named || (fr_is_call_unsure(s->form) && s->form != FR_API_ALONE && !s->has_values))
        return FR_CALL_NOT;
    if (s->doubled) return go(s, DOUBLED);
    s->n_objects++;
    if (s->form == FR_API_MISTRAL && !s->list) return whole(s, 0, 0);
    return go(s, OPEN);
}

// An outer brace that is doubled: the inner one begins the object.
static bool doubles(const fr_call_scan *s, char c) {
    return c == '{' && s->json.at == 2 && !s->doubled;
}

static fr_call_verdict in_object(fr_call_scan *s, const char *text, char c) {
    const int depth = s->json.depth; // before the byte
    switch (fr_json_walk_step(&s->json, c)) {
    case FR_WALKED_WRONG:
        if (!doubles(s, c)) return FR_CALL_NOT;
        s->doubled = true;
        walk_from(s, c);
        return FR_CALL_MAYBE;
    case FR_WALKED_KEY:
        return depth == 1 ? take_key(s, text) : FR_CALL_MAYBE;
    case FR_WALKED_BEGIN:
        if (depth > 1 || s->member == OTHER) return FR_CALL_MAYBE;
        if (s->member == ITS_NAME) return c == '"' ? FR_CALL_MAYBE : FR_CALL_NOT;
        return strchr("{\"n", c) ? FR_CALL_MAYBE : FR_CALL_NOT;
    case FR_WALKED_TEXT:
        if (depth > 1 || s->member != ITS_NAME) return FR_CALL_MAYBE;
        s->named = is_tools_name(s, text + s->from + s->json.from, s->json.at - s->json.from);
        return s->named ? FR_CALL_MAYBE : FR_CALL_NOT;
    case FR_WALKED_ALL:
        return end_object(s);
    case FR_WALKED:
        break;
    }
    const bool names = depth == 1 && s->member == ITS_NAME && !s->named;
    return names && s->json.at - s->json.from > MOST_NAME ? FR_CALL_NOT : FR_CALL_MAYBE;
}

static fr_call_verdict at_doubled(fr_call_scan *s, char c) {
    if (c != '}') return FR_CALL_NOT;
    s->doubled = false;
    return end_object(s);
}

// ---------------------------------------------------------------- Mistral's names

static fr_call_verdict before_arguments(fr_call_scan *s, char c) {
    if (fr_is_blank(c)) return go(s, NAMED);
    if (c == '{') {
        walk_from(s, c);
        return go(s, ARGUMENTS);
    }
    s->from = s->at - 1;
    if (c == 'n' && s->after_args) return go(s, NO_ARGUMENTS);
    return c == '[' && !s->after_args ? go(s, NAME_MARK) : FR_CALL_NOT;
}

static fr_call_verdict at_name_mark(fr_call_scan *s, const char *text) {
    const char *from = text + s->from;
    const size_t n = s->at - s->from;
    const fr_begins id = fr_begins_with(from, n, MARK_CALL_ID),
                    args = fr_begins_with(from, n, MARK_ARGS);
    if (args == FR_BEGINS) s->after_args = true;
    if (args == FR_BEGINS) return go(s, NAMED);
    if (id == FR_BEGINS) {
        s->from = s->at;
        return go(s, CALL_ID);
    }
    return id == FR_BEGINS_MAYBE || args == FR_BEGINS_MAYBE ? FR_CALL_MAYBE : FR_CALL_NOT;
}

static fr_call_verdict at_call_id(fr_call_scan *s, char c) {
    if (c == '[' || c == '{') return before_arguments(s, c);
    const bool good = fr_is_blank(c) || fr_is_call_name(&c, 1);
    return good && s->at - s->from <= MOST_NAME ? FR_CALL_MAYBE : FR_CALL_NOT;
}

static fr_call_verdict at_null(fr_call_scan *s, const char *text) {
    switch (fr_begins_with(text + s->from, s->at - s->from, "null")) {
    case FR_BEGINS_MAYBE:
        return FR_CALL_MAYBE;
    case FR_BEGINS:
        return s->form == FR_API_HARMONY ? go(s, OPEN) : whole(s, 0, 0);
    case FR_BEGINS_NOT:
        break;
    }
    return FR_CALL_NOT;
}

static fr_call_verdict in_arguments(fr_call_scan *s, char c) {
    switch (fr_json_walk_step(&s->json, c)) {
    case FR_WALKED_WRONG:
        return FR_CALL_NOT;
    case FR_WALKED_ALL:
        return s->form == FR_API_HARMONY ? go(s, OPEN) : whole(s, 0, 0);
    case FR_WALKED:
    case FR_WALKED_KEY:
    case FR_WALKED_BEGIN:
    case FR_WALKED_TEXT:
        break;
    }
    return FR_CALL_MAYBE;
}

// ---------------------------------------------------------------- Python

static const char DOT_CALL[] = ".call";

// The '(' after a name.
static fr_call_verdict begin_python(fr_call_scan *s, const char *text) {
    const size_t n = s->at - 1 - s->from, dot = sizeof DOT_CALL - 1;
    const bool calls = n > dot && !memcmp(text + s->at - 1 - dot, DOT_CALL, dot);
    return calls ? go(s, KEY) : FR_CALL_NOT;
}

static fr_call_verdict at_name(fr_call_scan *s, const char *text, char c) {
    const bool python = s->form == FR_API_TAGGED;
    if (python && c == '(') return begin_python(s, text);
    if (!python && (fr_is_blank(c) || c == '[' || c == '{')) return before_arguments(s, c);
    return fr_is_call_name(text + s->from, s->at - s->from) ? FR_CALL_MAYBE : FR_CALL_NOT;
}

// The ')' of a call.
static fr_call_verdict end_python(fr_call_scan *s) {
    s->n_objects = 1;
    s->closed = true;
    return go(s, OPEN);
}

static fr_call_verdict at_key(fr_call_scan *s, char c) {
    if (c == ')') return end_python(s);
    if (fr_is_blank(c)) return FR_CALL_MAYBE;
    s->from = s->at - 1;
    return isalpha((unsigned char)c) || c == '_' ? go(s, EQUALS) : FR_CALL_NOT;
}

static fr_call_verdict at_equals(fr_call_scan *s, char c) {
    if (c == '=') return go(s, BEFORE_VALUE);
    const bool good = isalnum((unsigned char)c) || c == '_' || fr_is_blank(c);
    return good && s->at - s->from <= MOST_NAME ? FR_CALL_MAYBE : FR_CALL_NOT;
}

static fr_call_verdict before_value(fr_call_scan *s, char c) {
    if (fr_is_blank(c)) return FR_CALL_MAYBE;
    s->from = s->at - 1;
    if (c == '"' || c == '\'') {
        s->quote = c;
        return go(s, QUOTED);
    }
    if (c == '{' || c == '[') {
        walk_from(s, c);
        return go(s, NESTED);
    }
    return isalnum((unsigned char)c) || c == '-' ? go(s, WORD) : FR_CALL_NOT;
}

static fr_call_verdict end_value(fr_call_scan *s, const char *text, char c) {
    size_t n = s->at - 1 - s->from;
    while (n && fr_is_blank(text[s->from + n - 1]))
        n--;
    json_t *value = fr_python_value(text + s->from, n, &s->no_memory);
    json_decref(value);
    if (!value) return FR_CALL_NOT;
    return c == ')' ? end_python(s) : go(s, KEY);
}

static fr_call_verdict in_word(fr_call_scan *s, const char *text, char c) {
    if (c == ',' || c == ')') return end_value(s, text, c);
    if (fr_is_blank(c)) return go(s, AFTER_VALUE);
    const bool good = isalnum((unsigned char)c) || c == '.' || c == '+' || c == '-';
    return good && s->at - s->from <= MOST_WORD ? FR_CALL_MAYBE : FR_CALL_NOT;
}

static fr_call_verdict in_quotes(fr_call_scan *s, char c) {
    if (c == s->quote) return go(s, AFTER_VALUE);
    if (c == '\\') return s->quote == '"' ? go(s, ESCAPED) : FR_CALL_NOT;
    return FR_CALL_MAYBE;
}

static fr_call_verdict in_nested(fr_call_scan *s, char c) {
    switch (fr_json_walk_step(&s->json, c)) {
    case FR_WALKED_WRONG:
        return FR_CALL_NOT;
    case FR_WALKED_ALL:
        return go(s, AFTER_VALUE);
    case FR_WALKED:
    case FR_WALKED_KEY:
    case FR_WALKED_BEGIN:
    case FR_WALKED_TEXT:
        break;
    }
    return FR_CALL_MAYBE;
}

static fr_call_verdict after_value(fr_call_scan *s, const char *text, char c) {
    if (fr_is_blank(c)) return FR_CALL_MAYBE;
    return c == ',' || c == ')' ? end_value(s, text, c) : FR_CALL_NOT;
}

// ---------------------------------------------------------------- all

static fr_call_verdict step(fr_call_scan *s, const char *text) {
    const char c = text[s->at++];
    switch ((place)s->place) {
    case OPEN:
        return at_open(s, text, c);
    case OBJECT:
        return in_object(s, text, c);
    case DOUBLED:
        return at_doubled(s, c);
    case MARK:
        return at_mark(s, text);
    case NAME:
        return at_name(s, text, c);
    case NAMED:
        return before_arguments(s, c);
    case NAME_MARK:
        return at_name_mark(s, text);
    case CALL_ID:
        return at_call_id(s, c);
    case NO_ARGUMENTS:
        return at_null(s, text);
    case ARGUMENTS:
        return in_arguments(s, c);
    case KEY:
        return at_key(s, c);
    case EQUALS:
        return at_equals(s, c);
    case BEFORE_VALUE:
        return before_value(s, c);
    case WORD:
        return in_word(s, text, c);
    case QUOTED:
        return in_quotes(s, c);
    case ESCAPED:
        return go(s, QUOTED);
    case NESTED:
        return in_nested(s, c);
    case AFTER_VALUE:
        return after_value(s, text, c);
    }
    return FR_CALL_NOT;
}

fr_call_verdict fr_call_scan_read(fr_call_scan *s, const char *text, size_t n, bool last) {
    while (s->at < n) {
        const fr_call_verdict is = step(s, text);
        if (is != FR_CALL_MAYBE) return is;
    }
    if (!last) return FR_CALL_MAYBE;
    // A mark that is cut short is no part of the call.
    if (s->place == MARK) return whole(s, n - s->from, 0);
    const bool whole_one = s->n_objects || s->closed;
    return s->place == OPEN && whole_one && may_end(s) ? whole(s, 0, 0) : FR_CALL_NOT;
}
