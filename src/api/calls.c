// calls.c — parses the texts of calls. A text may hold several: all of them are kept, or none.
#include "api/answer_parts.h"
#include "api/marks.h"
#include "api/take.h"
#include "json/value.h"
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- keeping

// Takes both, of which NULL is a failure. True: the call is kept, or is left out as one call is
// wanted.
static bool keep(fr_api_answer *a, char *name, char *arguments) {
    const bool left_out = name && arguments && a->one_call && a->n_calls;
    if (name && arguments && !left_out && a->n_calls < FR_API_CALLS) {
        a->call[a->n_calls++] = (fr_api_call){name, arguments, a->thinking.n, a->content.n};
        return true;
    }
    free(name);
    free(arguments);
    return left_out;
}

json_t *fr_call_json(const char *text, size_t n, bool *no_memory) {
    fr_error why = {0};
    json_t *value = fr_json_load_lenient(text, n, &why);
    *no_memory |= !value && why.code == FR_ENOMEM;
    return value;
}

// The same text; NULL: there was no memory for it.
static char *checked(fr_api_answer *a, char *text) {
    a->no_memory |= !text;
    return text;
}

static void give_back(fr_api_answer *a, int n_calls) {
    while (a->n_calls > n_calls) {
        free(a->call[--a->n_calls].name);
        free(a->call[a->n_calls].arguments);
    }
}

static json_t *empty_object(fr_api_answer *a) {
    json_t *object = json_object();
    a->no_memory |= !object;
    return object;
}

// The arguments as an object: itself, or the one in a string; {} for null and for nothing. NULL:
// they are something else.
static json_t *object_of(fr_api_answer *a, const json_t *given) {
    if (!given || json_is_null(given)) return empty_object(a);
    if (json_is_object(given)) return json_incref((json_t *)(uintptr_t)given);
    if (!fr_json_is_text(given)) return NULL;
    const char *text = json_string_value(given);
    const size_t n = json_string_length(given);
    if (fr_blank(text, n) == n) return empty_object(a);
    json_t *within = fr_call_json(text, n, &a->no_memory);
    json_t *object = json_is_object(within) || json_is_null(within) ? object_of(a, within) : NULL;
    json_decref(within);
    return object;
}

static char *arguments_of(fr_api_answer *a, const json_t *given) {
    json_t *object = object_of(a, given);
    char *text = object ? checked(a, fr_json_compact(object)) : NULL;
    json_decref(object);
    return text;
}

static bool keep_object(fr_api_answer *a, const json_t *call) {
    const json_t *name = json_object_get(call, "name"), *given = json_object_get(call, "arguments");
    if (!given || json_is_null(given)) given = json_object_get(call, "parameters");
    if (!fr_json_is_text(name)) return false;
    const char *text = json_string_value(name);
    return *text && strlen(text) == json_string_length(name) &&
           fr_is_call_offered(a->scan.form, a->offered, text) &&
           keep(a, checked(a, strdup(text)), arguments_of(a, given));
}

// ---------------------------------------------------------------- JSON

// JSON, whose outer braces may be doubled; NULL: it is none.
static json_t *load(fr_api_answer *a, const char *text, size_t n) {
    json_t *root = fr_call_json(text, n, &a->no_memory);
    const size_t from = fr_blank(text, n), to = fr_trimmed(text, n);
    const bool doubled =
        to >= from + 4 && !memcmp(text + from, "{{", 2) && !memcmp(text + to - 2, "}}", 2);
    return root || !doubled ? root : fr_call_json(text + from + 1, to - from - 2, &a->no_memory);
}

// Bytes of the object that the text begins with; 0: its end is not there.
static size_t value_end(const char *text, size_t n) {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            quoted = !quoted;
        } else if (!quoted && (text[i] == '{' || text[i] == '[')) {
            depth++;
        } else if (!quoted && (text[i] == '}' || text[i] == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

static bool take_object(fr_api_answer *a, const char *text, size_t n) {
    json_t *call = load(a, text, n);
    const fr_call_form *form = a->scan.form;
    const bool needs_arguments = form->unsure && !form->any_member; // else any JSON has names
    const bool taken =
        !(needs_arguments && !json_object_get(call, "arguments")) && keep_object(a, call);
    json_decref(call);
    return taken;
}

// The number of bytes of separators, which may be around objects and between them.
static size_t between(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && (fr_is_blank(text[i]) || (text[i] && strchr(",;[]", text[i]))))
        i++;
    return i;
}

// Objects, or a list of them, as call_scan.c has found them.
static bool take_objects(fr_api_answer *a, const char *text, size_t n) {
    size_t at = between(text, n);
    do {
        const size_t bytes = at < n && text[at] == '{' ? value_end(text + at, n - at) : 0;
        if (!bytes || !take_object(a, text + at, bytes)) return false;
        at += bytes;
        at += between(text + at, n - at);
    } while (at < n);
    return true;
}

bool fr_answer_keep_named(fr_api_answer *a, const char *name, size_t bytes, const json_t *given) {
    return fr_is_call_name(name, bytes) && (json_is_object(given) || json_is_null(given)) &&
           keep(a, checked(a, strndup(name, bytes)), arguments_of(a, given));
}

bool fr_answer_take_named(fr_api_answer *a, const char *name, size_t bytes, const char *text,
                          size_t n) {
    const bool none = fr_blank(text, n) == n;
    json_t *given = none ? json_null() : fr_call_json(text, n, &a->no_memory);
    const bool taken = fr_answer_keep_named(a, name, bytes, given);
    json_decref(given);
    return taken;
}

// ---------------------------------------------------------------- Mistral

// Objects, or NAME{...}, or NAME[CALL_ID]ID[ARGS]{...}, where one of the marks may miss.
static bool take_mistral(fr_api_answer *a, const char *text, size_t n) {
    const size_t space = fr_blank(text, n);
    const char *from = text + space, *value = memchr(from, '{', n - space);
    if (space < n && (*from == '[' || *from == '{')) return take_objects(a, text, n);
    const size_t all = n - space, head = value ? (size_t)(value - from) : all;
    const size_t args = fr_find_mark(from, head, MARK_ARGS),
                 id = fr_find_mark(from, head, MARK_CALL_ID);
    size_t given = head; // without a brace: null
    if (!value && args < head) given = args + strlen(MARK_ARGS);
    return fr_answer_take_named(a, from, fr_trimmed(from, id < args ? id : args), from + given,
                                all - given);
}

// ---------------------------------------------------------------- heads

static bool take_headed(fr_api_answer *a, const char *text, size_t n) {
    const char *value = memchr(text, '{', n), *name;
    const size_t head = value ? (size_t)(value - text) : n;
    const size_t bytes = fr_call_head(a->scan.form, text, head, &name);
    return bytes && fr_answer_take_named(a, name, bytes, text + head, n - head);
}

// ---------------------------------------------------------------- all

static bool take(fr_api_answer *a, const char *text, bool last) {
    const fr_call_scan *s = &a->scan;
    const char *body = text + s->body;
    const size_t n = s->end - s->body;
    if (s->kind & (FR_BODY_PYTHON | FR_BODY_BRACES | FR_BODY_TAGS))
        return fr_take_again(a, s, text, last);
    if (s->kind == FR_BODY_HEADED) return take_headed(a, body, n);
    return s->form->body & FR_BODY_NAMED ? take_mistral(a, body, n) : take_objects(a, body, n);
}

bool fr_answer_take_calls(fr_api_answer *a, const char *text, bool last) {
    const int before = a->n_calls;
    if (take(a, text, last)) return true;
    give_back(a, before);
    return false;
}
