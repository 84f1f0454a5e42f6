// call_scan.c — a state machine: a state (scan_parts.h) for each place in the forms of calls
// (forms.h). Here are the marks and JSON; names, literals and tags have files of their own.
//
// A reading passes a mark only inside a string, "..." or '...', or in a value between tags. A text that
// turns out to be no call before its end is content up to the last string, or value, that was read
// whole: a mark in it is quoted. From there on the text is read again from the next mark. Such a mark
// is in no whole string. Each quote changes the state of all readings, so two of them are never inside
// the same kind of string, and no byte of JSON is read more than three times. For all other text
// answer.c bounds the work.
#include "api/marks.h"
#include "api/scan_parts.h"
#include <ctype.h>
#include <string.h>

enum { OTHER, ITS_NAME, ITS_ARGUMENTS, ITS_PARAMETERS }; // members of a call's object

static fr_scan_place first_place(const fr_call_form *form) {
    return form->body & FR_BODY_TAGS     ? FR_AT_TAGS_NAME
           : form->body & FR_BODY_BRACES ? FR_AT_FUNCTION
           : form->body & FR_BODY_HEADED ? FR_AT_HEAD
                                         : FR_AT_OPEN;
}

static void begin_body(fr_call_scan *s) {
    s->body = s->from = s->at;
    s->place = (uint8_t)first_place(s->form);
}

void fr_call_scan_begin(fr_call_scan *s, const fr_call_form *form, const json_t *offered,
                        size_t space, size_t mark, bool around) {
    *s = (fr_call_scan){
        .form = form, .offered = offered, .space = space, .head = space + mark, .at = space + mark};
    s->quoted = s->head;
    s->kind = form->body & (FR_BODY_TAGS | FR_BODY_BRACES | FR_BODY_HEADED);
    begin_body(s);
    if (around) s->place = FR_AT_AROUND;
}

// ---------------------------------------------------------------- names

bool fr_is_call_name(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr("_-.:/", text[i])))
            return false;
    return n && n <= FR_MOST_NAME;
}

bool fr_is_call_offered(const fr_call_form *form, const json_t *offered, const char *name) {
    if (!offered || !form->unsure) return true;
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

static void walk_from(fr_call_scan *s, char c) {
    s->from = s->at - 1;
    s->json = (fr_json_walk){0};
    (void)fr_json_walk_step(&s->json, c);
}

static fr_walked walk(fr_call_scan *s, char c) {
    const fr_walked is = fr_json_walk_step(&s->json, c);
    if (is == FR_WALKED_KEY || is == FR_WALKED_TEXT || (is == FR_WALKED_WRONG && s->json.spoiled))
        s->quoted = s->at;
    return is;
}

fr_call_verdict fr_scan_arguments(fr_call_scan *s, char c) {
    walk_from(s, c);
    return fr_scan_go(s, FR_AT_ARGUMENTS);
}

static fr_call_verdict begin_object(fr_call_scan *s, char c) {
    if (s->form->body & FR_BODY_ARGUMENTS) return s->closed = true, fr_scan_arguments(s, c);
    if (s->kind == FR_BODY_PYTHON) return FR_CALL_NOT;
    s->kind = FR_BODY_OBJECTS;
    s->has_key = s->doubled = s->named = s->has_values = false;
    s->member = OTHER;
    walk_from(s, c);
    return fr_scan_go(s, FR_AT_OBJECT);
}

// ---------------------------------------------------------------- marks

// Whether the text may end here, so that a mark may follow.
static bool may_end(const fr_call_scan *s) {
    return (s->n_objects > 0 && (!s->list || s->closed)) || s->form->body & FR_BODY_ARGUMENTS;
}

fr_call_verdict fr_scan_end_mark(fr_call_scan *s, const char *text, bool *may) {
    const char *from = text + s->from, *const begins[] = {s->form->next, s->form->around[1]};
    const size_t n = s->at - s->from;
    for (int i = 0; i < 4 && s->form->end[i]; i++) {
        const fr_begins is = fr_begins_with(from, n, s->form->end[i]);
        if (is == FR_BEGINS) return fr_scan_whole(s, n, 0);
        *may |= is == FR_BEGINS_MAYBE;
    }
    for (int i = 0; i < 2; i++) {
        const fr_begins is = begins[i] ? fr_begins_with(from, n, begins[i]) : FR_BEGINS_NOT;
        if (is == FR_BEGINS) return fr_scan_whole(s, n, n);
        *may |= is == FR_BEGINS_MAYBE;
    }
    return *may ? FR_CALL_MAYBE : FR_CALL_NOT;
}

static fr_call_verdict at_mark(fr_call_scan *s, const char *text) {
    bool may = false;
    s->place = FR_AT_MARK;
    return fr_scan_end_mark(s, text, &may);
}

// After the mark around calls.
static fr_call_verdict at_around(fr_call_scan *s, const char *text, char c) {
    if (s->place == FR_AT_AROUND && fr_is_blank(c)) return FR_CALL_MAYBE;
    if (s->place == FR_AT_AROUND) s->from = s->at - 1;
    const fr_begins is = fr_begins_with(text + s->from, s->at - s->from, s->form->begin);
    if (is == FR_BEGINS) return begin_body(s), FR_CALL_MAYBE;
    return is == FR_BEGINS_MAYBE ? fr_scan_go(s, FR_AT_BEGIN_MARK) : FR_CALL_NOT;
}

// The first byte of a name, in front of the first object, or of one in a list of Python's.
static fr_call_verdict begin_name(fr_call_scan *s, char c, bool first) {
    const int body = s->form->body;
    s->from = s->at - 1;
    if (!fr_is_call_name(&c, 1)) return FR_CALL_NOT;
    if (first && body & FR_BODY_NAMED) return fr_scan_go(s, FR_AT_NAME);
    if (!(body & FR_BODY_PYTHON) || s->closed || s->kind == FR_BODY_OBJECTS) return FR_CALL_NOT;
    s->kind = FR_BODY_PYTHON;
    return fr_scan_go(s, FR_AT_FUNCTION);
}

static fr_call_verdict at_open(fr_call_scan *s, const char *text, char c) {
    const bool first = !s->n_objects && !s->list && !s->closed;
    if (fr_is_blank(c)) return FR_CALL_MAYBE;
    if (c == '{' && !s->closed) return begin_object(s, c);
    if (first && s->form->body & FR_BODY_ARGUMENTS && c == 'n') {
        s->from = s->at - 1;
        s->closed = true;
        return fr_scan_go(s, FR_AT_NULL);
    }
    if (first && c == '[' && s->form->body & FR_BODY_LIST) {
        s->list = true;
        return FR_CALL_MAYBE;
    }
    if (s->n_objects && !s->closed && (c == ',' || c == ';')) return FR_CALL_MAYBE;
    if (s->list && s->n_objects && !s->closed && c == ']') {
        s->closed = true;
        return s->form->at_once ? fr_scan_whole(s, 0, 0) : FR_CALL_MAYBE;
    }
    if (!may_end(s)) return begin_name(s, c, first);
    s->from = s->at - 1;
    return at_mark(s, text);
}

// ---------------------------------------------------------------- objects

// Whether an object without a mark may begin with this member.
static bool may_come_first(const fr_call_scan *s, const char *key, size_t n) {
    static const char *const members[] = {"name", "arguments", "type", "id", "parameters"};
    const size_t some = s->form->any_member ? 5 : 2;
    if (!s->form->unsure || s->form->place != FR_FORM_UNMARKED) return true;
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
    if (!s->named || (s->form->unsure && !s->form->any_member && !s->has_values))
        return FR_CALL_NOT;
    if (s->doubled) return fr_scan_go(s, FR_AT_DOUBLED);
    s->n_objects++;
    if (s->form->at_once && !s->list) return fr_scan_whole(s, 0, 0);
    return fr_scan_go(s, FR_AT_OPEN);
}

// An outer brace that is doubled: the inner one begins the object.
static bool doubles(const fr_call_scan *s, char c) {
    return c == '{' && s->json.at == 2 && !s->doubled;
}

static fr_call_verdict in_object(fr_call_scan *s, const char *text, char c) {
    const int depth = s->json.depth; // before the byte
    switch (walk(s, c)) {
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
    return names && s->json.at - s->json.from > FR_MOST_NAME ? FR_CALL_NOT : FR_CALL_MAYBE;
}

static fr_call_verdict at_doubled(fr_call_scan *s, char c) {
    if (c != '}') return FR_CALL_NOT;
    s->doubled = false;
    return end_object(s);
}

// ---------------------------------------------------------------- arguments after a name

static fr_call_verdict end_arguments(fr_call_scan *s) {
    if (s->form->at_once) return fr_scan_whole(s, 0, 0);
    s->n_objects = 1;
    s->closed = true;
    return fr_scan_go(s, FR_AT_OPEN);
}

static fr_call_verdict at_null(fr_call_scan *s, const char *text) {
    switch (fr_begins_with(text + s->from, s->at - s->from, "null")) {
    case FR_BEGINS_MAYBE:
        return FR_CALL_MAYBE;
    case FR_BEGINS:
        return end_arguments(s);
    case FR_BEGINS_NOT:
        break;
    }
    return FR_CALL_NOT;
}

static fr_call_verdict in_arguments(fr_call_scan *s, char c) {
    switch (walk(s, c)) {
    case FR_WALKED_WRONG:
        return FR_CALL_NOT;
    case FR_WALKED_ALL:
        return end_arguments(s);
    case FR_WALKED:
    case FR_WALKED_KEY:
    case FR_WALKED_BEGIN:
    case FR_WALKED_TEXT:
        break;
    }
    return FR_CALL_MAYBE;
}

// ---------------------------------------------------------------- all

static fr_call_verdict step(fr_call_scan *s, const char *text) {
    const char c = text[s->at++];
    s->steps++;
    switch ((fr_scan_place)s->place) {
    case FR_AT_OPEN:
        return at_open(s, text, c);
    case FR_AT_AROUND:
    case FR_AT_BEGIN_MARK:
        return at_around(s, text, c);
    case FR_AT_OBJECT:
        return in_object(s, text, c);
    case FR_AT_DOUBLED:
        return at_doubled(s, c);
    case FR_AT_MARK:
        return at_mark(s, text);
    case FR_AT_NULL:
        return at_null(s, text);
    case FR_AT_ARGUMENTS:
        return in_arguments(s, c);
    case FR_AT_NAME:
    case FR_AT_NAMED:
    case FR_AT_NAME_MARK:
    case FR_AT_CALL_ID:
    case FR_AT_HEAD:
        return fr_scan_name(s, text, c);
    case FR_AT_FUNCTION:
    case FR_AT_LITERAL:
        return fr_scan_literal(s, text, c);
    case FR_AT_TAGS_NAME:
    case FR_AT_TAGS_NAME_END:
    case FR_AT_TAGS:
    case FR_AT_TAG:
    case FR_AT_TAGS_KEY:
    case FR_AT_TAGS_KEY_END:
    case FR_AT_TAGS_VALUE_MARK:
    case FR_AT_TAGS_VALUE:
    case FR_AT_TAGS_VALUE_END:
    case FR_AT_TAGS_AFTER:
    case FR_AT_TAGS_AFTER_TAG:
        return fr_scan_tags(s, text, c);
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
    if (s->place == FR_AT_MARK || fr_scan_tag_ends(s, text))
        return fr_scan_whole(s, n - s->from, 0);
    const bool whole_one = s->n_objects || s->closed;
    if (s->place == FR_AT_OPEN && whole_one && may_end(s)) return fr_scan_whole(s, 0, 0);
    s->cut = s->place != FR_AT_HEAD; // all other marks that it has passed are within values
    return FR_CALL_NOT;
}
